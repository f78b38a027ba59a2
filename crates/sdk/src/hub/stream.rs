//! Client for server-sent events.

use std::pin::Pin;

use eventsource_stream::Eventsource;
use futures_util::{Stream, StreamExt};
use reqwest::Response;
use serde_json::Value;

use crate::Error;

/// An event as the hub sent it.
#[derive(Debug, Clone)]
pub struct RawEvent {
    /// Type of the event.
    pub name: String,
    /// Id to resume after, on streams that can be resumed.
    pub id: Option<String>,
    /// Content of the event.
    pub data: Value,
}

type SseSource = Pin<Box<dyn Stream<Item = Result<eventsource_stream::Event, ()>> + Send>>;

/// A stream of server-sent events.
pub struct EventStream {
    events: SseSource,
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}

impl EventStream {
    /// Reads the events of a response.
    pub fn new(response: Response) -> Self {
        let events = response
            .bytes_stream()
            .eventsource()
            .map(|event| event.map_err(|_| ()));
        Self {
            events: Box::pin(events),
        }
    }

    /// Waits for the next event. Returns `None` when the hub has ended the stream.
    pub async fn next(&mut self) -> Result<Option<RawEvent>, Error> {
        match self.events.next().await {
            None => Ok(None),
            Some(Err(())) => Err(Error::Broken),
            Some(Ok(event)) => {
                let data = serde_json::from_str(&event.data)
                    .map_err(|error| Error::Unreadable(error.to_string()))?;
                let id = (!event.id.is_empty()).then_some(event.id);
                Ok(Some(RawEvent {
                    name: event.event,
                    id,
                    data,
                }))
            }
        }
    }
}
