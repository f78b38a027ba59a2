//! What viewers may do with a team besides watching: say something, stop it, decide what its members ask.

use std::sync::Arc;

use jackfield_core::{call::Call, hub::Request, principal::Principal, task::Task};
use jackfield_model::{AgentId, Answer, Ask, AskKind, Failure, Message, Reason, SessionId};

use super::{
    Teams,
    place::{Through, ViewerRequest},
    repeated,
};
use crate::{
    DOOR,
    team::{
        registry::Team,
        stage::{Pending, Stage, ViewerId},
        tree::{Named, path_key},
    },
};

/// What a viewer decided on what a member asks.
#[derive(Debug, Clone, Default)]
pub struct Decision {
    /// The run it was asked in, if the viewer knows.
    pub run: Option<String>,
    /// The member, by name or route key; not needed where only one asks under this id.
    pub target: Option<String>,
    /// What is asked; `None` for the only thing that is.
    pub invocation: Option<String>,
    /// Yes or no.
    pub approved: bool,
    /// Why.
    pub reason: Option<String>,
}

/// Why a decision was not taken.
#[derive(Debug, Clone, PartialEq)]
pub enum Undecided {
    /// It is about another run.
    Stale,
    /// Nobody waits for it, or nobody of whom the viewer may know.
    NotPending,
    /// Somebody waits for a decision of this id, but not that member.
    OtherMember,
    /// No id was named, and several decisions are waited for; has their ids.
    Several(Vec<String>),
    /// There is no such member; says who there is.
    NoMember(Failure),
    /// The viewer may see it and not decide it.
    NotAllowed,
    /// It was decided otherwise meanwhile, or the like.
    Failed(Failure),
}

impl Teams {
    /// Says something to a team's coordinator, or to the member that is named. If that one waits for an answer of this
    /// viewer, what is said is the answer, and no task is begun. A message that has an id is one message within a run,
    /// however often it is sent. What a viewer says is not shown to that viewer.
    pub async fn say(
        &self,
        principal: &Principal,
        id: &str,
        target: Option<&str>,
        message: Message,
        viewer: Option<ViewerId>,
    ) -> Result<Option<Arc<Task>>, Failure> {
        let (team, entry) = self.seen_team(principal, id)?;
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
        request.hint = Some(Arc::new(ViewerRequest { through, viewer }));
        // Whoever said it is told that it was refused; nobody else has to do with it, and the team is as it was.
        let said = self.say_on(&team.stage, &route, request).await;
        said.map_err(|failure| {
            if failure == Failure::agent_offline() {
                let text = format!("member {route} of team {id} is not connected");
                return Failure::new(Reason::Offline, text);
            }
            failure
        })
    }

    /// Says something to an agent that is viewed alone, in one conversation as long as it is.
    pub async fn say_to_agent(
        &self,
        principal: &Principal,
        id: &str,
        message: Message,
    ) -> Result<Option<Arc<Task>>, Failure> {
        let entry = self.hub.agents().find(principal, id)?;
        let served = entry.stands_for().unwrap_or_else(|| entry.clone());
        let stage = self.registry.open_solo(&served.id, self.hub.limits());
        let request = Request::new(principal.clone(), DOOR, entry.id.clone(), message);
        self.say_on(&stage, served.id.as_str(), request).await
    }

    /// Says something to whoever is at `route` of a stage: the answer that it waits for, or a new task.
    async fn say_on(
        &self,
        stage: &Stage,
        route: &str,
        mut request: Request,
    ) -> Result<Option<Arc<Task>>, Failure> {
        let run = stage.activate();
        request.once = repeated::once(&run, route, &request.message);
        // Agents know it by its call: viewers count anew in each run.
        request.message.id = None;
        if let Some(task) = self.hub.tasks().find_repeated(&request).await? {
            return Ok(Some(task));
        }
        let (principal, once) = (&request.principal, request.once.as_ref());
        if once.is_some_and(|once| stage.was_answer(principal, once)) {
            return Ok(None);
        }
        if self.answer_words(principal, stage, route, &request.message)? {
            if let Some(once) = request.once {
                stage.note_answer(&request.principal, once);
            }
            return Ok(None);
        }
        // One conversation as long as the team is active.
        request.session = SessionId::parse(&run.id).ok();
        self.hub.tasks().start(request).await.map(Some)
    }

