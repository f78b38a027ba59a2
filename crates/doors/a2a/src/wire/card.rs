//! The card of an agent: who it is, what it can do and where it is called. Written for readers of both generations of
//! the official protocol, or of one; `signature.rs` has what is signed of it and how that is written. Cards that others
//! wrote are read by `read.rs`, and what may be signed of those is in `forms.rs`.

mod canonical;
mod forms;
mod read;
mod signature;
#[cfg(test)]
mod tests;
mod write;

use serde::Serialize;
use serde_json::value::RawValue;

pub(crate) use self::forms::forms;
pub(crate) use self::read::{ForeignCard, ForeignSkill, Generation};
pub(crate) use self::signature::{Header, PublicKey, Signature};
use super::official::Version;

/// Where a card is found, below the URL of its agent.
pub(crate) const PATH: &str = "/.well-known/agent-card.json";
/// Where it was found before version 0.3.
pub(crate) const OLD_PATH: &str = "/.well-known/agent.json";
/// Where the keys are found that sign the cards.
pub(crate) const KEYS_PATH: &str = "/.well-known/jwks.json";

/// The name under which a card speaks of the one way to show a token: that of the only field of `OfBearer`.
const BEARER: &str = "bearer";

/// Whom a card is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reader {
    /// Anybody: the fields of both generations, each of which ignores the other's.
    Any,
    /// Readers of one version, which may refuse what they do not know.
    Of(Version),
}

impl Reader {
    fn takes(self, version: Version) -> bool {
        match self {
            Self::Any => true,
            Self::Of(wanted) => wanted == version,
        }
    }
}

/// How requests are put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Binding {
    /// JSON-RPC at the URL itself.
    JsonRpc,
    /// Paths below the URL.
    HttpJson,
    /// gRPC; the URL is host and port.
    Grpc,
}

impl Binding {
    /// Its name in cards of both generations.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Grpc => "GRPC",
        }
    }

    /// Reads a name, in whichever case.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let all = [Self::JsonRpc, Self::HttpJson, Self::Grpc];
        all.into_iter()
            .find(|binding| binding.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// A place where the agent is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    /// The place.
    pub url: String,
    /// How requests are put there.
    pub binding: Binding,
    /// The version that is spoken there.
    pub version: Version,
    /// What requests must name as `tenant`.
    pub tenant: Option<String>,
}

/// Who provides the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Provider {
    /// Its name.
    pub organization: String,
    /// Its address.
    pub url: String,
}

/// A protocol extension.
#[derive(Debug, Clone)]
pub(crate) struct Extension {
    /// Its name.
    pub uri: String,
    /// What the agent does with it.
    pub description: Option<String>,
    /// Whether only those may call who declare it.
    pub required: bool,
    /// Its settings, an object.
    pub params: Option<Box<RawValue>>,
}

/// What the agent can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skill {
    /// Its id.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Words by which it is found.
    pub tags: Vec<String>,
    /// Requests that it can serve.
    pub examples: Vec<String>,
    /// The media types that it takes; those of the agent if empty.
    pub input_modes: Vec<String>,
    /// The media types that it answers in; those of the agent if empty.
    pub output_modes: Vec<String>,
}

/// The card of an agent. Texts that are required should not be empty: verifiers disagree on whether to sign those.
#[derive(Debug, Clone)]
pub(crate) struct Card {
    /// A name for people.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its own version.
    pub version: String,
    /// Where it is called, the best place first. There must be one.
    pub interfaces: Vec<Interface>,
    /// Who provides it.
    pub provider: Option<Provider>,
    /// More about it.
    pub documentation_url: Option<String>,
    /// A picture of it.
    pub icon_url: Option<String>,
    /// Whether callers are told of changes by requests to their own servers.
    pub pushes: bool,
    /// The extensions that it knows.
    pub extensions: Vec<Extension>,
    /// Whether callers must show a token.
    pub needs_token: bool,
    /// The media types that it takes.
    pub input_modes: Vec<String>,
    /// The media types that it answers in.
    pub output_modes: Vec<String>,
    /// What it can do.
    pub skills: Vec<Skill>,
    /// Who vouches for it.
    pub signatures: Vec<Signature>,
}
