//! Details of a remote A2A server in the form of the API.

use jackfield_core::units::Span;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    RemoteEndpoint,
    find::FoundCard,
    remote::{Remote, RemoteStatus},
    spec::Auth,
    verify::SignatureCheck,
};

/// Details of a remote A2A server, besides the fields that every remote has.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = A2aRemote)]
pub(in crate::dial) struct RemoteDetails {
    /// Time when the remote was added, or when the hub started with a configured remote.
    #[schema(value_type = String, format = DateTime)]
    added_at: Timestamp,
    /// Time of the last change of the state.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// Facts from the card at the last fetch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    card: Option<CardView>,
    /// Credentials for the server: the locations of the secrets, not the secrets.
    auth: Auth,
    /// Timeout for a silent server during a call, if set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = super::describe::span, required = false)]
    timeout: Option<Span>,
}

/// Facts from a remote's card.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RemoteCard)]
struct CardView {
    /// URL of the card.
    url: String,
    /// The agent's name.
    name: String,
    /// URL of the agent's endpoint.
    called_at: String,
    /// Protocol binding: `JSONRPC`, `HTTP+JSON` or `GRPC`.
    binding: &'static str,
    /// Version of A2A.
    version: &'static str,
    /// Value of `tenant` in requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tenant: Option<String>,
    /// True if the server supports streaming.
    streams: bool,
    /// Result of the signature check.
    signature: SignatureView,
    /// Warnings for the operator.
    warnings: Vec<String>,
}

/// Result of a signature check.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
#[schema(as = CardSignature)]
enum SignatureView {
    /// The card has no signatures.
    None,
    /// A signature is valid.
    Verified {
        /// Id of the key; empty if the key has no id.
        kid: String,
        /// URL of the key set.
        jku: String,
    },
    /// The signature could not be checked.
    Unverified {
        /// Reason.
        why: String,
    },
    /// The signature does not match the card.
    Bad {
        /// Reason.
        why: String,
    },
}

impl RemoteDetails {
    pub(in crate::dial) fn of(remote: &Remote, known: &RemoteStatus) -> Self {
        Self {
            added_at: remote.added_at,
            since: known.since,
            card: known.found.as_deref().map(CardView::of),
            auth: remote.spec.auth.clone(),
            timeout: remote.spec.timeout,
        }
    }
}

impl CardView {
    fn of(found: &FoundCard) -> Self {
        let RemoteEndpoint {
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
    fn of(signed: &SignatureCheck) -> Self {
        match signed.clone() {
            SignatureCheck::None => Self::None,
            SignatureCheck::Verified { kid, jku } => Self::Verified { kid, jku },
            SignatureCheck::Unverified(why) => Self::Unverified { why },
            SignatureCheck::Bad(why) => Self::Bad { why },
        }
    }
}
