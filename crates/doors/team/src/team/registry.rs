//! Registry of the hub's teams, with the members and the event feeds of the teams.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use jackfield_core::{
    agent::Profile,
    metrics::{Level, Metrics},
};
use jackfield_kit::files::Files;
use jackfield_model::{AgentId, Failure, Reason};
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;

use super::{
    MemberKind, MemberSpec, TeamRecord, TeamSpec,
    board::TaskBoard,
    feed::{EventFeed, FeedPool},
    tree::{MAX_DEPTH, TeamTree},
};
use crate::TeamLimits;

/// Maximum length of a member name, in characters.
const MAX_NAME: usize = 128;
/// Maximum length of a team's name or description, in bytes.
const MAX_TEXT: usize = 16 << 10;

/// Interval for ending inactive runs, in sweeps of the hub.
const REST_EVERY: u64 = 60;

/// Registered team.
#[derive(Debug)]
pub(crate) struct RegisteredTeam {
    pub(crate) id: AgentId,
    /// Record without tasks; the tasks are on the board.
    record: Mutex<TeamRecord>,
    pub(crate) board: Mutex<TaskBoard>,
    pub(crate) feed: Arc<EventFeed>,
}

impl RegisteredTeam {
    /// Returns the record of the team, without tasks.
    pub(crate) fn record(&self) -> TeamRecord {
        self.record.lock().clone()
    }

    pub(crate) fn spec(&self) -> TeamSpec {
        self.record.lock().spec.clone()
    }

    pub(crate) fn set(&self, record: TeamRecord) {
        *self.record.lock() = record;
        self.feed.bump_version();
    }

    /// Returns the agent of the coordinator.
    pub(crate) fn leader(&self) -> Option<AgentId> {
        leader(&self.record.lock().spec)
    }
}

/// Returns the agent of the coordinator, unless the coordinator is unknown or a team.
pub(crate) fn leader(spec: &TeamSpec) -> Option<AgentId> {
    let leads = |member: &&MemberSpec| member.name == spec.coordinator;
    match spec.members.iter().find(leads)?.of.clone() {
        MemberKind::Agent(agent) => Some(agent),
        MemberKind::Team(_) => None,
    }
}

/// Registry of the hub's [`RegisteredTeam`]s.
#[derive(Debug)]
pub(crate) struct TeamRegistry {
    teams: RwLock<HashMap<AgentId, Arc<RegisteredTeam>>>,
    /// Feeds of single agents with current or recent viewers.
    solo: RwLock<HashMap<AgentId, Arc<EventFeed>>>,
    pool: Arc<FeedPool>,
    /// Teams declared in the configuration file.
    declared: RwLock<HashSet<AgentId>>,
    /// Files under links, for the feeds.
    pub(crate) files: Arc<Files>,
    /// Number of sweeps of the hub.
    sweeps: AtomicU64,
    /// Metric of the bytes held by all feeds.
    ring_bytes: OnceLock<Level>,
    limits: TeamLimits,
}

impl TeamRegistry {
    pub(crate) fn new(limits: TeamLimits, files: Arc<Files>) -> Self {
        Self {
            files,
            teams: RwLock::default(),
            solo: RwLock::default(),
            pool: Arc::default(),
            declared: RwLock::default(),
            sweeps: AtomicU64::default(),
            ring_bytes: OnceLock::new(),
            limits,
        }
    }

    /// Registers the metric of the bytes held by all feeds.
    pub(crate) fn measure(&self, metrics: &Metrics) {
        self.ring_bytes.get_or_init(|| {
            let help = "Memory of the events that teams keep for their viewers";
            metrics.level("team_ring_bytes", help)
        });
    }

    /// Updates metrics and ends inactive runs. The hub calls the method every second.
    pub(crate) fn on_sweep(&self, now: Instant) {
        if let Some(level) = self.ring_bytes.get() {
            level.set(self.pool.held());
        }
        let sweeps = self.sweeps.fetch_add(1, Ordering::Relaxed);
        if sweeps.is_multiple_of(REST_EVERY) {
            self.rest_at(now);
        }
    }

