//! Table of protocol pairs: which features pass between a caller and an agent. Joins the [`Column`]s of all
//! doors. `jackfield show --calls` prints the rows for two agents, `docs/protocols/matrix.md` is generated
//! from the table, and tests check every cell.

mod page;

use jackfield_kit::matrix::Column;
pub use jackfield_kit::matrix::{Support, Topic};

pub use self::page::page;

/// Columns, in the order of the table. Protocols that only have callers come last, and have rows only.
pub const COLUMNS: &[&Column] = &[
    &jackfield_agora::MATRIX,
    &jackfield_bridge::MATRIX,
    &jackfield_a2a::MATRIX,
    &jackfield_team::MATRIX,
    #[cfg(feature = "p2p")]
    &jackfield_p2p::MATRIX,
    &jackfield_openai::MATRIX,
    &jackfield_acp::MATRIX,
];

/// Returns the columns of all protocols that have agents, in the order of the table.
pub fn agents() -> impl Iterator<Item = &'static Column> {
    let columns = COLUMNS.iter().copied();
    columns.filter(|column| column.agent.is_some())
}

/// Returns the [`Column`] of a protocol. `None` if the table does not have the protocol.
pub fn column(protocol: &str) -> Option<&'static Column> {
    let mut columns = COLUMNS.iter().copied();
    columns.find(|column| column.protocol == protocol)
}

/// Returns the [`Column`] of agents that connected through `door`. Agents of the SDK and of `connect` speak
/// the bridge's protocol. `None` for doors without agents.
pub fn agent_column(door: &str) -> Option<&'static Column> {
    let protocol = match door {
        "own" | "sdk" | "local" => jackfield_bridge::DOOR,
        door => door,
    };
    column(protocol).filter(|column| column.agent.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_says_something() {
        for caller in COLUMNS {
            for agent in agents() {
                for topic in Topic::ALL {
                    let cell = caller.of(agent, topic).unwrap();
                    assert!(!cell.text().is_empty(), "{caller:?} {agent:?} {topic:?}");
                }
            }
        }
    }

    #[cfg(feature = "p2p")]
    #[test]
    fn the_lesser_of_both_sides_decides() {
        use Topic::{Ask, Kinds, Streamed};
        let word = |caller: &str, agent: &str, topic| {
            let (caller, agent) = (column(caller).unwrap(), column(agent).unwrap());
            caller.of(agent, topic).unwrap().word()
        };
        assert_eq!(word("a2a", "agora", Streamed), "full");
        assert_eq!(word("agora", "p2p", Kinds), "converted");
        assert_eq!(word("p2p", "agora", Kinds), "converted");
        assert_eq!(word("bridge", "a2a", Ask), "converted");
        assert_eq!(word("bridge", "p2p", Ask), "unsupported");
        assert_eq!(word("p2p", "bridge", Ask), "unsupported");
    }

    #[test]
    fn doors_have_a_column_and_agents_of_the_sdk_have_that_of_the_bridge() {
        for expected in agents() {
            let found = agent_column(expected.protocol).unwrap();
            assert_eq!(found.protocol, expected.protocol);
        }
        assert_eq!(agent_column("own").unwrap().protocol, "bridge");
        assert!(agent_column("mcp").is_none());
    }

    #[test]
    fn a_protocol_without_agents_is_called_by_nobody() {
        let callers_only = Column {
            protocol: "callers",
            agent: None,
            ..jackfield_bridge::MATRIX
        };
        let bridge = column("bridge").unwrap();
        assert!(bridge.of(&callers_only, Topic::OneShot).is_none());
        assert!(callers_only.of(bridge, Topic::OneShot).is_some());
    }
}
