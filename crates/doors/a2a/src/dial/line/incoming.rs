//! A stream of answers.

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

/// What arrives over a stream.
#[derive(Debug)]
pub(in crate::dial) enum Arrived {
    /// Something that the remote says.
    Item {
        /// The id of the event, if the server gives ids.
        id: Option<String>,
        /// What it says.
        item: Item,
    },
    /// A sign of life.
    Pulse,
}

/// One stream, as it comes.
#[derive(Debug)]
pub(in crate::dial) struct Incoming(Stage);

#[derive(Debug)]
enum Stage {
    /// It comes.
    Open(Box<Open>),
    /// It came at once.
    One(Box<Item>),
    /// Nothing more comes.
    Over,
}

#[derive(Debug)]
struct Open {
    opened: Opened,
    events: Events,
    reading: Reading,
    eyes: Eyes,
    /// Whether anything was said.
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

    /// A stream of one item, from a server that answers without one.
    pub(super) fn of_one(item: Item) -> Self {
        Self(Stage::One(item.into()))
    }

    /// What comes next; `None` once the server has closed the stream in order, or after trouble. A call that is dropped
    /// loses nothing.
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
            // Hangs up, too.
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

    /// What an event says. An error before all else is the answer to the request; after that it is the end of the work.
    fn item(&mut self, data: &[u8]) -> Result<Item, Trouble> {
        self.eyes.see(Direction::In, data);
        let item = self.reading.item(StatusCode::OK, data);
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        item.map_err(|trouble| match trouble {
            Trouble::Refused(fault) if has_begun => Trouble::GaveUp(fault),
            trouble => trouble,
        })
    }

    /// What is left when the server has closed the stream. Some do not end their last event; but half of one is a cut.
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
