//! Killed while callbacks are on their way. To one destination there is one try at a time, and the next one begins when
//! the store knows what became of the last: the post of a second task shows that the first one's is settled.

use serde_json::Value;

use crate::kill::{
    agent::{Agent, text},
    hub::Hub,
    platform::relay,
    receiver::{Closed, Post, Receiver},
};

/// A hub with an agent that answers what it is asked.
struct Scene {
    hub: Hub,
    amy: Agent,
}

impl Scene {
    async fn start() -> Self {
        Self::with(Hub::start().await).await
    }

    async fn with(hub: Hub) -> Self {
        let amy = Agent::register(&hub, "amy").await;
        Self { hub, amy }
    }

    /// A task that is over, but for its callback.
    async fn task(&mut self, request: &str, url: &str) {
        self.hub.platform().relay(&relay("amy", request, url)).await;
        self.amy.expect(request).await;
        self.amy.done(request, "answer").await;
    }

    async fn restart(self) -> Self {
        Self::with(self.hub.kill().await.start().await).await
    }
}

/// What makes two posts the same for a receiver.
fn identity(post: &Post) -> (String, Value) {
    (post.key().to_owned(), post.body())
}

/// Rule *outbox*: the receiver got it, and the hub died before it could note that. At least once, and the receiver can
/// tell.
#[tokio::test]
async fn a_callback_that_nobody_noted_as_delivered_comes_again_under_its_key() {
    let mut receiver = Receiver::start();
    let mut scene = Scene::start().await;
    scene.task("r1", &receiver.url()).await;
    let first = receiver.next().await;
    let mut scene = scene.restart().await;
    let again = receiver.next().await;
    assert_eq!(identity(&again), identity(&first));
    again.assert_signed(&scene.hub.callback_key());
    again.ok().await;
    // Once it is noted, it never comes again.
    scene.task("r2", &receiver.url()).await;
    let other = receiver.next().await;
    assert_eq!(other.request(), "r2");
    assert_ne!(other.key(), first.key());
    let _scene = scene.restart().await;
    let again = receiver.next().await;
    assert_eq!(identity(&again), identity(&other), "r1 is settled");
    again.ok().await;
}

/// Rule *outbox*: the receiver's answer was on its way when the hub died.
#[tokio::test]
async fn a_callback_that_was_just_answered_may_come_again_but_only_under_its_key() {
    let mut receiver = Receiver::start();
    let mut scene = Scene::start().await;
    scene.task("r1", &receiver.url()).await;
    let post = receiver.next().await;
    let first = identity(&post);
    post.ok().await;
    let mut scene = scene.restart().await;
    scene.task("r2", &receiver.url()).await;
    loop {
        let post = receiver.next().await;
        if post.request() == "r2" {
            break;
        }
        assert_eq!(identity(&post), first);
        post.ok().await;
    }
}

/// Rule *outbox*, between two tries, after each way to fail that a receiver has.
#[tokio::test]
async fn a_callback_that_failed_is_tried_again_by_the_next_hub() {
    let mut receiver = Receiver::start();
    let mut scene = Scene::start().await;
    for (failed, other, status) in [
        ("r1", "r2", Some("500 Internal Server Error")),
        ("r3", "r4", None),
    ] {
        scene.task(failed, &receiver.url()).await;
        let post = receiver.next().await;
        let first = identity(&post);
        match status {
            Some(status) => post.answer(status, "").await,
            None => post.cut(),
        }
        scene.task(other, &receiver.url()).await;
        // Unless the pause was so short that it comes again before.
        let mut last = receiver.next().await;
        while last.request() == failed {
            assert_eq!(identity(&last), first);
            last.cut();
            last = receiver.next().await;
        }
        let second = identity(&last);
        scene = scene.restart().await;
        let mut left = vec![first, second];
        while !left.is_empty() {
            let post = receiver.next().await;
            let known = left.iter().position(|known| *known == identity(&post));
            left.remove(known.expect("one of the two"));
            post.ok().await;
        }
    }
}

/// Rule *outbox*: `Retry-After` outlives the hub that was told.
#[tokio::test]
async fn a_destination_that_asked_for_time_gets_it_from_the_next_hub_too() {
    let mut receiver = Receiver::start();
    let mut scene = Scene::start().await;
    scene.task("r1", &receiver.url()).await;
    let post = receiver.next().await;
    assert_eq!(post.request(), "r1");
    post.answer("429 Too Many Requests", "retry-after: 600\r\n")
        .await;
    scene.task("r2", &receiver.url()).await;
    let second = receiver.next().await;
    assert_eq!(second.request(), "r2");
    let mut scene = scene.restart().await;
    let again = receiver.next().await;
    assert_eq!(identity(&again), identity(&second));
    again.ok().await;
    // Of what is due, the oldest goes first: what comes after it shows that r1 is not.
    scene.task("r3", &receiver.url()).await;
    let third = receiver.next().await;
    assert_eq!(third.request(), "r3");
    third.ok().await;
}

/// Rule *outbox*, while nobody listens.
#[tokio::test]
async fn a_callback_to_a_place_that_was_down_arrives_when_it_is_up() {
    let closed = Closed::new();
    let hub = Hub::start_with("log = \"jackfield_kit=debug\"\n").await;
    let mut scene = Scene::with(hub).await;
    scene.task("r1", &closed.url()).await;
    scene.hub.says("callback failed").await;
    let home = scene.hub.kill().await;
    let mut receiver = closed.open();
    let hub = home.start().await;
    let post = receiver.next().await;
    post.assert_signed(&hub.callback_key());
    assert_eq!(post.body()["result"], "answer");
    post.ok().await;
}

/// Rule *outbox*: what was given up stays so until somebody wants it sent again.
#[tokio::test]
async fn a_callback_that_was_given_up_is_still_listed_and_can_be_sent_again() {
    let mut receiver = Receiver::start();
    let mut scene = Scene::start().await;
    scene.task("r1", &receiver.url()).await;
    let post = receiver.next().await;
    let first = identity(&post);
    post.answer("410 Gone", "").await;
    scene.task("r2", &receiver.url()).await;
    let second = receiver.next().await;
    assert_eq!(second.request(), "r2");
    let scene = scene.restart().await;
    let again = receiver.next().await;
    assert_eq!(identity(&again), identity(&second), "r1 was given up");
    again.ok().await;
    let platform = scene.hub.platform();
    let dead = platform.callbacks("dead=true").await;
    assert_eq!(dead.len(), 1, "{dead:?}");
    let resend = format!("/v1/calls/{}/resend", text(&dead[0], "task"));
    let (status, answer) = platform.post(&resend, &Value::Null).await;
    assert_eq!(status, 204, "{answer}");
    // Killed once more before it is taken.
    let held = receiver.next().await;
    assert_eq!(identity(&held), first);
    let _scene = scene.restart().await;
    let post = receiver.next().await;
    assert_eq!(identity(&post), first);
    post.ok().await;
}
