//! The Agent Mesh Bridge Protocol, versions 1 and 2 (seed 004): frames between agents and the hub, and the relay's bodies.
//!
//! [`uplink`] is what agents send, [`downlink`] what the hub sends, [`relay`] what platforms and the hub say over HTTP.
//! Frames are both read and written here, since the SDK is an agent of the same protocol. A hub translates these
//! frames and relays none of them, so unknown fields are ignored, except on `rtc_signal`, which goes to another agent.
//!
//! Beyond the seed: version 2, which the published clients speak; `error` from the hub for a frame it refused; and the
//! [`extension`]s, which no peer sees that did not announce them.

use std::fmt;

use crate::frame::write_mistake;
use crate::json::ObjectWriter;

mod attachment;
pub mod code;
pub mod downlink;
mod fields;
pub mod relay;
#[cfg(test)]
mod tests;
pub mod uplink;

pub use crate::frame::{Fault, Limits, MAX_CHUNK};
pub use attachment::Attachment;
pub use code::ErrorCode;
pub use downlink::{Downlink, parse_downlink};
pub use uplink::{Uplink, parse};

/// The version our own agents speak, and the one that refusals name.
pub const VERSION: u32 = 2;

/// The longest `client_id`: agents make a folder of that name.
pub const MAX_CLIENT_ID: usize = 128;

/// The names of our extensions, as agents announce them and the hub confirms them.
pub mod extension {
    /// Frames are numbered and acknowledged, and a cut connection goes on where it was.
    pub const RESUME: &str = "resume";
    /// The agent sends `artifact`.
    pub const ARTIFACTS: &str = "artifacts";
    /// The agent sends `ask` and `done.state`, and understands `answer`.
    pub const INPUT: &str = "input";
    /// Messages carry `meta`, and the agent tells its requests apart.
    pub const META: &str = "meta";
    /// All of them.
    pub const ALL: [&str; 4] = [RESUME, ARTIFACTS, INPUT, META];
}

/// Why a frame or body was refused, with as much of it as an answer needs to name it.
///
/// What is repeated of the frame is cut to the length of an [`echo`](crate::echo).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// What kind of mistake it is.
    pub fault: Fault,
    /// The frame's `type`, if it could be read; bodies have none.
    pub frame_type: Option<Box<str>>,
    /// The field that is wrong, if it is one.
    pub field: Option<Box<str>>,
    /// What is wrong, as the end of a sentence about the field or the frame.
    pub problem: String,
    /// The frame's `request_id`, if it could be read.
    pub request_id: Option<Box<str>>,
    /// The frame's `call_id`, if it could be read.
    pub call_id: Option<Box<str>>,
}

impl Malformed {
    /// A mistake in the body of a request.
    fn in_body(field: Option<&str>, fault: Fault, problem: impl Into<String>) -> Self {
        Malformed {
            fault,
            frame_type: None,
            field: field.map(Into::into),
            problem: problem.into(),
            request_id: None,
            call_id: None,
        }
    }

    /// The `error` frame that tells the sender.
    pub fn to_frame(&self) -> String {
        let message = self.to_string();
        downlink::error(&downlink::HubError {
            code: ErrorCode::InvalidMessage.name().into(),
            message: message.into(),
            request_id: self.request_id.as_deref().map(Into::into),
            call_id: self.call_id.as_deref().map(Into::into),
            field: self.field.as_deref().map(Into::into),
            frame_type: self.frame_type.as_deref().map(Into::into),
        })
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (frame_type, field) = (self.frame_type.as_deref(), self.field.as_deref());
        write_mistake(f, frame_type, field, &self.problem)
    }
}

impl std::error::Error for Malformed {}

/// Whether agents can use `id` as the name of a folder: 1 to 128 of `A-Z a-z 0-9 . _ -`, not starting with a dot.
///
/// The published client joins it to a path as it is, so anything else could lead out of its workspace.
pub fn is_safe_client_id(id: &str) -> bool {
    (1..=MAX_CLIENT_ID).contains(&id.len())
        && !id.starts_with('.')
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// What [`is_safe_client_id`] asks for, as the end of a sentence.
pub const SAFE_CLIENT_ID: &str = "must have 1 to 128 of A-Z a-z 0-9 . _ - and not begin with a dot";

/// How the ids of clients begin that hubs give to agents that call.
pub const CLIENT_OF_AGENT: &str = "agent.";

/// Whether a caller may say that it is this client: the id is [safe](is_safe_client_id), and none of an agent.
pub fn is_free_client_id(id: &str) -> bool {
    let begins = id.get(..CLIENT_OF_AGENT.len());
    // Folders of some systems do not tell upper case from lower case.
    let is_of_agent = begins.is_some_and(|it| it.eq_ignore_ascii_case(CLIENT_OF_AGENT));
    is_safe_client_id(id) && !is_of_agent
}

/// What [`is_free_client_id`] asks for, as the end of a sentence.
pub const FREE_CLIENT_ID: &str =
    "must have 1 to 128 of A-Z a-z 0-9 . _ - and not begin with a dot or with \"agent.\"";

/// Writes one object of the given type into a string of about the right size.
fn frame(frame_type: &str, size_hint: usize, fill: impl FnOnce(&mut ObjectWriter<'_>)) -> String {
    /// Room for braces, field names, a frame type and two ids; texts come on top.
    const OVERHEAD: usize = 192;
    let mut out = String::with_capacity(OVERHEAD + size_hint);
    let mut object = ObjectWriter::open(&mut out);
    object.text("type", frame_type);
    fill(&mut object);
    object.close();
    out
}

/// Adds what says of which kind a chunk is; empty texts count as absent.
fn put_kind(
    object: &mut ObjectWriter<'_>,
    kind: Option<&str>,
    tool_name: Option<&str>,
    tool_call_id: Option<&str>,
) {
    let given = |text: &&str| !text.is_empty();
    object
        .maybe_text("kind", kind.filter(given))
        .maybe_text("tool_name", tool_name.filter(given))
        .maybe_text("tool_call_id", tool_call_id.filter(given));
}
