//! Card of an agent: identity, skills and interfaces. A card is written for readers of both generations of
//! the official protocol, or of a single generation.
//!
//! - [`mod@write`]: writing of cards, [`signature`]: the signed text and the form of signatures
//! - [`read`]: reading of cards from other authors, [`mod@forms`]: the texts that their signatures may
//!   cover
//! - [`canonical`]: the canonical form of JSON

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
pub(crate) use self::signature::{JwsHeader, PublicKey, Signature};
use super::official::A2aVersion;

/// Path segments that may precede an agent's id, at this hub and in an AgentOS of Agno. All kinds share the
/// same ids: teams and workflows are ordinary agents.
pub(crate) const KINDS: [&str; 3] = ["agents", "teams", "workflows"];

/// Path of a card below its agent's URL.
pub(crate) const PATH: &str = "/.well-known/agent-card.json";
/// Path of a card before version 0.3.
pub(crate) const OLD_PATH: &str = "/.well-known/agent.json";
/// Path of the keys that sign cards.
pub(crate) const KEYS_PATH: &str = "/.well-known/jwks.json";

/// Name of the only security scheme in a card; equals the name of the only field of `OfBearer`.
const BEARER: &str = "bearer";

/// Audience of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CardAudience {
    /// Any reader: the card has the fields of both generations, and readers ignore the fields of the other
    /// generation.
    Any,
    /// Readers of one version, which may refuse unknown fields.
    Of(A2aVersion),
}

impl CardAudience {
    fn takes(self, version: A2aVersion) -> bool {
        match self {
            Self::Any => true,
            Self::Of(wanted) => wanted == version,
        }
    }
}

/// Protocol binding of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Binding {
    /// JSON-RPC at the URL itself.
    JsonRpc,
    /// REST: paths below the URL.
    HttpJson,
    /// gRPC; the URL is host and port.
    Grpc,
}

impl Binding {
    /// Returns the name of the binding in cards of both generations.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Grpc => "GRPC",
        }
    }

    /// Parses a name, ignoring case.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let all = [Self::JsonRpc, Self::HttpJson, Self::Grpc];
        all.into_iter()
            .find(|binding| binding.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// Interface at which the agent is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    /// URL of the interface.
    pub url: String,
    /// Binding of the interface.
    pub binding: Binding,
    /// Protocol version of the interface.
    pub version: A2aVersion,
    /// Required value of `tenant` in requests.
    pub tenant: Option<String>,
}

/// Provider of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Provider {
    /// Name of the provider.
    pub organization: String,
    /// URL of the provider.
    pub url: String,
}

/// Protocol extension.
#[derive(Debug, Clone)]
pub(crate) struct CardExtension {
    /// URI of the extension.
    pub uri: String,
    /// Description of the agent's use of the extension.
    pub description: Option<String>,
    /// True if callers must declare the extension.
    pub required: bool,
    /// Settings of the extension, an object.
    pub params: Option<Box<RawValue>>,
}

/// Skill of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CardSkill {
    /// Id of the skill.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Search tags.
    pub tags: Vec<String>,
    /// Example requests.
    pub examples: Vec<String>,
    /// Accepted media types; empty for the agent's own.
    pub input_modes: Vec<String>,
    /// Produced media types; empty for the agent's own.
    pub output_modes: Vec<String>,
}

/// Card of an agent. Required texts should not be empty: verifiers disagree on whether empty texts are
/// signed.
#[derive(Debug, Clone)]
pub(crate) struct A2aCard {
    /// Display name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Version of the agent.
    pub version: String,
    /// Interfaces, preferred first; at least one.
    pub interfaces: Vec<Interface>,
    /// Provider of the agent.
    pub provider: Option<Provider>,
    /// URL of the documentation.
    pub documentation_url: Option<String>,
    /// URL of an icon.
    pub icon_url: Option<String>,
    /// True if the agent supports push notifications.
    pub pushes: bool,
    /// Supported extensions.
    pub extensions: Vec<CardExtension>,
    /// True if callers must send a token.
    pub needs_token: bool,
    /// Accepted media types.
    pub input_modes: Vec<String>,
    /// Produced media types.
    pub output_modes: Vec<String>,
    /// Skills of the agent.
    pub skills: Vec<CardSkill>,
    /// Signatures of the card.
    pub signatures: Vec<Signature>,
}
