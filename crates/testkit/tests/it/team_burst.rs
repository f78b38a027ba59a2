//! Bursts through three nested teams, as seen by viewers over real sockets: readers lose no event beside a stalled
//! viewer, memory stays bounded, and a viewer that was too slow gets the number of missed events.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use jackfield_core::{
    call::AgentHandle,
    hub::Request,
    principal::Principal,
    units::{Size, Span},
};
use jackfield_hub::config::TeamLimits;
use jackfield_model::{End, Event};
use jackfield_testkit::{Raw, SOON, Scripted, TestHub, answer, attach_agent, fake_request};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    sync::{Barrier, Mutex},
    task::JoinSet,
};

const BURST: u64 = 100_000;

/// Held by each test, since the tests measure the memory of the whole process.
static ALONE: Mutex<()> = Mutex::const_new(());

/// `t1` with `boss` and the team `back`, which is `t2` with `lead` and the team `db`, which is `t3` with `dba`.
struct Nested {
    agents: [Scripted; 3],
}

impl Nested {
    async fn new(hub: &TestHub) -> Self {
        let agents = ["a1", "a2", "a3"].map(|id| attach_agent(hub.hub(), id));
        let (web, dba) = (hub.web(), json!({"name": "dba", "agent": "a3"}));
        let lead = json!({"name": "lead", "agent": "a2"});
        let boss = json!({"name": "boss", "agent": "a1"});
        for (id, coordinator, members) in [
            ("t3", "dba", json!([dba])),
            ("t2", "lead", json!([lead, {"name": "db", "team": "t3"}])),
            ("t1", "boss", json!([boss, {"name": "back", "team": "t2"}])),
        ] {
            let team = json!({"id": id, "coordinator": coordinator, "members": members});
            let (status, answer) = web.post("/v1/teams", team).await;
            assert_eq!(status, 201, "{answer}");
        }
        Self { agents }
    }

    /// Calls `t1`, whose boss calls `t2`, whose lead calls `t3`.
    async fn ask(&mut self, hub: &TestHub) -> NestedCalls {
        let mut asked = NestedCalls {
            calls: Vec::new(),
            answers: Vec::new(),
        };
        let mut principal = Principal::local();
        for (team, agent) in ["t1", "t2", "t3"].into_iter().zip(&mut self.agents) {
            let request = Request {
                principal,
                ..fake_request(team, "go")
            };
            let replies = hub.hub().calls().open(request).unwrap().replies();
            let mut answer = JoinSet::new();
            answer.spawn(replies.finish());
            asked.answers.push(answer);
            let serving = agent.next_call().await;
            principal = Principal::local().as_agent(serving.call().target.clone());
            asked.calls.push(serving);
        }
        asked
    }
}

/// The calls of the three teams, outermost first, and their replies.
struct NestedCalls {
    calls: Vec<AgentHandle>,
    answers: Vec<JoinSet<(String, End)>>,
}

impl NestedCalls {
    /// Sends this many pieces at once from the innermost agent, then ends all calls from the inside out. Returns the
    /// innermost caller's text.
    async fn burst(mut self, pieces: u64) -> String {
        let says = self.calls.pop().unwrap();
        for piece in 0..pieces {
            says.push(Event::text(format!("{piece:06} of them ")));
        }
        says.finish(End::done());
        let caller_text = self.caller_text().await;
        while let Some(says) = self.calls.pop() {
            says.finish(End::done());
            self.caller_text().await;
        }
        caller_text
    }

    /// Returns the whole text of the innermost waiting caller.
    async fn caller_text(&mut self) -> String {
        let mut answer = self.answers.pop().unwrap();
        let (text, _) = answer.join_next().await.unwrap().unwrap();
        text
    }
}

/// The sequence number of an event, if any. Far faster than parsing the frame; quotes within text are escaped.
fn sequence(frame: &str) -> Option<u64> {
    let (_, number) = frame.rsplit_once("\"sequence\":")?;
    let end = number.find(|c: char| !c.is_ascii_digit())?;
    number[..end].parse().ok()
}

fn parsed(frame: &str) -> Value {
    serde_json::from_str(frame).unwrap()
}

