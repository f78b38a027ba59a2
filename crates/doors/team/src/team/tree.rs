//! Tree of a team: positions of all agents, their names, and name lookups relative to a position.

use std::{collections::VecDeque, sync::Arc};

use jackfield_model::AgentId;

use super::{MemberKind, MemberSpec, TeamSpec, event::SubTeam};

/// Maximum nesting depth of teams, as defined by the protocol.
pub const MAX_DEPTH: usize = 16;

/// Team with its members, recursively.
#[derive(Debug, Clone)]
pub struct TeamTree {
    /// Id of the team.
    pub team: AgentId,
    /// Name of the coordinator.
    pub coordinator: Arc<str>,
    /// Members in the order of the team's description.
    pub branches: Vec<TreeBranch>,
}

/// Member with the subtree below.
#[derive(Debug, Clone)]
pub struct TreeBranch {
    /// Name of the member in its team.
    pub name: Arc<str>,
    /// Agent or team behind the name.
    pub of: BranchKind,
}

/// Kind of a [`TreeBranch`].
#[derive(Debug, Clone)]
pub enum BranchKind {
    /// Agent.
    Agent(AgentId),
    /// Nested team.
    Team(TeamTree),
}

/// Position of an agent in a [`TeamTree`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreePosition {
    /// Teams on the path to the agent, outermost first, without the root.
    pub path: Arc<[SubTeam]>,
    /// Name of the agent in the innermost team.
    pub name: Arc<str>,
    /// Id of the agent.
    pub agent: AgentId,
}

impl TreePosition {
    /// Returns the route key: the names along the path and the agent's own name, joined by `/`. Unique in the
    /// tree.
    pub fn route_key(&self) -> Arc<str> {
        route_key(&self.path, &self.name)
    }
}

/// Joins the names in `path` and `name` with `/`.
pub(crate) fn route_key(path: &[SubTeam], name: &Arc<str>) -> Arc<str> {
    if path.is_empty() {
        return name.clone();
    }
    let mut key = path_key(path);
    key.push('/');
    key.push_str(name);
    key.into()
}

/// Joins the names in `path` with `/`. Empty for the root.
pub(crate) fn path_key(path: &[SubTeam]) -> String {
    let names: Vec<&str> = path.iter().map(|node| &*node.name).collect();
    names.join("/")
}

impl TeamTree {
    /// Builds the tree of `team`. `spec_of` looks up teams: an unknown team has no members. Teams nested
    /// deeper than [`MAX_DEPTH`] are left out.
    pub(crate) fn build(team: &AgentId, spec_of: &impl Fn(&AgentId) -> Option<TeamSpec>) -> Self {
        Self::grow_to(team, spec_of, MAX_DEPTH)
    }

    fn grow_to(
        team: &AgentId,
        spec_of: &impl Fn(&AgentId) -> Option<TeamSpec>,
        depth: usize,
    ) -> Self {
        let spec = spec_of(team);
        let branch = |member: &MemberSpec| {
            let of = match &member.of {
                MemberKind::Agent(agent) => BranchKind::Agent(agent.clone()),
                MemberKind::Team(_) if depth == 0 => return None,
                MemberKind::Team(team) => BranchKind::Team(Self::grow_to(team, spec_of, depth - 1)),
            };
            let name = member.name.clone();
            Some(TreeBranch { name, of })
        };
        let members = spec.as_ref().map_or(&[][..], |spec| &spec.members);
        Self {
            team: team.clone(),
            coordinator: spec
                .as_ref()
                .map_or_else(|| "".into(), |spec| spec.coordinator.clone()),
            branches: members.iter().filter_map(branch).collect(),
        }
    }

    /// Returns the number of nested levels below the team.
    pub(crate) fn depth(&self) -> usize {
        let below = |branch: &TreeBranch| match &branch.of {
            BranchKind::Agent(_) => 0,
            BranchKind::Team(tree) => tree.depth() + 1,
        };
        self.branches.iter().map(below).max().unwrap_or(0)
    }

    /// Returns the positions of all agents, outer teams first.
    pub fn positions(&self) -> Vec<TreePosition> {
        let mut places = Vec::new();
        self.walk(&[], &mut |place| places.push(place));
        places
    }

    fn walk(&self, path: &[SubTeam], each: &mut impl FnMut(TreePosition)) {
        let shared: Arc<[SubTeam]> = path.into();
        for branch in &self.branches {
            if let BranchKind::Agent(agent) = &branch.of {
                each(TreePosition {
                    path: shared.clone(),
                    name: branch.name.clone(),
                    agent: agent.clone(),
                });
            }
        }
        for (branch, tree) in self.teams() {
            tree.walk(&below(path, branch, tree), each);
        }
    }

    fn teams(&self) -> impl Iterator<Item = (&TreeBranch, &Self)> {
        self.branches.iter().filter_map(|branch| match &branch.of {
            BranchKind::Agent(_) => None,
            BranchKind::Team(tree) => Some((branch, tree)),
        })
    }

