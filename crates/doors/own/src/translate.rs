//! Pure conversions between core types and the JSON of the API, and the types that describe the JSON. Objects
//! have an `id`; references to objects are named `agent`, `call`, `task`, or end in `_id`.
//!
//! Contains agents, tokens and identities. Events are in [`event`] and [`watch`], calls and tasks in
//! [`task`], callbacks in [`callback`], invites in [`invite`], other requests in [`body`].

pub mod body;
pub mod callback;
pub mod event;
pub mod frame;
pub mod invite;
pub mod span;
pub mod task;
pub mod ticket;
pub mod watch;

use jackfield_core::{
    agent::{Settings, Share},
    entry,
    principal::{Principal, Who},
    store::TokenRecord,
    token::NewToken,
};
use jackfield_model::{AgentId, Owner, Skill, TokenId};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Connection state of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// Connected.
    Online,
    /// Connected, but silent for so long that the connection may be dead.
    Unresponsive,
    /// Not connected.
    Offline,
}

/// Agent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Agent)]
pub struct AgentDetails {
    /// Id of the agent.
    #[schema(value_type = String)]
    id: AgentId,
    /// Display name.
    name: String,
    /// Purpose of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    description: Option<String>,
    /// Framework or program of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent_type: Option<String>,
    /// Protocol of the current or last connection.
    door: String,
    /// Owner of the agent.
    #[schema(value_type = String)]
    owner: Owner,
    /// Connection state.
    state: Presence,
    /// Start of the current connection state.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// Time of the first registration.
    #[schema(value_type = String, format = DateTime)]
    registered_at: Timestamp,
    /// Skills of the agent.
    skills: Vec<Skill>,
    /// Whether anyone except the owner may call the agent.
    shared: bool,
    /// Number of open and queued calls.
    open_calls: usize,
    /// Address published by the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    endpoint: Option<String>,
    /// Owners who may also call the agent. Visible to the owner and admins when showing a single agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<Share>,
    /// Settings of the agent. Visible to the owner and admins when showing a single agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Settings>,
}

/// Agents, sorted by id.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentList {
    /// Agents.
    pub agents: Vec<AgentDetails>,
}

impl From<entry::AgentView> for AgentDetails {
    fn from(view: entry::AgentView) -> Self {
        let name = if view.profile.name.is_empty() {
            view.id.to_string()
        } else {
            view.profile.name
        };
        Self {
            id: view.id,
            name,
            description: view.profile.description,
            agent_type: view.profile.agent_type,
            door: view.door,
            owner: view.owner,
            state: match (view.online, view.silent) {
                (true, false) => Presence::Online,
                (true, true) => Presence::Unresponsive,
                (false, _) => Presence::Offline,
            },
            since: view.since,
            registered_at: view.registered_at,
            skills: view.profile.skills,
            shared: view.share != Share::Nobody,
            open_calls: view.open_calls,
            endpoint: view.profile.endpoint,
            share: None,
            settings: None,
        }
    }
}

/// Converts an [`entry::AgentView`], including the fields for its owner and admins if `principal` may see them.
pub fn agent_for(principal: &Principal, view: entry::AgentView) -> AgentDetails {
    let is_theirs = principal.is_admin() || principal.sees_all_of(&view.id, &view.owner);
    let private = is_theirs.then(|| (view.share.clone(), view.settings.clone()));
    let (share, settings) = private.unzip();
    AgentDetails {
        share,
        settings,
        ..view.into()
    }
}

/// Token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Token)]
pub struct TokenView {
    /// Id of the token.
    #[schema(value_type = String, format = "uuid")]
    id: TokenId,
    /// Display name.
    name: String,
    /// Owner of the token.
    #[schema(value_type = String)]
    owner: Owner,
    /// Agent that the token belongs to, if the token is limited to an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    agent: Option<AgentId>,
    /// Scopes of the token.
    scopes: Vec<String>,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Expiry time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false)]
    expires_at: Option<Timestamp>,
    /// Revocation time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false)]
    revoked_at: Option<Timestamp>,
}

impl From<TokenRecord> for TokenView {
    fn from(record: TokenRecord) -> Self {
        Self {
            id: record.id,
            name: record.name,
            owner: record.owner,
            agent: record.agent,
            scopes: record.scopes,
            created_at: record.created_at,
            expires_at: record.expires_at,
            revoked_at: record.revoked_at,
        }
    }
}

/// Tokens, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenList {
    /// Tokens.
    pub tokens: Vec<TokenView>,
}

/// New token.
#[derive(Serialize, ToSchema)]
#[schema(as = NewToken)]
pub struct NewTokenView {
    /// Stored token.
    #[serde(flatten)]
    record: TokenView,
    /// Secret of the token, shown only once.
    token: String,
}

impl From<NewToken> for NewTokenView {
    fn from(new: NewToken) -> Self {
        Self {
            record: new.record.into(),
            token: new.secret,
        }
    }
}

impl std::fmt::Debug for NewTokenView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.record.fmt(f)
    }
}

/// Kind of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhoView {
    /// Person, or a program acting as its owner.
    Person,
    /// Agent.
    Agent,
    /// Platform.
    Platform,
    /// libp2p peer.
    Peer,
}

/// Identity of the caller.
#[derive(Debug, Serialize, ToSchema)]
pub struct Whoami {
    /// Owner on whose behalf the caller acts.
    #[schema(value_type = String)]
    owner: Owner,
    /// Kind of the caller.
    who: WhoView,
    /// Agent id, if the caller is an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    agent: Option<AgentId>,
    /// Scopes beyond the rights of an owner.
    scopes: Vec<String>,
    /// Whether the caller is an admin and may do everything.
    admin: bool,
}

impl From<&Principal> for Whoami {
    fn from(principal: &Principal) -> Self {
        Self {
            owner: principal.owner.clone(),
            who: match principal.who {
                Who::Person => WhoView::Person,
                Who::Agent(_) => WhoView::Agent,
                Who::Platform => WhoView::Platform,
                Who::Peer(_) => WhoView::Peer,
            },
            agent: match &principal.who {
                Who::Agent(id) => Some(id.clone()),
                Who::Person | Who::Platform | Who::Peer(_) => None,
            },
            scopes: principal.grant.scopes.to_texts(),
            admin: principal.is_admin(),
        }
    }
}
