//! Killed after a message was written to an agent that resumes: rule *sent*.

use jackfield_testkit::Raw;
use serde_json::{Value, json};

use crate::kill::{
    agent::{address, chunk, done, text},
    hub::Hub,
    memory::Memory,
    platform::relay,
    receiver::{Deliveries, Receiver},
};

/// An agent that continues its work on a new connection.
struct Resuming {
    memory: Memory,
    raw: Raw,
    /// The hub's reply to the registration.
    registered: Value,
}

impl Resuming {
    async fn register(hub: &Hub) -> Self {
        Self::register_with(hub, Memory::default()).await
    }

    async fn register_with(hub: &Hub, mut memory: Memory) -> Self {
        let mut raw = Raw::connect(hub.addr, &address("amy")).await;
        raw.send(memory.register("amy")).await;
        let registered = raw.frame().await;
        assert_eq!(registered["extensions"], json!(["resume"]));
        for frame in memory.registered(&registered) {
            raw.send(frame).await;
        }
        Self {
            memory,
            raw,
            registered,
        }
    }

    /// Reconnects to another hub, with its remembered state.
    async fn reconnect(self, hub: &Hub) -> Self {
        Self::register_with(hub, self.memory).await
    }

    /// Checks that the next frame is this request.
    async fn expect(&mut self, request: &str) {
        let frame = self.raw.frame().await;
        let is_it = (&frame["type"], &frame["request_id"]);
        assert_eq!(is_it, (&json!("message"), &json!(request)), "{frame}");
        self.memory.begin(request);
    }

    /// Sends a frame of an answer.
    async fn send_frame(&mut self, frame: Value) {
        self.raw.send(self.memory.keep(frame)).await;
    }

    /// Waits until the hub has acknowledged all frames of a request so far.
    async fn acked(&mut self, request: &str) {
        while self.memory.keeps(request) {
            let ack = self.raw.frame().await;
            assert_eq!(ack["type"], "ack", "{ack}");
            self.memory.acked(&ack);
        }
    }

    /// The hub's reply about the agent's requests: open ones, and gone ones.
    fn open_and_gone(&self) -> (Value, Value) {
        let resume = &self.registered["resume"];
        (resume["open"].clone(), resume["gone"].clone())
    }
}

async fn asked(hub: &Hub, request: &str, receiver: &Receiver) {
    let relay = relay("amy", request, &receiver.url());
    hub.platform().relay(&relay).await;
}

async fn assert_completed(receiver: &mut Receiver, request: &str, result: &str) {
    let post = receiver.next().await;
    let told = post.body();
    assert_eq!(told["request_id"], request);
    assert_eq!(
        (&told["status"], &told["result"]),
        (&json!("completed"), &json!(result)),
        "{told}"
    );
    post.ok().await;
}

/// The agent has read the message and sent no reply yet.
#[tokio::test]
async fn a_message_that_the_agent_has_goes_on_and_is_not_sent_again() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    let mut amy = Resuming::register(&hub).await;
    asked(&hub, "r1", &receiver).await;
    amy.expect("r1").await;
    let hub = hub.kill().await.start().await;
    let mut amy = amy.reconnect(&hub).await;
    assert_eq!(
        amy.open_and_gone().0,
        json!([{"request_id": "r1", "have": 0}])
    );
    asked(&hub, "r2", &receiver).await;
    amy.expect("r2").await;
    amy.send_frame(done("r1", "answer")).await;
    assert_completed(&mut receiver, "r1", "answer").await;
}

/// `sent` is committed before the message is written, so the message may never have arrived.
#[tokio::test]
async fn a_message_that_the_agent_does_not_know_is_sent_again() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    let amy = Resuming::register(&hub).await;
    asked(&hub, "r1", &receiver).await;
    let hub = hub.kill().await.start().await;
    // The agent never read the message.
    let mut amy = amy.reconnect(&hub).await;
    amy.expect("r1").await;
    amy.send_frame(done("r1", "answer")).await;
    assert_completed(&mut receiver, "r1", "answer").await;
}

