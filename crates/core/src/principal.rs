//! [`Principal`]: who is calling, as the connection proved it, and what they may do.

use std::{fmt, sync::Arc};

use jackfield_model::{AgentId, Owner, TokenId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// A pattern over agent ids: `*` stands for any run of characters.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    /// Creates a pattern from any text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether the pattern matches an id.
    pub fn matches(&self, id: &str) -> bool {
        let mut pieces = self.0.split('*');
        let first = pieces.next().unwrap_or_default();
        let Some(mut rest) = id.strip_prefix(first) else {
            return false;
        };
        let mut pieces: Vec<&str> = pieces.collect();
        let Some(last) = pieces.pop() else {
            return rest.is_empty();
        };
        for piece in pieces {
            let Some(at) = rest.find(piece) else {
                return false;
            };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Error of an unreadable scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a scope: use agent:PATTERN, call:PATTERN, watch:PATTERN, metrics or admin")]
pub struct BadScope(String);

/// Rights of a token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scopes {
    /// All rights.
    pub admin: bool,
    /// Ids of agents that the token may register.
    pub agent: Vec<Pattern>,
    /// Ids of agents that the token may call, whoever owns them.
    pub call: Vec<Pattern>,
    /// Ids of agents that the token may watch, whoever owns them.
    pub watch: Vec<Pattern>,
    /// Whether the token may read the metrics.
    pub metrics: bool,
}

impl Scopes {
    /// Returns the scopes of an administrator.
    pub fn admin() -> Self {
        Self {
            admin: true,
            ..Self::default()
        }
    }

    /// Reads scopes from their texts: `agent:lab-*`, `call:*`, `watch:*`, `metrics`, `admin`.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, BadScope> {
        let mut scopes = Self::default();
        for text in texts {
            let (verb, pattern) = text.split_once(':').unwrap_or((text, ""));
            match verb {
                "admin" if text == "admin" => scopes.admin = true,
                "metrics" if text == "metrics" => scopes.metrics = true,
                "agent" if !pattern.is_empty() => scopes.agent.push(Pattern::new(pattern)),
                "call" if !pattern.is_empty() => scopes.call.push(Pattern::new(pattern)),
                "watch" if !pattern.is_empty() => scopes.watch.push(Pattern::new(pattern)),
                _ => return Err(BadScope(text.to_owned())),
            }
        }
        Ok(scopes)
    }

    /// Returns the texts of the scopes.
    pub fn to_texts(&self) -> Vec<String> {
        let list = |verb: &str, patterns: &[Pattern]| -> Vec<String> {
            patterns
                .iter()
                .map(|pattern| format!("{verb}:{}", pattern.0))
                .collect()
        };
        let mut texts = list("agent", &self.agent);
        texts.extend(list("call", &self.call));
        texts.extend(list("watch", &self.watch));
        if self.metrics {
            texts.push("metrics".to_owned());
        }
        if self.admin {
            texts.push("admin".to_owned());
        }
        texts
    }
}

/// Basis of a principal's rights: a token, or the trust in loopback.
#[derive(Debug, Default)]
pub struct Grant {
    /// Token, if there is one.
    pub token: Option<TokenId>,
    /// Rights.
    pub scopes: Scopes,
    /// Agent whose approvals the principal may give: the holder of an agent's token sits where the agent
    /// runs.
    pub desk_of: Option<AgentId>,
    /// Time at which the token expires.
    pub expires_at: Option<Timestamp>,
    /// Cancelled when the token is revoked or expires; sockets that it opened close then.
    pub revoked: CancellationToken,
}

impl Grant {
    /// Whether the token was revoked or has expired. Trust without a token does not end.
    pub fn is_over(&self) -> bool {
        self.revoked.is_cancelled() || self.expires_at.is_some_and(|at| at <= Timestamp::now())
    }
}

/// Kind of a caller within its owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// A person or a program acting as the owner.
    Person,
    /// An agent.
    Agent(AgentId),
    /// A service that calls on behalf of its own users.
    Platform,
    /// A node of another network, by its id there.
    Peer(Arc<str>),
}

/// A set of tasks, by the [`Principal::key`] of the principals that started them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Whose {
    /// All tasks.
    #[default]
    Anybody,
    /// Tasks of this principal and of principals below it: an owner's agents.
    Of(String),
    /// Tasks of this principal alone.
    Only(String),
}

