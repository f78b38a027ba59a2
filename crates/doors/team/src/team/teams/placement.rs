//! Placement of a call in the runs of teams: the agent that serves the call, and the feeds that show the
//! call.

use std::{any::Any, sync::Arc};

use jackfield_core::{
    entry::Entry,
    hub::{AgentRegistry, Request},
    observer::CallObserver,
    principal::Who,
    resolver::{CallContext, Resolution, Unresolved},
};
use jackfield_model::{AgentId, Failure};

use super::{resolver::TeamDeliveryRight, team_may_call};
use crate::team::{
    StoredMembership,
    event::CallerKey,
    feed::{CallPosition, EventFeed, ViewerId},
    feed_observer::{FeedObserver, FeedSlot, RunMembership},
    registry::{RegisteredTeam, TeamRegistry},
    renderer::MemberRenderer,
    run_context::RunContext,
    tree::{TeamTree, TreePosition},
};

/// Member called by name through its team.
#[derive(Debug, Clone)]
pub(super) struct NamedMember {
    pub(super) feed: Arc<EventFeed>,
    pub(super) place: TreePosition,
}

/// Hint of the team door in a request: [`Request::hint`].
#[derive(Debug)]
pub(super) struct TeamRequestHint {
    /// Team and member, if a member is called by name.
    pub(super) through: Option<NamedMember>,
    /// Viewer that sends the request, if any. The other viewers see the message.
    pub(super) viewer: Option<ViewerId>,
}

impl TeamRequestHint {
    pub(super) fn of(request: &Request) -> Option<&Self> {
        request.hint.as_ref()?.downcast_ref()
    }
}

impl TeamRegistry {
    /// Returns whether the team may call the agent behind a member's name.
    pub(super) fn reaches(&self, through: &NamedMember, entry: &Entry) -> bool {
        let team = self.get(through.feed.of.as_str());
        team.is_some_and(|team| team_may_call(&team.record(), entry))
    }

    /// Builds the [`Resolution`] of a call: finds the agent that serves the call, and the feeds that show the call.
    pub(super) fn place(
        &self,
        agents: &AgentRegistry,
        unresolved: &Unresolved<'_>,
    ) -> Result<Resolution, Failure> {
        let Unresolved {
            call,
            request,
            addressed,
            parent,
            kept,
        } = *unresolved;
        let team = self.get(addressed.id.as_str());
        let served = match &team {
            None => addressed.clone(),
            Some(team) => {
                let leader = addressed.stands_for().filter(|leader| !leader.is_retired());
                let leader = leader.ok_or_else(Failure::agent_offline)?;
                if !team_may_call(&team.record(), &leader) {
                    return Err(Failure::agent_offline());
                }
                leader
            }
        };
        let inherited = parent.and_then(|parent| parent.context());
        let inherited = inherited.and_then(|context| (&**context as &dyn Any).downcast_ref());
        let inherited = inherited.map_or(&[][..], |RunContext(runs)| runs);
        let solo = self.agent_feed(&served.id);
        let said = TeamRequestHint::of(request);
        let through = said.and_then(|said| said.through.as_ref());
        if team.is_none()
            && inherited.is_empty()
            && solo.is_none()
            && through.is_none()
            && kept.is_none()
        {
            return Ok(Resolution::default());
        }
        let kept = kept.map_or_else(Vec::new, StoredMembership::read);
        let caller = match (inherited, &kept[..]) {
            ([run, ..], _) => run.caller.clone(),
            ([], [kept, ..]) => CallerKey::of_key(&kept.caller),
            ([], []) => CallerKey::new(&request.principal),
        };
        let mut placing = CallPlacement {
            agent: served.id.clone(),
            sender: match &request.principal.who {
                Who::Agent(id) => Some(id.clone()),
                // A program started by the parent's agent, calling as its owner.
                Who::Person | Who::Platform | Who::Peer(_) => {
                    parent.map(|parent| parent.target.clone())
                }
            },
            caller,
            memberships: Vec::new(),
            runs: Vec::new(),
        };
        for run in inherited {
            let tree = self.tree(&run.feed.of);
            let place = match &team {
                Some(team) => tree.position_of_coordinator(&team.id, &run.from),
                None => tree.position_of(&served.id, &run.from),
            };
            match place {
                Some(place) => {
                    let is_member = placing.is_member(&tree);
                    placing.add_position(&run.feed, place, is_member);
                }
                // An agent outside the team may call back into the team, so the call stays in the run.
                None => placing.runs.push(RunMembership {
                    member: None,
                    ..run.clone()
                }),
            }
        }
        if let Some(through) = through
            && !placing.is_shown_in(&through.feed)
        {
            placing.add_position(&through.feed, through.place.clone(), false);
        }
        if let Some(team) = &team
            && !placing.is_shown_in(&team.feed)
            && let Some(place) = self.tree(&team.id).position_of_coordinator(&team.id, &[])
        {
            placing.add_position(&team.feed, place, false);
        }
        self.restore_positions(&mut placing, &kept);
        if let Some(feed) = solo {
            let position = placing.alone();
            placing.memberships.push(FeedSlot {
                feed,
                position,
                sender: None,
            });
        }
        let renderer = MemberRenderer::new(call, agents.limits().chunk.0);
        let viewer = said.and_then(|said| said.viewer);
        let memberships =
            FeedObserver::new(placing.memberships, viewer, renderer, self.files.clone());
        let observers =
            memberships.map(|memberships| Box::new(memberships) as Box<dyn CallObserver>);
        let context = RunContext::new(placing.runs);
        let right = self.right(agents, team, through, &kept);
        Ok(Resolution {
            serve_at: Some(served),
            observers: observers.into_iter().collect(),
            context: context.map(|runs| Arc::new(runs) as Arc<dyn CallContext>),
            right: right.map(|right| Box::new(right) as _),
        })
    }

