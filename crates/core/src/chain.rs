//! [`Chain`]: the agents that a call came through, for cutting loops (docs/promises.md, Loops).

use jackfield_model::{AgentId, Failure, Reason};

use crate::limits::Limits;

/// The agents of a call and of the calls before it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    agents: Vec<AgentId>,
    hops: usize,
}

impl Chain {
    /// Returns the chain of a caller that serves no call: empty for a person, the agent itself otherwise.
    /// `hops` is the depth of the caller, if its chain is unknown.
    pub fn root(caller: Option<&AgentId>, hops: usize) -> Self {
        Self {
            agents: caller.into_iter().cloned().collect(),
            hops,
        }
    }

    /// Returns the chain with one more agent; fails for a loop, or a chain that is too long.
    pub fn step(&self, target: &AgentId, limits: &Limits) -> Result<Self, Failure> {
        if self.hops >= limits.hops {
            let text = format!(
                "the call would be hop {} of at most {}",
                self.hops.saturating_add(1),
                limits.hops
            );
            return Err(Failure::new(Reason::Loop, text));
        }
        if self.agents.iter().filter(|agent| *agent == target).count() >= limits.occurrences {
            let text = format!(
                "agent {target} occurs {} times in this chain of calls already",
                limits.occurrences
            );
            return Err(Failure::new(Reason::Loop, text));
        }
        let mut agents = self.agents.clone();
        agents.push(target.clone());
        Ok(Self {
            agents,
            hops: self.hops + 1,
        })
    }

    /// Returns the number of calls since the first caller.
    pub fn hops(&self) -> usize {
        self.hops
    }

    /// Returns the agents, first to last.
    pub fn agents(&self) -> &[AgentId] {
        &self.agents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> AgentId {
        AgentId::parse(text).unwrap()
    }

    #[test]
    fn an_agent_may_occur_twice_but_not_three_times() {
        let limits = Limits::default();
        let chain = Chain::root(Some(&id("a")), 0)
            .step(&id("b"), &limits)
            .unwrap()
            .step(&id("a"), &limits)
            .unwrap();
        let chain = chain.step(&id("b"), &limits).unwrap();
        assert_eq!(
            chain.step(&id("a"), &limits).unwrap_err().reason,
            Reason::Loop
        );
        assert!(chain.step(&id("c"), &limits).is_ok());
    }

    #[test]
    fn eight_hops_are_enough() {
        let limits = Limits::default();
        let mut chain = Chain::root(None, 0);
        for n in 0..8 {
            chain = chain.step(&id(&format!("a{n}")), &limits).unwrap();
        }
        assert_eq!(chain.hops(), 8);
        assert_eq!(
            chain.step(&id("z"), &limits).unwrap_err().reason,
            Reason::Loop
        );
    }

    #[test]
    fn an_unknown_way_still_counts() {
        let limits = Limits::default();
        assert!(Chain::root(None, 8).step(&id("z"), &limits).is_err());
    }
}