/// Acknowledged frames are in the hub's log; the agent repeats the others.
#[tokio::test]
async fn an_answer_goes_on_after_some_pieces_with_nothing_lost_or_doubled() {
    let mut receiver = Receiver::start();
    let mut hub = Hub::start().await;
    let mut amy = Resuming::register(&hub).await;
    asked(&hub, "r1", &receiver).await;
    amy.expect("r1").await;
    let mut whole = String::new();
    for round in 0..3 {
        for piece in [format!("{round}a "), format!("{round}b ")] {
            amy.send_frame(chunk("r1", &piece)).await;
            whole += &piece;
        }
        amy.acked("r1").await;
        // The kill may lose this frame.
        let piece = format!("{round}c ");
        amy.send_frame(chunk("r1", &piece)).await;
        whole += &piece;
        hub = hub.kill().await.start().await;
        amy = amy.reconnect(&hub).await;
        let (open, _) = amy.open_and_gone();
        let have = open[0]["have"].as_u64().expect("a number");
        assert!((round * 3 + 2..=round * 3 + 3).contains(&have), "{open}");
    }
    amy.send_frame(done("r1", "")).await;
    assert_completed(&mut receiver, "r1", &whole).await;
    let status = hub.platform().status("amy", "r1").await;
    assert_eq!(status["result"], whole, "{status}");
}

/// The end was written; after the reconnect the hub says whether it has the end.
#[tokio::test]
async fn an_end_that_was_just_written_is_never_lost() {
    const TASKS: usize = 24;
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    let mut amy = Resuming::register(&hub).await;
    let requests: Vec<String> = (0..TASKS).map(|number| format!("r{number}")).collect();
    for request in &requests {
        asked(&hub, request, &receiver).await;
        amy.expect(request).await;
    }
    for request in &requests {
        amy.send_frame(done(request, &format!("answer {request}")))
            .await;
    }
    let hub = hub.kill().await.start().await;
    let amy = amy.reconnect(&hub).await;
    let mut told = Deliveries::default();
    while told.len() < TASKS {
        let post = receiver.next().await;
        told.note(&post);
        post.ok().await;
    }
    for request in &requests {
        let told = told.of(request).expect("each was told");
        assert_eq!(told["result"], format!("answer {request}"), "{told}");
    }
    let (open, gone) = amy.open_and_gone();
    let count = |list: &Value| list.as_array().map_or(0, Vec::len);
    assert_eq!(count(&open) + count(&gone), TASKS, "{open} {gone}");
}

/// Resuming requires the earlier token: another program with the agent's id fails the open requests.
#[tokio::test]
async fn another_program_does_not_go_on_with_what_the_first_one_had() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    let mut amy = Resuming::register(&hub).await;
    asked(&hub, "r1", &receiver).await;
    amy.expect("r1").await;
    let hub = hub.kill().await.start().await;
    let mut other = Resuming::register(&hub).await;
    let post = receiver.next().await;
    assert_eq!(text(&post.body(), "error_code"), "agent_offline");
    post.ok().await;
    asked(&hub, "r2", &receiver).await;
    other.expect("r2").await;
}

/// SIGTERM leaves resumable work to the next hub.
#[tokio::test]
async fn a_hub_that_stops_leaves_an_answer_to_the_next_one() {
    let mut receiver = Receiver::start();
    let hub = Hub::start().await;
    let mut amy = Resuming::register(&hub).await;
    asked(&hub, "r1", &receiver).await;
    amy.expect("r1").await;
    amy.send_frame(chunk("r1", "one ")).await;
    amy.acked("r1").await;
    let hub = hub.stop().await.start().await;
    let mut amy = amy.reconnect(&hub).await;
    assert_eq!(
        amy.open_and_gone().0,
        json!([{"request_id": "r1", "have": 1}])
    );
    amy.send_frame(chunk("r1", "two")).await;
    amy.send_frame(done("r1", "")).await;
    assert_completed(&mut receiver, "r1", "one two").await;
}