    /// Returns the rights of a call beyond the rights of its caller: as a call of a team, as a call of a
    /// member by name, or as the call of a task with such rights.
    fn right(
        &self,
        agents: &AgentRegistry,
        team: Option<Arc<RegisteredTeam>>,
        through: Option<&NamedMember>,
        kept: &[StoredMembership],
    ) -> Option<TeamDeliveryRight> {
        let named = through.map(|through| &through.feed.of).into_iter();
        let kept = kept.iter().filter(|membership| membership.member.is_some());
        let through = named.chain(kept.map(|membership| &membership.team));
        let through = through.filter_map(|id| self.get(id.as_str()).zip(agents.get(id.as_str())));
        let through: Vec<_> = through.collect();
        let is_plain = team.is_none() && through.is_empty();
        (!is_plain).then_some(TeamDeliveryRight { team, through })
    }
}

pub(super) struct CallPlacement {
    pub(super) agent: AgentId,
    sender: Option<AgentId>,
    caller: CallerKey,
    memberships: Vec<FeedSlot>,
    pub(super) runs: Vec<RunMembership>,
}

impl CallPlacement {
    pub(super) fn is_shown_in(&self, feed: &Arc<EventFeed>) -> bool {
        let feeds = self.runs.iter();
        feeds.into_iter().any(|run| Arc::ptr_eq(&run.feed, feed))
    }

    fn is_member(&self, tree: &TeamTree) -> bool {
        let sender = self.sender.as_ref();
        sender.is_some_and(|sender| tree.position_of(sender, &[]).is_some())
    }

    pub(super) fn add_position(
        &mut self,
        feed: &Arc<EventFeed>,
        place: TreePosition,
        is_from_member: bool,
    ) {
        self.runs.push(RunMembership {
            feed: feed.clone(),
            from: place.path.iter().map(|node| node.name.clone()).collect(),
            member: Some(place.name.clone()),
            caller: self.caller.clone(),
        });
        self.memberships.push(FeedSlot {
            feed: feed.clone(),
            sender: self.sender.clone().filter(|_| is_from_member),
            position: CallPosition {
                route: place.route_key(),
                path: place.path,
                name: place.name,
                agent: place.agent,
                caller: self.caller.clone(),
            },
        });
    }

    /// Returns the position of the agent in the feed of a single agent.
    fn alone(&self) -> CallPosition {
        let name: Arc<str> = self.agent.as_str().into();
        CallPosition {
            path: [].into(),
            route: name.clone(),
            name,
            agent: self.agent.clone(),
            caller: self.caller.clone(),
        }
    }
}
