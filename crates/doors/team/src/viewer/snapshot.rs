//! Snapshot for a new viewer: the current status of everything. Only pending questions have sequence numbers,
//! because they are events. Receiving a part of the snapshot again as an event is harmless.

use std::{collections::HashSet, sync::Arc};

use jackfield_core::principal::Principal;
use jiff::Timestamp;

use crate::{
    TeamDoor,
    team::{
        event::{AgentStatus, EventBody, MemberEvent, ToolInvocation},
        feed::{FeedItem, FeedReader, PendingQuestion, ReplayStart},
        teams::TeamView,
        tree::TreePosition,
    },
    translate::{self, BoardForm, SnapshotRenderer, snapshot_tasks},
    wire,
};

/// Writes the snapshot of a team for a viewer that starts at `since`.
pub(super) fn of_team(
    door: &TeamDoor,
    principal: &Principal,
    team: &TeamView,
    viewing: &FeedReader,
    since: &ReplayStart,
    each: &mut dyn FnMut(&str),
) {
    let (id, now) = (team.record.id.as_str(), Timestamp::now());
    let own = SnapshotRenderer::new(id, &[], now);
    each(&own.flat(wire::EventSource::Team {
        new: team.status,
        old: None,
        error_message: None,
    }));
    let tail = RetainedEvents::read(door, principal, id, since);
    for agent in &team.agents {
        let place = &agent.place;
        // `idle` closes the member's display in the client. Sent before missed events, `idle` would make the
        // client start over and show streamed text twice.
        if agent.status == AgentStatus::Idle && tail.tells_of(&agent.route_key, viewing) {
            continue;
        }
        let there = SnapshotRenderer::new(id, &place.path, now);
        each(&there.flat(wire::EventSource::Agent {
            name: &place.name,
            agent_id: place.agent.as_str(),
            event: wire::AgentEventData::Status {
                new: agent.status,
                old: None,
                trigger: None,
                tool_name: None,
                error_message: None,
            },
        }));
    }
    // The board is hidden from principals that only see the events of their own calls.
    if let Ok(tasks) = door.teams.board(principal, id) {
        snapshot_tasks(&tasks, &mut |source| each(&own.flat(source)));
    }
    // Pending questions are sent as their original events. The web client identifies a tool call by its
    // segment, would start a second display for a known segment, and drops sequence numbers it has passed.
    let mut pending = viewing.pending();
    pending.retain(|pending| !tail.asks(pending));
    let mut asked: Vec<_> = pending.into_iter().flat_map(|it| it.told).collect();
    asked.sort_by_key(|told| told.sequence);
    for told in asked {
        each(told.rendered(|told| translate::flat(told, id, BoardForm::All)));
    }
}

/// Summary of the retained events that the viewer will receive.
#[derive(Default)]
struct RetainedEvents {
    /// Route keys of members with events.
    routes: HashSet<Arc<str>>,
    /// Whether outside runtimes published events, for any member.
    has_published: bool,
    asked: Vec<(Arc<str>, ToolInvocation)>,
}

impl RetainedEvents {
    fn read(door: &TeamDoor, principal: &Principal, id: &str, since: &ReplayStart) -> Self {
        let mut tail = Self::default();
        if *since == ReplayStart::Now {
            return tail;
        }
        if let Ok((_, mut viewing)) = door.teams.view(principal, id, &ReplayStart::Tail) {
            let mut retained = Vec::new();
            viewing.read_batch(usize::MAX, &mut retained);
            retained.iter().for_each(|seen| tail.note(seen));
        }
        tail
    }

    fn note(&mut self, seen: &FeedItem) {
        let FeedItem::Event(told) = seen else {
            return;
        };
        let (name, agent, event) = match &*told.body {
            EventBody::Member { name, agent, event } => (name, agent, event),
            EventBody::Published(_) => {
                self.has_published = true;
                return;
            }
            EventBody::Team { .. } | EventBody::Board(_) => return,
        };
        let place = TreePosition {
            path: told.path.clone(),
            name: name.clone(),
            agent: agent.clone(),
        };
        let route = place.route_key();
        if let MemberEvent::ApprovalRequested { of, .. } = event {
            self.asked.push((route.clone(), of.clone()));
        }
        self.routes.insert(route);
    }

    fn tells_of(&self, route: &Arc<str>, viewing: &FeedReader) -> bool {
        self.routes.contains(route)
            || (self.has_published && viewing.member_status(route).is_some())
    }

    fn asks(&self, pending: &PendingQuestion) -> bool {
        let mut asked = self.asked.iter();
        asked.any(|(route, of)| *of == pending.asked.of && *route == pending.route)
    }
}

/// Returns the current [`AgentStatus`] of a single agent.
pub(super) fn of_agent(
    door: &TeamDoor,
    principal: &Principal,
    id: &str,
    viewing: &FeedReader,
) -> AgentStatus {
    // Viewing a team as an agent shows the coordinator.
    let team = door.teams.get(principal, id).ok();
    let leads = team.as_ref().and_then(|team| {
        let mut agents = team.agents.iter();
        agents.find(|agent| agent.route_key == team.record.spec.coordinator)
    });
    let agent = leads.map_or(id, |leads| leads.place.agent.as_str());
    let online = match leads {
        Some(leads) => leads.online,
        None => {
            let entry = door.teams.hub().agents().find(principal, id);
            entry.is_ok_and(|entry| entry.is_online())
        }
    };
    let idle = if online {
        AgentStatus::Idle
    } else {
        AgentStatus::Uninitialized
    };
    viewing.member_status(agent).unwrap_or(idle)
}
