//! Killed during callbacks. Each destination has one attempt at a time, and the next attempt begins once the previous
//! result is stored. So the post of a second task shows that the first post is settled.

use serde_json::Value;

use crate::kill::{
    agent::{Agent, text},
    hub::Hub,
    platform::relay,
    receiver::{Closed, Post, Receiver},
};

/// A hub with an agent that answers every request.
struct OutboxFixture {
    hub: Hub,
    amy: Agent,
}

impl OutboxFixture {
    async fn start() -> Self {
        Self::with(Hub::start().await).await
    }

    async fn with(hub: Hub) -> Self {
        let amy = Agent::register(&hub, "amy").await;
        Self { hub, amy }
    }

    /// Completes a task, except for its callback.
    async fn task(&mut self, request: &str, url: &str) {
        self.hub.platform().relay(&relay("amy", request, url)).await;
        self.amy.expect(request).await;
        self.amy.done(request, "answer").await;
    }

    async fn restart(self) -> Self {
        Self::with(self.hub.kill().await.start().await).await
    }
}

/// The identity of a post for a receiver.
fn identity(post: &Post) -> (String, Value) {
    (post.key().to_owned(), post.body())
}

/// Rule *outbox*: the receiver got the post, and the hub was killed before storing the result. Delivery is at least
/// once, and the receiver can detect duplicates.
#[tokio::test]
async fn a_callback_that_nobody_noted_as_delivered_comes_again_under_its_key() {
    let mut receiver = Receiver::start();
    let mut fixture = OutboxFixture::start().await;
    fixture.task("r1", &receiver.url()).await;
    let first = receiver.next().await;
    let mut fixture = fixture.restart().await;
    let again = receiver.next().await;
    assert_eq!(identity(&again), identity(&first));
    again.assert_signed(&fixture.hub.callback_key());
    again.ok().await;
    // A stored result is never sent again.
    fixture.task("r2", &receiver.url()).await;
    let other = receiver.next().await;
    assert_eq!(other.request(), "r2");
    assert_ne!(other.key(), first.key());
    let _scene = fixture.restart().await;
    let again = receiver.next().await;
    assert_eq!(identity(&again), identity(&other), "r1 is settled");
    again.ok().await;
}

/// Rule *outbox*: the receiver's response was in flight when the hub was killed.
#[tokio::test]
async fn a_callback_that_was_just_answered_may_come_again_but_only_under_its_key() {
    let mut receiver = Receiver::start();
    let mut fixture = OutboxFixture::start().await;
    fixture.task("r1", &receiver.url()).await;
    let post = receiver.next().await;
    let first = identity(&post);
    post.ok().await;
    let mut fixture = fixture.restart().await;
    fixture.task("r2", &receiver.url()).await;
    loop {
        let post = receiver.next().await;
        if post.request() == "r2" {
            break;
        }
        assert_eq!(identity(&post), first);
        post.ok().await;
    }
}

/// Rule *outbox*: killed between two attempts, after each kind of failed attempt.
#[tokio::test]
async fn a_callback_that_failed_is_tried_again_by_the_next_hub() {
    let mut receiver = Receiver::start();
    let mut fixture = OutboxFixture::start().await;
    for (failed, other, status) in [
        ("r1", "r2", Some("500 Internal Server Error")),
        ("r3", "r4", None),
    ] {
        fixture.task(failed, &receiver.url()).await;
        let post = receiver.next().await;
        let first = identity(&post);
        match status {
            Some(status) => post.answer(status, "").await,
            None => post.cut(),
        }
        fixture.task(other, &receiver.url()).await;
        // Unless the pause was so short that the retry comes first.
        let mut last = receiver.next().await;
        while last.request() == failed {
            assert_eq!(identity(&last), first);
            last.cut();
            last = receiver.next().await;
        }
        let second = identity(&last);
        fixture = fixture.restart().await;
        let mut left = vec![first, second];
        while !left.is_empty() {
            let post = receiver.next().await;
            let known = left.iter().position(|known| *known == identity(&post));
            left.remove(known.expect("one of the two"));
            post.ok().await;
        }
    }
}

/// Rule *outbox*: `Retry-After` outlives the hub that received it.
#[tokio::test]
async fn a_destination_that_asked_for_time_gets_it_from_the_next_hub_too() {
    let mut receiver = Receiver::start();
    let mut fixture = OutboxFixture::start().await;
    fixture.task("r1", &receiver.url()).await;
    let post = receiver.next().await;
    assert_eq!(post.request(), "r1");
    post.answer("429 Too Many Requests", "retry-after: 600\r\n")
        .await;
    fixture.task("r2", &receiver.url()).await;
    let second = receiver.next().await;
    assert_eq!(second.request(), "r2");
    let mut fixture = fixture.restart().await;
    let again = receiver.next().await;
    assert_eq!(identity(&again), identity(&second));
    again.ok().await;
    // The oldest due callback goes first, so the next post shows that r1 isn't due.
    fixture.task("r3", &receiver.url()).await;
    let third = receiver.next().await;
    assert_eq!(third.request(), "r3");
    third.ok().await;
}

/// Rule *outbox*: killed while the receiver is offline.
#[tokio::test]
async fn a_callback_to_a_place_that_was_down_arrives_when_it_is_up() {
    let closed = Closed::new();
    let hub = Hub::start_with("log = \"jackfield_kit=debug\"\n").await;
    let mut fixture = OutboxFixture::with(hub).await;
    fixture.task("r1", &closed.url()).await;
    fixture.hub.says("callback failed").await;
    let stopped = fixture.hub.kill().await;
    let mut receiver = closed.open();
    let hub = stopped.start().await;
    let post = receiver.next().await;
    post.assert_signed(&hub.callback_key());
    assert_eq!(post.body()["result"], "answer");
    post.ok().await;
}

/// Rule *outbox*: a dead callback stays dead until resent on request.
#[tokio::test]
async fn a_callback_that_was_given_up_is_still_listed_and_can_be_sent_again() {
    let mut receiver = Receiver::start();
    let mut fixture = OutboxFixture::start().await;
    fixture.task("r1", &receiver.url()).await;
    let post = receiver.next().await;
    let first = identity(&post);
    post.answer("410 Gone", "").await;
    fixture.task("r2", &receiver.url()).await;
    let second = receiver.next().await;
    assert_eq!(second.request(), "r2");
    let fixture = fixture.restart().await;
    let again = receiver.next().await;
    assert_eq!(identity(&again), identity(&second), "r1 was given up");
    again.ok().await;
    let platform = fixture.hub.platform();
    let dead = platform.callbacks("dead=true").await;
    assert_eq!(dead.len(), 1, "{dead:?}");
    let resend = format!("/v1/calls/{}/resend", text(&dead[0], "task"));
    let (status, answer) = platform.post(&resend, &Value::Null).await;
    assert_eq!(status, 204, "{answer}");
    // Killed again before the receiver accepts it.
    let held = receiver.next().await;
    assert_eq!(identity(&held), first);
    let _scene = fixture.restart().await;
    let post = receiver.next().await;
    assert_eq!(identity(&post), first);
    post.ok().await;
}
