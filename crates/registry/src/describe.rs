//! The registry's bodies, for the description of its API only; what is read and written is the wire's.

#![allow(dead_code, reason = "only their schemas are used")]

use utoipa::ToSchema;

/// A peer that is to be found.
#[derive(ToSchema)]
#[schema(as = PeerRegistration)]
pub(super) struct RegistrationBody {
    /// The peer.
    peer_id: String,
    /// What it is called; the name of its card if left out.
    #[schema(nullable = false)]
    agent_name: Option<String>,
    /// Where it is: multiaddrs that end in `/p2p/` and its id. Also called `addrs` or `multiaddresses`.
    #[schema(max_items = 16)]
    addresses: Vec<String>,
    /// What it can do. Also called `skills`.
    #[schema(nullable = false, max_items = 64)]
    capabilities: Option<Vec<String>>,
    /// Its card.
    #[schema(nullable = false, value_type = Option<Object>)]
    card: Option<()>,
    /// For how many seconds this holds: 600 if left out, a day at most.
    #[schema(nullable = false)]
    ttl: Option<u64>,
    #[serde(flatten)]
    proof: ProofBody,
}

/// That a peer is still there.
#[derive(ToSchema)]
#[schema(as = PeerHeartbeat)]
pub(super) struct HeartbeatBody {
    /// The peer.
    peer_id: String,
    /// For how many seconds this holds: as long as it was registered for if left out.
    #[schema(nullable = false)]
    ttl: Option<u64>,
    #[serde(flatten)]
    proof: ProofBody,
}

/// That whoever asks holds the peer's key; not needed with a token.
#[derive(ToSchema)]
#[schema(as = PeerProof)]
pub(super) struct ProofBody {
    /// The registry's challenge.
    #[schema(nullable = false)]
    challenge: Option<String>,
    /// In base64: the lines `jackfield-registry`, `register`, `renew` or `remove`, the peer id, the challenge, and to
    /// register the name and each address, signed with the peer's key.
    #[schema(nullable = false)]
    signature: Option<String>,
    /// In base64, for peers whose id is only a hash of it.
    #[schema(nullable = false)]
    public_key: Option<String>,
}

/// What is to be signed.
#[derive(ToSchema)]
#[schema(as = PeerChallenge)]
pub(super) struct ChallengeBody {
    /// The peer that it is for.
    peer_id: String,
    /// The challenge. It ends after two minutes, and is good for one request.
    challenge: String,
}

/// A peer that can be found now.
#[derive(ToSchema)]
#[schema(as = PeerRegistered)]
pub(super) struct RegisteredBody {
    /// Always `registered`.
    status: String,
    /// The peer.
    peer_id: String,
    /// Until when.
    expires_at: String,
}

/// A peer.
#[derive(ToSchema)]
#[schema(as = Peer)]
pub(super) struct PeerBody {
    /// What it is called.
    agent_name: String,
    /// The peer.
    peer_id: String,
    /// Where it is.
    addresses: Vec<String>,
    /// The same.
    addrs: Vec<String>,
    /// The same.
    multiaddresses: Vec<String>,
    /// What it can do.
    capabilities: Vec<String>,
    /// Since when it has this name.
    #[schema(nullable = false)]
    registered_at: Option<String>,
    /// Until when it can be found.
    #[schema(nullable = false)]
    expires_at: Option<String>,
}

/// Peers.
#[derive(ToSchema)]
#[schema(as = PeerList)]
pub(super) struct PeersBody {
    /// All that were found. With `agent_name` the members of the first of them stand beside this; with `format=list` the
    /// list is all there is.
    peers: Vec<PeerBody>,
}

/// What somebody is sought for.
#[derive(ToSchema)]
#[schema(as = Goal)]
pub(super) struct GoalBody {
    /// In plain words.
    goal: String,
}

/// An agent that was found.
#[derive(ToSchema)]
#[schema(as = FoundAgent)]
pub(super) struct FoundAgentBody {
    /// What it is called; the id of a skill in the card of the peer, where it is an agent of this hub.
    name: String,
    /// What it is.
    description: String,
    /// Its version; may be empty.
    version: String,
    /// Where its peer is.
    endpoint: String,
    /// The peer that it is, or that it is behind.
    peer_id: String,
}

/// A skill that was found.
#[derive(ToSchema)]
#[schema(as = FoundTool)]
pub(super) struct FoundToolBody {
    /// What it is called.
    name: String,
    /// The version of its agent; may be empty.
    version: String,
    /// Always empty.
    #[schema(value_type = Object)]
    default_parameters: (),
    /// The JSON schema of what it takes.
    #[schema(value_type = Object)]
    parameters_spec: (),
    /// The same as models want it.
    #[schema(value_type = Object)]
    openai_function_spec: (),
}

/// What is wrong.
#[derive(ToSchema)]
#[schema(as = RegistryError)]
pub(super) struct ErrorBody {
    /// What happened and what to do about it.
    error: String,
    /// What the peer could sign to be believed.
    #[schema(nullable = false)]
    challenge: Option<String>,
}
