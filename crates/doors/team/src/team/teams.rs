//! Operations on the teams of a hub: creating and changing teams, viewing, steering, and placing calls in
//! runs.

mod board;
mod declare;
mod idempotency;
mod placement;
mod publish;
mod resolver;
mod restore;
mod roster;
mod steer;
mod view;

use std::sync::Arc;

use jackfield_core::{
    agent::Share,
    entry::Entry,
    hub::{AgentRegistry, Hub, may_call, may_see},
    limits::Limits,
    principal::{Principal, Who},
    store::{Receipt, Store, StoreError},
};
use jackfield_kit::files::Files;
use jackfield_model::{AgentId, Failure, Reason};
use jiff::Timestamp;

pub use self::{
    publish::{CheckedEnvelope, ClaimedSource, EnvelopeClaim, PublishRight},
    steer::{DecisionError, ViewerDecision},
    view::{TeamAgent, TeamView},
};
use crate::{
    DOOR, TeamLimits,
    team::{
        MemberKind, TeamRecord, TeamSpec, record,
        registry::{RegisteredTeam, TeamRegistry, leader, profile},
        tree::TreePosition,
    },
};

/// Teams of a hub. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Teams {
    hub: Hub,
    registry: Arc<TeamRegistry>,
    store: Arc<dyn Store>,
}

impl Teams {
    /// Opens a [`Hub`] on a store, with the stored teams as its resolver. Replaces [`Hub::open`].
    pub async fn open(store: Arc<dyn Store>, limits: Limits) -> Result<Self, StoreError> {
        let files = Arc::new(Files::new(&limits));
        Self::open_with(store, limits, TeamLimits::default(), files).await
    }

    /// Opens a hub with teams that have these limits and whose events link to `files`.
    pub async fn open_with(
        store: Arc<dyn Store>,
        limits: Limits,
        team_limits: TeamLimits,
        files: Arc<Files>,
    ) -> Result<Self, StoreError> {
        let registry = Arc::new(TeamRegistry::new(team_limits, files));
        for record in record::load(&*store).await? {
            registry.insert(record);
        }
        let hub = Hub::open_with(store.clone(), limits, registry.clone()).await?;
        Ok(Self {
            hub,
            registry,
            store,
        })
    }

    /// Returns the hub.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Creates a team. The team is an agent of the hub from then on. The [`Receipt`] resolves after the store
    /// wrote the team.
    pub fn create(
        &self,
        principal: &Principal,
        id: &AgentId,
        spec: TeamSpec,
    ) -> Result<(TeamView, Receipt), Failure> {
        person_only(principal)?;
        let teams = &self.registry;
        let _held = self.hub.agents().lock_forgetting();
        if self.hub.agents().get(id.as_str()).is_some() {
            // Principals without access to the agent learn only that the id is taken, as with agents.
            let what = if teams.get(id.as_str()).is_some() {
                "a team"
            } else {
                "an agent"
            };
            let text = format!("id {id} belongs to {what} already; choose another id");
            return Err(Failure::new(Reason::Conflict, text));
        }
        self.check_spec(principal, id, &spec)?;
        let (team, saved) = self.add_team(principal, id, spec)?;
        Ok((self.view_of(&team), saved))
    }

    fn add_team(
        &self,
        principal: &Principal,
        id: &AgentId,
        spec: TeamSpec,
    ) -> Result<(Arc<RegisteredTeam>, Receipt), Failure> {
        let (_, saved) = self
            .hub
            .agents()
            .reserve(principal, id, &profile(id, &spec), DOOR)?;
        // No need to wait: the store writes the team afterwards, and the caller waits for the team.
        drop(saved);
        let now = Timestamp::now();
        let record = TeamRecord {
            id: id.clone(),
            owner: principal.owner.clone(),
            by_admin: principal.is_admin(),
            spec,
            created_at: now,
            updated_at: now,
            tasks: Vec::new(),
        };
        let team = self.registry.insert(record.clone());
        self.registry.follow_coordinator(self.hub.agents(), &team);
        Ok((team, record::save(&*self.store, record)))
    }

