//! What passes between two agents by the protocols that they speak, and as what: one table, which `jackfield show --calls`
//! prints, `docs/protocols/matrix.md` is made from, and the matrix of tests holds the hub to. Pure.
//!
//! A cell is composed of two columns: what the agent's protocol can say (`says.rs`) and what the caller's can hear
//! (`hears.rs`). What is not so is in `apart.rs`.

mod apart;
mod hears;
mod page;
mod says;

use std::borrow::Cow;

pub use self::page::page;

/// A protocol that agents and callers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Agora's WebSocket.
    Agora,
    /// The bridge: its WebSocket for agents, its relay for callers.
    Bridge,
    /// A2A, as a caller of version 1.0 and as a server that the hub dials.
    A2a,
    /// The team stream: who speaks to a team on its socket, and a team that is called.
    Team,
    /// Handoffs between libp2p peers.
    P2p,
}

impl Protocol {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] = [Self::Agora, Self::Bridge, Self::A2a, Self::Team, Self::P2p];

    /// All pairs of a caller and an agent.
    pub fn pairs() -> impl Iterator<Item = (Self, Self)> {
        let with_all = |caller| Self::ALL.map(|callee| (caller, callee));
        Self::ALL.into_iter().flat_map(with_all)
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agora => "agora",
            Self::Bridge => "bridge",
            Self::A2a => "a2a",
            Self::Team => "team",
            Self::P2p => "p2p",
        }
    }

    /// The protocol of agents that came through this door; those of the SDK and of `connect` are the bridge's. Nothing for
    /// doors that have no agents.
    pub fn of_door(door: &str) -> Option<Self> {
        match door {
            "own" | "sdk" | "local" => Some(Self::Bridge),
            door => Self::ALL.into_iter().find(|it| it.name() == door),
        }
    }
}

/// What may pass between a caller and an agent, or happen to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matter {
    /// An answer that is given whole.
    OneShot,
    /// An answer in pieces, each as it comes.
    Streamed,
    /// Thinking, tools and status lines beside the answer.
    Kinds,
    /// A file that comes with the answer, as bytes.
    Attachment,
    /// A question of the agent.
    Ask,
    /// The caller wants no answer any more.
    CancelByCaller,
    /// The caller's connection is lost.
    CallerGone,
    /// The agent's connection is lost.
    AgentGone,
    /// The agent fails, with a code and words of its own.
    AgentError,
    /// Nothing comes for too long.
    Timeout,
    /// The caller does not read.
    SlowReader,
    /// There is no such agent.
    UnknownAgent,
    /// The agent is somebody else's and not shared.
    ForeignAgent,
}

impl Matter {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 13] = [
        Self::OneShot,
        Self::Streamed,
        Self::Kinds,
        Self::Attachment,
        Self::Ask,
        Self::CancelByCaller,
        Self::CallerGone,
        Self::AgentGone,
        Self::AgentError,
        Self::Timeout,
        Self::SlowReader,
        Self::UnknownAgent,
        Self::ForeignAgent,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneShot => "one-shot answer",
            Self::Streamed => "streamed answer",
            Self::Kinds => "thinking, tools, status",
            Self::Attachment => "attachment",
            Self::Ask => "question of the agent",
            Self::CancelByCaller => "cancel by the caller",
            Self::CallerGone => "caller gone",
            Self::AgentGone => "agent gone",
            Self::AgentError => "error of the agent",
            Self::Timeout => "timeout",
            Self::SlowReader => "slow reader",
            Self::UnknownAgent => "unknown agent",
            Self::ForeignAgent => "foreign agent",
        }
    }
}

/// How something passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passage {
    /// As what it is; the text says how it looks.
    Whole(Cow<'static, str>),
    /// As something less, which the text names.
    Folded(Cow<'static, str>),
    /// Not at all; the text says what happens instead.
    Not(Cow<'static, str>),
}

impl Passage {
    const fn whole(text: &'static str) -> Self {
        Self::Whole(Cow::Borrowed(text))
    }

    const fn folded(text: &'static str) -> Self {
        Self::Folded(Cow::Borrowed(text))
    }

    const fn not(text: &'static str) -> Self {
        Self::Not(Cow::Borrowed(text))
    }

    /// What it says to people.
    pub fn text(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Folded(text) | Self::Not(text) => text,
        }
    }

    /// One word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Whole(_) => "whole",
            Self::Folded(_) => "folded",
            Self::Not(_) => "not",
        }
    }
}

/// How something passes when a caller of one protocol calls an agent of another.
pub fn passage(caller: Protocol, callee: Protocol, matter: Matter) -> Passage {
    if let Some(passage) = apart::passage(caller, callee, matter) {
        return passage;
    }
    match (
        says::passage(callee, matter),
        hears::passage(caller, matter),
    ) {
        // What is not said cannot be heard.
        (not @ Passage::Not(_), _) | (_, not @ Passage::Not(_)) => not,
        (Passage::Whole(_), heard) => heard,
        (Passage::Folded(said), Passage::Whole(_)) => Passage::Folded(said),
        (Passage::Folded(said), Passage::Folded(heard)) => {
            Passage::Folded(format!("{said}; {heard}").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_says_something() {
        for (caller, callee) in Protocol::pairs() {
            for matter in Matter::ALL {
                let text = passage(caller, callee, matter).text().to_owned();
                assert!(!text.is_empty(), "{caller:?} {callee:?} {matter:?}");
            }
        }
    }

    #[test]
    fn the_less_of_both_sides_decides() {
        use Matter::{Ask, Kinds, Streamed};
        use Protocol::{A2a, Agora, Bridge, P2p};
        let word = |caller, callee, matter| passage(caller, callee, matter).word();
        assert_eq!(word(A2a, Agora, Streamed), "whole");
        assert_eq!(word(Agora, P2p, Kinds), "folded");
        assert_eq!(word(P2p, Agora, Kinds), "folded");
        assert_eq!(word(Bridge, A2a, Ask), "folded");
        assert_eq!(word(Bridge, P2p, Ask), "not");
        assert_eq!(word(P2p, Bridge, Ask), "not");
    }

    #[test]
    fn doors_are_protocols_and_agents_of_the_sdk_are_the_bridges() {
        for protocol in Protocol::ALL {
            assert_eq!(Protocol::of_door(protocol.name()), Some(protocol));
        }
        assert_eq!(Protocol::of_door("own"), Some(Protocol::Bridge));
        assert_eq!(Protocol::of_door("mcp"), None);
    }
}
