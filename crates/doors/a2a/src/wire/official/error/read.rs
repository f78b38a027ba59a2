//! Reading: what a server says went wrong, in whatever binding and version it says so.

use jackfield_wire::{json, read};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::fields::{integer, number},
    Fault, Kind,
    body::DOMAIN,
};

/// All kinds, for finding one by its code or reason.
const ALL: [Kind; 20] = [
    Kind::Parse,
    Kind::InvalidRequest,
    Kind::MethodNotFound,
    Kind::InvalidParams,
    Kind::Internal,
    Kind::TaskNotFound,
    Kind::TaskNotCancelable,
    Kind::PushNotSupported,
    Kind::Unsupported,
    Kind::ContentType,
    Kind::InvalidAgentResponse,
    Kind::NoExtendedCard,
    Kind::ExtensionRequired,
    Kind::VersionNotSupported,
    Kind::Unauthenticated,
    Kind::AgentNotFound,
    Kind::TooLarge,
    Kind::Busy,
    Kind::Unavailable,
    Kind::Conflict,
];

/// What a server that gives no words is taken to say.
const SAID_NOTHING: &str = "the server gave no reason";

impl Kind {
    /// The kind of this code in JSON-RPC; a code that is nobody's is something that broke.
    pub(crate) fn from_code(code: i64) -> Self {
        // The codes are not all different: of those that share one, the first is the protocol's own.
        let of_code = |kind: &&Kind| Fault::new(**kind, "").code() == code;
        match code {
            // Left to each server, so it says nothing.
            -32000 => Self::Internal,
            _ => ALL.iter().find(of_code).copied().unwrap_or(Self::Internal),
        }
    }

    /// The kind of this reason.
    pub(crate) fn from_reason(reason: &str) -> Option<Self> {
        ALL.iter().find(|kind| kind.reason() == reason).copied()
    }

    /// The same kind, unless it is something that broke and the words are those of the JavaScript library: one build of it
    /// does not know its own errors, and loses their codes.
    fn or_by_words(self, message: &str) -> Self {
        match self {
            Self::Internal if message.starts_with("Task not found: ") => Self::TaskNotFound,
            Self::Internal if message.starts_with("Task not cancelable: ") => {
                Self::TaskNotCancelable
            }
            _ => self,
        }
    }

    /// The kind that a status over HTTP is nearest to, where nothing else tells.
    fn from_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Unauthenticated,
            404 => Self::TaskNotFound,
            405 => Self::MethodNotFound,
            409 => Self::TaskNotCancelable,
            413 => Self::TooLarge,
            415 => Self::ContentType,
            422 => Self::InvalidParams,
            429 => Self::Busy,
            400..=499 => Self::InvalidRequest,
            501 => Self::Unsupported,
            502 => Self::InvalidAgentResponse,
            503 | 504 => Self::Unavailable,
            _ => Self::Internal,
        }
    }
}

impl Fault {
    /// What an error of JSON-RPC says. What it tells programs may say more than the code.
    pub(crate) fn from_rpc(code: i64, message: impl Into<String>, data: Option<&RawValue>) -> Self {
        let message = message.into();
        let by_code = || Kind::from_code(code).or_by_words(&message);
        let kind = data.and_then(reason_in).unwrap_or_else(by_code);
        Self::new(kind, message)
    }

    /// What the body of a response over HTTP says went wrong, in the forms of both versions and of common servers; `None`
    /// if it is nothing of the kind.
    pub(crate) fn from_rest(status: u16, body: &RawValue) -> Option<Self> {
        let outer: ErrorIn<'_> = read::read_part(body).ok()?;
        let inner = outer.error.and_then(|error| read::read_part(error).ok());
        let error: &ErrorIn<'_> = inner.as_ref().unwrap_or(&outer);
        let message = match outer.error.and_then(json::str_of) {
            Some(message) => message.into_owned(),
            None => error.said()?,
        };
        let reason = [error.details, error.data]
            .into_iter()
            .flatten()
            .find_map(reason_in);
        let code = error.code.and_then(number);
        let kind = match (reason, code) {
            (Some(kind), _) => kind,
            // Those of HTTP are positive, and say what the status does.
            (None, Some(code)) if code < 0 => Kind::from_code(code).or_by_words(&message),
            _ => Kind::from_status(status),
        };
        Some(Self::new(kind, message))
    }
}

/// An error over HTTP as it is written: the names of the protocol, and those of frameworks and problem reports.
#[derive(Debug, Deserialize)]
struct ErrorIn<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    detail: Option<&'a RawValue>,
    #[serde(borrow)]
    title: Option<&'a RawValue>,
    #[serde(borrow)]
    details: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

impl ErrorIn<'_> {
    /// Its words: the protocol's `message`, or what others call them.
    fn said(&self) -> Option<String> {
        if let Some(message) = self.message.and_then(json::str_of) {
            return Some(message.into_owned());
        }
        if let Some(detail) = self.detail {
            return Some(match json::str_of(detail) {
                Some(text) => text.into_owned(),
                // A list of mistakes.
                None => json::compact(detail),
            });
        }
        if let Some(title) = self.title.and_then(json::str_of) {
            return Some(title.into_owned());
        }
        let has_code = self.code.is_some_and(|code| integer(code.get()).is_some());
        has_code.then(|| SAID_NOTHING.to_owned())
    }
}

/// The reason of an error, and whose it is.
#[derive(Debug, Deserialize)]
struct ReasonIn<'a> {
    #[serde(borrow)]
    domain: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
}

/// The reason in what is said to programs: an object that has it, or a list of which one element does.
fn reason_in(data: &RawValue) -> Option<Kind> {
    let of_object = |raw: &RawValue| {
        let given: ReasonIn<'_> = read::read_part(raw).ok()?;
        let domain = given.domain.and_then(json::str_of);
        let is_ours = domain.is_none_or(|domain| domain == DOMAIN);
        let reason = given.reason.and_then(json::str_of).filter(|_| is_ours)?;
        Kind::from_reason(&reason)
    };
    match json::elements(data) {
        Some(details) => details.into_iter().find_map(of_object),
        None => of_object(data),
    }
}
