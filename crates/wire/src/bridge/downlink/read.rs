//! Reading what the hub sends, in an agent: only what an agent cannot do without is required.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::fields::{Fields, Slot, json_number};
use super::super::{Attachment, Malformed};
use super::{
    Ack, AgentEntry, Answer, CallChunk, CallDone, CallError, Cancel, Downlink, Have, HubError,
    Message, Meta, Registered, Resumed, RtcRelay,
};
use crate::json::{self, Members, Text};

/// Reads a frame from the hub.
pub fn parse_downlink(text: &str) -> Result<Downlink<'_>, Malformed> {
    let mut fields = Fields::default();
    fields.fill(text)?;
    let frame_type = fields.required_text(Slot::Type)?;
    Ok(match &*frame_type {
        "call_agent_chunk" => Downlink::CallAgentChunk(read_call_chunk(&fields)?),
        "message" => Downlink::Message(read_message(&fields)?),
        "ack" => Downlink::Ack(Ack {
            request_id: fields.required_text(Slot::RequestId)?,
            seq: fields
                .number(Slot::Seq)?
                .ok_or_else(|| fields.missing("seq"))?,
        }),
        "cancel" => Downlink::Cancel(Cancel {
            session_id: fields.lenient_text(Slot::SessionId).unwrap_or_default(),
            request_id: fields.required_text(Slot::RequestId)?,
        }),
        "registered" => read_registered(&fields)?,
        "discover_agents_result" => Downlink::DiscoverAgentsResult(read_agents(&fields)?),
        "call_agent_done" => Downlink::CallAgentDone(CallDone {
            call_id: fields.required_text(Slot::CallId)?,
            attachments: read_attachments(&fields),
            file_transfer_offer: fields.get("file_transfer_offer"),
        }),
        "call_agent_error" => Downlink::CallAgentError(CallError {
            call_id: fields.required_text(Slot::CallId)?,
            code: fields.lenient_text("code").unwrap_or_default(),
            message: fields.lenient_text("message").unwrap_or_default(),
        }),
        "rtc_signal_relay" => Downlink::RtcSignalRelay(read_relay(&fields)?),
        "answer" => Downlink::Answer(read_answer(&fields)?),
        "error" => Downlink::Error(read_error(&fields)),
        _ => Downlink::Unknown(frame_type),
    })
}

fn read_attachments<'a>(fields: &Fields<'a>) -> Vec<Attachment<'a>> {
    fields
        .get("attachments")
        .map_or_else(Vec::new, Attachment::read_lenient)
}

fn read_registered<'a>(fields: &Fields<'a>) -> Result<Downlink<'a>, Malformed> {
    if fields.required_text("status")? != "ok" {
        let error = fields.lenient_text("error").unwrap_or_default();
        return Ok(Downlink::Refused(error));
    }
    Ok(Downlink::Registered(Registered {
        extensions: fields
            .get("extensions")
            .map_or_else(Vec::new, lenient_texts),
        resume: fields.get("resume").and_then(read_resumed),
    }))
}

/// The strings among the elements of an array.
fn lenient_texts(raw: &RawValue) -> Vec<Cow<'_, str>> {
    let elements = json::elements(raw).unwrap_or_default();
    elements.into_iter().filter_map(json::str_of).collect()
}

/// Reads how to come back; without a token there is no way.
fn read_resumed(raw: &RawValue) -> Option<Resumed<'_>> {
    let members = Members::of(raw)?;
    let open = members.get("open").and_then(json::elements);
    Some(Resumed {
        token: members.text("token")?,
        grace_ms: members.get("grace_ms").and_then(json_number).unwrap_or(0),
        open: open
            .into_iter()
            .flatten()
            .filter_map(|raw| {
                let entry = Members::of(raw)?;
                Some(Have {
                    request_id: entry.text("request_id")?,
                    have: entry.get("have").and_then(json_number).unwrap_or(0),
                })
            })
            .collect(),
        gone: members.get("gone").map_or_else(Vec::new, lenient_texts),
    })
}

