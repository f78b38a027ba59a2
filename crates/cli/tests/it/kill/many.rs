//! Many tasks at once, and a hub that is killed at random moments, to hit every gap between two of its steps. Moments
//! are counted in observed events (a response, a message, a callback), not in time.

mod agent;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use jackfield_testkit::Raw;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet, time::timeout};

use self::agent::Agent;
use crate::kill::{
    agent::{address, text},
    hub::Hub,
    memory::Memory,
    platform::{Platform, patient, relay},
    random::SeededRandom,
    receiver::{Deliveries, Post, Receiver},
};

/// Number of accepted tasks.
const TASKS: usize = 200;
/// Number of kills.
const KILLS: u64 = 5;
/// Maximum number of observed events between two kills; each task causes at least two.
const APART: u64 = 2 * TASKS as u64 / KILLS;
/// Number of concurrent requests.
const ASKING: usize = 8;
/// Number of sessions per agent; tasks of the same session wait for each other.
const SESSIONS: u64 = 12;
/// Number of callback receivers.
const RECEIVERS: usize = 3;
/// Number of refusals before a callback is accepted.
const REFUSED: usize = 2;
/// Long enough for any machine.
const AT_MOST: Duration = Duration::from_secs(60);

/// The agents: some forget their requests when the hub is killed, some resume.
const AGENTS: [(&str, bool); 4] = [("amy", false), ("bob", false), ("cat", true), ("dan", true)];

/// Shared observations, and the current hub.
struct TestState {
    hub: watch::Sender<Platform>,
    /// Number of observed events.
    moments: watch::Sender<u64>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    asked: usize,
    accepted: BTreeSet<String>,
    /// Answers of agents by request.
    answers: HashMap<String, String>,
    deliveries: Deliveries,
    /// Number of posts of each callback.
    posts: HashMap<String, usize>,
}

impl TestState {
    fn moment(&self) {
        self.moments.send_modify(|moments| *moments += 1);
    }

    /// Waits for this number of observed events.
    async fn until(&self, moment: u64) {
        let mut moments = self.moments.subscribe();
        let reached = moments.wait_for(|moments| *moments >= moment).await;
        drop(reached.expect("the world goes on"));
    }

    /// Sends relays until enough were accepted.
    async fn send_relays(self: Arc<Self>, urls: Vec<String>, mut random: SeededRandom) {
        let mut hub = self.hub.subscribe();
        loop {
            let number = {
                let mut seen = self.seen.lock();
                if seen.accepted.len() >= TASKS {
                    return;
                }
                seen.asked += 1;
                seen.asked
            };
            let platform = hub.borrow_and_update().clone();
            let (agent, _) = AGENTS[number % AGENTS.len()];
            let (request, url) = (format!("{agent}-{number}"), &urls[number % urls.len()]);
            let mut relay = patient(relay(agent, &request, url));
            relay["session_id"] = json!(format!("{agent}-{}", random.below(SESSIONS)));
            let answer = match platform.send("POST", "/api/relay", Some(&relay)).await {
                Ok(asked) => asked.answer().await,
                Err(_) => None,
            };
            match answer {
                Some((status, answer)) => {
                    assert_eq!(status, 202, "{answer}");
                    self.seen.lock().accepted.insert(request);
                    self.moment();
                }
                // The hub was killed: the request may have been accepted, and isn't repeated.
                None => hub.changed().await.expect("another hub"),
            }
        }
    }

    /// Accepts callbacks, or refuses them in one of several ways.
    async fn take_callbacks(
        self: Arc<Self>,
        mut receiver: Receiver,
        key: String,
        mut random: SeededRandom,
    ) {
        loop {
            let post = receiver.wait().await;
            post.assert_signed(&key);
            let tries = {
                let mut seen = self.seen.lock();
                let tries = seen.posts.entry(post.key().to_owned()).or_default();
                *tries += 1;
                *tries
            };
            let roll = random.below(20);
            if tries > REFUSED || roll > 3 {
                self.seen.lock().deliveries.note(&post);
                self.moment();
                post.ok().await;
            } else {
                self.moment();
                refuse(post, roll).await;
            }
        }
    }

    /// Runs an agent across hub restarts.
    async fn run_agent(self: Arc<Self>, id: &'static str, resumes: bool, mut random: SeededRandom) {
        let mut hub = self.hub.subscribe();
        let mut memory = Memory::default();
        loop {
            let addr = hub.borrow_and_update().addr;
            if let Some(raw) = Raw::try_connect(addr, &address(id)).await {
                let memory = resumes.then_some(&mut memory);
                // Returns when the hub is killed.
                Agent::new(&self, raw, memory).serve(id, &mut random).await;
            }
            hub.changed().await.expect("another hub");
        }
    }
}

