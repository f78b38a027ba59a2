//! Stream of a remote's answers.

use http::StatusCode;
use jackfield_core::tap::Direction;
use jackfield_kit::outbound::StreamedResponse;

use super::{
    answer::AnswerParser,
    call_error::RemoteCallError,
    events::{AnswerEvent, AnswerEventParser},
    traffic_tap::TrafficTap,
};
use crate::wire::official::model::StreamItem;

/// Element of a stream.
#[derive(Debug)]
pub(in crate::dial) enum AnswerElement {
    /// Item from the remote.
    Item {
        /// Id of the event, if the server sends ids.
        id: Option<String>,
        /// Parsed item.
        item: StreamItem,
    },
    /// Keepalive.
    Pulse,
}

/// Stream of answers, read as the bytes arrive.
#[derive(Debug)]
pub(in crate::dial) struct AnswerStream(AnswerStreamState);

#[derive(Debug)]
enum AnswerStreamState {
    /// Open stream.
    Open(Box<OpenAnswerStream>),
    /// Complete answer in place of a stream.
    One(Box<StreamItem>),
    /// End of the stream.
    Over,
}

#[derive(Debug)]
struct OpenAnswerStream {
    opened: StreamedResponse,
    events: AnswerEventParser,
    reading: AnswerParser,
    eyes: TrafficTap,
    /// True after the first event.
    has_begun: bool,
}

impl AnswerStream {
    pub(super) fn new(
        opened: StreamedResponse,
        reading: AnswerParser,
        max: usize,
        eyes: TrafficTap,
    ) -> Self {
        Self(AnswerStreamState::Open(Box::new(OpenAnswerStream {
            opened,
            events: AnswerEventParser::new(max),
            reading,
            eyes,
            has_begun: false,
        })))
    }

    /// Creates a stream with a single item, for a server that answers without a stream.
    pub(super) fn of_one(item: StreamItem) -> Self {
        Self(AnswerStreamState::One(item.into()))
    }

    /// Returns the next element; `None` after an orderly end of the stream, or after an error. Cancel-safe.
    pub(in crate::dial) async fn next(&mut self) -> Result<Option<AnswerElement>, RemoteCallError> {
        let AnswerStreamState::Open(open) = &mut self.0 else {
            let AnswerStreamState::One(item) =
                std::mem::replace(&mut self.0, AnswerStreamState::Over)
            else {
                return Ok(None);
            };
            let (id, item) = (None, *item);
            return Ok(Some(AnswerElement::Item { id, item }));
        };
        let arrived = open.next().await;
        if !matches!(arrived, Ok(Some(_))) {
            // Dropping the open stream closes the connection.
            self.0 = AnswerStreamState::Over;
        }
        arrived
    }
}

impl OpenAnswerStream {
    async fn next(&mut self) -> Result<Option<AnswerElement>, RemoteCallError> {
        loop {
            match self.events.next()? {
                Some(AnswerEvent::Comment) => return Ok(Some(AnswerElement::Pulse)),
                Some(AnswerEvent::Data { id, data }) => {
                    let item = self.item(&data)?;
                    return Ok(Some(AnswerElement::Item { id, item }));
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
    fn item(&mut self, data: &[u8]) -> Result<StreamItem, RemoteCallError> {
        self.eyes.report(Direction::In, data);
        let item = self.reading.item(StatusCode::OK, data);
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        item.map_err(|trouble| match trouble {
            RemoteCallError::Refused(fault) if has_begun => RemoteCallError::GaveUp(fault),
            trouble => trouble,
        })
    }

    /// Returns the unfinished event at the end of the stream. Some servers do not terminate their last event;
    /// an incomplete event counts as a disconnect.
    fn last(&mut self) -> Result<Option<AnswerElement>, RemoteCallError> {
        let Some(AnswerEvent::Data { id, data }) = self.events.rest() else {
            return Ok(None);
        };
        match self.item(&data) {
            Ok(item) => Ok(Some(AnswerElement::Item { id, item })),
            Err(RemoteCallError::Garbled(_)) => {
                let why = "the stream ended in the middle of an event";
                Err(RemoteCallError::Cut(why.to_owned()))
            }
            Err(trouble) => Err(trouble),
        }
    }
}
