//! The tree of a team as it stands: who is where, by which names, and who is meant from a given place in it.

use std::{collections::VecDeque, sync::Arc};

use jackfield_model::AgentId;

use super::{Member, MemberOf, TeamSpec, event::Node};

/// Teams within teams go no deeper than this, as in the protocol.
pub const MAX_DEPTH: usize = 16;

/// A team with its members, and the teams among them with theirs.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The team.
    pub team: AgentId,
    /// The name of the member that leads it.
    pub coordinator: Arc<str>,
    /// Its members, in the order in which they were given.
    pub branches: Vec<Branch>,
}

/// A member and what is below it.
#[derive(Debug, Clone)]
pub struct Branch {
    /// Its name in its team.
    pub name: Arc<str>,
    /// What it is.
    pub of: BranchOf,
}

/// What a member is.
#[derive(Debug, Clone)]
pub enum BranchOf {
    /// An agent.
    Agent(AgentId),
    /// A team.
    Team(Tree),
}

/// An agent's place in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The teams on the way to it, outermost first, without the root.
    pub path: Arc<[Node]>,
    /// Its name in the last of them.
    pub name: Arc<str>,
    /// The agent.
    pub agent: AgentId,
}

impl Place {
    /// Its name in the whole tree: the names on the way, joined by `/`.
    pub fn route_key(&self) -> Arc<str> {
        route_key(&self.path, &self.name)
    }
}

/// The names on the way to a member and its own, joined by `/`.
pub(crate) fn route_key(path: &[Node], name: &Arc<str>) -> Arc<str> {
    if path.is_empty() {
        return name.clone();
    }
    let mut key = path_key(path);
    key.push('/');
    key.push_str(name);
    key.into()
}

/// The names on the way to a team, joined by `/`; empty for the root.
pub(crate) fn path_key(path: &[Node]) -> String {
    let names: Vec<&str> = path.iter().map(|node| &*node.name).collect();
    names.join("/")
}

impl Tree {
    /// The tree of a team, where `spec_of` knows the teams. A team that is not there any more has no members; what is
    /// deeper than teams may be is left out.
    pub(crate) fn grow(team: &AgentId, spec_of: &impl Fn(&AgentId) -> Option<TeamSpec>) -> Self {
        Self::grow_to(team, spec_of, MAX_DEPTH)
    }

    fn grow_to(
        team: &AgentId,
        spec_of: &impl Fn(&AgentId) -> Option<TeamSpec>,
        depth: usize,
    ) -> Self {
        let spec = spec_of(team);
        let branch = |member: &Member| {
            let of = match &member.of {
                MemberOf::Agent(agent) => BranchOf::Agent(agent.clone()),
                MemberOf::Team(_) if depth == 0 => return None,
                MemberOf::Team(team) => BranchOf::Team(Self::grow_to(team, spec_of, depth - 1)),
            };
            let name = member.name.clone();
            Some(Branch { name, of })
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

    /// How many teams are below each other here, this one not counted.
    pub(crate) fn depth(&self) -> usize {
        let below = |branch: &Branch| match &branch.of {
            BranchOf::Agent(_) => 0,
            BranchOf::Team(tree) => tree.depth() + 1,
        };
        self.branches.iter().map(below).max().unwrap_or(0)
    }

    /// All agents of the tree, team by team, outer ones first.
    pub fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        self.walk(&[], &mut |place| places.push(place));
        places
    }

    fn walk(&self, path: &[Node], each: &mut impl FnMut(Place)) {
        let shared: Arc<[Node]> = path.into();
        for branch in &self.branches {
            if let BranchOf::Agent(agent) = &branch.of {
                each(Place {
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

    fn teams(&self) -> impl Iterator<Item = (&Branch, &Self)> {
        self.branches.iter().filter_map(|branch| match &branch.of {
            BranchOf::Agent(_) => None,
            BranchOf::Team(tree) => Some((branch, tree)),
        })
    }

    /// The member that leads the team at the end of `path`, if it is an agent of it.
    fn leader(&self, path: &[Node]) -> Option<Place> {
        self.branches.iter().find_map(|branch| match &branch.of {
            BranchOf::Agent(agent) if branch.name == self.coordinator => Some(Place {
                path: path.into(),
                name: branch.name.clone(),
                agent: agent.clone(),
            }),
            BranchOf::Agent(_) | BranchOf::Team(_) => None,
        })
    }

    /// The tree at the end of these names, with the way to it as far as it goes.
    fn descend(&self, names: &[Arc<str>]) -> Vec<(Vec<Node>, &Self)> {
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

    /// Where an agent sits, seen from the team at the end of `from`: in that team or below it, else in the nearest team
    /// above. Of several places in one team the nearest to the top counts.
    pub(crate) fn seat_of(&self, agent: &AgentId, from: &[Arc<str>]) -> Option<Place> {
        self.nearest(from, |path, tree| {
            tree.branches.iter().find_map(|branch| match &branch.of {
                BranchOf::Agent(sits) if sits == agent => Some(Place {
                    path: path.into(),
                    name: branch.name.clone(),
                    agent: agent.clone(),
                }),
                BranchOf::Agent(_) | BranchOf::Team(_) => None,
            })
        })
    }

    /// Where the coordinator of a team sits, seen from the team at the end of `from`.
    pub(crate) fn seat_of_team(&self, team: &AgentId, from: &[Arc<str>]) -> Option<Place> {
        self.nearest(from, |path, tree| {
            (tree.team == *team).then(|| tree.leader(path)).flatten()
        })
    }

    fn nearest(
        &self,
        from: &[Arc<str>],
        seek: impl Fn(&[Node], &Self) -> Option<Place>,
    ) -> Option<Place> {
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

    /// Whom a viewer means by a name: a route key, or a name that only one member of the tree has; a team's name means
    /// its coordinator. With the team itself, where it is one.
    pub(crate) fn named(&self, name: &str) -> Named {
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
                Named::One(place, team)
            }
            (None, 0) => Named::Nobody,
            (None, 1) => {
                let (_, place, team) = found.swap_remove(0);
                Named::One(place, team)
            }
            (None, _) => Named::Several(
                found
                    .iter()
                    .map(|(_, place, _)| place.route_key())
                    .collect(),
            ),
        }
    }

    fn name_each(&self, path: &[Node], each: &mut impl FnMut(&str, &str, Place, Option<AgentId>)) {
        for branch in &self.branches {
            let key = route_key(path, &branch.name);
            match &branch.of {
                BranchOf::Agent(agent) => {
                    let place = Place {
                        path: path.into(),
                        name: branch.name.clone(),
                        agent: agent.clone(),
                    };
                    each(&key, &branch.name, place, None);
                }
                BranchOf::Team(tree) => {
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

/// Whom a name means.
#[derive(Debug)]
pub(crate) enum Named {
    /// This agent; if it is meant as the coordinator of a team, that team.
    One(Place, Option<AgentId>),
    /// One of these.
    Several(Vec<Arc<str>>),
    /// Nobody.
    Nobody,
}

fn below(path: &[Node], branch: &Branch, tree: &Tree) -> Vec<Node> {
    let mut path = path.to_vec();
    path.push(Node {
        name: branch.name.clone(),
        team: tree.team.clone(),
    });
    path
}

#[cfg(test)]
mod tests;
