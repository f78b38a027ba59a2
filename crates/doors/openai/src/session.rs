//! Which conversation a request belongs to, and whether the agent has had its beginning.

use std::collections::{HashSet, VecDeque};

use http::HeaderMap;
use jackfield_core::principal::Principal;
use jackfield_kit::api::header;
use jackfield_model::{AgentId, Reason, SessionId};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::{failure::OpenAiError, limits::CONVERSATIONS};

/// Header in which a client names the session itself.
pub(crate) const SESSION: &str = "jackfield-session";
/// Header of Open WebUI with the id of its chat (`ENABLE_FORWARD_USER_INFO_HEADERS`).
pub(crate) const OPEN_WEBUI_CHAT: &str = "x-openwebui-chat-id";

/// Returns the session that the headers name.
pub(crate) fn in_headers(headers: &HeaderMap) -> Result<Option<SessionId>, OpenAiError> {
    for name in [SESSION, OPEN_WEBUI_CHAT] {
        if let Some(text) = header(headers, name)?.filter(|text| !text.is_empty()) {
            let refused = |error| {
                OpenAiError::field(Reason::Invalid, name, format!("header {name}: {error}"))
            };
            return SessionId::parse(text).map(Some).map_err(refused);
        }
    }
    Ok(None)
}

/// Returns the session of a client that names its user: one for all chats of this user with an agent.
pub(crate) fn of_user(user: Option<&str>) -> Result<Option<SessionId>, OpenAiError> {
    let Some(user) = user else {
        return Ok(None);
    };
    SessionId::parse(user).map(Some).map_err(|error| {
        OpenAiError::field(Reason::Invalid, "user", format!("field \"user\": {error}"))
    })
}

/// The conversations whose beginning their agents have had since the hub's start. Their agents get only what is new.
#[derive(Debug, Default)]
pub(crate) struct Conversations(Mutex<KnownConversations>);

#[derive(Debug, Default)]
struct KnownConversations {
    known: HashSet<[u8; 32]>,
    /// Oldest first.
    order: VecDeque<[u8; 32]>,
}

impl Conversations {
    /// Returns whether the agent has had the beginning.
    pub(crate) fn has(&self, who: &Principal, agent: &AgentId, session: &SessionId) -> bool {
        self.0.lock().known.contains(&key(who, agent, session))
    }

    /// Remembers that the agent has had the beginning.
    pub(crate) fn note(&self, who: &Principal, agent: &AgentId, session: &SessionId) {
        let key = key(who, agent, session);
        let mut all = self.0.lock();
        if all.known.insert(key) {
            all.order.push_back(key);
        }
        if all.order.len() > CONVERSATIONS
            && let Some(oldest) = all.order.pop_front()
        {
            all.known.remove(&oldest);
        }
    }
}

fn key(who: &Principal, agent: &AgentId, session: &SessionId) -> [u8; 32] {
    let hash = Sha256::new()
        .chain_update(who.key())
        .chain_update([0])
        .chain_update(agent.as_str())
        .chain_update([0])
        .chain_update(session.as_str());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[test]
    fn the_hubs_own_header_goes_before_that_of_open_webui() {
        let mut headers = named(OPEN_WEBUI_CHAT, "chat");
        let session = |headers: &HeaderMap| in_headers(headers).unwrap().unwrap().to_string();
        assert_eq!(session(&headers), "chat");
        headers.insert(SESSION, "own".parse().unwrap());
        assert_eq!(session(&headers), "own");
        assert!(in_headers(&HeaderMap::new()).unwrap().is_none());
        let long = "x".repeat(300);
        assert!(in_headers(&named(SESSION, &long)).is_err());
        let refused = of_user(Some(&long)).unwrap_err();
        assert_eq!(refused.body.param.as_deref(), Some("user"));
    }

    #[test]
    fn a_conversation_is_known_to_its_caller_and_its_agent_until_newer_ones_take_its_place() {
        let all = Conversations::default();
        let (ann, bob) = (Principal::local(), Principal::platform());
        let amy = AgentId::parse("amy").unwrap();
        let session = |number: usize| SessionId::parse(&format!("s-{number}")).unwrap();
        all.note(&ann, &amy, &session(0));
        assert!(all.has(&ann, &amy, &session(0)));
        assert!(!all.has(&bob, &amy, &session(0)));
        assert!(!all.has(&ann, &AgentId::parse("bea").unwrap(), &session(0)));
        for number in 1..=CONVERSATIONS {
            all.note(&ann, &amy, &session(number));
        }
        assert!(!all.has(&ann, &amy, &session(0)));
        assert!(all.has(&ann, &amy, &session(CONVERSATIONS)));
    }
}