    /// Ends runs that were inactive for longer than the limit.
    pub(crate) fn rest_at(&self, now: Instant) {
        if let Some(before) = now.checked_sub(self.limits.rest.0) {
            self.end_idle_runs(before);
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<RegisteredTeam>> {
        self.teams.read().get(id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<RegisteredTeam>> {
        self.teams.read().values().cloned().collect()
    }

    pub(crate) fn insert(&self, mut record: TeamRecord) -> Arc<RegisteredTeam> {
        let tasks = std::mem::take(&mut record.tasks);
        let team = Arc::new(RegisteredTeam {
            id: record.id.clone(),
            board: Mutex::new(TaskBoard::new(tasks, self.limits.tasks)),
            feed: EventFeed::new(record.id.clone(), self.pool.clone(), &self.limits),
            record: Mutex::new(record),
        });
        self.teams.write().insert(team.id.clone(), team.clone());
        team
    }

    pub(crate) fn remove(&self, id: &AgentId) {
        let team = self.teams.write().remove(id);
        let solo = self.solo.write().remove(id);
        for feed in team.map(|team| team.feed.clone()).into_iter().chain(solo) {
            feed.close();
        }
    }

    /// Marks a team as declared in the configuration file. Such a team changes only in the file.
    pub(crate) fn declare(&self, id: &AgentId) {
        self.declared.write().insert(id.clone());
    }

    pub(crate) fn is_declared(&self, id: &AgentId) -> bool {
        self.declared.read().contains(id)
    }

    /// Builds the current [`TeamTree`] of a team.
    pub(crate) fn tree(&self, id: &AgentId) -> TeamTree {
        let teams = self.teams.read();
        TeamTree::build(id, &|team| teams.get(team).map(|team| team.spec()))
    }

    /// Returns the [`EventFeed`] of a single agent, if the feed exists.
    pub(crate) fn agent_feed(&self, id: &AgentId) -> Option<Arc<EventFeed>> {
        self.solo.read().get(id).cloned()
    }

    /// Returns the [`EventFeed`] of a single agent. Creates the feed if missing.
    pub(crate) fn open_agent_feed(&self, id: &AgentId) -> Arc<EventFeed> {
        let mut solo = self.solo.write();
        let new = || EventFeed::new(id.clone(), self.pool.clone(), &self.limits);
        solo.entry(id.clone()).or_insert_with(new).clone()
    }

    /// Returns the feeds of all teams and of all single agents.
    pub(crate) fn feeds(&self) -> Vec<Arc<EventFeed>> {
        let teams = self.all();
        let teams = teams.iter().map(|team| team.feed.clone());
        teams.chain(self.solo.read().values().cloned()).collect()
    }

    /// Ends runs without activity since `before`.
    pub(crate) fn end_idle_runs(&self, before: Instant) {
        for feed in self.feeds() {
            feed.end_if_idle(before);
        }
        // Keep a feed that a caller holds, for example to start viewing: all callers must share the same
        // feed.
        let is_held = |feed: &Arc<EventFeed>| Arc::strong_count(feed) > 1;
        let mut solo = self.solo.write();
        solo.retain(|_, feed| is_held(feed) || feed.is_active());
    }

    /// Returns the teams that contain team `id` as a direct member, with the member's name.
    pub(crate) fn parents(&self, id: &AgentId) -> Vec<(Arc<RegisteredTeam>, Arc<str>)> {
        let is_it = |member: &MemberSpec| member.of == MemberKind::Team(id.clone());
        let mut parents = Vec::new();
        for team in self.all() {
            for member in team.spec().members.iter().filter(|member| is_it(member)) {
                parents.push((team.clone(), member.name.clone()));
            }
        }
        parents
    }

    /// Returns whether an agent is a member of any team.
    pub(crate) fn have_member(&self, id: &AgentId) -> bool {
        let is_it = |member: &MemberSpec| member.of == MemberKind::Agent(id.clone());
        let mut teams = self.all().into_iter();
        teams.any(|team| team.spec().members.iter().any(is_it))
    }

    /// Refuses a team description that is inconsistent, contains the team itself, or nests too deep.
    pub(crate) fn check(&self, id: &AgentId, spec: &TeamSpec) -> Result<(), Failure> {
        let refused = |text: String| Err(Failure::new(Reason::Invalid, text));
        for (field, text) in [
            ("name", Some(&spec.name)),
            ("description", spec.description.as_ref()),
        ] {
            if text.is_some_and(|text| text.len() > MAX_TEXT) {
                return refused(format!(
                    "field \"{field}\" may have at most {MAX_TEXT} bytes"
                ));
            }
        }
        if spec.members.is_empty() || spec.members.len() > self.limits.members {
            let max = self.limits.members;
            return refused(format!("field \"members\" must have 1 to {max} members"));
        }
        for (at, member) in spec.members.iter().enumerate() {
            check_name(at, &member.name)?;
            let is_same = |other: &MemberSpec| other.name == member.name;
            if spec.members[..at].iter().any(is_same) {
                let name = &member.name;
                return refused(format!(
                    "field \"members[{at}].name\": {name:?} is the name of another member; each needs its own"
                ));
            }
        }
        let leads = |member: &&MemberSpec| member.name == spec.coordinator;
        match spec.members.iter().find(leads).map(|member| &member.of) {
            Some(MemberKind::Agent(_)) => {}
            Some(MemberKind::Team(_)) => {
                return refused(
                    "field \"coordinator\" must name a member that is an agent, not a team"
                        .to_owned(),
                );
            }
            None => {
                let names: Vec<&str> = spec.members.iter().map(|member| &*member.name).collect();
                return refused(format!(
                    "field \"coordinator\": {:?} is no member; use one of {}",
                    spec.coordinator,
                    names.join(", ")
                ));
            }
        }
        self.check_depth(id, spec)
    }

    fn check_depth(&self, id: &AgentId, spec: &TeamSpec) -> Result<(), Failure> {
        for (at, member) in spec.members.iter().enumerate() {
            let MemberKind::Team(team) = &member.of else {
                continue;
            };
            if team == id || self.contains(team, id) {
                let text = format!(
                    "field \"members[{at}].team\": team {team} contains team {id}, which would contain itself"
                );
                return Err(Failure::new(Reason::Invalid, text));
            }
        }
        let teams = self.teams.read();
        let spec_of = |team: &AgentId| {
            if team == id {
                return Some(spec.clone());
            }
            teams.get(team).map(|team| team.spec())
        };
        let below = TeamTree::build(id, &spec_of).depth();
        drop(teams);
        let depth = below + self.height(id, 0);
        if depth >= MAX_DEPTH {
            let text = format!(
                "field \"members\": teams would be {} deep within each other; at most {MAX_DEPTH} are allowed",
                depth + 1
            );
            return Err(Failure::new(Reason::Invalid, text));
        }
        Ok(())
    }

    /// Returns whether `team` contains `wanted` at any depth.
    pub(crate) fn contains(&self, team: &AgentId, wanted: &AgentId) -> bool {
        let spec = self.get(team.as_str()).map(|team| team.spec());
        let members = spec.map_or_else(Vec::new, |spec| spec.members);
        members.iter().any(|member| match &member.of {
            MemberKind::Agent(_) => false,
            MemberKind::Team(below) => below == wanted || self.contains(below, wanted),
        })
    }

    /// Returns the number of levels of teams above team `id`.
    fn height(&self, id: &AgentId, so_far: usize) -> usize {
        if so_far > MAX_DEPTH {
            return so_far;
        }
        let parents = self.parents(id);
        let heights = parents.iter();
        let heights = heights.map(|(parent, _)| 1 + self.height(&parent.id, so_far + 1));
        heights.max().unwrap_or(0)
    }
}

fn check_name(at: usize, name: &str) -> Result<(), Failure> {
    let is_good = !name.trim().is_empty()
        && name.trim() == name
        && name.chars().count() <= MAX_NAME
        && !name.contains(['/', '\\'])
        && !name.chars().any(char::is_control);
    if is_good {
        return Ok(());
    }
    let text = format!(
        "field \"members[{at}].name\" must have 1 to {MAX_NAME} characters, no slashes, and no blanks around it"
    );
    Err(Failure::new(Reason::Invalid, text))
}

/// Builds the agent [`Profile`] of a team.
pub(crate) fn profile(id: &AgentId, spec: &TeamSpec) -> Profile {
    Profile {
        name: if spec.name.is_empty() {
            id.to_string()
        } else {
            spec.name.clone()
        },
        description: spec.description.clone(),
        agent_type: Some("team".to_owned()),
        ..Profile::default()
    }
}
