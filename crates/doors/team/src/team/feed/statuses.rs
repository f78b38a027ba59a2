//! Current status of a team and its members, and unanswered questions. New viewers receive them first.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
};

use jackfield_core::call::Call;
use jackfield_model::{AskKind, CallId, Json};

use super::{
    super::event::{
        AgentStatus, CallerKey, EventBody, MemberEvent, StatusChange, SubTeam, TeamStatus,
        ToolInvocation,
    },
    super::tree::{path_key, route_key},
    CallPosition, FeedEvent,
};

/// Current status of a team and its members.
#[derive(Debug, Default)]
pub(super) struct TeamStatuses {
    /// Members by route key.
    members: BTreeMap<Arc<str>, MemberActivity>,
    /// Teams by their names along the path, joined by `/`. The root has an empty key.
    teams: HashMap<String, TeamActivity>,
    pending: Vec<PendingQuestion>,
    /// Whether the hub is shutting down. No team becomes idle afterwards.
    is_stopping: bool,
}

#[derive(Debug, Default)]
struct MemberActivity {
    status: Option<AgentStatus>,
    open: usize,
}

#[derive(Debug, Default)]
struct TeamActivity {
    status: Option<TeamStatus>,
    open: usize,
}

/// Content of a [`PendingQuestion`] question.
#[derive(Debug, Clone)]
pub struct QuestionContent {
    /// Tool call to approve, or the tool call that represents the question.
    pub of: ToolInvocation,
    /// Arguments of the tool call.
    pub arguments: Json,
    /// Message of the member to the approver. May be empty.
    pub text: String,
}

/// Question of a member, to be answered by a viewer.
#[derive(Debug, Clone)]
pub struct PendingQuestion {
    /// Route key of the asking member.
    pub route: Arc<str>,
    /// Content of the question.
    pub asked: QuestionContent,
    /// Events for showing the question: the segment of the tool call, as far as retained, and the question.
    pub told: Vec<Arc<FeedEvent>>,
    pub(crate) call: Weak<Call>,
    pub(crate) call_id: CallId,
    pub(crate) ask: String,
    pub(crate) kind: AskKind,
    pub(crate) caller: CallerKey,
}

impl TeamStatuses {
    /// Returns the status of the team itself.
    pub(super) fn team(&self) -> TeamStatus {
        let team = self.teams.get("").and_then(|team| team.status);
        team.unwrap_or(TeamStatus::Idle)
    }

    pub(super) fn set_team(&mut self, path: &[SubTeam], new: TeamStatus) -> Option<TeamStatus> {
        let team = self.teams.entry(path_key(path)).or_default();
        team.status.replace(new)
    }

    pub(super) fn member(&self, route: &str) -> Option<AgentStatus> {
        self.members.get(route).and_then(|member| member.status)
    }

    pub(super) fn set_member(&mut self, route: &Arc<str>, new: AgentStatus) {
        self.members.entry(route.clone()).or_default().status = Some(new);
    }

    /// Counts a new call at `position`. Returns the teams along the path that start to run, as path lengths with
    /// the previous status.
    pub(super) fn call_opened(
        &mut self,
        position: &CallPosition,
    ) -> Vec<(usize, Option<TeamStatus>)> {
        self.members.entry(position.route.clone()).or_default().open += 1;
        let mut begun = Vec::new();
        for length in 0..=position.path.len() {
            let key = path_key(&position.path[..length]);
            let team = self.teams.entry(key).or_default();
            team.open += 1;
            if team.open == 1 && !self.is_stopping {
                begun.push((length, team.status.replace(TeamStatus::Running)));
            }
        }
        begun
    }

    /// Counts down an ended call at `position`. Returns the teams along the path that become idle, innermost
    /// first, as path lengths with the previous status.
    pub(super) fn call_ended(
        &mut self,
        position: &CallPosition,
    ) -> Vec<(usize, Option<TeamStatus>)> {
        if let Some(member) = self.members.get_mut(&position.route) {
            member.open = member.open.saturating_sub(1);
        }
        let mut ended = Vec::new();
        for length in (0..=position.path.len()).rev() {
            let key = path_key(&position.path[..length]);
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

    /// Sets the status of a member as reported by one of its calls. Returns an event if the status changed. A
    /// member with several open calls does not become idle.
    pub(super) fn change(
        &mut self,
        position: &CallPosition,
        new: AgentStatus,
        tool: Option<&Arc<str>>,
        error: Option<&String>,
    ) -> Option<MemberEvent> {
        let member = self.members.entry(position.route.clone()).or_default();
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

    pub(super) fn ask(&mut self, pending: PendingQuestion) {
        self.pending.push(pending);
    }

    /// Attaches an appended event to its pending question, for viewers that join later.
    pub(super) fn attach_event(&mut self, told: &Arc<FeedEvent>) {
        let EventBody::Member { name, event, .. } = &*told.body else {
            return;
        };
        let MemberEvent::ApprovalRequested { of, .. } = event else {
            return;
        };
        let route = route_key(&told.path, name);
        let is_it =
            |pending: &&mut PendingQuestion| pending.route == route && pending.asked.of.id == of.id;
        // Several matches: the last question was registered just now.
        if let Some(pending) = self.pending.iter_mut().rev().find(is_it) {
            pending.told.push(told.clone());
        }
    }

    pub(super) fn answered(&mut self, call: CallId, of: &ToolInvocation) {
        self.pending
            .retain(|pending| pending.call_id != call || pending.asked.of.id != of.id);
    }

    pub(super) fn forget_asks(&mut self, call: CallId) {
        self.pending.retain(|pending| pending.call_id != call);
    }

    pub(super) fn pending(&self) -> &[PendingQuestion] {
        &self.pending
    }

    pub(super) fn forget_member(&mut self, route: &str) {
        self.members.remove(route);
    }

    /// Marks the hub as shutting down.
    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Clears all statuses and questions after the end of a run.
    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.teams.clear();
        self.pending.clear();
    }
}
