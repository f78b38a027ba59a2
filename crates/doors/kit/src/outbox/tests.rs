//! The courier with a real hub behind it and real servers before it. What is said is composed by a door of the tests'.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::{HeaderValue, StatusCode};
use jackfield_core::{
    agent::Profile,
    hub::{Hub, Request},
    outbox::{Callback, Follower, OutboxRow, OutboxState},
    principal::Principal,
    store::memory::MemoryStore,
};
use jackfield_model::{AgentId, End, Json, Message, TaskId};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{courier::AT_ONCE, *};
use crate::{
    outbound::{Outbound, OutboundRules},
    tasks::Tasks,
    testing::{CALLBACK_KEY, CallbackReceiver, Manner, Post, SOON, Scripted, soon},
};

/// A door whose callbacks say what their data says, unless that is one of the words below. It counts how often it was
/// asked.
#[derive(Debug, Default)]
struct Plain(AtomicUsize);

const FOR_NOW: &str = "for now";
const FOR_GOOD: &str = "for good";
const NOTHING: &str = "nothing";
const TWICE: &str = "twice";
const PANIC: &str = "panic";

impl Composer for Plain {
    fn kind(&self) -> &'static str {
        "plain"
    }

    fn compose<'a>(
        &'a self,
        row: &'a OutboxRow,
    ) -> BoxFuture<'a, Result<Vec<CallbackPost>, ComposeError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async {
            let data = row.callback.data.as_ref().unwrap();
            let says: String = serde_json::from_str(data.raw().get()).unwrap();
            match says.as_str() {
                FOR_NOW => return Err(ComposeError::temporary("not yet")),
                FOR_GOOD => return Err(ComposeError::permanent("never")),
                NOTHING => return Ok(Vec::new()),
                PANIC => panic!("as the test wants"),
                _ => {}
            }
            let body = json!({"says": says, "after": row.attempts});
            let mut letter = CallbackPost::json(body.to_string());
            let forged = HeaderValue::from_static("forged");
            for name in ["x-of-the-door", "idempotency-key", "jackfield-signature"] {
                letter.headers.insert(name, forged.clone());
            }
            let count = if says == TWICE { 2 } else { 1 };
            Ok(vec![letter; count])
        })
    }
}

/// A hub, and an agent whose tasks are over as soon as they begin.
struct Scene {
    hub: Hub,
    tasks: Tasks,
    amy: Scripted,
    door: Arc<Plain>,
}

impl Scene {
    /// One with a courier that may go anywhere.
    async fn start() -> Self {
        let scene = Self::open(Arc::default()).await;
        scene.send_courier(true);
        scene
    }

    async fn open(store: Arc<MemoryStore>) -> Self {
        let hub = Hub::open(store, Default::default()).await.unwrap();
        let manner = Manner {
            door: "plain",
            ..Manner::default()
        };
        let profile = Profile::default();
        let amy = Scripted::attach(&hub, &Principal::local(), "amy", profile, manner);
        let (tasks, door) = Default::default();
        Self {
            hub,
            tasks,
            amy,
            door,
        }
    }

    fn send_courier(&self, allow_private: bool) {
        let rules = OutboundRules {
            allow_private,
            ..OutboundRules::default()
        };
        let (outbound, key) = (
            Outbound::new(&rules).unwrap(),
            CallbackKey::new(CALLBACK_KEY),
        );
        let courier = Courier::new(self.hub.clone(), outbound, key);
        courier.with(self.door.clone()).start(&self.tasks);
    }

    /// A task that is over and says so to somebody.
    async fn tell(&mut self, to: &str, says: &str) -> TaskId {
        self.tell_as("plain", to, says).await
    }

    async fn tell_as(&mut self, kind: &str, to: &str, says: &str) -> TaskId {
        let mut request = request();
        request.callback = Some(callback(kind, to, says));
        let task = self.hub.tasks().start(request).await.unwrap();
        self.amy.next_call().await.finish(End::done());
        task.id
    }