/// A viewer's observations. Every event must arrive once and in order, or be reported as missed.
#[derive(Debug, Default)]
struct ViewerLog {
    /// The number of the last event.
    last: u64,
    /// Pieces of answers.
    pieces: u64,
    /// Number of gaps, and of missed events.
    gaps: u64,
    missed: u64,
}

impl ViewerLog {
    /// Records a frame.
    fn record(&mut self, frame: &str) {
        if let Some(sequence) = sequence(frame) {
            assert_eq!(sequence, self.last + 1, "{frame}");
            self.last = sequence;
        } else if frame.starts_with(r#"{"type":"GAP""#) {
            let gap = &parsed(frame)["payload"];
            assert_eq!(gap["from_sequence"], self.last + 1, "{frame}");
            let to = gap["to_sequence"].as_u64().unwrap();
            self.gaps += 1;
            self.missed += to - self.last;
            self.last = to;
        }
        self.pieces += u64::from(frame.starts_with(r#"{"type":"SEGMENT_CONTENT""#));
    }

    /// Reads until the event with this number.
    async fn read_until(&mut self, raw: &mut Raw, last: u64) {
        while self.last < last {
            self.record(&raw.text().await);
        }
    }
}

/// A viewer of `t1`.
async fn view(hub: &TestHub) -> Raw {
    Raw::connect(hub.addr(), "/ws/agent-team/t1").await
}

/// A viewer with a small receive buffer.
async fn view_narrow(hub: &TestHub) -> Raw {
    Raw::connect_narrow(hub.addr(), "/ws/agent-team/t1").await
}

/// The number of the last event of the run of `t1`.
async fn last_sequence(hub: &TestHub) -> u64 {
    let (status, team) = hub.web().get("/v1/teams/t1").await;
    assert_eq!(status, 200, "{team}");
    team["run"]["sequence"].as_u64().unwrap()
}

/// Resident memory of this process: current and peak. Linux only.
fn memory() -> Option<(usize, usize)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib << 10)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_from_three_teams_deep_reaches_nine_viewers_whole_beside_one_that_is_stalled() {
    let _alone = ALONE.lock().await;
    let hub = TestHub::start_with(|config| {
        // The stalled viewer must outlast the other viewers, even on a slow machine.
        config.limits.write_stuck = Span::secs(600);
    })
    .await;
    let mut nested = Nested::new(&hub).await;
    let _stalled = view_narrow(&hub).await;
    let mut viewers = JoinSet::new();
    let there = Arc::new(Barrier::new(10));
    for _ in 0..9 {
        let (mut raw, there) = (view(&hub).await, there.clone());
        viewers.spawn(async move {
            there.wait().await;
            // The last event is the idle state of the outermost team.
            let mut viewer_log = ViewerLog::default();
            loop {
                let frame = raw.text().await;
                viewer_log.record(&frame);
                if viewer_log.last > BURST && frame.starts_with(r#"{"type":"TEAM_STATUS""#) {
                    let status = &parsed(&frame)["payload"];
                    if status["new_status"] == "idle" && status["sub_team_node_name"].is_null() {
                        return viewer_log;
                    }
                }
            }
        });
    }
    there.wait().await;
    let before = memory();
    let caller_text = nested.ask(&hub).await.burst(BURST).await;
    assert_eq!(
        caller_text.len() as u64,
        BURST * 15,
        "the caller lost nothing"
    );
    let last = last_sequence(&hub).await;
    while let Some(viewer_log) = viewers.join_next().await {
        let viewer_log = viewer_log.unwrap();
        assert_eq!((viewer_log.last, viewer_log.gaps), (last, 0));
        assert_eq!(viewer_log.pieces, BURST);
    }
    // The ring may hold 192 MiB for the stalled viewer. The rest is for the viewers in this process and for the
    // allocator; ten queues of 100,000 frames would be 700 MiB.
    if let (Some((before, _)), Some((_, most))) = (before, memory()) {
        let grown = (most - before) >> 20;
        println!("grown by {grown} MiB");
        assert!(grown < 400, "{grown} MiB");
    }
    let TeamLimits { ring, tail, .. } = hub.config.team_limits;
    // Three teams keep a tail each. The remaining bytes are for the stalled viewer, so it was connected all
    // the time.
    let held = ring_bytes(&hub, 3 * tail.0).await;
    assert!(held <= ring.0 + 2 * tail.0, "{held}");
}

/// The bytes of all rings, as the hub counts them once a second; waits for more than `least`.
async fn ring_bytes(hub: &TestHub, least: usize) -> usize {
    let counted = async {
        loop {
            let metrics = hub.hub().metrics().render();
            let mut lines = metrics.lines();
            let value = lines.find_map(|line| line.strip_prefix("jackfield_team_ring_bytes "));
            let held: usize = value.unwrap().parse().unwrap();
            if held > least {
                return held;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, counted).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_runtime_publishes_in_a_burst_reaches_them_as_well() {
    const AT_ONCE: u64 = 5_000;
    // Several times what sockets and queues hold. Unoptimised, the hub reads some 4,000 envelopes a second.
    const PUBLISHED: u64 = 30_000;
    let _alone = ALONE.lock().await;
    let hub = TestHub::start().await;
    let _nested = Nested::new(&hub).await;
    let _stalled = view_narrow(&hub).await;
    let mut viewers = JoinSet::new();
    for _ in 0..9 {
        let mut raw = view(&hub).await;
        // The viewer is attached once it has the greeting.
        assert!(raw.text().await.starts_with(r#"{"type":"CONNECTED""#));
        viewers.spawn(async move {
            let mut viewer_log = ViewerLog::default();
            viewer_log.read_until(&mut raw, PUBLISHED).await;
            viewer_log
        });
    }
    let web = hub.web();
    for first in (0..PUBLISHED).step_by(AT_ONCE.try_into().unwrap()) {
        let envelopes: Vec<String> = (first..first + AT_ONCE).map(envelope).collect();
        let request = web.ask(Method::POST, "/v1/teams/t3/events");
        let request = request.header("content-type", "application/json");
        let (status, answer) = answer(request.body(format!("[{}]", envelopes.join(",")))).await;
        assert_eq!(status, 202, "{answer}");
        assert_eq!(answer["accepted"], AT_ONCE);
        assert_eq!(answer["last_sequence"], first + AT_ONCE);
    }
    while let Some(viewer_log) = viewers.join_next().await {
        let viewer_log = viewer_log.unwrap();
        assert_eq!((viewer_log.last, viewer_log.gaps), (PUBLISHED, 0));
        assert_eq!(viewer_log.pieces, PUBLISHED);
    }
}

/// An event of `dba`, as published by an outside runtime.
fn envelope(number: u64) -> String {
    format!(
        r#"{{"team_id":"t3","event_source_type":"AGENT","data":{{"agent_name":"dba","agent_event":{{"agent_id":"a3","event_type":"segment_event","data":{{"type":"SEGMENT_CONTENT","segment_id":"s","segment_type":"text","payload":{{"delta":"{number:06} of them "}}}}}}}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_that_lags_beyond_the_ring_is_told_what_it_missed_and_sees_the_rest() {
    const SMALL: u64 = 20_000;
    let _alone = ALONE.lock().await;
    let hub = TestHub::start_with(|config| {
        config.team_limits.ring = Size(512 << 10);
        config.team_limits.tail = Size(128 << 10);
    })
    .await;
    let mut nested = Nested::new(&hub).await;
    let mut slow = view_narrow(&hub).await;
    nested.ask(&hub).await.burst(SMALL).await;
    let last = last_sequence(&hub).await;
    let mut viewer_log = ViewerLog::default();
    viewer_log.read_until(&mut slow, last).await;
    assert!(viewer_log.gaps > 0, "{viewer_log:?}");
    assert!(
        viewer_log.missed > 0 && viewer_log.pieces < SMALL,
        "{viewer_log:?}"
    );
    // The viewer continues like any other.
    let before = (viewer_log.gaps, viewer_log.pieces);
    nested.ask(&hub).await.burst(1).await;
    let last = last_sequence(&hub).await;
    viewer_log.read_until(&mut slow, last).await;
    assert_eq!(
        (viewer_log.gaps, viewer_log.pieces),
        (before.0, before.1 + 1)
    );
}
