//! Pure functions between the core's types and the JSON of the API, and the types that describe that JSON. Objects
//! have an `id`; what refers to one from elsewhere is `agent`, `call`, `task` or ends in `_id`.
//!
//! Here: agents, tokens, who one is. Events are in [`event`] and [`watch`], calls and tasks in [`task`],
//! callbacks in [`callback`], invites in [`invite`], other requests in [`body`].

pub mod body;
pub mod callback;
pub mod event;
pub mod frame;
pub mod invite;
pub mod span;
pub mod task;
pub mod watch;

use jackfield_core::{
    agent::{Settings, Share, Skill},
    entry,
    principal::{Principal, Who},
    store::TokenRecord,
    token::NewToken,
};
use jackfield_model::{AgentId, Owner, TokenId};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use self::body::ShareBody;

/// Something an agent can do.
#[derive(Debug, ToSchema)]
#[schema(as = Skill)]
#[allow(dead_code, reason = "describes the core's type")]
pub struct SkillView {
    /// Its id.
    id: String,
    /// A name for people.
    #[schema(nullable = false)]
    name: Option<String>,
    /// What it does.
    #[schema(nullable = false)]
    description: Option<String>,
}

/// Whether an agent is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// It is attached.
    Online,
    /// It is attached, and has not answered for so long that its connection may be dead.
    Unresponsive,
    /// It is not.
    Offline,
}

/// How much of an agent's kept calls is written to disk.
#[derive(Debug, ToSchema)]
#[schema(as = Keep, rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the core's type")]
pub enum KeepView {
    /// Everything.
    Full,
    /// That it happened and how it ended.
    Meta,
    /// Nothing.
    None,
}

/// What was set for an agent.
#[derive(Debug, ToSchema)]
#[schema(as = Settings)]
#[allow(dead_code, reason = "describes the core's type")]
pub struct SettingsView {
    /// How much of its kept calls is written to disk.
    store: KeepView,
    /// Whether its approval asks go to the caller too.
    approvals_to_caller: bool,
    /// Whether other agents may call it.
    allow_a2a: bool,
    /// How many calls of other agents it takes within an hour, where that is limited.
    #[schema(value_type = u64, required = false, maximum = 4294967295u32)]
    calls_per_hour: Option<u32>,
    /// How long a call of it may be silent, where not as the hub has it.
    #[schema(nullable = false)]
    idle: Option<String>,
    /// How long a call of it may last, where not as the hub has it.
    #[schema(nullable = false)]
    absolute: Option<String>,
}

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Agent)]
pub struct AgentView {
    /// Its id.
    #[schema(value_type = String)]
    id: AgentId,
    /// A name for people.
    name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    description: Option<String>,
    /// What it is made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent_type: Option<String>,
    /// The protocol that it came by, or last came by.
    door: String,
    /// Whose it is.
    #[schema(value_type = String)]
    owner: Owner,
    /// Whether it is attached.
    state: Presence,
    /// Since when it is so.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// When it first registered.
    #[schema(value_type = String, format = DateTime)]
    registered_at: Timestamp,
    /// What it can do.
    #[schema(value_type = Vec<SkillView>)]
    skills: Vec<Skill>,
    /// Whether anybody but its owner may call it.
    shared: bool,
    /// How many calls are open or queued there.
    open_calls: usize,
    /// An address that it wants shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    endpoint: Option<String>,
    /// Who else may call it; shown to its owner and to admins when one agent is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ShareBody>)]
    share: Option<Share>,
    /// What was set for it; shown to its owner and to admins when one agent is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<SettingsView>)]
    settings: Option<Settings>,
}

/// Agents, by id.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentList {
    /// The agents.
    pub agents: Vec<AgentView>,
}

impl From<entry::AgentView> for AgentView {
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

/// One agent, with what only its owner and admins may know.
pub fn agent_for(principal: &Principal, view: entry::AgentView) -> AgentView {
    let is_theirs = principal.is_admin() || principal.sees_all_of(&view.id, &view.owner);
    let private = is_theirs.then(|| (view.share.clone(), view.settings.clone()));
    let (share, settings) = private.unzip();
    AgentView {
        share,
        settings,
        ..view.into()
    }
}

/// A token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Token)]
pub struct TokenView {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    id: TokenId,
    /// A name for people.
    name: String,
    /// Whose it is.
    #[schema(value_type = String)]
    owner: Owner,
    /// The one agent that it stands for, if it is no token of the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    agent: Option<AgentId>,
    /// What it may do.
    scopes: Vec<String>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it stops working by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false)]
    expires_at: Option<Timestamp>,
    /// When it was revoked.
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
    /// The tokens.
    pub tokens: Vec<TokenView>,
}

/// A new token.
#[derive(Serialize, ToSchema)]
#[schema(as = NewToken)]
pub struct NewTokenView {
    /// What is kept of it.
    #[serde(flatten)]
    record: TokenView,
    /// The token itself. It is shown this once.
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

/// What kind of caller one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhoView {
    /// A person, or a program acting as its owner.
    Person,
    /// An agent.
    Agent,
    /// The platform.
    Platform,
    /// A libp2p peer.
    Peer,
}

/// Who one is to the hub.
#[derive(Debug, Serialize, ToSchema)]
pub struct Whoami {
    /// On whose behalf one acts.
    #[schema(value_type = String)]
    owner: Owner,
    /// What kind of caller one is.
    who: WhoView,
    /// The agent that one is, if one is an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    agent: Option<AgentId>,
    /// What one may do besides what an owner may.
    scopes: Vec<String>,
    /// Whether one may do everything.
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