    /// Those that were not delivered.
    async fn left(&self) -> Vec<OutboxRow> {
        let (callbacks, local) = (self.hub.callbacks(), Principal::local());
        callbacks.list(&local, false, 2 * AT_ONCE).await.unwrap()
    }

    /// Looks until the outbox is like that: a try is settled after its answer, which nobody is told of.
    async fn until(&self, fits: impl Fn(&[OutboxRow]) -> bool) -> Vec<OutboxRow> {
        soon(async {
            loop {
                let left = self.left().await;
                if fits(&left) {
                    return left;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    /// The only callback, once it was tried and was not taken.
    async fn failed(&self) -> OutboxRow {
        let mut left = self
            .until(|left| left.iter().any(|row| row.attempts > 0))
            .await;
        assert_eq!(left.len(), 1);
        left.remove(0)
    }
}

fn request() -> Request {
    let amy = AgentId::parse("amy").unwrap();
    Request::new(Principal::local(), "plain", amy, Message::text("hi"))
}

fn callback(kind: &str, to: &str, says: &str) -> Callback {
    Callback {
        url: to.to_owned(),
        kind: kind.to_owned(),
        data: Some(Json::of(&says).unwrap()),
        token: None,
    }
}

fn key(post: &Post) -> String {
    post.header("idempotency-key").unwrap().to_owned()
}

fn says(post: &Post) -> Value {
    post.body()["says"].clone()
}

#[tokio::test]
async fn a_letter_goes_out_with_its_own_headers_its_key_and_its_signature() {
    let mut called = CallbackReceiver::start().await;
    let mut scene = Scene::start().await;
    let url = format!("{}/hook?x=1", called.origin());
    scene.tell(&url, "hello").await;
    let post = called.next().await;
    assert_eq!(post.path, "/hook");
    assert_eq!(post.body(), json!({"says": "hello", "after": 0}));
    assert_eq!(post.header("content-type"), Some("application/json"));
    assert_eq!(post.header("x-of-the-door"), Some("forged"));
    assert!((Timestamp::now().as_second() - post.verified()).abs() < 60);
    let left = scene.left().await;
    assert_eq!(left[0].id.to_string(), key(&post), "no door chooses it");
    post.ok();
    scene.until(<[_]>::is_empty).await;
}

#[tokio::test]
async fn a_callback_is_composed_and_tried_again_under_the_same_key_until_somebody_takes_it() {
    let mut called = CallbackReceiver::start().await;
    let mut scene = Scene::start().await;
    scene.tell(&called.origin(), "hello").await;
    let first = called.next().await;
    let known = key(&first);
    first.answer(StatusCode::SERVICE_UNAVAILABLE);
    let second = called.next().await;
    assert_eq!(second.body(), json!({"says": "hello", "after": 1}));
    assert_eq!(key(&second), known);
    second.verified();
    second.ok();
    scene.until(<[_]>::is_empty).await;
    scene.tell(&called.origin(), "hello").await;
    let other = called.next().await;
    assert_ne!(key(&other), known, "another callback has another key");
    other.ok();
}

#[tokio::test]
async fn several_letters_go_out_in_order_each_under_its_own_key_and_all_again_if_one_fails() {
    let mut called = CallbackReceiver::start().await;
    let mut scene = Scene::start().await;
    scene.tell(&called.origin(), TWICE).await;
    let first = called.next().await;
    let known = key(&first);
    first.ok();
    let second = called.next().await;
    assert_eq!(key(&second), format!("{known}-1"));
    second.verified();
    second.answer(StatusCode::SERVICE_UNAVAILABLE);
    for wanted in [known.clone(), format!("{known}-1")] {
        let again = called.next().await;
        assert_eq!(key(&again), wanted);
        again.ok();
    }
    scene.until(<[_]>::is_empty).await;
}

#[tokio::test]
async fn a_destination_that_asks_for_time_gets_it() {
    let mut called = CallbackReceiver::start().await;
    let mut scene = Scene::start().await;
    scene.tell(&called.origin(), "hello").await;
    let post = called.next().await;
    let before = Timestamp::now();
    post.answer((StatusCode::TOO_MANY_REQUESTS, [("retry-after", "600")]));
    let row = scene.failed().await;
    let pause = row.next_at.duration_since(before).as_secs();
    assert!((599..=601).contains(&pause), "{pause}");
    let why = row.last_error.as_deref();
    assert_eq!(why, Some("it answered 429 Too Many Requests"));
    assert!(called.is_idle());
}

#[tokio::test]
async fn what_is_gone_is_given_up_and_can_be_sent_again() {
    let mut called = CallbackReceiver::start().await;
    let mut scene = Scene::start().await;
    let task = scene.tell(&called.origin(), "hello").await;
    let post = called.next().await;
    let known = key(&post);
    post.answer(StatusCode::GONE);
    let row = scene.failed().await;
    assert_eq!(row.state, OutboxState::Dead);
    assert_eq!(row.last_error.as_deref(), Some("it answered 410 Gone"));
    let (callbacks, local) = (scene.hub.callbacks(), Principal::local());
    callbacks.resend(&local, task).await.unwrap();
    let post = called.next().await;
    assert_eq!(key(&post), known);
    post.ok();
    scene.until(<[_]>::is_empty).await;
}

#[tokio::test]
async fn what_our_own_rules_refuse_is_given_up_unposted() {
    let called = CallbackReceiver::start().await;
    let mut scene = Scene::open(Arc::default()).await;
    scene.send_courier(false);
    scene.tell(&called.origin(), "hello").await;
    let row = scene.failed().await;
    assert_eq!(row.state, OutboxState::Dead);
    let why = row.last_error.unwrap();
    assert!(why.contains("not a public address"), "{why}");
    assert!(called.is_idle());
}

#[tokio::test]
async fn a_door_that_cannot_compose_says_whether_it_ever_will() {
    let mut called = CallbackReceiver::start().await;
    for (kind, word, state, why) in [
        ("plain", FOR_NOW, OutboxState::Pending, "not yet"),
        ("plain", FOR_GOOD, OutboxState::Dead, "never"),
        // Put there by a hub that had another door.
        (
            "strange",
            "hello",
            OutboxState::Pending,
            "this hub does not know callbacks of the kind \"strange\"",
        ),
    ] {
        let mut scene = Scene::start().await;
        scene.tell_as(kind, &called.origin(), word).await;
        let row = scene.failed().await;
        assert_eq!((row.state, row.last_error.as_deref()), (state, Some(why)));
    }
    assert!(called.is_idle());
    // Who has nothing to say any more is done, and the next one goes out.
    let mut scene = Scene::start().await;
    scene.tell(&called.origin(), NOTHING).await;
    scene.tell(&called.origin(), "hello").await;
    let post = called.next().await;
    assert_eq!(says(&post), "hello");
    post.ok();
    let is_over = |row: &OutboxRow| row.state == OutboxState::Dead;
    let left = scene.until(|left| left.iter().all(is_over)).await;
    assert_eq!(left, []);
}

#[tokio::test]
async fn a_delivery_that_breaks_off_harms_no_other() {
    let (mut called, broken) = (
        CallbackReceiver::start().await,
        CallbackReceiver::start().await,
    );
    let mut scene = Scene::start().await;
    scene.tell(&broken.origin(), PANIC).await;
    for says in ["one", "two"] {
        scene.tell(&called.origin(), says).await;
        called.next().await.ok();
    }
    let left = scene.until(|left| left.len() == 1).await;
    assert_eq!(left[0].callback.origin(), broken.origin());
    assert_eq!(left[0].state, OutboxState::Pending, "it is tried later");
    assert!(broken.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_breaks_off_is_tried_again_but_not_at_once() {
    let mut scene = Scene::start().await;
    scene.tell("http://127.0.0.1:1", PANIC).await;
    let second = Duration::from_secs(1);
    tokio::time::sleep(second).await;
    assert_eq!(scene.door.0.load(Ordering::Relaxed), 1);
    tokio::time::sleep(5 * second).await;
    assert_eq!(scene.door.0.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_destination_gets_one_callback_at_a_time_and_holds_up_no_other() {
    let (mut slow, mut quick) = (
        CallbackReceiver::start().await,
        CallbackReceiver::start().await,
    );
    let mut scene = Scene::start().await;
    scene.tell(&slow.origin(), "one").await;
    let first = slow.next().await;
    scene.tell(&format!("{}/other", slow.origin()), "two").await;
    scene.tell(&quick.origin(), "three").await;
    let other = quick.next().await;
    assert_eq!(says(&other), "three");
    other.ok();
    assert!(slow.is_idle(), "its first one is not answered yet");
    first.ok();
    let second = slow.next().await;
    assert_eq!(says(&second), "two");
    second.ok();
}

#[tokio::test]
async fn a_lane_is_told_one_after_the_other_even_when_its_destination_changes() {
    let (mut old, mut new) = (
        CallbackReceiver::start().await,
        CallbackReceiver::start().await,
    );
    let mut scene = Scene::start().await;
    let follower = |called: &CallbackReceiver, says: &str| Follower {
        id: "f".to_owned(),
        callback: callback("plain", &called.origin(), says),
    };
    let mut request = request();
    request.followers = vec![follower(&old, "begun")];
    let task = scene.hub.tasks().start(request).await.unwrap();
    let call = scene.amy.next_call().await;
    // A later change never overtakes an earlier one that failed.
    old.next().await.answer(StatusCode::BAD_GATEWAY);
    let begun = old.next().await;
    assert_eq!(begun.body(), json!({"says": "begun", "after": 1}));
    let (tasks, local) = (scene.hub.tasks(), Principal::local());
    let moved = follower(&new, "over");
    tasks.follow(&local, task.id, moved).await.unwrap();
    call.finish(End::done());
    scene.until(|left| left.len() == 1).await;
    // The courier has looked since: what came later to somebody else has arrived.
    let mut other = CallbackReceiver::start().await;
    scene.tell(&other.origin(), "other").await;
    other.next().await.ok();
    assert!(new.is_idle(), "the first one is not answered yet");
    begun.ok();
    let over = new.next().await;
    assert_eq!(says(&over), "over");
    over.ok();
    scene.until(<[_]>::is_empty).await;
}

#[tokio::test]
async fn many_are_under_way_at_once_and_the_next_waits_for_one_of_them() {
    let mut scene = Scene::open(Arc::default()).await;
    let mut destinations = Vec::new();
    for _ in 0..=AT_ONCE {
        let called = CallbackReceiver::start().await;
        scene.tell(&called.origin(), "hello").await;
        scene.until(|left| left.len() > destinations.len()).await;
        destinations.push(called);
    }
    let mut next = destinations.pop().unwrap();
    scene.send_courier(true);
    let mut posts = Vec::new();
    for called in &mut destinations {
        posts.push(called.next().await);
    }
    // Whoever is sent composes before it goes out.
    assert_eq!(scene.door.0.load(Ordering::Relaxed), AT_ONCE);
    posts.remove(3).ok();
    next.next().await.ok();
    scene.until(|left| left.len() == AT_ONCE - 1).await;
}

#[tokio::test]
async fn a_stop_cuts_off_what_is_under_way_and_the_next_courier_repeats_it() {
    let mut called = CallbackReceiver::start().await;
    let store = Arc::new(MemoryStore::default());
    let mut scene = Scene::open(store.clone()).await;
    scene.send_courier(true);
    scene.tell(&called.origin(), "hello").await;
    let cut = called.next().await;
    assert_eq!(scene.tasks.stop(SOON).await, 0, "it ends when it is told");
    let scene = Scene::open(store).await;
    scene.send_courier(true);
    let again = called.next().await;
    assert_eq!(key(&again), key(&cut));
    assert_eq!(again.body(), json!({"says": "hello", "after": 0}));
    again.ok();
    scene.until(<[_]>::is_empty).await;
}
