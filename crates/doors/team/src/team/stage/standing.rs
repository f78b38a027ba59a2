//! How a team and its members are doing: what a viewer that comes late is shown first.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
};

use jackfield_core::call::Call;
use jackfield_model::{AskKind, CallId, Json};

use super::{
    super::event::{
        AgentStatus, Body, Caller, Invocation, MemberEvent, Node, StatusChange, TeamStatus,
    },
    super::tree::{path_key, route_key},
    Spot, Told,
};

/// How a team and its members are doing.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// By route key.
    members: BTreeMap<Arc<str>, MemberStanding>,
    /// By the names on the way; the team itself has none.
    teams: HashMap<String, TeamStanding>,
    pending: Vec<Pending>,
    /// Nothing becomes idle any more: the hub stops.
    is_stopping: bool,
}

#[derive(Debug, Default)]
struct MemberStanding {
    status: Option<AgentStatus>,
    open: usize,
}

#[derive(Debug, Default)]
struct TeamStanding {
    status: Option<TeamStatus>,
    open: usize,
}

/// What a question is about.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Which call of which tool.
    pub of: Invocation,
    /// What it would be called with.
    pub arguments: Json,
    /// What the member says to whoever decides; may be empty.
    pub text: String,
}

/// A question that waits for a viewer.
#[derive(Debug, Clone)]
pub struct Pending {
    /// The member that asks.
    pub route: Arc<str>,
    /// What it asks.
    pub asked: Asked,
    /// The events that show it: the segment of its tool, as far as that is retained, and the question.
    pub told: Vec<Arc<Told>>,
    pub(crate) call: Weak<Call>,
    pub(crate) call_id: CallId,
    pub(crate) ask: String,
    pub(crate) kind: AskKind,
    pub(crate) caller: Caller,
}

impl Standing {
    /// What the team itself is doing.
    pub(super) fn team(&self) -> TeamStatus {
        let team = self.teams.get("").and_then(|team| team.status);
        team.unwrap_or(TeamStatus::Idle)
    }

    pub(super) fn set_team(&mut self, path: &[Node], new: TeamStatus) -> Option<TeamStatus> {
        let team = self.teams.entry(path_key(path)).or_default();
        team.status.replace(new)
    }

    pub(super) fn member(&self, route: &str) -> Option<AgentStatus> {
        self.members.get(route).and_then(|member| member.status)
    }

    pub(super) fn set_member(&mut self, route: &Arc<str>, new: AgentStatus) {
        self.members.entry(route.clone()).or_default().status = Some(new);
    }

    /// A call begins there. Says which of the teams on the way begin to run with it, as lengths of the path.
    pub(super) fn enter(&mut self, spot: &Spot) -> Vec<(usize, Option<TeamStatus>)> {
        self.members.entry(spot.route.clone()).or_default().open += 1;
        let mut begun = Vec::new();
        for length in 0..=spot.path.len() {
            let key = path_key(&spot.path[..length]);
            let team = self.teams.entry(key).or_default();
            team.open += 1;
            if team.open == 1 && !self.is_stopping {
                begun.push((length, team.status.replace(TeamStatus::Running)));
            }
        }
        begun
    }

    /// A call ends there. Says which of the teams on the way have nothing to do any more, innermost first.
    pub(super) fn leave(&mut self, spot: &Spot) -> Vec<(usize, Option<TeamStatus>)> {
        if let Some(member) = self.members.get_mut(&spot.route) {
            member.open = member.open.saturating_sub(1);
        }
        let mut ended = Vec::new();
        for length in (0..=spot.path.len()).rev() {
            let key = path_key(&spot.path[..length]);
            let Some(team) = self.teams.get_mut(&key) else {
                continue;
            };
            team.open = team.open.saturating_sub(1);
            if team.open == 0 && !self.is_stopping {
                ended.push((length, team.status.replace(TeamStatus::Idle)));
            }
        }
        ended
    }

    /// A member's status as one of its calls says it. Nothing if that is no change: it is not idle while it has others.
    pub(super) fn change(
        &mut self,
        spot: &Spot,
        new: AgentStatus,
        tool: Option<&Arc<str>>,
        error: Option<&String>,
    ) -> Option<MemberEvent> {
        let member = self.members.entry(spot.route.clone()).or_default();
        if new == AgentStatus::Idle && member.open > 1 {
            return None;
        }
        let old = member.status.replace(new);
        (old != Some(new)).then(|| {
            MemberEvent::Status(StatusChange {
                new,
                old,
                tool: tool.cloned(),
                error: error.cloned(),
            })
        })
    }

    pub(super) fn ask(&mut self, pending: Pending) {
        self.pending.push(pending);
    }

    /// An event is told; if it is a pending question, it is kept with it for viewers that come late.
    pub(super) fn shown(&mut self, told: &Arc<Told>) {
        let Body::Member { name, event, .. } = &*told.body else {
            return;
        };
        let MemberEvent::ApprovalRequested { of, .. } = event else {
            return;
        };
        let route = route_key(&told.path, name);
        let is_it = |pending: &&mut Pending| pending.route == route && pending.asked.of.id == of.id;
        // Of several the last, since that was just put down.
        if let Some(pending) = self.pending.iter_mut().rev().find(is_it) {
            pending.told.push(told.clone());
        }
    }

    pub(super) fn answered(&mut self, call: CallId, of: &Invocation) {
        self.pending
            .retain(|pending| pending.call_id != call || pending.asked.of.id != of.id);
    }

    pub(super) fn forget_asks(&mut self, call: CallId) {
        self.pending.retain(|pending| pending.call_id != call);
    }

    pub(super) fn pending(&self) -> &[Pending] {
        &self.pending
    }

    pub(super) fn forget_member(&mut self, route: &str) {
        self.members.remove(route);
    }

    /// The hub stops.
    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// A run has ended.
    pub(super) fn rest(&mut self) {
        self.members.clear();
        self.teams.clear();
        self.pending.clear();
    }
}