impl Whose {
    /// Whether the set includes tasks that `key` started.
    pub fn includes(&self, key: &str) -> bool {
        match self {
            Self::Anybody => true,
            Self::Of(whose) => key
                .strip_prefix(whose.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            Self::Only(whose) => key == whose,
        }
    }
}

/// A caller.
#[derive(Debug, Clone)]
pub struct Principal {
    /// Owner that the caller acts for.
    pub owner: Owner,
    /// Kind of the caller.
    pub who: Who,
    /// Rights of the caller.
    pub grant: Arc<Grant>,
}

impl Principal {
    /// Returns the only owner of loopback without tokens: an administrator, so that the first start just
    /// works.
    pub fn local() -> Self {
        Self::admin(Owner::local())
    }

    /// Returns an administrator.
    pub fn admin(owner: Owner) -> Self {
        let grant = Arc::new(Grant {
            scopes: Scopes::admin(),
            ..Grant::default()
        });
        Self {
            owner,
            who: Who::Person,
            grant,
        }
    }

    /// Returns the platform, a service that calls on behalf of its own users and proved its secret: it may call
    /// any agent, and is no administrator.
    pub fn platform() -> Self {
        let grant = Arc::new(Grant {
            scopes: Scopes {
                call: vec![Pattern::new("*")],
                ..Scopes::default()
            },
            ..Grant::default()
        });
        Self {
            owner: Owner::platform(),
            who: Who::Platform,
            grant,
        }
    }

    /// Returns a person without any scopes.
    pub fn person(owner: Owner) -> Self {
        Self {
            owner,
            who: Who::Person,
            grant: Arc::default(),
        }
    }

    /// Returns the same connection, acting as the agent that it registered. An agent acts for its owner but
    /// is no administrator, even if its owner is.
    pub fn as_agent(&self, id: AgentId) -> Self {
        let scopes = Scopes {
            admin: false,
            ..self.grant.scopes.clone()
        };
        let grant = Arc::new(Grant {
            token: self.grant.token,
            scopes,
            // No agent approves for its owner.
            desk_of: None,
            expires_at: self.grant.expires_at,
            revoked: self.grant.revoked.clone(),
        });
        Self {
            owner: self.owner.clone(),
            who: Who::Agent(id),
            grant,
        }
    }

    /// Whether the principal has all rights.
    pub fn is_admin(&self) -> bool {
        self.grant.scopes.admin
    }

    /// Whether the scopes allow registering this id; the registry checks the owner of the id.
    pub fn may_register(&self, id: &AgentId) -> bool {
        self.is_admin()
            || self
                .grant
                .scopes
                .agent
                .iter()
                .any(|pattern| pattern.matches(id.as_str()))
    }

    /// Whether the principal may read the metrics, which show everybody's calls.
    pub fn may_read_metrics(&self) -> bool {
        self.is_admin() || self.grant.scopes.metrics
    }

    /// Whether the principal holds the token of an invite: one agent, and nothing else of the owner.
    pub fn is_invited(&self) -> bool {
        self.grant.desk_of.is_some()
    }

    /// Returns the tasks that the principal may read and control: its own; for an owner, also those of its
    /// agents; for an admin, all.
    pub fn reach(&self) -> Whose {
        match &self.who {
            _ if self.is_admin() => Whose::Anybody,
            Who::Person => Whose::Of(self.key()),
            Who::Agent(_) | Who::Platform | Who::Peer(_) => Whose::Only(self.key()),
        }
    }

    /// Whether the principal may read and control tasks that `key` started.
    pub fn may_act_for(&self, key: &str) -> bool {
        self.reach().includes(key)
    }

    /// Whether the principal gives the approvals of this agent: the owner, an admin, and the holder of the
    /// agent's own token.
    pub fn decides_for(&self, agent: &AgentId, owner: &Owner) -> bool {
        let is_at_desk = self.grant.desk_of.as_ref() == Some(agent) && self.owner == *owner;
        is_at_desk || self.may_act_for(owner.as_str())
    }

    /// Whether the principal may see everything of this agent: the owner, an admin, and the agent itself.
    pub fn sees_all_of(&self, agent: &AgentId, owner: &Owner) -> bool {
        match &self.who {
            Who::Agent(id) => id == agent && self.owner == *owner,
            Who::Person | Who::Platform | Who::Peer(_) => self.may_act_for(owner.as_str()),
        }
    }

    /// Returns the principal as one text: the owner, and the kind of caller. Two tokens of one owner are one
    /// principal.
    pub fn key(&self) -> String {
        match &self.who {
            Who::Person => self.owner.to_string(),
            Who::Agent(id) => format!("{}/agent/{id}", self.owner),
            Who::Platform => format!("{}/platform", self.owner),
            Who::Peer(peer) => format!("{}/peer/{peer}", self.owner),
        }
    }

