//! The frames an agent sends, as text ready for the socket. The SDK calls these; the hub never does.
//! Fields stand in the order of the seed's examples; what is absent or empty is left out.

use super::super::{Attachment, frame, put_kind};
use super::{
    AgentError, Artifact, Ask, CallAgent, Chunk, DiscoverAgents, Done, Heartbeat, Register,
    RtcSignal,
};
use crate::json::{ObjectWriter, Text};

/// A `register` frame.
pub fn register(register: &Register<'_>) -> String {
    frame("register", register.agent_id.len(), |object| {
        object
            .text("agent_id", &*register.agent_id)
            .maybe_text("token", register.token.as_deref())
            .text("bridge_version", register.bridge_version.text())
            .maybe_text("agent_type", register.agent_type.as_deref())
            .texts("capabilities", &register.capabilities)
            .maybe_text("name", register.name.as_deref())
            .maybe_text("description", register.description.as_deref())
            .maybe_raw("profile", register.profile);
        if !register.extensions.is_empty() {
            object.texts("extensions", &register.extensions);
        }
        if let Some(resume) = &register.resume {
            object.object("resume", |inner| {
                inner
                    .text("token", &*resume.token)
                    .list("open", &resume.open, |out, open| {
                        let mut entry = ObjectWriter::open(out);
                        entry
                            .text("request_id", &*open.request_id)
                            .number("sent", open.sent);
                        entry.close();
                    });
                if let Some(calls) = &resume.calls {
                    inner.list("calls", calls, |out, call| {
                        let mut entry = ObjectWriter::open(out);
                        entry
                            .text("call_id", &*call.call_id)
                            .number("got", call.got);
                        entry.close();
                    });
                }
            });
        }
    })
}

/// A `chunk` frame.
pub fn chunk(chunk: &Chunk<'_>) -> String {
    frame("chunk", chunk.delta.size_hint(), |object| {
        object
            .maybe_text("session_id", chunk.session_id.as_deref())
            .text("request_id", &*chunk.request_id)
            .text("delta", chunk.delta);
        put_kind(
            object,
            chunk.kind.as_deref(),
            chunk.tool_name.as_deref(),
            chunk.tool_call_id.as_deref(),
        );
        object.maybe_number("seq", chunk.seq);
    })
}

/// A `done` frame.
pub fn done(done: &Done<'_>) -> String {
    let size = Attachment::size_hint(&done.attachments)
        + done.result.as_ref().map_or(0, Text::size_hint)
        + done.file_transfer_offer.map_or(0, |raw| raw.get().len());
    frame("done", size, |object| {
        object
            .maybe_text("session_id", done.session_id.as_deref())
            .text("request_id", &*done.request_id);
        Attachment::put(object, &done.attachments);
        object
            .maybe_raw("file_transfer_offer", done.file_transfer_offer)
            .maybe_text("result", done.result)
            .maybe_raw("file_manifest", done.file_manifest)
            .maybe_text("state", done.state.as_deref())
            .maybe_raw("usage", done.usage)
            .maybe_text("stop_reason", done.stop_reason.as_deref())
            .maybe_number("seq", done.seq);
    })
}

/// An `error` frame.
pub fn error(error: &AgentError<'_>) -> String {
    frame("error", 2 * error.message.len(), |object| {
        object
            .maybe_text("session_id", error.session_id.as_deref())
            .text("request_id", &*error.request_id)
            .text("code", &*error.code)
            .text("message", &*error.message)
            .maybe_number("seq", error.seq);
    })
}

/// A `heartbeat` frame.
pub fn heartbeat(heartbeat: Heartbeat) -> String {
    frame("heartbeat", 0, |object| {
        object
            .number("active_sessions", heartbeat.active_sessions)
            .number("uptime_ms", heartbeat.uptime_ms);
    })
}

/// A `discover_agents` frame.
pub fn discover_agents(discover: &DiscoverAgents<'_>) -> String {
    frame("discover_agents", 0, |object| {
        object
            .maybe_text("capability", discover.capability.as_deref())
            .maybe_number("limit", discover.limit);
    })
}

/// A `call_agent` frame.
pub fn call_agent(call: &CallAgent<'_>) -> String {
    let size = Text::Plain(&call.task_description).size_hint();
    frame("call_agent", size, |object| {
        object
            .text("target_agent_id", &*call.target_agent_id)
            .text("task_description", &*call.task_description)
            .maybe_text("call_id", call.call_id.as_deref());
        if call.with_files {
            object.flag("with_files", true);
        }
        object
            .maybe_text("parent_request_id", call.parent_request_id.as_deref())
            .maybe_text("session_id", call.session_id.as_deref());
    })
}

/// An `rtc_signal` frame.
pub fn rtc_signal(signal: &RtcSignal<'_>) -> String {
    let size = signal.payload.map_or(0, |raw| raw.get().len());
    frame("rtc_signal", size, |object| {
        object
            .text("transfer_id", &*signal.transfer_id)
            .text("target_agent_id", &*signal.target_agent_id)
            .text("signal_type", &*signal.signal_type)
            .maybe_raw("payload", signal.payload)
            .members(&signal.extra);
    })
}

/// An `artifact` frame.
pub fn artifact(artifact: &Artifact<'_>) -> String {
    frame("artifact", artifact.parts.get().len(), |object| {
        object
            .text("request_id", &*artifact.request_id)
            .text("artifact_id", &*artifact.artifact_id)
            .maybe_text("name", artifact.name.as_deref())
            .raw("parts", artifact.parts)
            .flag("append", artifact.append)
            .flag("last", artifact.last)
            .maybe_number("seq", artifact.seq);
    })
}

/// An `ask` frame.
pub fn ask(ask: &Ask<'_>) -> String {
    let size = 2 * ask.text.len() + ask.arguments.map_or(0, |raw| raw.get().len());
    frame("ask", size, |object| {
        object
            .text("request_id", &*ask.request_id)
            .text("ask_id", &*ask.ask_id)
            .text("kind", &*ask.kind)
            .text("text", &*ask.text)
            .maybe_text("tool_name", ask.tool_name.as_deref())
            .maybe_text("tool_call_id", ask.tool_call_id.as_deref())
            .maybe_raw("arguments", ask.arguments)
            .maybe_raw("schema", ask.schema)
            .maybe_number("seq", ask.seq);
    })
}
