//! Actions of viewers: sending messages, stopping calls, and answering questions of members.

use std::sync::Arc;

use jackfield_core::{call::Call, hub::Request, principal::Principal, task::Task};
use jackfield_model::{AgentId, Answer, Ask, AskKind, Failure, Message, Reason, SessionId};

use super::{
    Teams, idempotency,
    placement::{NamedMember, TeamRequestHint},
};
use crate::{
    DOOR,
    team::{
        feed::{EventFeed, PendingQuestion, ViewerId},
        registry::RegisteredTeam,
        tree::{NameLookup, path_key},
    },
};

/// Decision of a viewer on a question of a member.
#[derive(Debug, Clone, Default)]
pub struct ViewerDecision {
    /// Run of the question, if known.
    pub run: Option<String>,
    /// Member, by name or route key. Optional if a single member asks under the id.
    pub target: Option<String>,
    /// Id of the tool call. Optional if a single question is pending.
    pub invocation: Option<String>,
    /// Whether the request is approved.
    pub approved: bool,
    /// Reason.
    pub reason: Option<String>,
}

/// Error of [`Teams::decide`].
#[derive(Debug, Clone, PartialEq)]
pub enum DecisionError {
    /// The question belongs to another run.
    Stale,
    /// No such question is pending, or none visible to the viewer.
    NotPending,
    /// A question with the id is pending, but from a different member.
    OtherMember,
    /// No id was given, and several questions are pending. Holds their ids.
    Several(Vec<String>),
    /// Unknown member. The [`Failure`] lists the members.
    NoMember(Failure),
    /// The viewer may see the question, but not decide.
    NotAllowed,
    /// Any other failure, for example a decision made meanwhile.
    Failed(Failure),
}

impl Teams {
    /// Sends a message to the coordinator of a team, or to the member `target`.
    ///
    /// - If the recipient waits for an answer from the principal, the message is the answer. Returns `None`,
    ///   and no task starts.
    /// - A message with an id is processed once per run, even if sent repeatedly.
    /// - The sending `viewer` does not receive the message as an event.
    pub async fn send_message(
        &self,
        principal: &Principal,
        id: &str,
        target: Option<&str>,
        message: Message,
        viewer: Option<ViewerId>,
    ) -> Result<Option<Arc<Task>>, Failure> {
        let (team, entry) = self.visible_team(principal, id)?;
        if !super::may_call(principal, &entry) {
            let text = format!("you may watch team {id} but not call it");
            return Err(Failure::new(Reason::Unauthorized, text));
        }
        let (agent, through) = self.addressee(&team, target)?;
        let route = match &through {
            Some(through) => through.place.route_key(),
            None => team.spec().coordinator,
        };
        let mut request = Request::new(principal.clone(), DOOR, agent, message);
        request.hint = Some(Arc::new(TeamRequestHint { through, viewer }));
        // Only the sender learns of a refusal. The team is unchanged.
        let said = self.send_message_at(&team.feed, &route, request).await;
        said.map_err(|failure| {
            if failure == Failure::agent_offline() {
                let text = format!("member {route} of team {id} is not connected");
                return Failure::new(Reason::Offline, text);
            }
            failure
        })
    }

    /// Sends a message to a single agent. All messages within a run form a single conversation.
    pub async fn send_message_to_agent(
        &self,
        principal: &Principal,
        id: &str,
        message: Message,
    ) -> Result<Option<Arc<Task>>, Failure> {
        let entry = self.hub.agents().find(principal, id)?;
        let served = entry.stands_for().unwrap_or_else(|| entry.clone());
        let feed = self.registry.open_agent_feed(&served.id);
        let request = Request::new(principal.clone(), DOOR, entry.id.clone(), message);
        self.send_message_at(&feed, served.id.as_str(), request)
            .await
    }

