//! Stream of a remote's answers.

use http::StatusCode;
use jackfield_core::tap::Direction;
use jackfield_kit::outbound::Opened;

use super::{
    answer::Reading,
    events::{Event, Events},
    eyes::Eyes,
    trouble::Trouble,
};
use crate::wire::official::model::Item;

/// Element of a stream.
#[derive(Debug)]
pub(in crate::dial) enum Arrived {
    /// Item from the remote.
    Item {
        /// Id of the event, if the server sends ids.
        id: Option<String>,
        /// Parsed item.
        item: Item,
    },
    /// Keepalive.
    Pulse,
}

/// Stream of answers, read as the bytes arrive.
#[derive(Debug)]
pub(in crate::dial) struct Incoming(Stage);

#[derive(Debug)]
enum Stage {
    /// Open stream.
    Open(Box<Open>),
    /// Complete answer in place of a stream.
    One(Box<Item>),
    /// End of the stream.
    Over,
}

#[derive(Debug)]
struct Open {
    opened: Opened,
    events: Events,
    reading: Reading,
    eyes: Eyes,
    /// True after the first event.
    has_begun: bool,
}

impl Incoming {
    pub(super) fn new(opened: Opened, reading: Reading, max: usize, eyes: Eyes) -> Self {
        Self(Stage::Open(Box::new(Open {
            opened,
            events: Events::new(max),
            reading,
            eyes,
            has_begun: false,
        })))
    }

    /// Creates a stream with a single item, for a server that answers without a stream.
    pub(super) fn of_one(item: Item) -> Self {
        Self(Stage::One(item.into()))
    }

    /// Returns the next element; `None` after an orderly end of the stream, or after an error. Cancel-safe.
    pub(in crate::dial) async fn next(&mut self) -> Result<Option<Arrived>, Trouble> {
        let Stage::Open(open) = &mut self.0 else {
            let Stage::One(item) = std::mem::replace(&mut self.0, Stage::Over) else {
                return Ok(None);
            };
            let (id, item) = (None, *item);
            return Ok(Some(Arrived::Item { id, item }));
        };
        let arrived = open.next().await;
        if !matches!(arrived, Ok(Some(_))) {
            // Dropping the open stream closes the connection.
            self.0 = Stage::Over;
        }
        arrived
    }
}

impl Open {
    async fn next(&mut self) -> Result<Option<Arrived>, Trouble> {
        loop {
            match self.events.next()? {
                Some(Event::Comment) => return Ok(Some(Arrived::Pulse)),
                Some(Event::Data { id, data }) => {
                    let item = self.item(&data)?;
                    return Ok(Some(Arrived::Item { id, item }));
                }
                None => {}
            }
            match self.opened.next().await? {
                Some(bytes) => self.events.push(bytes),
                None => return self.last(),
            }
        }
    }

    /// Parses an event. An error in the first event is the answer to the request; a later error is the end of
    /// the work.
    fn item(&mut self, data: &[u8]) -> Result<Item, Trouble> {
        self.eyes.see(Direction::In, data);
        let item = self.reading.item(StatusCode::OK, data);
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        item.map_err(|trouble| match trouble {
            Trouble::Refused(fault) if has_begun => Trouble::GaveUp(fault),
            trouble => trouble,
        })
    }

    /// Returns the unfinished event at the end of the stream. Some servers do not terminate their last event;
    /// an incomplete event counts as a disconnect.
    fn last(&mut self) -> Result<Option<Arrived>, Trouble> {
        let Some(Event::Data { id, data }) = self.events.rest() else {
            return Ok(None);
        };
        match self.item(&data) {
            Ok(item) => Ok(Some(Arrived::Item { id, item })),
            Err(Trouble::Garbled(_)) => {
                let why = "the stream ended in the middle of an event";
                Err(Trouble::Cut(why.to_owned()))
            }
            Err(trouble) => Err(trouble),
        }
    }
}