    /// Changes a team. The run and open calls continue, except the calls of removed members.
    pub fn change(
        &self,
        principal: &Principal,
        id: &AgentId,
        change: impl FnOnce(TeamSpec) -> TeamSpec,
    ) -> Result<(TeamView, Receipt), Failure> {
        // Acquire before the lookup: the team must not be removed meanwhile.
        let _held = self.hub.agents().lock_forgetting();
        let (team, entry) = self.owned_team(principal, id)?;
        self.registry.check_declared(id)?;
        let mut record = team.record();
        let before = std::mem::replace(&mut record.spec, change(team.spec()));
        self.check_spec(principal, id, &record.spec)?;
        if principal.owner == record.owner {
            record.by_admin = principal.is_admin();
        } else {
            // An admin grants no own rights to the team of another owner.
            self.check_reach(&record, &before)?;
        }
        let saved = self.set_team(&team, &entry, record.spec, record.by_admin);
        Ok((self.view_of(&team), saved))
    }

    /// Checks that the team may call its new members.
    fn check_reach(&self, record: &TeamRecord, before: &TeamSpec) -> Result<(), Failure> {
        for (at, member) in record.spec.members.iter().enumerate() {
            let (MemberKind::Agent(id) | MemberKind::Team(id)) = &member.of;
            let entry = self.hub.agents().get(id.as_str());
            let is_new = before.members.iter().all(|known| known.of != member.of);
            if is_new && entry.is_some_and(|entry| !team_may_call(record, &entry)) {
                let text = format!(
                    "field \"members[{at}]\": this is a team of {owner}'s, with whom {id} is not shared; see `jackfield share`",
                    owner = record.owner
                );
                return Err(Failure::new(Reason::Invalid, text));
            }
        }
        Ok(())
    }

    fn set_team(
        &self,
        team: &RegisteredTeam,
        entry: &Entry,
        spec: TeamSpec,
        by_admin: bool,
    ) -> Receipt {
        let mut record = team.record();
        record.spec = spec;
        record.by_admin = by_admin;
        record.updated_at = Timestamp::now();
        // No need to wait: the store writes the team afterwards, and the caller waits for the team.
        drop(
            self.hub
                .agents()
                .describe(entry, profile(&team.id, &record.spec)),
        );
        let before = self.rosters(&team.id);
        team.set(record.clone());
        self.registry.follow_coordinator(self.hub.agents(), team);
        self.apply_roster_change(before);
        record::save(&*self.store, record)
    }

    /// Removes a team and its board. The members stay.
    pub fn remove(&self, principal: &Principal, id: &AgentId) -> Result<Receipt, Failure> {
        self.owned_team(principal, id)?;
        self.hub.agents().forget(principal, id)
    }

    fn check_spec(
        &self,
        principal: &Principal,
        id: &AgentId,
        spec: &TeamSpec,
    ) -> Result<(), Failure> {
        for (at, member) in spec.members.iter().enumerate() {
            let (what, agent) = match &member.of {
                MemberKind::Agent(agent) => ("agent", agent),
                MemberKind::Team(team) => ("team", team),
            };
            let refused = |text: String| {
                let text = format!("field \"members[{at}].{what}\": {text}");
                Err(Failure::new(Reason::Invalid, text))
            };
            // The registry refuses a team that contains itself, with a message of its own.
            if agent == id {
                continue;
            }
            if self.hub.agents().find(principal, agent.as_str()).is_err() {
                return refused(format!(
                    "no {what} {agent} is known here that you may call; see `jackfield ls`"
                ));
            }
            let is_team = self.registry.get(agent.as_str()).is_some();
            match &member.of {
                MemberKind::Agent(_) if is_team => {
                    return refused(format!("{agent} is a team; write \"team\" instead"));
                }
                MemberKind::Team(_) if !is_team => {
                    return refused(format!("{agent} is no team; write \"agent\" instead"));
                }
                MemberKind::Agent(_) | MemberKind::Team(_) => {}
            }
        }
        if leader(spec).as_ref() == Some(id) {
            let text = "field \"coordinator\": a team cannot lead itself";
            return Err(Failure::new(Reason::Invalid, text));
        }
        self.registry.check(id, spec)
    }