    /// Returns the principal of a key, without any scopes.
    pub fn from_key(key: &str) -> Option<Self> {
        let mut pieces = key.splitn(3, '/');
        let owner = Owner::parse(pieces.next()?).ok()?;
        let who = match (pieces.next(), pieces.next()) {
            (None, _) => Who::Person,
            (Some("platform"), None) => Who::Platform,
            (Some("agent"), Some(id)) => Who::Agent(AgentId::parse(id).ok()?),
            (Some("peer"), Some(peer)) => Who::Peer(peer.into()),
            _ => return None,
        };
        Some(Self {
            owner,
            who,
            grant: Arc::default(),
        })
    }

    /// Returns the principal of a key with the rights of now, for tasks that are resumed after a restart.
    /// `grant` is that of the token that started the task; a task without a token was started by a principal
    /// that needs none.
    pub(crate) fn restored(key: &str, grant: Option<Arc<Grant>>) -> Option<Self> {
        let bare = Self::from_key(key)?;
        let grant = match (grant, &bare.who) {
            (Some(grant), _) => grant,
            (None, Who::Person) if bare.owner == Owner::local() => Self::local().grant,
            (None, Who::Platform | Who::Agent(_)) if bare.owner == Owner::platform() => {
                Self::platform().grant
            }
            (None, _) => return Some(bare),
        };
        let whole = Self { grant, ..bare };
        Some(match whole.who.clone() {
            Who::Agent(id) => whole.as_agent(id),
            Who::Person | Who::Platform | Who::Peer(_) => whole,
        })
    }

    /// Returns how an agent sees the caller: the agent's id, or the owner.
    pub fn label(&self) -> &str {
        match &self.who {
            Who::Agent(id) => id.as_str(),
            Who::Person | Who::Platform => self.owner.as_str(),
            Who::Peer(peer) => peer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_globs() {
        for (pattern, id, fits) in [
            ("*", "anything", true),
            ("lab-*", "lab-1", true),
            ("lab-*", "labor", false),
            ("*-x", "a-x", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
            ("", "a", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(id), fits, "{pattern} on {id}");
        }
    }

    #[test]
    fn scopes_read_back_as_written_and_nonsense_is_refused() {
        let texts = ["agent:lab-*", "call:*", "watch:a", "metrics", "admin"];
        assert_eq!(Scopes::parse(texts).unwrap().to_texts(), texts);
        for bad in [
            "agent",
            "agent:",
            "root",
            "admin:x",
            "admin:",
            "metrics:x",
            "calls:*",
        ] {
            assert!(Scopes::parse([bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_principal_is_found_again_by_its_key() {
        let person = Principal::person(Owner::parse("ann").unwrap());
        let agent = person.as_agent(AgentId::parse("a:b@c").unwrap());
        for principal in [person, agent, Principal::platform()] {
            let again = Principal::from_key(&principal.key()).unwrap();
            assert_eq!((again.owner, again.who), (principal.owner, principal.who));
        }
        assert!(Principal::from_key("ann/root/x").is_none());
    }

    #[test]
    fn an_agent_of_an_admin_is_no_admin() {
        let id = AgentId::parse("a").unwrap();
        assert!(!Principal::local().as_agent(id).is_admin());
    }

    #[test]
    fn a_person_acts_for_its_agents_but_an_agent_for_nobody_else() {
        let person = Principal::person(Owner::parse("ann").unwrap());
        let agent = person.as_agent(AgentId::parse("a").unwrap());
        let other = person.as_agent(AgentId::parse("b").unwrap());
        assert!(person.may_act_for(&agent.key()));
        assert!(agent.may_act_for(&agent.key()));
        assert!(!agent.may_act_for(&other.key()));
        assert!(!agent.may_act_for(&person.key()));
        let (a, b) = (AgentId::parse("a").unwrap(), AgentId::parse("b").unwrap());
        assert!(person.sees_all_of(&a, &person.owner) && person.sees_all_of(&b, &person.owner));
        assert!(agent.sees_all_of(&a, &person.owner));
        assert!(!agent.sees_all_of(&b, &person.owner));
        assert!(!agent.sees_all_of(&a, &Owner::local()));
        assert!(!agent.decides_for(&a, &person.owner));
        assert!(!Principal::person(Owner::parse("an").unwrap()).may_act_for(&person.key()));
    }
}
