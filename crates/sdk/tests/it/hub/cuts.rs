//! The promise of `resume`: random cuts of an agent's connection under load don't change the result of any call.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jackfield_sdk::{Agent, Artifact, Event, Hub, Message, Part, Reply};
use jackfield_testkit::{FaultProxy, TestHub};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::hub::background::{BackgroundAgent, client};

/// Number of concurrent calls.
const CALLS: u64 = 32;
/// Number of steps in each call.
const STEPS: usize = 2000;
/// Number of cuts during the calls.
const CUTS: usize = 20;
/// Timeout for the whole test; only a failing test reaches it.
const PATIENCE: Duration = Duration::from_secs(240);

/// A step of the agent.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// Sends text of a kind.
    Say(&'static str, String),
    /// Sends an event about a tool call.
    Tool(&'static str, String),
    /// Sends a piece of an artifact.
    Make(String),
    /// Asks a question and repeats the answer.
    Ask(String),
}

/// Steps of a call, and thus the expected events of its caller. Deterministic for a seed.
fn steps(seed: u64) -> Vec<Step> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut steps: Vec<_> = (0..STEPS).map(|number| step(&mut rng, number)).collect();
    // Questions block the whole call, so their number is small.
    for number in 0..3 {
        let at = rng.random_range(0..steps.len());
        steps.insert(at, Step::Ask(format!("question {number}?")));
    }
    steps
}

fn step(rng: &mut StdRng, number: usize) -> Step {
    let words = [
        "a ",
        "word\n",
        "\u{f6}\u{2713} ",
        "\"quoted\" ",
        "\\ ",
        "\u{1f600}",
        "\u{0}\u{7f}",
    ];
    let count = rng.random_range(1..20);
    let mut text = format!("{number}:");
    for _ in 0..count {
        text += words.choose(rng).unwrap();
    }
    match rng.random_range(0..100) {
        0..80 => Step::Say("text", text),
        80..88 => Step::Say("thinking", text),
        88..91 => Step::Say("status", text),
        91..94 => Step::Tool("tool_input", text),
        94..97 => Step::Tool("tool_result", text),
        _ => Step::Make(text),
    }
}

async fn perform(message: Message, reply: Reply) -> Result<(), jackfield_sdk::HandlerError> {
    for step in steps(message.text.parse()?) {
        match step {
            Step::Say("thinking", text) => reply.thinking(text).await?,
            Step::Say("status", text) => reply.status(text).await?,
            Step::Say(_, text) => reply.text(text).await?,
            Step::Tool("tool_input", text) => reply.tool_input("t", text).await?,
            Step::Tool(_, text) => reply.tool_result("t", text).await?,
            Step::Make(text) => {
                let piece = Artifact::new("log").text(text).append().open();
                reply.artifact(piece).await?;
            }
            Step::Ask(question) => {
                let answer = reply.ask(question).await?;
                reply.text(answer.text).await?;
            }
        }
    }
    reply.result(format!("the end of {}", message.text));
    Ok(())
}

/// Events of a caller. Adjacent text of one kind is joined, since the hub may join it too.
#[derive(Debug, Default, PartialEq)]
struct Received(Vec<(String, String)>);

impl Received {
    fn add(&mut self, kind: &str, text: &str) {
        let joins = !matches!(kind, "status" | "artifact" | "ask");
        match self.0.last_mut() {
            Some((last, joined)) if joins && last == kind => joined.push_str(text),
            _ => self.0.push((kind.to_owned(), text.to_owned())),
        }
    }

    /// The expected events.
    fn expected(seed: u64) -> Self {
        let mut seen = Self::default();
        for step in steps(seed) {
            match step {
                Step::Say(kind, text) | Step::Tool(kind, text) => seen.add(kind, &text),
                Step::Make(text) => seen.add("artifact", &text),
                Step::Ask(question) => {
                    seen.add("ask", &question);
                    seen.add("text", &answer_to(&question));
                }
            }
        }
        seen.add("done", &format!("the end of {seed}"));
        seen
    }
}

fn answer_to(question: &str) -> String {
    format!("[the answer to {question}]")
}

