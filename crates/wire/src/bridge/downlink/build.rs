//! The frames the hub sends, as text ready for the socket.
//! Fields stand in the order of the seed; what is absent or empty is left out, but for `message.attachments`.

use super::super::{Attachment, frame, put_kind};
use super::{
    AgentEntry, Answer, CallChunk, CallDone, CallError, HubError, Message, Meta, Registered,
    Resumed, RtcRelay,
};
use crate::json::{ObjectWriter, Text};

/// A `registered` frame that accepts an agent.
pub fn registered(registered: &Registered<'_>) -> String {
    frame("registered", 0, |object| {
        object.text("status", "ok");
        if !registered.extensions.is_empty() {
            object.texts("extensions", &registered.extensions);
        }
        if let Some(resume) = &registered.resume {
            object.object("resume", |inner| put_resumed(inner, resume));
        }
    })
}

fn put_resumed(object: &mut ObjectWriter<'_>, resume: &Resumed<'_>) {
    object
        .text("token", &*resume.token)
        .number("grace_ms", resume.grace_ms);
    if !resume.open.is_empty() {
        object.list("open", &resume.open, |out, open| {
            let mut entry = ObjectWriter::open(out);
            entry
                .text("request_id", &*open.request_id)
                .number("have", open.have);
            entry.close();
        });
    }
    if !resume.gone.is_empty() {
        object.texts("gone", &resume.gone);
    }
}

/// A `registered` frame that refuses an agent; the connection must be closed after it.
pub fn refused(error: &str) -> String {
    frame("registered", error.len(), |object| {
        object.text("status", "error").text("error", error);
    })
}

/// A `message` frame.
pub fn message(message: &Message<'_>) -> String {
    let size = message.content.size_hint() + Attachment::size_hint(&message.attachments);
    frame("message", size, |object| {
        object
            .text("session_id", &*message.session_id)
            .text("request_id", &*message.request_id)
            .text("content", message.content)
            .list("attachments", &message.attachments, |out, attachment| {
                attachment.write(out);
            })
            .maybe_text("client_id", message.client_id.as_deref());
        if message.with_files {
            object.flag("with_files", true);
        }
        if let Some(meta) = &message.meta {
            object.object("meta", |inner| put_meta(inner, meta));
        }
    })
}

fn put_meta(object: &mut ObjectWriter<'_>, meta: &Meta<'_>) {
    object
        .maybe_text("message_id", meta.message_id.as_deref())
        .maybe_text("task_id", meta.task_id.as_deref())
        .maybe_text("context_id", meta.context_id.as_deref())
        .maybe_raw("parts", meta.parts)
        .maybe_raw("metadata", meta.metadata)
        .maybe_text("caller", meta.caller.as_deref())
        .maybe_text("parent", meta.parent.as_deref());
}

/// A `cancel` frame.
pub fn cancel(session_id: &str, request_id: &str) -> String {
    frame("cancel", 0, |object| {
        object
            .text("session_id", session_id)
            .text("request_id", request_id);
    })
}

/// A `discover_agents_result` frame.
pub fn discover_agents_result(entries: &[AgentEntry<'_>]) -> String {
    const ENTRY: usize = 192;
    frame("discover_agents_result", entries.len() * ENTRY, |object| {
        object.list("agents", entries, |out, entry| {
            let mut object = ObjectWriter::open(out);
            object
                .text("id", &*entry.id)
                .text("name", &*entry.name)
                .text("agent_type", &*entry.agent_type)
                .texts("capabilities", &entry.capabilities)
                .flag("is_online", entry.is_online)
                .maybe_text("description", entry.description.as_deref());
            object.close();
        });
    })
}

/// A `call_agent_chunk` frame.
pub fn call_agent_chunk(chunk: &CallChunk<'_>) -> String {
    frame("call_agent_chunk", chunk.delta.size_hint(), |object| {
        object
            .text("call_id", &*chunk.call_id)
            .text("delta", chunk.delta);
        put_kind(
            object,
            chunk.kind.as_deref(),
            chunk.tool_name.as_deref(),
            chunk.tool_call_id.as_deref(),
        );
    })
}

/// A `call_agent_done` frame.
pub fn call_agent_done(done: &CallDone<'_>) -> String {
    let size = Attachment::size_hint(&done.attachments)
        + done.file_transfer_offer.map_or(0, |raw| raw.get().len());
    frame("call_agent_done", size, |object| {
        object.text("call_id", &*done.call_id);
        Attachment::put(object, &done.attachments);
        object.maybe_raw("file_transfer_offer", done.file_transfer_offer);
    })
}

/// A `call_agent_error` frame.
pub fn call_agent_error(error: &CallError<'_>) -> String {
    frame("call_agent_error", 2 * error.message.len(), |object| {
        object
            .text("call_id", &*error.call_id)
            .text("code", &*error.code)
            .text("message", &*error.message);
    })
}

/// An `rtc_signal_relay` frame.
pub fn rtc_signal_relay(relay: &RtcRelay<'_>) -> String {
    let size = relay.payload.map_or(0, |raw| raw.get().len())
        + relay.ice_servers.map_or(0, |raw| raw.get().len());
    frame("rtc_signal_relay", size, |object| {
        object
            .text("transfer_id", &*relay.transfer_id)
            .text("from_agent_id", &*relay.from_agent_id)
            .text("signal_type", &*relay.signal_type)
            .maybe_raw("payload", relay.payload)
            .maybe_text("client_id", relay.client_id.as_deref())
            .maybe_raw("ice_servers", relay.ice_servers)
            .members(&relay.extra);
    })
}

/// An `ack` frame.
pub fn ack(request_id: &str, seq: u64) -> String {
    frame("ack", 0, |object| {
        object.text("request_id", request_id).number("seq", seq);
    })
}

/// An `answer` frame.
pub fn answer(answer: &Answer<'_>) -> String {
    let words = answer.content.as_deref().unwrap_or_default();
    let size = Text::Plain(words).size_hint() + answer.parts.map_or(0, |raw| raw.get().len());
    frame("answer", size, |object| {
        object
            .text("request_id", &*answer.request_id)
            .text("ask_id", &*answer.ask_id)
            .maybe_text("content", answer.content.as_deref())
            .maybe_raw("parts", answer.parts);
        if let Some(approved) = answer.approved {
            object.flag("approved", approved);
        }
        object.maybe_text("reason", answer.reason.as_deref());
    })
}

/// An `error` frame, about a frame of the agent's.
pub fn error(error: &HubError<'_>) -> String {
    frame("error", 2 * error.message.len(), |object| {
        object
            .text("code", &*error.code)
            .text("message", &*error.message)
            .maybe_text("request_id", error.request_id.as_deref())
            .maybe_text("call_id", error.call_id.as_deref())
            .maybe_text("field", error.field.as_deref())
            .maybe_text("frame_type", error.frame_type.as_deref());
    })
}
