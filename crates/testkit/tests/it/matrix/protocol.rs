//! The protocols of this matrix.

use jackfield_hub::matrix::{Support, Topic, column};

/// A protocol of callers, and mostly of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Agora's WebSocket.
    Agora,
    /// The bridge: its WebSocket for agents, its relay for callers.
    Bridge,
    /// A2A, as a caller of version 1.0 and as a server that the hub dials.
    A2a,
    /// The team stream: a user of a team's socket, and a called team.
    Team,
    /// Handoffs between libp2p peers.
    P2p,
    /// OpenAI's API, which only has callers.
    OpenAi,
    /// Editors, which are callers only.
    Acp,
}

impl Protocol {
    /// The name of the protocol in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Agora => "agora",
            Self::Bridge => "bridge",
            Self::A2a => "a2a",
            Self::Team => "team",
            Self::P2p => "p2p",
            Self::OpenAi => "openai",
            Self::Acp => "acp",
        }
    }

    /// The table's cell for a caller of this protocol and an agent.
    pub(crate) fn calls(self, agent: Self, topic: Topic) -> Support {
        let column = |protocol: Self| column(protocol.name()).expect("every protocol has a column");
        let support = column(self).of(column(agent), topic);
        support.expect("the called protocol has agents")
    }
}