    /// Sends a message to the member at `route`: as the answer to a pending question, or as a new task.
    async fn send_message_at(
        &self,
        feed: &EventFeed,
        route: &str,
        mut request: Request,
    ) -> Result<Option<Arc<Task>>, Failure> {
        let run = feed.activate();
        request.once = idempotency::idempotency_key(&run, route, &request.message);
        // The agent identifies the message by its call: viewers restart their ids in each run.
        request.message.id = None;
        if let Some(task) = self.hub.tasks().find_repeated(&request).await? {
            return Ok(Some(task));
        }
        let (principal, once) = (&request.principal, request.once.as_ref());
        if once.is_some_and(|once| feed.was_answer(principal, once)) {
            return Ok(None);
        }
        if self.answer_with_message(principal, feed, route, &request.message)? {
            if let Some(once) = request.once {
                feed.note_answer(&request.principal, once);
            }
            return Ok(None);
        }
        // A run is a single conversation.
        request.session = SessionId::parse(&run.id).ok();
        self.hub.tasks().start(request).await.map(Some)
    }

    /// Finds the recipient: the team itself, or a member.
    fn addressee(
        &self,
        team: &RegisteredTeam,
        target: Option<&str>,
    ) -> Result<(AgentId, Option<NamedMember>), Failure> {
        let Some(target) = target else {
            return Ok((team.id.clone(), None));
        };
        let refused = |text| Err(Failure::new(Reason::NotFound, text));
        match self.registry.tree(&team.id).resolve_name(target) {
            NameLookup::One(place, below) => {
                let agent = below.unwrap_or_else(|| place.agent.clone());
                let feed = team.feed.clone();
                Ok((agent, Some(NamedMember { feed, place })))
            }
            NameLookup::Several(keys) => refused(format!(
                "several members of team {} are called {target:?}; use one of {}",
                team.id,
                keys.join(", ")
            )),
            NameLookup::Nobody => Err(self.no_member(team, target)),
        }
    }

    fn no_member(&self, team: &RegisteredTeam, target: &str) -> Failure {
        let places = self.registry.tree(&team.id).positions();
        let keys: Vec<_> = places.iter().map(|place| place.route_key()).collect();
        let keys = keys.join(", ");
        let text = format!("team {} has no member {target:?}; it has {keys}", team.id);
        Failure::new(Reason::NotFound, text)
    }

