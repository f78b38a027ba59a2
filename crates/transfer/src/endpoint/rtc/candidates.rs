//! Candidates (addresses of a peer) in signals: filters the peer's, formats ours, and extracts STUN servers.

use std::collections::HashSet;
use std::net::SocketAddr;

use serde::Deserialize;
use serde_json::Value;
use str0m::Candidate;
use str0m::net::Protocol;

/// Most candidates of a peer; more than an honest peer has. Each costs packets to an address that an
/// untrusted peer chose.
const MOST: usize = 40;

/// The peer's candidates, without duplicates.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    seen: HashSet<SocketAddr>,
}

impl Candidates {
    /// Parses a line such as `candidate:1 1 udp 1 192.0.2.1 9 typ host`. Returns the candidate if new and
    /// usable: UDP, with an address instead of a name.
    pub(super) fn take(&mut self, line: &str) -> Option<Candidate> {
        let line = line.trim();
        let line = line.strip_prefix("a=").unwrap_or(line);
        let candidate = Candidate::from_sdp_string(line).ok()?;
        let is_usable = candidate.proto() == Protocol::Udp && candidate.addr().port() != 0;
        if !is_usable || self.seen.len() >= MOST {
            return None;
        }
        self.seen.insert(candidate.addr()).then_some(candidate)
    }
}

/// Returns the candidate line in a signal's payload.
pub(super) fn line_of(payload: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct CandidatePayload {
        candidate: String,
    }
    serde_json::from_str::<CandidatePayload>(payload)
        .ok()
        .map(|payload| payload.candidate)
}

/// Builds the payload for one of our candidates.
pub(super) fn payload(candidate: &Candidate, mid: &str) -> String {
    serde_json::json!({"candidate": candidate.to_sdp_string(), "mid": mid}).to_string()
}

/// Returns the URLs in a list of ICE servers: `[{"urls": "stun:…" or ["stun:…", …], …}]`. Ignores
/// credentials: servers that need them are not used.
pub fn ice_server_urls(servers: &Value) -> Vec<String> {
    let servers = servers.as_array().into_iter().flatten();
    let urls = servers.flat_map(|server| match &server["urls"] {
        Value::Array(urls) => urls.as_slice(),
        one => std::slice::from_ref(one),
    });
    urls.filter_map(|url| url.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_new_udp_candidates_with_an_address_are_taken() {
        let mut candidates = Candidates::default();
        let mut take = |line| candidates.take(line).map(|found| found.addr().to_string());
        let host = "candidate:1 1 UDP 2122317823 192.0.2.7 50000 typ host";
        assert_eq!(take(host).as_deref(), Some("192.0.2.7:50000"));
        assert_eq!(take(host), None);
        let srflx =
            "a=candidate:2 1 udp 1686109951 198.51.100.1 6000 typ srflx raddr 0.0.0.0 rport 0";
        assert_eq!(take(srflx).as_deref(), Some("198.51.100.1:6000"));
        let six = "candidate:3 1 udp 2122262783 2001:db8::1 7000 typ host";
        assert_eq!(take(six).as_deref(), Some("[2001:db8::1]:7000"));
        for unusable in [
            "",
            "candidate:",
            "nonsense",
            "candidate:4 1 udp 1 3b2f.local 50000 typ host",
            "candidate:5 1 tcp 1 192.0.2.7 9 typ host tcptype active",
            "candidate:6 1 udp 1 192.0.2.8 0 typ host",
            "candidate:6 1 udp 1 192.0.2.8 70000 typ host",
        ] {
            assert_eq!(take(unusable), None, "{unusable}");
        }
    }

    #[test]
    fn a_peer_cannot_name_addresses_without_end() {
        let mut candidates = Candidates::default();
        let lines = (1..1000).map(|port| format!("candidate:1 1 udp 1 192.0.2.7 {port} typ host"));
        assert_eq!(lines.filter_map(|line| candidates.take(&line)).count(), 40);
    }

    #[test]
    fn a_payload_without_a_candidate_is_nothing() {
        assert_eq!(
            line_of(r#"{"candidate":"x","mid":"0"}"#).as_deref(),
            Some("x")
        );
        for payload in [
            "",
            "x",
            "{}",
            "[]",
            r#"{"candidate":7}"#,
            r#"{"candidate":null}"#,
        ] {
            assert_eq!(line_of(payload), None, "{payload}");
        }
    }

    #[test]
    fn servers_have_one_address_or_several() {
        let servers = json!([
            {"urls": "stun:one.example"},
            {"urls": ["turn:two.example", "stun:two.example:3478"], "username": "u", "credential": "c"},
            {"urls": 7}, {}, "x"
        ]);
        assert_eq!(
            ice_server_urls(&servers),
            [
                "stun:one.example",
                "turn:two.example",
                "stun:two.example:3478"
            ]
        );
        assert!(ice_server_urls(&Value::Null).is_empty());
    }
}
