//! Schemas of the registry's bodies, for the description of its API only. The types that are read and written
//! stand in `jackfield_peer::wire::registry`.

#![allow(dead_code, reason = "only their schemas are used")]

use utoipa::ToSchema;

/// A peer to register.
#[derive(ToSchema)]
#[schema(as = PeerRegistration)]
pub(super) struct RegistrationBody {
    /// Peer id.
    peer_id: String,
    /// Name of the agent; by default the name on its card.
    #[schema(nullable = false)]
    agent_name: Option<String>,
    /// Multiaddrs that end in `/p2p/` and the peer id. Also called `addrs` or `multiaddresses`.
    #[schema(max_items = 16)]
    addresses: Vec<String>,
    /// Skills of the agent. Also called `skills`.
    #[schema(nullable = false, max_items = 64)]
    capabilities: Option<Vec<String>>,
    /// Card of the agent.
    #[schema(nullable = false, value_type = Option<Object>)]
    card: Option<()>,
    /// Lifetime in seconds: 600 by default, a day at most.
    #[schema(nullable = false)]
    ttl: Option<u64>,
    #[serde(flatten)]
    proof: ProofBody,
}

/// A heartbeat of a registered peer.
#[derive(ToSchema)]
#[schema(as = PeerHeartbeat)]
pub(super) struct HeartbeatBody {
    /// Peer id.
    peer_id: String,
    /// New lifetime in seconds; by default the registered one.
    #[schema(nullable = false)]
    ttl: Option<u64>,
    #[serde(flatten)]
    proof: ProofBody,
}

/// Proof that the sender holds the peer's key; not needed with a token.
#[derive(ToSchema)]
#[schema(as = PeerProof)]
pub(super) struct ProofBody {
    /// Challenge of the registry.
    #[schema(nullable = false)]
    challenge: Option<String>,
    /// Signature in base64, made with the peer's key over these lines: `jackfield-registry`, `register`,
    /// `renew` or `remove`, the peer id, the challenge, and to register the name and each address.
    #[schema(nullable = false)]
    signature: Option<String>,
    /// Public key in base64, for peers whose id is only a hash of the key.
    #[schema(nullable = false)]
    public_key: Option<String>,
}

/// A challenge to sign.
#[derive(ToSchema)]
#[schema(as = PeerChallenge)]
pub(super) struct ChallengeBody {
    /// Peer that may sign the challenge.
    peer_id: String,
    /// The challenge. Valid for two minutes and one request.
    challenge: String,
}

/// A registered peer.
#[derive(ToSchema)]
#[schema(as = PeerRegistered)]
pub(super) struct RegisteredBody {
    /// Always `registered`.
    status: String,
    /// Peer id.
    peer_id: String,
    /// End of the registration.
    expires_at: String,
}

/// A registered peer.
#[derive(ToSchema)]
#[schema(as = Peer)]
pub(super) struct PeerBody {
    /// Name of the agent.
    agent_name: String,
    /// Peer id.
    peer_id: String,
    /// Multiaddrs of the peer.
    addresses: Vec<String>,
    /// Multiaddrs of the peer, as some clients call them.
    addrs: Vec<String>,
    /// Multiaddrs of the peer, as some clients call them.
    multiaddresses: Vec<String>,
    /// Skills, by id or name.
    capabilities: Vec<String>,
    /// Start of the registration under this name.
    #[schema(nullable = false)]
    registered_at: Option<String>,
    /// End of the registration.
    #[schema(nullable = false)]
    expires_at: Option<String>,
}

/// A list of peers.
#[derive(ToSchema)]
#[schema(as = PeerList)]
pub(super) struct PeersBody {
    /// The matching peers. With `agent_name`, the fields of the first peer stand beside this list. With
    /// `format=list`, the response is the bare list.
    peers: Vec<PeerBody>,
}

/// A search by goal.
#[derive(ToSchema)]
#[schema(as = Goal)]
pub(super) struct GoalBody {
    /// The goal in plain words.
    goal: String,
}

/// An agent that matches.
#[derive(ToSchema)]
#[schema(as = FoundAgent)]
pub(super) struct FoundAgentBody {
    /// Name of the agent. For an agent of this hub, the id of a skill in the hub's card.
    name: String,
    /// Description of the agent.
    description: String,
    /// Version of the agent; may be empty.
    version: String,
    /// Address of the agent's peer.
    endpoint: String,
    /// Peer id of the agent, or of the hub in front of the agent.
    peer_id: String,
}

/// A skill that matches.
#[derive(ToSchema)]
#[schema(as = FoundTool)]
pub(super) struct FoundToolBody {
    /// Name of the skill.
    name: String,
    /// Version of the skill's agent; may be empty.
    version: String,
    /// Always empty.
    #[schema(value_type = Object)]
    default_parameters: (),
    /// JSON schema of the input.
    #[schema(value_type = Object)]
    parameters_spec: (),
    /// The skill as a function specification for models.
    #[schema(value_type = Object)]
    openai_function_spec: (),
}

/// An error.
#[derive(ToSchema)]
#[schema(as = RegistryError)]
pub(super) struct ErrorBody {
    /// What went wrong, and what to do.
    error: String,
    /// Challenge that the peer could sign to be accepted.
    #[schema(nullable = false)]
    challenge: Option<String>,
}
