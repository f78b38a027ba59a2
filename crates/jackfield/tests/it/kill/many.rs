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
    dice::Dice,
    hub::Hub,
    memory::Memory,
    platform::{Platform, patient, relay},
    receiver::{Post, Receiver, Told},
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
struct World {
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
    said: HashMap<String, String>,
    told: Told,
    /// Number of posts of each callback.
    posts: HashMap<String, usize>,
}

impl World {
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
    async fn ask(self: Arc<Self>, urls: Vec<String>, mut dice: Dice) {
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
            relay["session_id"] = json!(format!("{agent}-{}", dice.roll(SESSIONS)));
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
    async fn take(self: Arc<Self>, mut receiver: Receiver, key: String, mut dice: Dice) {
        loop {
            let post = receiver.wait().await;
            post.assert_signed(&key);
            let tries = {
                let mut seen = self.seen.lock();
                let tries = seen.posts.entry(post.key().to_owned()).or_default();
                *tries += 1;
                *tries
            };
            let roll = dice.roll(20);
            if tries > REFUSED || roll > 3 {
                self.seen.lock().told.note(&post);
                self.moment();
                post.ok().await;
            } else {
                self.moment();
                refuse(post, roll).await;
            }
        }
    }

    /// Runs an agent across hub restarts.
    async fn live(self: Arc<Self>, id: &'static str, resumes: bool, mut dice: Dice) {
        let mut hub = self.hub.subscribe();
        let mut memory = Memory::default();
        loop {
            let addr = hub.borrow_and_update().addr;
            if let Some(raw) = Raw::try_connect(addr, &address(id)).await {
                let memory = resumes.then_some(&mut memory);
                // Returns when the hub is killed.
                Agent::new(&self, raw, memory).serve(id, &mut dice).await;
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
    let mut dice = Dice::new();
    let hub = Hub::start_with("[limits]\npending_per_agent = 1000\n").await;
    let world = Arc::new(World {
        hub: watch::Sender::new(hub.platform()),
        moments: watch::Sender::new(0),
        seen: Mutex::default(),
    });
    let mut people = JoinSet::new();
    for (id, resumes) in AGENTS {
        people.spawn(world.clone().live(id, resumes, dice.split()));
    }
    // The hub can't wait for an agent that never registered.
    world.until(AGENTS.len() as u64).await;
    let receivers = [(); RECEIVERS].map(|()| Receiver::start());
    let urls: Vec<_> = receivers.iter().map(Receiver::url).collect();
    for receiver in receivers {
        let key = hub.callback_key();
        people.spawn(world.clone().take(receiver, key, dice.split()));
    }
    for _ in 0..ASKING {
        people.spawn(world.clone().ask(urls.clone(), dice.split()));
    }
    let ended = tokio::select! {
        ended = timeout(AT_MOST, world.kill_until_all_has_ended(hub, dice)) => ended,
        () = all_go_well(&mut people) => unreachable!("agents live for ever"),
    };
    let tasks = ended.unwrap_or_else(|_| panic!("some were not told: {:?}", world.untold()));
    world.seen.lock().check(&tasks);
}

/// Fails as soon as one of the tasks fails.
async fn all_go_well(people: &mut JoinSet<()>) {
    while let Some(ended) = people.join_next().await {
        if let Err(error) = ended {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

impl World {
    /// Kills the hub at random moments, then waits until all accepted tasks are reported. Returns the list of tasks.
    async fn kill_until_all_has_ended(&self, mut hub: Hub, mut dice: Dice) -> Vec<Value> {
        for kill in 0..KILLS {
            self.until(kill * APART + dice.roll(APART) + 1).await;
            hub = hub.kill().await.start().await;
            self.hub.send_replace(hub.platform());
        }
        let mut moments = self.moments.subscribe();
        loop {
            moments.mark_unchanged();
            if self.untold().is_empty() && self.seen.lock().accepted.len() >= TASKS {
                let tasks = hub.platform().tasks().await;
                let is_told = |task| {
                    self.seen
                        .lock()
                        .told
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
    fn untold(&self) -> Vec<String> {
        let seen = self.seen.lock();
        let accepted = seen.accepted.iter();
        let untold = accepted.filter(|request| seen.told.of(request).is_none());
        untold.cloned().collect()
    }
}

impl Seen {
    /// Checks that agents, callbacks and the list of tasks agree.
    fn check(&self, tasks: &[Value]) {
        let listed: BTreeSet<String> = tasks.iter().map(|task| text(task, "request_id")).collect();
        assert_eq!(listed.len(), tasks.len(), "no task is there twice");
        assert!(self.accepted.is_subset(&listed));
        assert_eq!(self.told.len(), tasks.len(), "nothing else was told");
        assert_eq!(self.posts.len(), tasks.len(), "each has one key");
        let mut failed = 0;
        for task in tasks {
            let request = text(task, "request_id");
            let told = self.told.of(&request).expect("all were told");
            assert_eq!(task["state"], told["status"], "{task}");
            if told["status"] == "completed" {
                assert_eq!(told["result"], self.said[&request], "{request}");
                continue;
            }
            failed += 1;
            assert_eq!(told["error_code"], "agent_offline", "{told}");
            let resumes = |(id, resumes): (&str, bool)| resumes && task["agent"] == id;
            assert!(!AGENTS.into_iter().any(resumes), "{told} was resumed");
        }
        let posts: usize = self.posts.values().sum();
        let unknown = tasks.len() - self.accepted.len();
        eprintln!(
            "{} tasks, {unknown} of them without their 202, {failed} failed; {posts} posts",
            tasks.len()
        );
    }
}
