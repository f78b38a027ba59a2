//! The frames the hub sends, as text ready for the socket.
//! Fields stand in the order of the seed; what is absent or empty is left out, but for `message.attachments`.

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::{Attachment, OVERHEAD};
use super::{
    Ack, AgentEntry, Answer, CallChunk, CallDone, CallError, Cancel, HubError, Message, Registered,
    RtcRelay,
};
use crate::json::{Text, to_json};

fn len(raw: Option<&RawValue>) -> usize {
    raw.map_or(0, |raw| raw.get().len())
}

/// A `registered` frame that accepts an agent.
pub fn registered(registered: &Registered<'_>) -> String {
    #[derive(Serialize)]
    #[serde(tag = "type", rename = "registered")]
    struct Accepted<'a> {
        status: &'static str,
        #[serde(flatten)]
        registered: &'a Registered<'a>,
    }
    let accepted = Accepted {
        status: "ok",
        registered,
    };
    to_json(&accepted, OVERHEAD)
}

/// A `registered` frame that refuses an agent; the connection must be closed after it.
pub fn refused(error: &str) -> String {
    #[derive(Serialize)]
    #[serde(tag = "type", rename = "registered")]
    struct Refused<'a> {
        status: &'static str,
        error: &'a str,
    }
    let refused = Refused {
        status: "error",
        error,
    };
    to_json(&refused, OVERHEAD + error.len())
}

/// A `message` frame.
pub fn message(message: &Message<'_>) -> String {
    let size = message.content.size_hint() + Attachment::size_hint(&message.attachments);
    to_json(message, OVERHEAD + size)
}

/// A `cancel` frame.
pub fn cancel(session_id: &str, request_id: &str) -> String {
    let cancel = Cancel {
        session_id: session_id.into(),
        request_id: request_id.into(),
    };
    to_json(&cancel, OVERHEAD)
}

/// A `discover_agents_result` frame.
pub fn discover_agents_result(entries: &[AgentEntry<'_>]) -> String {
    const ENTRY: usize = 192;
    #[derive(Serialize)]
    #[serde(tag = "type", rename = "discover_agents_result")]
    struct Found<'a> {
        agents: &'a [AgentEntry<'a>],
    }
    let found = Found { agents: entries };
    to_json(&found, OVERHEAD + entries.len() * ENTRY)
}

/// A `call_agent_chunk` frame.
pub fn call_agent_chunk(chunk: &CallChunk<'_>) -> String {
    to_json(chunk, OVERHEAD + chunk.delta.size_hint())
}

/// A `call_agent_done` frame.
pub fn call_agent_done(done: &CallDone<'_>) -> String {
    let size = Attachment::size_hint(&done.attachments) + len(done.file_transfer_offer);
    to_json(done, OVERHEAD + size)
}

/// A `call_agent_error` frame.
pub fn call_agent_error(error: &CallError<'_>) -> String {
    to_json(error, OVERHEAD + 2 * error.message.len())
}

/// An `rtc_signal_relay` frame.
pub fn rtc_signal_relay(relay: &RtcRelay<'_>) -> String {
    to_json(
        relay,
        OVERHEAD + len(relay.payload) + len(relay.ice_servers),
    )
}

/// An `ack` frame.
pub fn ack(request_id: &str, seq: u64) -> String {
    let ack = Ack {
        request_id: request_id.into(),
        seq,
    };
    to_json(&ack, OVERHEAD)
}

/// An `answer` frame.
pub fn answer(answer: &Answer<'_>) -> String {
    let words = answer.content.as_deref().unwrap_or_default();
    let size = Text::Plain(words).size_hint() + len(answer.parts);
    to_json(answer, OVERHEAD + size)
}

/// An `error` frame, about a frame of the agent's.
pub fn error(error: &HubError<'_>) -> String {
    to_json(error, OVERHEAD + 2 * error.message.len())
}