    /// Uses a message as the answer if the recipient waits for text input. Returns whether a question was
    /// answered.
    fn answer_with_message(
        &self,
        principal: &Principal,
        feed: &EventFeed,
        route: &str,
        message: &Message,
    ) -> Result<bool, Failure> {
        for pending in feed.pending() {
            if *pending.route != *route {
                continue;
            }
            let Some(call) = pending.call.upgrade() else {
                continue;
            };
            let asks = call.open_asks(principal);
            let waits = |ask: &&Ask| ask.id == pending.ask && ask.kind == AskKind::Input;
            if let Some(ask) = asks.iter().find(waits) {
                let answer = Answer {
                    content: Some(message.joined_text_and_data()),
                    ..Answer::default()
                };
                self.hub
                    .calls()
                    .answer(principal, call.id, &ask.id, answer)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Cancels the open calls of a team, or of a member and below. The owner of the team cancels all calls;
    /// other principals cancel their own. Returns the number of cancelled calls.
    pub fn stop(
        &self,
        principal: &Principal,
        id: &str,
        target: Option<&str>,
    ) -> Result<usize, Failure> {
        let (team, _) = self.visible_team(principal, id)?;
        let route = match target {
            None => None,
            Some(target) => {
                let (agent, through) = self.addressee(&team, Some(target))?;
                through.map(|through| {
                    let is_team = agent != through.place.agent;
                    // The name of a team means the whole team, not only its coordinator.
                    if is_team {
                        path_key(&through.place.path).into()
                    } else {
                        through.place.route_key()
                    }
                })
            }
        };
        let is_owner = Self::is_owner(principal, &team);
        Ok(stop(principal, &team.feed, route.as_deref(), is_owner))
    }

    /// Cancels the calls of a single agent, as far as the principal may.
    pub fn stop_agent(&self, principal: &Principal, id: &str) -> Result<usize, Failure> {
        let entry = self.hub.agents().find(principal, id)?;
        let entry = entry.stands_for().unwrap_or(entry);
        let is_owner = principal.may_act_for(entry.owner().as_str());
        let feed = self.registry.agent_feed(&entry.id);
        Ok(feed.map_or(0, |feed| stop(principal, &feed, None, is_owner)))
    }

    /// Decides a question of a team's member.
    pub fn decide(
        &self,
        principal: &Principal,
        id: &str,
        decision: &ViewerDecision,
    ) -> Result<(), DecisionError> {
        let (team, _) = self
            .visible_team(principal, id)
            .map_err(DecisionError::Failed)?;
        let target = match &decision.target {
            None => None,
            Some(target) => match self.registry.tree(&team.id).resolve_name(target) {
                NameLookup::One(place, _) => Some(vec![place.route_key()]),
                NameLookup::Several(keys) => Some(keys),
                NameLookup::Nobody => {
                    return Err(DecisionError::NoMember(self.no_member(&team, target)));
                }
            },
        };
        let is_owner = Self::is_owner(principal, &team);
        let may_know = |pending: &PendingQuestion| is_owner || pending.caller.is(principal);
        let pending = find_pending(&team.feed, decision, target.as_deref(), may_know)?;
        let call = pending.call.upgrade().ok_or(DecisionError::NotPending)?;
        let is_caller = pending.caller.is(principal);
        // The owner of the asking agent decides, regardless of the team's owner, or permits callers to
        // decide.
        let settings = call.agent().settings();
        let may = principal.may_act_for(call.agent().owner().as_str())
            || (is_caller && settings.approvals_to_caller)
            || !decision.approved;
        self.answer_pending(principal, &call, &pending, decision, may)
    }

    /// Decides a question of a single agent.
    pub fn decide_agent(
        &self,
        principal: &Principal,
        id: &str,
        decision: &ViewerDecision,
    ) -> Result<(), DecisionError> {
        let entry = self
            .hub
            .agents()
            .find(principal, id)
            .map_err(DecisionError::Failed)?;
        let entry = entry.stands_for().unwrap_or(entry);
        let feed = self
            .registry
            .agent_feed(&entry.id)
            .ok_or(DecisionError::NotPending)?;
        let pending = find_pending(&feed, decision, None, |_| true)?;
        let call = pending.call.upgrade().ok_or(DecisionError::NotPending)?;
        self.answer_pending(principal, &call, &pending, decision, false)
    }

    fn answer_pending(
        &self,
        principal: &Principal,
        call: &Arc<Call>,
        pending: &PendingQuestion,
        decision: &ViewerDecision,
        may: bool,
    ) -> Result<(), DecisionError> {
        let answer = Answer {
            approved: Some(decision.approved),
            reason: decision.reason.clone(),
            content: decision.reason.clone(),
            ..Answer::default()
        };
        // Only the caller answers questions for text, regardless of the team's owner.
        let for_owner = may && pending.kind == AskKind::Approval;
        let answered = self
            .hub
            .calls()
            .decide(principal, call, &pending.ask, answer, for_owner);
        answered.map_err(|failure| match failure.reason {
            Reason::NotFound | Reason::Unauthorized => DecisionError::NotAllowed,
            _ => DecisionError::Failed(failure),
        })
    }
}

/// Finds the pending question that a decision refers to. Ignores questions hidden from the viewer.
fn find_pending(
    feed: &EventFeed,
    decision: &ViewerDecision,
    target: Option<&[Arc<str>]>,
    may_know: impl Fn(&PendingQuestion) -> bool,
) -> Result<PendingQuestion, DecisionError> {
    let current = feed.run().map(|(run, _)| run);
    if let Some(run) = &decision.run
        && current.is_none_or(|current| *current.id != **run)
    {
        return Err(DecisionError::Stale);
    }
    let mut pending = feed.pending();
    let is_named = |id: &str| {
        decision
            .invocation
            .as_deref()
            .is_none_or(|named| id == named)
    };
    pending.retain(|pending| is_named(&pending.asked.of.id) && may_know(pending));
    if pending.is_empty() {
        return Err(DecisionError::NotPending);
    }
    if let Some(routes) = target {
        pending.retain(|pending| routes.contains(&pending.route));
    }
    match pending.len() {
        1 => Ok(pending.swap_remove(0)),
        0 => Err(DecisionError::OtherMember),
        _ if decision.invocation.is_some() => Err(DecisionError::OtherMember),
        _ => {
            let ids = pending
                .iter()
                .map(|pending| pending.asked.of.id.to_string());
            Err(DecisionError::Several(ids.collect()))
        }
    }
}

fn stop(principal: &Principal, feed: &EventFeed, route: Option<&str>, is_owner: bool) -> usize {
    let calls = feed.calls(route, |caller| is_owner || caller.is(principal));
    let stopped = calls.iter().filter(|call| call.cancel());
    stopped.count()
}