    /// Returns a team owned by the principal, or any team for admins.
    fn owned_team(
        &self,
        principal: &Principal,
        id: &AgentId,
    ) -> Result<(Arc<RegisteredTeam>, Arc<Entry>), Failure> {
        let (team, _) = self.visible_team(principal, id.as_str())?;
        let entry = self.hub.agents().owned(principal, id)?;
        Ok((team, entry))
    }

    pub(super) fn visible_team(
        &self,
        principal: &Principal,
        id: &str,
    ) -> Result<(Arc<RegisteredTeam>, Arc<Entry>), Failure> {
        self.registry.seen(self.hub.agents(), principal, id)
    }

    /// Returns whether the principal may act for the whole team: as its owner or as an admin.
    pub(super) fn is_owner(principal: &Principal, team: &RegisteredTeam) -> bool {
        principal.is_admin()
            || (principal.who == Who::Person && principal.owner == team.record().owner)
    }

    /// Returns the position of the principal in the team. Fails if the principal is not a member.
    pub(super) fn member_name(
        &self,
        principal: &Principal,
        team: &RegisteredTeam,
    ) -> Result<TreePosition, Failure> {
        self.registry.member_name(principal, team)
    }
}

impl TeamRegistry {
    /// Makes the entry of a team stand for its coordinator.
    pub(super) fn follow_coordinator(&self, agents: &AgentRegistry, team: &RegisteredTeam) {
        let Some(entry) = agents.get(team.id.as_str()) else {
            return;
        };
        let leader = team.leader();
        entry.stand_for(leader.and_then(|leader| agents.get(leader.as_str())));
    }

    /// Returns a team visible to the principal.
    pub(super) fn seen(
        &self,
        agents: &AgentRegistry,
        principal: &Principal,
        id: &str,
    ) -> Result<(Arc<RegisteredTeam>, Arc<Entry>), Failure> {
        let team = self.get(id);
        let is_member = |team: &RegisteredTeam| self.member_name(principal, team).is_ok();
        // An invited agent may call the agents of its owner, but does not see their teams.
        let sees = |entry: &Entry| match entry.share() {
            Share::Everyone => true,
            Share::Nobody | Share::With(_) => !principal.is_invited() && may_see(principal, entry),
        };
        team.zip(agents.get(id))
            .filter(|(team, entry)| sees(entry) || is_member(team))
            .ok_or_else(|| Failure::no_such_team(id))
    }

    /// Returns the position of the principal in the team. Fails if the principal is not a member.
    fn member_name(
        &self,
        principal: &Principal,
        team: &RegisteredTeam,
    ) -> Result<TreePosition, Failure> {
        let place = match &principal.who {
            Who::Agent(id) => self.tree(&team.id).position_of(id, &[]),
            Who::Person | Who::Platform | Who::Peer(_) => None,
        };
        place.ok_or_else(|| {
            let text = format!(
                "only the owner and the members of team {} may do this",
                team.id
            );
            Failure::new(Reason::Unauthorized, text)
        })
    }

    /// Refuses changes of a team declared in the configuration file.
    pub(super) fn check_declared(&self, id: &AgentId) -> Result<(), Failure> {
        if !self.is_declared(id) {
            return Ok(());
        }
        let text = format!(
            "team {id} stands in the hub's configuration file; change it there and start the hub again"
        );
        Err(Failure::new(Reason::Conflict, text))
    }
}

fn person_only(principal: &Principal) -> Result<(), Failure> {
    match principal.who {
        Who::Person => Ok(()),
        Who::Agent(_) | Who::Platform | Who::Peer(_) => Err(Failure::new(
            Reason::Unauthorized,
            "teams are made by people, not by agents",
        )),
    }
}

/// Returns whether a team may call an agent: the owner of the team may, or an admin created the team.
pub(super) fn team_may_call(record: &TeamRecord, entry: &Entry) -> bool {
    team_may_call_if_shared(record, entry, || entry.share())
}

/// Returns whether a team may call an agent with the given [`Share`].
pub(super) fn team_may_call_if_shared(
    record: &TeamRecord,
    entry: &Entry,
    share: impl FnOnce() -> Share,
) -> bool {
    record.by_admin
        || record.owner == *entry.owner()
        || match share() {
            Share::Nobody => false,
            Share::With(owners) => owners.contains(&record.owner),
            Share::Everyone => true,
        }
}

#[cfg(test)]
mod tests;
