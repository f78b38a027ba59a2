//! Agents that come, go, resume and are replaced, and calls that end in every way, against a model of a page.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    Attach {
        agent: usize,
        resumes: bool,
    },
    Leave {
        agent: usize,
        resumable: bool,
    },
    EndGrace,
    Call {
        agent: usize,
        session: usize,
        is_patient: bool,
    },
    /// The agent finishes one of the calls that it has.
    Finish {
        agent: usize,
        which: usize,
    },
    /// The agent drops one of the calls that it has.
    Fail {
        agent: usize,
        which: usize,
    },
    /// The caller cancels, or leaves.
    Cancel {
        which: usize,
        leaves: bool,
    },
    /// An older connection of an agent's wakes up.
    Stale {
        which: usize,
        drops: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (agent, which) = (0..2usize, 0..100usize);
    let step = prop_oneof![
        3 => (agent.clone(), any::<bool>()).prop_map(|(agent, resumes)| Step::Attach { agent, resumes }),
        2 => (agent.clone(), any::<bool>()).prop_map(|(agent, resumable)| Step::Leave { agent, resumable }),
        1 => Just(Step::EndGrace),
        8 => (agent.clone(), 0..2usize, any::<bool>())
            .prop_map(|(agent, session, is_patient)| Step::Call { agent, session, is_patient }),
        4 => (agent.clone(), which.clone()).prop_map(|(agent, which)| Step::Finish { agent, which }),
        1 => (agent, which.clone()).prop_map(|(agent, which)| Step::Fail { agent, which }),
        2 => (which.clone(), any::<bool>()).prop_map(|(which, leaves)| Step::Cancel { which, leaves }),
        2 => (which, any::<bool>()).prop_map(|(which, drops)| Step::Stale { which, drops }),
    ];
    proptest::collection::vec(step, 1..60)
}

/// What the model knows of a call. Calls stand in the order in which they were made.
#[derive(Debug)]
struct Expected {
    agent: usize,
    session: usize,
    is_patient: bool,
    is_sent: bool,
    end: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Model {
    online: [bool; 2],
    grace: [bool; 2],
    calls: Vec<Expected>,
}

impl Model {
    fn open(&mut self, agent: usize) -> impl Iterator<Item = &mut Expected> {
        self.calls
            .iter_mut()
            .filter(move |call| call.agent == agent && call.end.is_none())
    }

    /// The agent is gone for good.
    fn lose(&mut self, agent: usize) {
        self.grace[agent] = false;
        for call in self
            .open(agent)
            .filter(|call| call.is_sent || !call.is_patient)
        {
            call.end = Some("offline");
        }
    }

    /// Agent 0 takes all at once, agent 1 one per session.
    fn send(&mut self) {
        for agent in (0..2)
            .filter(|agent| self.online[*agent])
            .collect::<Vec<_>>()
        {
            let mut taken = BTreeSet::new();
            if agent == 1 {
                taken = self
                    .open(1)
                    .filter(|call| call.is_sent)
                    .map(|call| call.session)
                    .collect();
            }
            for call in self.open(agent).filter(|call| !call.is_sent) {
                call.is_sent = agent == 0 || taken.insert(call.session);
            }
        }
    }

    fn can_take(&self, agent: usize, is_patient: bool) -> bool {
        let open = self
            .calls
            .iter()
            .filter(|call| call.agent == agent && call.end.is_none())
            .count();
        open < 64 && (self.online[agent] || self.grace[agent] || is_patient)
    }
}

/// The hub with everything that is held from outside.
struct World {
    hub: Hub,
    lines: [Arc<Line>; 2],
    attached: [Option<Attached>; 2],
    /// What each agent's newest connection works on, by call.
    served: [BTreeMap<CallId, AgentHandle>; 2],
    stale: Vec<AgentHandle>,
    /// One per call of the model: its id, its reader, the end that was read.
    callers: Vec<(CallId, Option<CallerHandle>, Option<&'static str>)>,
}

const NAMES: [&str; 2] = ["a", "b"];

impl World {
    async fn new() -> Self {
        let hub = hub_with(|limits| {
            limits.replacements_per_minute = usize::MAX;
            limits.idle_live = Span::secs(1_000_000);
            limits.absolute_live = Span::secs(1_000_000);
            limits.queue_wait = Span::secs(1_000_000);
        })
        .await;
        // Both are known, and away.
        for name in NAMES {
            drop(agent(&hub, name));
        }
        let (lines, attached, served) = Default::default();
        Self {
            hub,
            lines,
            attached,
            served,
            stale: Vec::new(),
            callers: Vec::new(),
        }
    }

    fn attach(&mut self, agent: usize, resumes: bool) {
        let line = Arc::new(Line {
            one_at_a_time: agent == 1,
            ..Line::default()
        });
        let mut attached = attach_as(&self.hub, &ann(), NAMES[agent], &line, resumes).unwrap();
        self.stale
            .extend(std::mem::take(&mut self.served[agent]).into_values());
        self.served[agent] = attached
            .adopted
            .drain(..)
            .map(|serving| (serving.call().id, serving))
            .collect();
        self.lines[agent] = line;
        // The old one goes after the new one has come: a late close.
        drop(self.attached[agent].replace(attached));
    }

    fn leave(&mut self, agent: usize, resumable: bool) {
        if let Some(mut attached) = self.attached[agent].take() {
            attached.set_resumable(resumable);
        }
        self.stale
            .extend(std::mem::take(&mut self.served[agent]).into_values());
    }

    fn take_one(&mut self, agent: usize, which: usize) -> Option<AgentHandle> {
        let count = self.served[agent].len();
        let id = *self.served[agent].keys().nth(which.checked_rem(count)?)?;
        self.served[agent].remove(&id)
    }

