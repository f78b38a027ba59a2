//! Publishing of envelopes by outside runtimes: authorization, and the feeds that show the envelopes.

use std::sync::Arc;

use jackfield_core::principal::Principal;
use jackfield_model::{AgentId, Failure, Json, Reason};

use super::Teams;
use crate::team::{
    event::{AgentStatus, EventBody, SubTeam, TeamStatus},
    feed::TeamRun,
    registry::RegisteredTeam,
    tree::{BranchKind, MAX_DEPTH, TeamTree, TreePosition, route_key},
};

/// Claimed source of an envelope, as read by the door.
#[derive(Debug, Clone)]
pub struct EnvelopeClaim<'a> {
    /// Ids of the teams, outermost first, `None` where the envelope names no team. Has an element more than
    /// `nodes`.
    pub teams: Vec<Option<&'a str>>,
    /// Names of the nested teams, outermost first.
    pub nodes: Vec<&'a str>,
    /// Claimed source of the event.
    pub said: ClaimedSource<'a>,
}

/// Claimed source of an envelope's event.
#[derive(Debug, Clone, Copy)]
pub enum ClaimedSource<'a> {
    /// The team itself.
    Team(TeamStatus),
    /// Member of the team.
    Member {
        /// Name of the member.
        name: &'a str,
        /// Claimed agent id.
        agent: Option<&'a str>,
        /// Claimed status.
        status: Option<AgentStatus>,
    },
    /// Task board.
    Board,
}

/// Envelope checked by [`PublishRight::check`].
#[derive(Debug)]
pub struct CheckedEnvelope {
    /// Agent of the event.
    pub agent: Option<AgentId>,
    route: Option<Arc<str>>,
    path: Vec<SubTeam>,
    team: Option<TeamStatus>,
    status: Option<AgentStatus>,
}

/// Principal that may publish to a team's feed, with the team's tree at the time of the check.
#[derive(Debug)]
pub struct PublishRight {
    /// Own position, for principals that may publish for a single member only.
    own: Option<TreePosition>,
    tree: TeamTree,
}

impl PublishRight {
    /// Checks that the publisher may publish an envelope: the owner for any member, a member only for itself.
    /// `at` is the prefix of field names in errors.
    pub fn check(&self, claim: &EnvelopeClaim<'_>, at: &str) -> Result<CheckedEnvelope, Failure> {
        let Self { own, tree } = self;
        let refused = |field: &str, text: String| {
            let text = format!("field \"{at}{field}\": {text}");
            Failure::new(Reason::Invalid, text)
        };
        let (mut field, mut path, mut inner) = (String::new(), Vec::new(), tree);
        let check_id = |said: Option<&&str>, team: &AgentId, field: &str| match said {
            Some(said) if **said != *team.as_str() => Err(refused(
                &format!("{field}team_id"),
                format!("{said:?} is not the team that this is about, which is {team}"),
            )),
            _ => Ok(()),
        };
        let mut ids = claim.teams.iter().map(Option::as_ref);
        check_id(ids.next().flatten(), &tree.team, "")?;
        for node in &claim.nodes {
            let below = inner.branches.iter().find_map(|branch| match &branch.of {
                BranchKind::Team(tree) if *branch.name == **node => Some((branch, tree)),
                BranchKind::Team(_) | BranchKind::Agent(_) => None,
            });
            let Some((branch, below)) = below else {
                let field = format!("{field}data.sub_team_node_name");
                let text = format!("team {} has no team {node:?} as a member", inner.team);
                return Err(refused(&field, text));
            };
            path.push(SubTeam {
                name: branch.name.clone(),
                team: below.team.clone(),
            });
            field.push_str("data.sub_team_event.");
            check_id(ids.next().flatten(), &below.team, &field)?;
            inner = below;
        }
        let mut publication = CheckedEnvelope {
            agent: None,
            route: None,
            path,
            team: None,
            status: None,
        };
        match claim.said {
            ClaimedSource::Member {
                name,
                agent,
                status,
            } => {
                let sits = inner.branches.iter().find_map(|branch| match &branch.of {
                    BranchKind::Agent(agent) if *branch.name == *name => Some((branch, agent)),
                    BranchKind::Team(_) | BranchKind::Agent(_) => None,
                });
                let Some((branch, sits)) = sits else {
                    let field = format!("{field}data.agent_name");
                    let text = format!("team {} has no agent {name:?} as a member", inner.team);
                    return Err(refused(&field, text));
                };
                let route = route_key(&publication.path, &branch.name);
                if let Some(own) = own {
                    let is_own = own.agent == *sits;
                    if !is_own || agent.is_some_and(|agent| *agent != *own.agent.as_str()) {
                        let text = format!(
                            "field \"{at}{field}data.agent_name\": a member publishes only as itself, which is {:?} (agent {})",
                            own.route_key(),
                            own.agent
                        );
                        return Err(Failure::new(Reason::Unauthorized, text));
                    }
                }
                publication.agent = Some(sits.clone());
                publication.route = Some(route);
                publication.status = status;
            }
            ClaimedSource::Team(_) | ClaimedSource::Board if own.is_some() => {
                let text = format!(
                    "field \"{at}event_source_type\": a member publishes only events of itself (AGENT)"
                );
                return Err(Failure::new(Reason::Unauthorized, text));
            }
            ClaimedSource::Team(status) => publication.team = Some(status),
            ClaimedSource::Board => {}
        }
        Ok(publication)
    }
}