/// Calls the agent, answers its questions, and reports the number of received bytes.
async fn call(hub: Hub, seed: u64, keeps: bool, came: watch::Sender<usize>) -> Received {
    let mut builder = hub.call("bob").text(seed.to_string());
    if keeps {
        builder = builder.durable();
    }
    let mut call = builder.start().await.expect("it begins");
    let mut seen = Received::default();
    loop {
        let event = call.next().await;
        let event = event.unwrap_or_else(|error| panic!("{error:?} (kept: {keeps})"));
        let Some(event) = event else {
            return seen;
        };
        match event {
            Event::Chunk(chunk) => {
                seen.add(chunk.kind.name(), &chunk.text);
                came.send_modify(|bytes| *bytes += chunk.text.len());
            }
            Event::Artifact(artifact) => {
                let [Part::Text(text)] = &artifact.parts[..] else {
                    panic!("{artifact:?}");
                };
                seen.add("artifact", text);
            }
            Event::Ask(ask) => {
                seen.add("ask", &ask.text);
                let answered = call.answer(&ask.id, &answer_to(&ask.text)).await;
                answered.expect("it is open");
            }
            Event::Done(done) => seen.add("done", &done.result.expect("a result")),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_under_load_are_byte_identical_whenever_the_connection_is_cut() {
    let seed: u64 = match std::env::var("JACKFIELD_TEST_SEED") {
        Ok(seed) => seed.parse().expect("a number"),
        Err(_) => rand::random::<u32>().into(),
    };
    println!("JACKFIELD_TEST_SEED={seed}");
    let served = TestHub::start().await;
    let proxy = FaultProxy::start(served.addr()).await;
    let worked = Arc::new(AtomicU64::new(0));
    let count = worked.clone();
    let agent = Agent::new("bob").on_message(move |message, reply| {
        count.fetch_add(1, Ordering::Relaxed);
        perform(message, reply)
    });
    let mut bob = BackgroundAgent::start(agent, proxy.addr()).await;
    let hub = client(served.addr());

    let seeds: Vec<u64> = (0..CALLS).map(|number| seed ^ (number << 32)).collect();
    let expected: Vec<Received> = seeds.iter().map(|seed| Received::expected(*seed)).collect();
    let size = |seen: &Received| seen.0.iter().map(|(_, text)| text.len()).sum::<usize>();
    let total: usize = expected.iter().map(size).sum();
    let mut rng = StdRng::seed_from_u64(seed);
    let mut cuts: Vec<usize> = (0..CUTS)
        .map(|_| rng.random_range(0..total * 9 / 10))
        .collect();
    cuts.sort_unstable();

    let (came, mut coming) = watch::channel(0);
    let mut callers = JoinSet::new();
    for (number, seed) in seeds.iter().copied().enumerate() {
        let (hub, came) = (hub.clone(), came.clone());
        callers.spawn(async move { (number, call(hub, seed, number % 2 == 0, came).await) });
    }
    let cutting = async {
        for cut in cuts {
            let came = coming.wait_for(|bytes| *bytes >= cut).await;
            drop(came.expect("calls are open"));
            proxy.cut();
            // The next cut must hit a connection too.
            bob.is_attached().await;
        }
    };
    let calling = async {
        while let Some(called) = callers.join_next().await {
            let (number, seen) = called.expect("no caller fails");
            let expected = &expected[number];
            assert!(
                seen == *expected,
                "call {number}: {}",
                difference(&seen, expected)
            );
        }
    };
    let both = timeout(PATIENCE, async { tokio::join!(cutting, calling) }).await;
    both.expect("all calls end, and all cuts were made meanwhile");
    assert_eq!(
        worked.load(Ordering::Relaxed),
        CALLS,
        "no message is worked on twice"
    );
}

/// First difference between two replies.
fn difference(seen: &Received, expected: &Received) -> Value {
    let at = seen.0.iter().zip(&expected.0).position(|(a, b)| a != b);
    let at = at.unwrap_or(seen.0.len().min(expected.0.len()));
    json!({"at": at, "seen": seen.0.get(at), "expected": expected.0.get(at)})
}