    /// Empties the mailboxes and reads what callers got.
    fn look(&mut self) {
        for agent in 0..2 {
            while let Some(serving) = self.lines[agent].try_next() {
                assert!(
                    self.attached[agent].is_some(),
                    "handed to a connection that is gone"
                );
                self.served[agent].insert(serving.call().id, serving);
            }
        }
        for (_, asking, end) in &mut self.callers {
            let Some(asking) = asking else { continue };
            if let (events, Some(read)) = read(asking) {
                assert!(events.is_empty() && end.is_none(), "a second end: {read:?}");
                *end = Some(read.label());
            }
        }
        // Ended calls are still in the hands of the agent until it notices.
        for served in &mut self.served {
            served.retain(|_, serving| !serving.call().is_ended());
        }
    }

    fn check(&mut self, model: &Model) {
        self.look();
        let ids = |wanted: &dyn Fn(&Expected) -> bool| -> BTreeSet<CallId> {
            let calls = model
                .calls
                .iter()
                .zip(&self.callers)
                .filter(|(call, _)| call.end.is_none() && wanted(call));
            calls.map(|(_, caller)| caller.0).collect()
        };
        let open: BTreeSet<CallId> = self
            .hub
            .shared()
            .open_calls
            .lock()
            .keys()
            .copied()
            .collect();
        assert_eq!(open, ids(&|_| true), "open calls");
        for (agent, name) in NAMES.into_iter().enumerate() {
            let view = self.hub.agents().find(&ann(), name).unwrap().view();
            assert_eq!(view.online, model.online[agent]);
            assert_eq!(view.open_calls, ids(&|call| call.agent == agent).len());
            let served: BTreeSet<CallId> = self.served[agent].keys().copied().collect();
            let sent = ids(&|call| call.agent == agent && call.is_sent && model.online[agent]);
            assert_eq!(served, sent, "calls at agent {agent}");
        }
        for (call, (_, asking, end)) in model.calls.iter().zip(&self.callers) {
            if asking.is_some() {
                assert_eq!(*end, call.end, "what the caller of {call:?} read");
            }
        }
    }
}

/// Does the step in both worlds.
async fn walk(world: &mut World, model: &mut Model, step: Step) {
    match step {
        Step::Attach { agent, resumes } => {
            world.attach(agent, resumes);
            if !resumes {
                model
                    .open(agent)
                    .filter(|call| call.is_sent)
                    .for_each(|call| call.end = Some("offline"));
            }
            (model.online[agent], model.grace[agent]) = (true, false);
        }
        Step::Leave { agent, resumable } => {
            world.leave(agent, resumable);
            if std::mem::take(&mut model.online[agent]) {
                model.grace[agent] = resumable;
                if !resumable {
                    model.lose(agent);
                }
            }
        }
        Step::EndGrace => {
            pass(&world.hub, 31).await;
            (0..2)
                .filter(|agent| model.grace[*agent])
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|agent| model.lose(agent));
        }
        Step::Call {
            agent,
            session,
            is_patient,
        } => {
            let wait_online = is_patient.then_some(Duration::from_secs(1_000_000));
            let request = Request {
                wait_online,
                ..in_session(&format!("s{session}"), to(NAMES[agent], "hi"))
            };
            let result = world.hub.calls().open(request);
            assert_eq!(
                result.is_ok(),
                model.can_take(agent, is_patient),
                "{result:?}"
            );
            if let Ok(asking) = result {
                world.callers.push((asking.call().id, Some(asking), None));
                model.calls.push(Expected {
                    agent,
                    session,
                    is_patient,
                    is_sent: false,
                    end: None,
                });
            }
        }
        Step::Finish { agent, which } | Step::Fail { agent, which } => {
            let Some(serving) = world.take_one(agent, which) else {
                return;
            };
            let at = world
                .callers
                .iter()
                .position(|(id, ..)| *id == serving.call().id)
                .unwrap();
            if matches!(step, Step::Finish { .. }) {
                assert!(serving.finish(End::done()));
                model.calls[at].end = Some("done");
            } else {
                drop(serving);
                model.calls[at].end = Some("offline");
            }
        }
        Step::Cancel { which, leaves } => {
            let open: Vec<_> = (0..model.calls.len())
                .filter(|at| model.calls[*at].end.is_none())
                .collect();
            let Some(at) = which.checked_rem(open.len()).map(|nth| open[nth]) else {
                return;
            };
            let call = &mut model.calls[at];
            call.end = Some("cancelled");
            let line = world.lines[call.agent].clone();
            let told = line.cancelled().len();
            if leaves {
                drop(world.callers[at].1.take());
            } else {
                world
                    .hub
                    .calls()
                    .cancel(&ann(), world.callers[at].0)
                    .unwrap();
            }
            let is_told = call.is_sent && model.online[call.agent];
            assert_eq!(
                line.cancelled().len() - told,
                usize::from(is_told),
                "whether the agent was told"
            );
        }
        Step::Stale { which, drops } => {
            let Some(at) = which.checked_rem(world.stale.len()) else {
                return;
            };
            assert_eq!(world.stale[at].push(Event::text("stale")), Pushed::Ended);
            if drops {
                drop(world.stale.swap_remove(at));
            } else {
                assert!(!world.stale.swap_remove(at).finish(End::done()));
            }
        }
    }
    model.send();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn the_registry_does_what_the_model_does(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (mut world, mut model) = (World::new().await, Model::default());
            for step in steps {
                walk(&mut world, &mut model, step).await;
                world.check(&model);
            }
            let World { hub, attached, served, stale, callers, .. } = world;
            drop((attached, served, stale, callers));
            assert_nothing_is_open(&hub);
            assert_eq!(hub.shared().budget.used(), 0);
        });
    }
}
