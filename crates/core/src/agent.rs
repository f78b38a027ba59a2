//! An agent, as the hub knows it: [`Profile`], [`Share`], [`Settings`], and the [`Link`] to its connection.

use std::{any::Any, sync::Arc};

use jackfield_model::{Extension, Json, Owner, Skill};
use serde::{Deserialize, Serialize};

use crate::{
    call::{AgentHandle, Call},
    units::Span,
};

/// An agent's description of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Profile {
    /// Name for people; the id if the agent gave none.
    #[serde(default)]
    pub name: String,
    /// Purpose of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Software of the agent: `claude`, `agno`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Skills of the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// Address that the agent wants shown. Never called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Version of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Media types that the agent accepts; any if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// Media types of the agent's answers, as far as declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// Protocol extensions that the agent knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    /// Further fields of the agent's protocol, opaque to other doors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Json>,
}

/// Principals besides the owner that may see and call an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// None.
    #[default]
    Nobody,
    /// These owners.
    With(Vec<Owner>),
    /// All principals of this hub.
    Everyone,
}

/// How much of a durable call is written to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Everything.
    #[default]
    Full,
    /// The record with its end, without messages and events.
    Meta,
    /// Nothing.
    None,
}

/// Settings of an agent by its owner or the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How much of the agent's durable calls is written to disk.
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub store: Keep,
    /// Whether approvals are asked of the caller too, not only of the owner.
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub approvals_to_caller: bool,
    /// Whether other agents may call the agent.
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub allow_a2a: bool,
    /// Largest number of calls by other agents within an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = u64, required = false, maximum = 4294967295u32))]
    pub calls_per_hour: Option<u32>,
    /// Idle limit, instead of the hub's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub idle: Option<Span>,
    /// Absolute limit, instead of the hub's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
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

/// Why the hub closes a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// A newer connection of the same agent took over (4001).
    Replaced,
    /// The token was revoked or expired, or the agent was removed (4002).
    Revoked,
    /// The hub is stopping (1001).
    Stopping,
}

/// The hub's handle of one attached agent; each door implements it. All methods return at once, and none
/// calls back into the hub: they only put something into the connection's mailbox. They may be called under
/// the lock of the agent's [`Entry`](crate::entry::Entry).
pub trait Link: Any + Send + Sync + std::fmt::Debug {
    /// Delivers a call. A link returns the call if its connection is gone, or if it has no room, marked by
    /// [`AgentHandle::turn_away`].
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle>;
    /// Tells the agent to stop working on a call.
    fn cancel(&self, call: &Arc<Call>);
    /// Closes the connection.
    fn close(&self, why: Closing);
    /// Whether the agent's connection showed a sign of life in the last second or so. Asked every second for
    /// each open call, so that one sign counts for all of them: answer by the time of the last sign, not by
    /// clearing a flag.
    fn alive(&self, call: &Call) -> bool;
    /// Whether the agent has not answered a ping for so long that its connection may be dead.
    fn is_silent(&self) -> bool {
        false
    }
    /// Reports that all frames of a durable call up to the agent's number `seq` are in the log and need not
    /// be sent again; see [`AgentHandle::push_numbered`]. Called under no lock, in order, and only for the last
    /// number of a batch.
    fn acked(&self, call: &Arc<Call>, seq: u64) {
        let _ = (call, seq);
    }
    /// Returns the door's name, for people and metrics.
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