impl Teams {
    /// Returns a [`PublishRight`] if the principal is the owner or a member of the team.
    pub fn publisher(&self, principal: &Principal, id: &str) -> Result<PublishRight, Failure> {
        let (team, _) = self.visible_team(principal, id)?;
        let own = if Self::is_owner(principal, &team) {
            None
        } else {
            Some(self.member_name(principal, &team)?)
        };
        let tree = self.registry.tree(&team.id);
        Ok(PublishRight { own, tree })
    }

    /// Publishes checked envelopes in order. Returns the run and the number of the last event.
    pub fn publish(
        &self,
        principal: &Principal,
        id: &str,
        envelopes: Vec<(CheckedEnvelope, Json)>,
    ) -> Result<(Arc<TeamRun>, u64), Failure> {
        if self.hub.is_stopping() {
            return Err(jackfield_core::hub::stopping());
        }
        let (team, _) = self.visible_team(principal, id)?;
        let above = self.enclosing_teams(&team);
        let mut last = 0;
        for (publication, json) in envelopes {
            let body = Arc::new(EventBody::Published(json));
            if let (Some(route), Some(status)) = (&publication.route, publication.status) {
                team.feed.note_member(route, status);
            }
            if let Some(status) = publication.team {
                team.feed.note_team(&publication.path, status);
            }
            // Empty path: the envelope itself names its nested teams.
            last = team.feed.append_event(&[].into(), body.clone());
            for (parent, path) in &above {
                parent.feed.append_event(path, body.clone());
            }
        }
        let run = team.feed.activate();
        Ok((run, last))
    }

    /// Shows an event without a call in the feed of the team, and in the feeds of enclosing teams with the
    /// same owner.
    pub(super) fn show_to_viewers(&self, team: &Arc<RegisteredTeam>, body: EventBody) -> u64 {
        let body = Arc::new(body);
        for (parent, path) in self.enclosing_teams(team) {
            parent.feed.append_event(&path, body.clone());
        }
        team.feed.append_event(&[].into(), body)
    }

    /// Returns the enclosing teams with the same owner and an active feed, each with the path down to the
    /// team.
    fn enclosing_teams(
        &self,
        team: &Arc<RegisteredTeam>,
    ) -> Vec<(Arc<RegisteredTeam>, Arc<[SubTeam]>)> {
        let owner = team.record().owner;
        let mut found = Vec::new();
        let mut rising = vec![(team.clone(), Vec::<SubTeam>::new())];
        while let Some((team, path)) = rising.pop() {
            if path.len() >= MAX_DEPTH {
                continue;
            }
            for (parent, name) in self.registry.parents(&team.id) {
                if parent.record().owner != owner {
                    continue;
                }
                let mut path = path.clone();
                path.insert(
                    0,
                    SubTeam {
                        name,
                        team: team.id.clone(),
                    },
                );
                if parent.feed.is_active() {
                    found.push((parent.clone(), path.clone().into()));
                }
                rising.push((parent, path));
            }
        }
        found
    }
}