fn read_message<'a>(fields: &Fields<'a>) -> Result<Message<'a>, Malformed> {
    Ok(Message {
        session_id: fields.lenient_text(Slot::SessionId).unwrap_or_default(),
        request_id: fields.required_text(Slot::RequestId)?,
        content: fields
            .raw_text("content")?
            .ok_or_else(|| fields.missing("content"))?,
        attachments: read_attachments(fields),
        client_id: fields.lenient_text("client_id"),
        with_files: fields
            .get("with_files")
            .is_some_and(|raw| raw.get() == "true"),
        meta: fields.get("meta").and_then(Members::of).map(|meta| Meta {
            message_id: meta.text("message_id"),
            task_id: meta.text("task_id"),
            context_id: meta.text("context_id"),
            parts: meta.get("parts"),
            metadata: meta.get("metadata"),
            caller: meta.text("caller"),
            parent: meta.text("parent"),
        }),
    })
}

fn read_agents<'a>(fields: &Fields<'a>) -> Result<Vec<AgentEntry<'a>>, Malformed> {
    let entries = fields
        .get("agents")
        .and_then(json::elements)
        .ok_or_else(|| fields.invalid("agents", "must be an array"))?;
    Ok(entries.into_iter().filter_map(read_agent).collect())
}

/// Reads an entry; one without an id is of no use to anybody.
fn read_agent(raw: &RawValue) -> Option<AgentEntry<'_>> {
    let members = Members::of(raw)?;
    let id = members.text("id")?;
    Some(AgentEntry {
        name: members.text("name").unwrap_or_else(|| id.clone()),
        id,
        agent_type: members.text("agent_type").unwrap_or_default(),
        capabilities: members
            .get("capabilities")
            .map_or_else(Vec::new, lenient_texts),
        is_online: members
            .get("is_online")
            .is_some_and(|raw| raw.get() == "true"),
        description: members.text("description"),
    })
}

fn read_call_chunk<'a>(fields: &Fields<'a>) -> Result<CallChunk<'a>, Malformed> {
    let word = |slot| fields.lenient_text(slot).filter(|text| !text.is_empty());
    Ok(CallChunk {
        call_id: fields.required_text(Slot::CallId)?,
        delta: fields.raw_text(Slot::Delta)?.unwrap_or(Text::Plain("")),
        kind: word(Slot::Kind),
        tool_name: word(Slot::ToolName),
        tool_call_id: word(Slot::ToolCallId),
    })
}

/// The fields of `rtc_signal_relay`; all others came from the sending agent.
const RELAY_FIELDS: [&str; 7] = [
    "type",
    "transfer_id",
    "from_agent_id",
    "signal_type",
    "payload",
    "client_id",
    "ice_servers",
];

fn read_relay<'a>(fields: &Fields<'a>) -> Result<RtcRelay<'a>, Malformed> {
    Ok(RtcRelay {
        transfer_id: fields.required_text("transfer_id")?,
        from_agent_id: fields.required_text("from_agent_id")?,
        signal_type: fields.required_text("signal_type")?,
        payload: fields.verbatim("payload")?,
        client_id: fields.lenient_text("client_id"),
        ice_servers: fields.get("ice_servers"),
        extra: fields.rest(&RELAY_FIELDS),
    })
}

fn read_answer<'a>(fields: &Fields<'a>) -> Result<Answer<'a>, Malformed> {
    Ok(Answer {
        request_id: fields.required_text(Slot::RequestId)?,
        ask_id: fields.required_text("ask_id")?,
        content: fields.lenient_text("content"),
        parts: fields.get("parts"),
        approved: match fields.get("approved").map(RawValue::get) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        },
        reason: fields.lenient_text("reason"),
    })
}

fn read_error<'a>(fields: &Fields<'a>) -> HubError<'a> {
    HubError {
        code: fields.lenient_text("code").unwrap_or_default(),
        message: fields.lenient_text("message").unwrap_or_default(),
        request_id: fields.lenient_text(Slot::RequestId),
        call_id: fields.lenient_text(Slot::CallId),
        field: fields.lenient_text("field"),
        frame_type: fields.lenient_text("frame_type"),
    }
}