    /// Returns the position of the coordinator, if the coordinator is an agent of the team. `path` leads to
    /// the team.
    fn leader(&self, path: &[SubTeam]) -> Option<TreePosition> {
        self.branches.iter().find_map(|branch| match &branch.of {
            BranchKind::Agent(agent) if branch.name == self.coordinator => Some(TreePosition {
                path: path.into(),
                name: branch.name.clone(),
                agent: agent.clone(),
            }),
            BranchKind::Agent(_) | BranchKind::Team(_) => None,
        })
    }

    /// Follows `names` from the root and returns every tree on the way with its path. Stops at the first
    /// unknown name.
    fn descend(&self, names: &[Arc<str>]) -> Vec<(Vec<SubTeam>, &Self)> {
        let mut way = vec![(Vec::new(), self)];
        for name in names {
            let (path, tree) = way.last().expect("it begins with the root");
            let next = tree.teams().find(|(branch, _)| branch.name == *name);
            let Some((branch, tree)) = next else { break };
            let path = below(path, branch, tree);
            way.push((path, tree));
        }
        way
    }

    /// Finds the position of `agent`, seen from the team at the end of `from`: first in the team or below,
    /// then in the nearest enclosing team. Among several positions, the position closest to the top wins.
    pub(crate) fn position_of(&self, agent: &AgentId, from: &[Arc<str>]) -> Option<TreePosition> {
        self.nearest(from, |path, tree| {
            tree.branches.iter().find_map(|branch| match &branch.of {
                BranchKind::Agent(sits) if sits == agent => Some(TreePosition {
                    path: path.into(),
                    name: branch.name.clone(),
                    agent: agent.clone(),
                }),
                BranchKind::Agent(_) | BranchKind::Team(_) => None,
            })
        })
    }

    /// Finds the position of the coordinator of `team`, seen from the team at the end of `from`.
    pub(crate) fn position_of_coordinator(
        &self,
        team: &AgentId,
        from: &[Arc<str>],
    ) -> Option<TreePosition> {
        self.nearest(from, |path, tree| {
            (tree.team == *team).then(|| tree.leader(path)).flatten()
        })
    }

    fn nearest(
        &self,
        from: &[Arc<str>],
        seek: impl Fn(&[SubTeam], &Self) -> Option<TreePosition>,
    ) -> Option<TreePosition> {
        for (path, tree) in self.descend(from).into_iter().rev() {
            let mut queue = VecDeque::from([(path, tree)]);
            while let Some((path, tree)) = queue.pop_front() {
                if let Some(place) = seek(&path, tree) {
                    return Some(place);
                }
                queue.extend(
                    tree.teams()
                        .map(|(branch, tree)| (below(&path, branch, tree), tree)),
                );
            }
        }
        None
    }

    /// Resolves a name given by a viewer: a route key, or a member name without duplicates in the tree. The
    /// name of a team resolves to the team's coordinator, and the result includes the team.
    pub(crate) fn resolve_name(&self, name: &str) -> NameLookup {
        let mut found = Vec::new();
        self.name_each(&[], &mut |key, is_leaf_name, place, team| {
            if key == name {
                found.insert(0, (true, place, team));
            } else if is_leaf_name == name {
                found.push((false, place, team));
            }
        });
        let exact = found.iter().position(|(is_exact, ..)| *is_exact);
        match (exact, found.len()) {
            (Some(at), _) => {
                let (_, place, team) = found.swap_remove(at);
                NameLookup::One(place, team)
            }
            (None, 0) => NameLookup::Nobody,
            (None, 1) => {
                let (_, place, team) = found.swap_remove(0);
                NameLookup::One(place, team)
            }
            (None, _) => NameLookup::Several(
                found
                    .iter()
                    .map(|(_, place, _)| place.route_key())
                    .collect(),
            ),
        }
    }

    fn name_each(
        &self,
        path: &[SubTeam],
        each: &mut impl FnMut(&str, &str, TreePosition, Option<AgentId>),
    ) {
        for branch in &self.branches {
            let key = route_key(path, &branch.name);
            match &branch.of {
                BranchKind::Agent(agent) => {
                    let place = TreePosition {
                        path: path.into(),
                        name: branch.name.clone(),
                        agent: agent.clone(),
                    };
                    each(&key, &branch.name, place, None);
                }
                BranchKind::Team(tree) => {
                    let inner = below(path, branch, tree);
                    if let Some(place) = tree.leader(&inner) {
                        each(&key, &branch.name, place, Some(tree.team.clone()));
                    }
                    tree.name_each(&inner, each);
                }
            }
        }
    }
}

/// Result of [`TeamTree::resolve_name`].
#[derive(Debug)]
pub(crate) enum NameLookup {
    /// Position of the agent. With a team id if the name meant a team, represented by the agent as
    /// coordinator.
    One(TreePosition, Option<AgentId>),
    /// Ambiguous name. Holds the route keys of all candidates.
    Several(Vec<Arc<str>>),
    /// Unknown name.
    Nobody,
}

fn below(path: &[SubTeam], branch: &TreeBranch, tree: &TeamTree) -> Vec<SubTeam> {
    let mut path = path.to_vec();
    path.push(SubTeam {
        name: branch.name.clone(),
        team: tree.team.clone(),
    });
    path
}

#[cfg(test)]
mod tests;
