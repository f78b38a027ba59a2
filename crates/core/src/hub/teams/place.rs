//! How a call finds its place: who works on it, and on which stages that is shown.

use std::sync::Arc;

use super::{Hub, team_may_call};
use jackfield_model::{AgentId, CallId, Failure};

use crate::{
    call::Call,
    entry::Entry,
    hub::Request,
    observer::CallObserver,
    principal::Who,
    team::{
        KeptSeat,
        event::Caller,
        seat::{Belonging, Seat, Seats},
        stage::{Spot, Stage},
        story::Story,
        tree::{Place, Tree},
    },
};

/// Who works on a call, and where that is shown.
#[derive(Debug)]
pub(in crate::hub) struct Placed {
    /// The agent, or the coordinator of the team that was called.
    pub(in crate::hub) entry: Arc<Entry>,
    pub(in crate::hub) observers: Vec<Box<dyn CallObserver>>,
    pub(in crate::hub) runs: Arc<[Belonging]>,
}

/// A member that is called through its team, by name.
#[derive(Debug, Clone)]
pub struct Through {
    pub(crate) stage: Arc<Stage>,
    pub(crate) place: Place,
}

impl Hub {
    /// Whether a team's call, or one through a team, may reach this agent.
    pub(in crate::hub) fn reaches(&self, through: &Through, entry: &Entry) -> bool {
        let team = self.0.teams.get(through.stage.of.as_str());
        team.is_some_and(|team| team_may_call(&team.record(), entry))
    }

    /// Finds a call's place.
    pub(in crate::hub) fn place(
        &self,
        call: CallId,
        request: &Request,
        entry: &Arc<Entry>,
        parent: Option<&Arc<Call>>,
        kept: &[KeptSeat],
    ) -> Result<Placed, Failure> {
        let teams = &self.0.teams;
        let team = teams.get(entry.id.as_str());
        let served = match &team {
            None => entry.clone(),
            Some(team) => {
                let leader = entry.lead().filter(|leader| !leader.is_retired());
                let leader = leader.ok_or_else(Failure::agent_offline)?;
                if !team_may_call(&team.record(), &leader) {
                    return Err(Failure::agent_offline());
                }
                leader
            }
        };
        let inherited = parent.map_or(&[][..], |parent| &parent.runs);
        let solo = teams.solo(&served.id);
        if team.is_none()
            && inherited.is_empty()
            && solo.is_none()
            && request.through.is_none()
            && kept.is_empty()
        {
            return Ok(Placed {
                entry: served,
                observers: Vec::new(),
                runs: Arc::default(),
            });
        }
        let caller = match (inherited, kept) {
            ([run, ..], _) => run.caller.clone(),
            ([], [kept, ..]) => Caller::of_key(&kept.caller),
            ([], []) => Caller::new(&request.principal),
        };
        let mut placing = Placing {
            agent: served.id.clone(),
            sender: match &request.principal.who {
                Who::Agent(id) => Some(id.clone()),
                // A program that the parent's agent started, calling as its owner.
                Who::Person | Who::Platform | Who::Peer(_) => {
                    parent.map(|parent| parent.target.clone())
                }
            },
            caller,
            seats: Vec::new(),
            runs: Vec::new(),
        };
        for run in inherited {
            let tree = teams.tree(&run.stage.of);
            let place = match &team {
                Some(team) => tree.seat_of_team(&team.id, &run.from),
                None => tree.seat_of(&served.id, &run.from),
            };
            match place {
                Some(place) => {
                    let is_member = placing.is_member(&tree);
                    placing.sit(&run.stage, place, is_member);
                }
                // Whoever is called from outside the team may come back into it.
                None => placing.runs.push(Belonging {
                    member: None,
                    ..run.clone()
                }),
            }
        }
        if let Some(through) = &request.through
            && !placing.is_on(&through.stage)
        {
            placing.sit(&through.stage, through.place.clone(), false);
        }
        if let Some(team) = &team
            && !placing.is_on(&team.stage)
            && let Some(place) = teams.tree(&team.id).seat_of_team(&team.id, &[])
        {
            placing.sit(&team.stage, place, false);
        }
        self.sit_again(&mut placing, kept);
        if let Some(stage) = solo {
            let spot = placing.alone();
            placing.seats.push(Seat {
                stage,
                spot,
                sender: None,
            });
        }
        let story = Story::new(call, self.limits().chunk.0);
        let seats = Seats::new(placing.seats, request.viewer, story);
        let observers = seats.map(|seats| Box::new(seats) as Box<dyn CallObserver>);
        Ok(Placed {
            entry: served,
            observers: observers.into_iter().collect(),
            runs: placing.runs.into(),
        })
    }
}

pub(super) struct Placing {
    pub(super) agent: AgentId,
    sender: Option<AgentId>,
    caller: Caller,
    seats: Vec<Seat>,
    pub(super) runs: Vec<Belonging>,
}

impl Placing {
    pub(super) fn is_on(&self, stage: &Arc<Stage>) -> bool {
        let stages = self.runs.iter();
        stages.into_iter().any(|run| Arc::ptr_eq(&run.stage, stage))
    }

    fn is_member(&self, tree: &Tree) -> bool {
        let sender = self.sender.as_ref();
        sender.is_some_and(|sender| tree.seat_of(sender, &[]).is_some())
    }

    pub(super) fn sit(&mut self, stage: &Arc<Stage>, place: Place, is_from_member: bool) {
        self.runs.push(Belonging {
            stage: stage.clone(),
            from: place.path.iter().map(|node| node.name.clone()).collect(),
            member: Some(place.name.clone()),
            caller: self.caller.clone(),
        });
        self.seats.push(Seat {
            stage: stage.clone(),
            sender: self.sender.clone().filter(|_| is_from_member),
            spot: Spot {
                route: place.route_key(),
                path: place.path,
                name: place.name,
                agent: place.agent,
                caller: self.caller.clone(),
            },
        });
    }

    /// The agent's place when it is viewed alone.
    fn alone(&self) -> Spot {
        let name: Arc<str> = self.agent.as_str().into();
        Spot {
            path: [].into(),
            route: name.clone(),
            name,
            agent: self.agent.clone(),
            caller: self.caller.clone(),
        }
    }
}