async fn refuse(post: Post, how: u64) {
    match how {
        0 => post.cut(),
        1 => post.answer("500 Internal Server Error", "").await,
        2 => post.answer("503 Service Unavailable", "").await,
        _ => {
            post.answer("429 Too Many Requests", "retry-after: 1\r\n")
                .await;
        }
    }
}

/// All rules at once.
#[tokio::test]
async fn whatever_moment_a_hub_is_killed_at_it_keeps_its_word() {
    let mut random = SeededRandom::new();
    let hub = Hub::start_with("[limits]\npending_per_agent = 1000\n").await;
    let state = Arc::new(TestState {
        hub: watch::Sender::new(hub.platform()),
        moments: watch::Sender::new(0),
        seen: Mutex::default(),
    });
    let mut workers = JoinSet::new();
    for (id, resumes) in AGENTS {
        workers.spawn(state.clone().run_agent(id, resumes, random.split()));
    }
    // The hub can't wait for an agent that never registered.
    state.until(AGENTS.len() as u64).await;
    let receivers = [(); RECEIVERS].map(|()| Receiver::start());
    let urls: Vec<_> = receivers.iter().map(Receiver::url).collect();
    for receiver in receivers {
        let key = hub.callback_key();
        workers.spawn(state.clone().take_callbacks(receiver, key, random.split()));
    }
    for _ in 0..ASKING {
        workers.spawn(state.clone().send_relays(urls.clone(), random.split()));
    }
    let ended = tokio::select! {
        ended = timeout(AT_MOST, state.kill_until_all_has_ended(hub, random)) => ended,
        () = run_workers(&mut workers) => unreachable!("agents live for ever"),
    };
    let tasks = ended.unwrap_or_else(|_| panic!("some were not told: {:?}", state.unreported()));
    state.seen.lock().check(&tasks);
}

/// Fails as soon as one of the tasks fails.
async fn run_workers(workers: &mut JoinSet<()>) {
    while let Some(ended) = workers.join_next().await {
        if let Err(error) = ended {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

impl TestState {
    /// Kills the hub at random moments, then waits until all accepted tasks are reported. Returns the list of tasks.
    async fn kill_until_all_has_ended(&self, mut hub: Hub, mut random: SeededRandom) -> Vec<Value> {
        for kill in 0..KILLS {
            self.until(kill * APART + random.below(APART) + 1).await;
            hub = hub.kill().await.start().await;
            self.hub.send_replace(hub.platform());
        }
        let mut moments = self.moments.subscribe();
        loop {
            moments.mark_unchanged();
            if self.unreported().is_empty() && self.seen.lock().accepted.len() >= TASKS {
                let tasks = hub.platform().tasks().await;
                let is_told = |task| {
                    self.seen
                        .lock()
                        .deliveries
                        .of(&text(task, "request_id"))
                        .is_some()
                };
                if tasks.iter().all(is_told) {
                    // The last responses may not be stored yet.
                    while !hub.platform().callbacks("").await.is_empty() {}
                    return tasks;
                }
            }
            moments.changed().await.expect("the world goes on");
        }
    }

    /// Accepted tasks without a callback.
    fn unreported(&self) -> Vec<String> {
        let seen = self.seen.lock();
        let accepted = seen.accepted.iter();
        let unreported = accepted.filter(|request| seen.deliveries.of(request).is_none());
        unreported.cloned().collect()
    }
}

impl Seen {
    /// Checks that agents, callbacks and the list of tasks agree.
    fn check(&self, tasks: &[Value]) {
        let listed: BTreeSet<String> = tasks.iter().map(|task| text(task, "request_id")).collect();
        assert_eq!(listed.len(), tasks.len(), "no task is there twice");
        assert!(self.accepted.is_subset(&listed));
        assert_eq!(self.deliveries.len(), tasks.len(), "nothing else was told");
        assert_eq!(self.posts.len(), tasks.len(), "each has one key");
        let mut failed = 0;
        for task in tasks {
            let request = text(task, "request_id");
            let deliveries = self.deliveries.of(&request).expect("all were told");
            assert_eq!(task["state"], deliveries["status"], "{task}");
            if deliveries["status"] == "completed" {
                assert_eq!(deliveries["result"], self.answers[&request], "{request}");
                continue;
            }
            failed += 1;
            assert_eq!(deliveries["error_code"], "agent_offline", "{deliveries}");
            let resumes = |(id, resumes): (&str, bool)| resumes && task["agent"] == id;
            assert!(!AGENTS.into_iter().any(resumes), "{deliveries} was resumed");
        }
        let posts: usize = self.posts.values().sum();
        let unknown = tasks.len() - self.accepted.len();
        eprintln!(
            "{} tasks, {unknown} of them without their 202, {failed} failed; {posts} posts",
            tasks.len()
        );
    }
}
