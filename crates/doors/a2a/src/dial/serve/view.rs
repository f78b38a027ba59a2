//! What is told of a remote.

use jackfield_core::units::Span;
use jackfield_model::{AgentId, Owner};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    Place,
    find::Found,
    remote::{Remote, RemoteState},
    spec::Auth,
    verify::Signed,
};

/// The remotes of a hub.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RemoteList {
    /// By id.
    pub(super) remotes: Vec<RemoteView>,
}

/// A server that the hub dials.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Remote)]
pub(super) struct RemoteView {
    /// The agent's id on this hub.
    #[schema(value_type = String)]
    id: AgentId,
    /// Whose it is.
    #[schema(value_type = String)]
    owner: Owner,
    /// What was typed.
    url: String,
    /// Whether it stands in the hub's configuration file.
    configured: bool,
    /// When it was added, or the hub was started with it.
    #[schema(value_type = String, format = DateTime)]
    added_at: Timestamp,
    /// How it stands.
    state: State,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// What last went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<ErrorThen>,
    /// What its card said when it was last fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    card: Option<CardView>,
    /// What the server is shown: where the secrets are, not what they are.
    auth: Auth,
    /// How long it may be silent on a call, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = super::describe::span, required = false)]
    timeout: Option<Span>,
}

/// How a remote stands.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = RemoteState)]
enum State {
    /// It is tried for the first time.
    Trying,
    /// It can be called.
    Online,
    /// It cannot be reached; it is tried again.
    Offline,
    /// Somebody has to do something; it is tried again all the same.
    Refused,
}

/// Something that went wrong.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RemoteError)]
struct ErrorThen {
    /// What.
    message: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
}

/// What a remote's card said.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RemoteCard)]
struct CardView {
    /// Where it was.
    url: String,
    /// The agent's name.
    name: String,
    /// Where the agent is called.
    called_at: String,
    /// How requests are put: `JSONRPC`, `HTTP+JSON` or `GRPC`.
    binding: &'static str,
    /// The version of A2A that is spoken.
    version: &'static str,
    /// What requests name as `tenant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tenant: Option<String>,
    /// Whether it streams.
    streams: bool,
    /// Who vouches for it.
    signature: SignatureView,
    /// What people should know.
    warnings: Vec<String>,
}

/// Who vouches for a card.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
#[schema(as = CardSignature)]
enum SignatureView {
    /// Nobody.
    None,
    /// The holder of a key.
    Verified {
        /// The key's id; empty if it has none.
        kid: String,
        /// Where it is published.
        jku: String,
    },
    /// Nobody knows: it could not be checked.
    Unverified {
        /// Why.
        why: String,
    },
    /// Nobody: the signature does not fit.
    Bad {
        /// Why.
        why: String,
    },
}

impl RemoteView {
    pub(super) fn of(remote: &Remote) -> Self {
        let known = remote.known();
        let error = known
            .last_error
            .map(|(at, message)| ErrorThen { message, at });
        Self {
            id: remote.id.clone(),
            owner: remote.owner.clone(),
            url: remote.spec.url.clone(),
            configured: remote.is_configured,
            added_at: remote.added_at,
            state: match known.state {
                RemoteState::Trying => State::Trying,
                RemoteState::Online => State::Online,
                RemoteState::Offline(_) => State::Offline,
                RemoteState::Refused(_) => State::Refused,
            },
            since: known.since,
            error,
            card: known.found.as_deref().map(CardView::of),
            auth: remote.spec.auth.clone(),
            timeout: remote.spec.timeout,
        }
    }
}

impl CardView {
    fn of(found: &Found) -> Self {
        let Place {
            url,
            binding,
            version,
            tenant,
            streams,
            dialect: _,
        } = found.place.clone();
        Self {
            url: found.url.clone(),
            name: found.profile.name.clone(),
            called_at: url,
            binding: binding.name(),
            version: version.name(),
            tenant,
            streams,
            signature: SignatureView::of(&found.signature),
            warnings: found.warnings.clone(),
        }
    }
}

impl SignatureView {
    fn of(signed: &Signed) -> Self {
        match signed.clone() {
            Signed::None => Self::None,
            Signed::Verified { kid, jku } => Self::Verified { kid, jku },
            Signed::Unverified(why) => Self::Unverified { why },
            Signed::Bad(why) => Self::Bad { why },
        }
    }
}
