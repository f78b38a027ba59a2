//! Reading the frames of the hub, in an agent. Only fields that an agent cannot work without are required.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{FrameTypeTag, MalformedFrame, read_frame};
use super::{CallChunk, Downlink, Registered, ResumeGrant, RtcRelay};
use crate::json::JsonText;
use crate::read::{
    FieldError, OpenObject, lenient, lenient_text, lenient_texts, text, try_read, verbatim,
};

/// Reads a frame from the hub. Returns [`MalformedFrame`] with the path of a wrong field.
pub fn parse_downlink(text: &str) -> Result<Downlink<'_>, MalformedFrame> {
    // The hub limits the nesting depth of its frames, and this reader does not recurse into them.
    read_downlink(text).map_err(|misread| MalformedFrame::of(text, misread))
}

fn read_downlink(text: &str) -> Result<Downlink<'_>, FieldError> {
    #[derive(Deserialize)]
    struct DiscoverAgentsResultIn<'a> {
        #[serde(borrow)]
        agents: Vec<&'a RawValue>,
    }
    let frame_type = match try_read::<CallChunkIn<'_>>(text) {
        Some(chunk) if chunk.r#type == "call_agent_chunk" => {
            return chunk.chunk().map(Downlink::CallAgentChunk);
        }
        Some(other) => other.r#type,
        None => read_frame::<FrameTypeTag<'_>>(text)?.r#type,
    };
    Ok(match &*frame_type {
        "call_agent_chunk" => {
            Downlink::CallAgentChunk(read_frame::<CallChunkIn<'_>>(text)?.chunk()?)
        }
        "message" => Downlink::Message(read_frame(text)?),
        "ack" => Downlink::Ack(read_frame(text)?),
        "cancel" => Downlink::Cancel(read_frame(text)?),
        "registered" => read_frame::<RegisteredIn<'_>>(text)?.into(),
        "discover_agents_result" => {
            let entries = read_frame::<DiscoverAgentsResultIn<'_>>(text)?
                .agents
                .into_iter();
            // An entry without an id cannot be used.
            let entries = entries.filter_map(|raw| try_read(raw.get()));
            Downlink::DiscoverAgentsResult(entries.collect())
        }
        "call_agent_done" => Downlink::CallAgentDone(read_frame(text)?),
        "call_agent_error" => Downlink::CallAgentError(read_frame(text)?),
        "rtc_signal_relay" => {
            Downlink::RtcSignalRelay(read_frame::<OpenObject<'_, RtcRelayIn<'_>>>(text)?.into())
        }
        "answer" => Downlink::Answer(read_frame(text)?),
        "error" => Downlink::Error(read_frame(text)?),
        _ => Downlink::Unknown(frame_type),
    })
}

/// A frame read as a piece of a called agent's answer, because most frames are: a single pass finds the type
/// and reads a [`CallChunk`].
#[derive(Deserialize)]
struct CallChunkIn<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(default, deserialize_with = "text")]
    call_id: Option<Cow<'a, str>>,
    delta: Option<JsonText<'a>>,
    #[serde(default, deserialize_with = "lenient_text")]
    kind: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient_text")]
    tool_name: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient_text")]
    tool_call_id: Option<Cow<'a, str>>,
}

impl<'a> CallChunkIn<'a> {
    fn chunk(self) -> Result<CallChunk<'a>, FieldError> {
        let word = |word: Option<Cow<'a, str>>| word.filter(|word| !word.is_empty());
        Ok(CallChunk {
            call_id: self.call_id.ok_or_else(|| FieldError::missing("call_id"))?,
            delta: self.delta.unwrap_or_default(),
            kind: word(self.kind),
            tool_name: word(self.tool_name),
            tool_call_id: word(self.tool_call_id),
        })
    }
}

/// A `registered` frame, either an acceptance or a refusal.
#[derive(Deserialize)]
struct RegisteredIn<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient_text")]
    error: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient_texts")]
    extensions: Vec<Cow<'a, str>>,
    /// Data for resuming; absent if it has no token.
    #[serde(default, deserialize_with = "lenient")]
    resume: Option<ResumeGrant<'a>>,
}

impl<'a> From<RegisteredIn<'a>> for Downlink<'a> {
    fn from(registered: RegisteredIn<'a>) -> Self {
        match &*registered.status {
            "ok" => Downlink::Registered(Registered {
                extensions: registered.extensions,
                resume: registered.resume,
            }),
            _ => Downlink::Refused(registered.error),
        }
    }
}

/// An [`RtcRelay`] as read, before its other fields are filtered.
#[derive(Deserialize)]
struct RtcRelayIn<'a> {
    #[serde(borrow)]
    transfer_id: Cow<'a, str>,
    #[serde(borrow)]
    from_agent_id: Cow<'a, str>,
    #[serde(borrow)]
    signal_type: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "verbatim")]
    payload: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient_text")]
    client_id: Option<Cow<'a, str>>,
    ice_servers: Option<&'a RawValue>,
}

impl<'a> From<OpenObject<'a, RtcRelayIn<'a>>> for RtcRelay<'a> {
    fn from(relay: OpenObject<'a, RtcRelayIn<'a>>) -> Self {
        let OpenObject { known, mut rest } = relay;
        rest.retain(|member| member.name != "type");
        RtcRelay {
            transfer_id: known.transfer_id,
            from_agent_id: known.from_agent_id,
            signal_type: known.signal_type,
            payload: known.payload,
            client_id: known.client_id,
            ice_servers: known.ice_servers,
            extra: rest,
        }
    }
}
