//! What an agent is to the hub: profile, sharing, settings, and the link through which it is reached.

use std::{any::Any, sync::Arc};

use jackfield_model::{Json, Owner};
use serde::{Deserialize, Serialize};

use crate::{
    call::{Call, Serving},
    units::Span,
};

/// Something an agent can do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Skill {
    /// Its id; capability tags of simpler protocols are skills that have only this.
    pub id: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What an agent says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Profile {
    /// A name for people; the id where it gave none.
    #[serde(default)]
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it is made with: `claude`, `agno`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// An address it wants shown. Never called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Its own version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The media types that it takes; any if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// The media types that it answers in, as far as it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// The protocol extensions that it knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    /// What only the door it came through can read: what it says besides, kept for others of that protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Json>,
}

/// A protocol extension that an agent knows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extension {
    /// Its name.
    pub uri: String,
    /// What the agent does with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether only those may call who declare it too, where the caller's protocol can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

/// Who besides its owner may see and call an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Nobody.
    #[default]
    Nobody,
    /// These owners.
    With(Vec<Owner>),
    /// Everybody on this hub.
    Everyone,
}

/// How much of a kept call is written to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Everything.
    #[default]
    Full,
    /// That it happened and how it ended, not what was said.
    Meta,
    /// Nothing.
    None,
}

/// What the owner or the operator set for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How much of its kept calls is written to disk.
    pub store: Keep,
    /// Whether its approval asks go to the caller too, not only to its owner.
    pub approvals_to_caller: bool,
    /// Whether other agents may call it.
    pub allow_a2a: bool,
    /// How many calls of other agents it takes within an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_hour: Option<u32>,
    /// Overrides the hub's idle limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Span>,
    /// Overrides the hub's absolute limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absolute: Option<Span>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            store: Keep::default(),
            approvals_to_caller: false,
            allow_a2a: true,
            calls_per_hour: None,
            idle: None,
            absolute: None,
        }
    }
}

/// Why the hub ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// A newer connection of the same agent took over (4001).
    Replaced,
    /// Its token was revoked or expired, or its agent was removed (4002).
    Revoked,
    /// The hub is stopping (1001).
    Stopping,
}

/// The hub's way to one attached agent. A door implements it once. All methods return at once and none calls back
/// into the hub: they only put something into the connection's mailbox. They may be called under the agent's lock.
pub trait Link: Any + Send + Sync + std::fmt::Debug {
    /// Hands over a call. A link whose connection is gone gives it back; so does one that has no room, marked by
    /// [`Serving::turn_away`].
    fn deliver(&self, call: Serving) -> Result<(), Serving>;
    /// Tells the agent to stop working on a call.
    fn cancel(&self, call: &Arc<Call>);
    /// Ends the connection.
    fn close(&self, why: Closing);
    /// Whether the agent's line showed a sign of life in the last second or so. Asked every second for each open call
    /// in turn, so that one sign counts for all of them: answer by the time of the last sign, not by clearing a flag.
    fn alive(&self, call: &Call) -> bool;
    /// Whether the agent has not answered a ping for so long that its connection may be dead.
    fn is_silent(&self) -> bool {
        false
    }
    /// What the agent sent of a kept call up to its frame number `seq` is in the log, so that it need not be sent again;
    /// see [`Serving::push_numbered`]. Called under no lock, in order, and only for the numbers that ended a batch.
    fn acked(&self, call: &Arc<Call>, seq: u64) {
        let _ = (call, seq);
    }
    /// The door's name, for people and metrics.
    fn door(&self) -> &'static str;
    /// Whether the agent takes a message in pieces; if not, callers that stream join it first.
    fn takes_streamed_input(&self) -> bool {
        false
    }
    /// Whether the agent cannot tell two requests of one session apart, so that they must queue.
    fn one_call_per_session(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_from_before_there_were_limits_on_agents_let_them_call() {
        let old: Settings = serde_json::from_str(r#"{"store":"meta","idle":"5s"}"#).unwrap();
        let expected = Settings {
            store: Keep::Meta,
            idle: Some(Span::secs(5)),
            ..Settings::default()
        };
        assert_eq!(old, expected);
        assert!(old.allow_a2a && old.calls_per_hour.is_none());
    }
}
