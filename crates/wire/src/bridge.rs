//! The Agent Mesh Bridge Protocol, versions 1 and 2 (seed 004): frames between agents and the hub.
//!
//! [`uplink`] holds the frames of agents, [`downlink`] the frames of the hub. Frames are both read and
//! written here, because the SDK is an agent of the same protocol. The HTTP types of platforms and hub live
//! in the bridge door. A hub translates these frames and relays none of them, therefore unknown fields are
//! ignored, except on `rtc_signal`, which is sent to another agent.
//!
//! Beyond the seed: version 2, which the published clients speak; `error` from the hub for a refused frame;
//! and the [`extension`]s, which are sent only to peers that announced them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;

use crate::echo;
use crate::json::RawMembers;
use crate::read::{FieldError, FieldErrorKind, read};

mod attachment;
pub mod code;
pub mod downlink;
mod refusal;
#[cfg(test)]
mod tests;
pub mod uplink;

pub use attachment::Attachment;
pub use code::BridgeErrorCode;
pub use downlink::{Downlink, parse_downlink};
pub use refusal::RegisterRefusal;
pub use uplink::{Uplink, parse};

/// The version that Jackfield's agents speak and refusals name.
pub const VERSION: u32 = 2;

/// Maximum length of a `client_id`; agents create a folder of this name.
pub const MAX_CLIENT_ID: usize = 128;

/// Names of Jackfield's extensions, as agents announce them and the hub confirms them.
pub mod extension {
    /// Frames are numbered and acknowledged, and a lost connection can be resumed.
    pub const RESUME: &str = "resume";
    /// The agent sends `artifact`.
    pub const ARTIFACTS: &str = "artifacts";
    /// The agent sends `ask` and `done.state`, and understands `answer`.
    pub const INPUT: &str = "input";
    /// Messages carry `meta`, and the agent distinguishes its requests.
    pub const META: &str = "meta";
    /// All extensions.
    pub const ALL: [&str; 4] = [RESUME, ARTIFACTS, INPUT, META];
}

/// Error for a refused frame, with the ids that an answer needs to name the frame.
///
/// Text repeated from the frame is cut to the length of an [`echo()`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedFrame {
    /// The wrong field and the problem with it.
    pub misread: FieldError,
    /// The frame's `type`, if it could be read.
    pub frame_type: Option<Box<str>>,
    /// The frame's `request_id`, if it could be read.
    pub request_id: Option<Box<str>>,
    /// The frame's `call_id`, if it could be read.
    pub call_id: Option<Box<str>>,
}

impl MalformedFrame {
    /// Creates the error for a frame, with all ids that can be read.
    #[cold]
    fn of(text: &str, misread: FieldError) -> Self {
        let members: RawMembers<'_> = serde_json::from_str(text).unwrap_or_default();
        let echoed = |name| members.text(name).map(|text| echo(&text).into());
        MalformedFrame {
            misread,
            frame_type: echoed("type"),
            request_id: echoed("request_id"),
            call_id: echoed("call_id"),
        }
    }

    /// Returns whether the text is not a JSON object.
    pub fn is_not_an_object(&self) -> bool {
        self.misread.mistake == FieldErrorKind::Syntax || self.field().is_none()
    }

    /// Returns the path of the wrong field; `None` if the frame itself is wrong.
    pub fn field(&self) -> Option<&str> {
        self.misread.field()
    }

    /// Returns the [`error`](downlink::error) frame for the sender.
    pub fn to_frame(&self) -> String {
        let message = self.to_string();
        downlink::error(&downlink::HubError {
            code: BridgeErrorCode::InvalidMessage.name().into(),
            message: message.into(),
            request_id: self.request_id.as_deref().map(Into::into),
            call_id: self.call_id.as_deref().map(Into::into),
            field: self.field().map(Into::into),
            frame_type: self.frame_type.as_deref().map(Into::into),
        })
    }
}

impl fmt::Display for MalformedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.misread.fmt_frame(self.frame_type.as_deref(), f)
    }
}

impl std::error::Error for MalformedFrame {}

/// Returns whether agents can use `id` as the name of a folder: 1 to 128 of `A-Z a-z 0-9 . _ -`, not starting
/// with a dot.
///
/// The published client appends the id to a path unchanged, therefore any other id could lead out of its
/// workspace.
pub fn is_safe_client_id(id: &str) -> bool {
    (1..=MAX_CLIENT_ID).contains(&id.len())
        && !id.starts_with('.')
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// Rule of [`is_safe_client_id`], as the end of a sentence.
pub const SAFE_CLIENT_ID_RULE: &str =
    "must have 1 to 128 of A-Z a-z 0-9 . _ - and not begin with a dot";

/// Prefix of the client ids that hubs give to calling agents.
pub const AGENT_CLIENT_PREFIX: &str = "agent.";

/// Returns whether a caller may use `id` as its client id: the id is [safe](is_safe_client_id) and does not
/// belong to an agent.
pub fn is_free_client_id(id: &str) -> bool {
    let begins = id.get(..AGENT_CLIENT_PREFIX.len());
    // Some file systems do not distinguish upper case from lower case.
    let is_of_agent = begins.is_some_and(|it| it.eq_ignore_ascii_case(AGENT_CLIENT_PREFIX));
    is_safe_client_id(id) && !is_of_agent
}

/// Rule of [`is_free_client_id`], as the end of a sentence.
pub const FREE_CLIENT_ID_RULE: &str =
    "must have 1 to 128 of A-Z a-z 0-9 . _ - and not begin with a dot or with \"agent.\"";

/// Estimated size of braces, field names, a frame type and two ids; texts are added.
const OVERHEAD: usize = 192;

/// The type of any frame.
#[derive(Deserialize)]
struct FrameTypeTag<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
}

/// Reads a frame after its depth was checked.
fn read_frame<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, FieldError> {
    read(text, usize::MAX)
}

/// For `skip_serializing_if`: returns whether the text is absent or empty.
#[expect(clippy::ref_option, reason = "as serde calls it")]
fn is_no_word(word: &Option<Cow<'_, str>>) -> bool {
    word.as_deref().is_none_or(str::is_empty)
}
