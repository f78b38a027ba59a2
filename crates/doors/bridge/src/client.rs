//! The client id of an agent that calls other agents. An agent keeps a folder per client: files in the folder
//! are offered to the client, and files sent by the client are stored there. The protocol does not let a
//! calling agent state its client id, so the hub derives one.

use jackfield_core::principal::{Principal, Who};
use jackfield_model::AgentId;
use jackfield_wire::bridge::AGENT_CLIENT_PREFIX;
use sha2::{Digest as _, Sha256};

/// Longest agent id that is used verbatim in a client id.
const LONGEST: usize = 100;

/// Returns the client id of a caller that names none; only agents have one.
pub(crate) fn of_caller(principal: &Principal) -> Option<String> {
    match &principal.who {
        Who::Agent(id) => Some(of_agent(id)),
        Who::Person | Who::Platform | Who::Peer(_) => None,
    }
}

/// Returns the client id of an agent. The id is unique per agent, and never one that a caller may name.
pub(crate) fn of_agent(id: &AgentId) -> String {
    let id = id.as_str();
    // File systems may not distinguish upper case from lower case.
    let is_plain =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
    if id.len() <= LONGEST && id.bytes().all(is_plain) {
        return format!("{AGENT_CLIENT_PREFIX}{id}");
    }
    let digest = Sha256::digest(id);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    // No agent id begins with a dot.
    format!("{AGENT_CLIENT_PREFIX}.{hex}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use jackfield_wire::bridge::{is_free_client_id, is_safe_client_id};

    use super::*;

    #[test]
    fn every_agent_is_a_client_of_its_own_and_nobody_elses() {
        let long = "x".repeat(128);
        let ids = [
            "amy",
            "Amy",
            "a:my",
            "a@my",
            "a-my",
            "a.my",
            &long,
            &long[1..],
        ];
        let clients: HashSet<_> = ids
            .iter()
            .map(|id| of_agent(&AgentId::parse(id).unwrap()))
            .collect();
        assert_eq!(clients.len(), ids.len());
        for client in &clients {
            assert!(is_safe_client_id(client), "{client}");
            assert!(!is_free_client_id(client), "{client}");
        }
        assert!(clients.contains("agent.amy"));
    }
}