    /// Who is meant: the team itself, or a member of it.
    fn addressee(
        &self,
        team: &Team,
        target: Option<&str>,
    ) -> Result<(AgentId, Option<Through>), Failure> {
        let Some(target) = target else {
            return Ok((team.id.clone(), None));
        };
        let refused = |text| Err(Failure::new(Reason::NotFound, text));
        match self.registry.tree(&team.id).named(target) {
            Named::One(place, below) => {
                let agent = below.unwrap_or_else(|| place.agent.clone());
                let stage = team.stage.clone();
                Ok((agent, Some(Through { stage, place })))
            }
            Named::Several(keys) => refused(format!(
                "several members of team {} are called {target:?}; use one of {}",
                team.id,
                keys.join(", ")
            )),
            Named::Nobody => Err(self.no_member(team, target)),
        }
    }

    fn no_member(&self, team: &Team, target: &str) -> Failure {
        let places = self.registry.tree(&team.id).places();
        let keys: Vec<_> = places.iter().map(|place| place.route_key()).collect();
        let keys = keys.join(", ");
        let text = format!("team {} has no member {target:?}; it has {keys}", team.id);
        Failure::new(Reason::NotFound, text)
    }

    /// A message to somebody who waits for words is the answer.
    fn answer_words(
        &self,
        principal: &Principal,
        stage: &Stage,
        route: &str,
        message: &Message,
    ) -> Result<bool, Failure> {
        for pending in stage.pending() {
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
                    content: Some(message.words_and_data()),
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

    /// Stops what goes on in a team, or at one of its members and below: all of it for the team's owner, what came of
    /// their own calls for others. Says how many calls that were.
    pub fn stop(
        &self,
        principal: &Principal,
        id: &str,
        target: Option<&str>,
    ) -> Result<usize, Failure> {
        let (team, _) = self.seen_team(principal, id)?;
        let route = match target {
            None => None,
            Some(target) => {
                let (agent, through) = self.addressee(&team, Some(target))?;
                through.map(|through| {
                    let is_team = agent != through.place.agent;
                    // A team's name stands for all of it, not for its coordinator.
                    if is_team {
                        path_key(&through.place.path).into()
                    } else {
                        through.place.route_key()
                    }
                })
            }
        };
        let is_owner = Self::is_owner(principal, &team);
        Ok(stop(principal, &team.stage, route.as_deref(), is_owner))
    }

    /// Stops what an agent that is viewed alone does, as far as the principal may.
    pub fn stop_agent(&self, principal: &Principal, id: &str) -> Result<usize, Failure> {
        let entry = self.hub.agents().find(principal, id)?;
        let entry = entry.stands_for().unwrap_or(entry);
        let is_owner = principal.may_act_for(entry.owner().as_str());
        let stage = self.registry.solo(&entry.id);
        Ok(stage.map_or(0, |stage| stop(principal, &stage, None, is_owner)))
    }

    /// Decides what a member of a team asks.
    pub fn decide(
        &self,
        principal: &Principal,
        id: &str,
        decision: &Decision,
    ) -> Result<(), Undecided> {
        let (team, _) = self.seen_team(principal, id).map_err(Undecided::Failed)?;
        let target = match &decision.target {
            None => None,
            Some(target) => match self.registry.tree(&team.id).named(target) {
                Named::One(place, _) => Some(vec![place.route_key()]),
                Named::Several(keys) => Some(keys),
                Named::Nobody => return Err(Undecided::NoMember(self.no_member(&team, target))),
            },
        };
        let is_owner = Self::is_owner(principal, &team);
        let may_know = |pending: &Pending| is_owner || pending.caller.is(principal);
        let pending = find_pending(&team.stage, decision, target.as_deref(), may_know)?;
        let call = pending.call.upgrade().ok_or(Undecided::NotPending)?;
        let is_caller = pending.caller.is(principal);
        // The one who asks is its owner's, whosever the team is, and whoever made it: that owner decides, or lets callers.
        let settings = call.agent().settings();
        let may = principal.may_act_for(call.agent().owner().as_str())
            || (is_caller && settings.approvals_to_caller)
            || !decision.approved;
        self.answer_pending(principal, &call, &pending, decision, may)
    }

    /// Decides what an agent that is viewed alone asks.
    pub fn decide_agent(
        &self,
        principal: &Principal,
        id: &str,
        decision: &Decision,
    ) -> Result<(), Undecided> {
        let entry = self
            .hub
            .agents()
            .find(principal, id)
            .map_err(Undecided::Failed)?;
        let entry = entry.stands_for().unwrap_or(entry);
        let stage = self.registry.solo(&entry.id).ok_or(Undecided::NotPending)?;
        let pending = find_pending(&stage, decision, None, |_| true)?;
        let call = pending.call.upgrade().ok_or(Undecided::NotPending)?;
        self.answer_pending(principal, &call, &pending, decision, false)
    }

    fn answer_pending(
        &self,
        principal: &Principal,
        call: &Arc<Call>,
        pending: &Pending,
        decision: &Decision,
        may: bool,
    ) -> Result<(), Undecided> {
        let answer = Answer {
            approved: Some(decision.approved),
            reason: decision.reason.clone(),
            content: decision.reason.clone(),
            ..Answer::default()
        };
        // Words are the caller's to give, whoever the team's owner is.
        let for_owner = may && pending.kind == AskKind::Approval;
        let answered = self
            .hub
            .calls()
            .decide(principal, call, &pending.ask, answer, for_owner);
        answered.map_err(|failure| match failure.reason {
            Reason::NotFound | Reason::Unauthorized => Undecided::NotAllowed,
            _ => Undecided::Failed(failure),
        })
    }
}

/// What is asked under the id that a viewer names, or the only thing that is asked, of the member that it names. Questions
/// that the viewer may not know of count as none.
fn find_pending(
    stage: &Stage,
    decision: &Decision,
    target: Option<&[Arc<str>]>,
    may_know: impl Fn(&Pending) -> bool,
) -> Result<Pending, Undecided> {
    let current = stage.run().map(|(run, _)| run);
    if let Some(run) = &decision.run
        && current.is_none_or(|current| *current.id != **run)
    {
        return Err(Undecided::Stale);
    }
    let mut pending = stage.pending();
    let is_named = |id: &str| {
        decision
            .invocation
            .as_deref()
            .is_none_or(|named| id == named)
    };
    pending.retain(|pending| is_named(&pending.asked.of.id) && may_know(pending));
    if pending.is_empty() {
        return Err(Undecided::NotPending);
    }
    if let Some(routes) = target {
        pending.retain(|pending| routes.contains(&pending.route));
    }
    match pending.len() {
        1 => Ok(pending.swap_remove(0)),
        0 => Err(Undecided::OtherMember),
        _ if decision.invocation.is_some() => Err(Undecided::OtherMember),
        _ => {
            let ids = pending
                .iter()
                .map(|pending| pending.asked.of.id.to_string());
            Err(Undecided::Several(ids.collect()))
        }
    }
}

fn stop(principal: &Principal, stage: &Stage, route: Option<&str>, is_owner: bool) -> usize {
    let calls = stage.calls(route, |caller| is_owner || caller.is(principal));
    let stopped = calls.iter().filter(|call| call.cancel());
    stopped.count()
}
