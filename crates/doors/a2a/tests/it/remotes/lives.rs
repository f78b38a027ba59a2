//! How remotes come and go: refreshed now and then, offline when they cannot be reached, there again after a restart.

use std::time::Duration;

use jackfield_a2a::RemoteSpec;
use jackfield_core::{agent::Profile, principal::Principal, store::TaskState};
use jackfield_kit::testing::{Manner, Scripted, soon};
use jackfield_model::{End, Reason};
use reqwest::Method;
use serde_json::{Value, json};

use crate::remotes::{
    clock::StillClock,
    far::{Far, nobody},
    harness::{Near, id},
};

const FIVE_MINUTES: Duration = Duration::from_secs(5 * 60);
/// Longer than any wait between two tries.
const A_WHILE: Duration = Duration::from_secs(61);

fn spec(url: &str) -> RemoteSpec {
    serde_json::from_value(json!({"url": url})).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_card_is_fetched_again_every_five_minutes() {
    let clock = StillClock::new();
    let (near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    let mut looks = far.looks();
    far.is_called("Another Name");
    clock.pass(FIVE_MINUTES - Duration::from_secs(1)).await;
    near.call("far").await.unwrap();
    assert!(!looks.has_changed().unwrap(), "not yet");
    clock.pass(Duration::from_secs(1)).await;
    soon(looks.changed()).await.unwrap();
    // The answer is on its way.
    while near.agent("far").unwrap().profile.name != "Another Name" {
        tokio::task::yield_now().await;
    }
    assert_eq!(near.remote("far").await["card"]["name"], "Another Name");
}

#[tokio::test(start_paused = true)]
async fn a_remote_is_offline_while_its_card_cannot_be_had_and_comes_back() {
    let clock = StillClock::new();
    let (mut near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    near.online().await;
    far.breaks();
    clock.pass(FIVE_MINUTES).await;
    near.offline().await;
    let remote = near.remote("far").await;
    assert_eq!(remote["state"], "offline");
    assert!(
        remote["error"]["message"].as_str().unwrap().contains("503"),
        "{remote}"
    );
    assert_eq!(remote["card"]["name"], "Far Echo", "what was known stays");
    far.is_called("Back Again");
    clock.pass(A_WHILE).await;
    near.online().await;
    let remote = near.remote("far").await;
    assert_eq!(remote["state"], "online");
    assert!(remote["error"].is_object(), "what went wrong is still told");
    assert_eq!(near.agent("far").unwrap().profile.name, "Back Again");
    assert!(near.call("far").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_later_is_found() {
    let clock = StillClock::new();
    let mut near = Near::start().await;
    let addr = nobody().await;
    near.add(json!({"url": format!("http://{addr}"), "id": "far", "keep": true}))
        .await;
    let _far = Far::start_at(addr).await;
    clock.pass(A_WHILE).await;
    near.online().await;
    assert!(near.call("far").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_meets_nonsense_makes_the_card_be_looked_at_at_once() {
    let clock = StillClock::new();
    let (mut near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    near.online().await;
    far.talks_nonsense();
    far.breaks();
    let (_, end) = near.call("far").await.unwrap();
    assert!(format!("{end:?}").contains("makes no sense"), "{end:?}");
    clock.pass(Duration::from_secs(1)).await;
    near.offline().await;
    assert_eq!(near.remote("far").await["state"], "offline");
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_goes_on_though_the_card_cannot_be_had() {
    let clock = StillClock::new();
    let (mut near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    near.online().await;
    far.takes_its_time();
    let asking = near.start_call("far").unwrap();
    far.has_a_message().await;
    far.breaks();
    clock.pass(FIVE_MINUTES).await;
    near.offline().await;
    assert_eq!(near.remote("far").await["state"], "offline");
    assert!(!near.agent("far").unwrap().online);
    let refused = near.start_call("far").unwrap_err();
    assert_eq!(refused.reason, Reason::Offline);
    far.answers();
    let (text, _) = soon(asking.replies().finish()).await;
    assert_eq!(text, "hello from afar");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_away_for_a_while_is_sent_what_waited_while_its_calls_went_on() {
    let clock = StillClock::new();
    let (mut near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    near.online().await;
    far.takes_its_time();
    let first = near.start_call("far").unwrap();
    far.has_a_message().await;
    far.breaks();
    clock.pass(FIVE_MINUTES).await;
    near.offline().await;
    let second = near.start_waiting_call("far").unwrap();
    far.is_called("Back Again");
    clock.pass(A_WHILE).await;
    near.online().await;
    far.has_a_message().await;
    far.answers();
    far.answers();
    for asking in [first, second] {
        let (text, _) = soon(asking.replies().finish()).await;
        assert_eq!(text, "hello from afar");
    }
}

/// Nobody took the connection, so that nothing was said: it is as if the agent had been known to be offline.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_agent_waits_also_if_nobody_had_noticed_that_it_is_gone() {
    let clock = StillClock::new();
    let (mut near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    near.online().await;
    let addr = far.dies().await;
    assert!(near.agent("far").unwrap().online, "nobody has noticed");
    let impatient = near.start_call("far").unwrap();
    let asking = near.start_waiting_call("far").unwrap();
    let (_, end) = soon(impatient.replies().finish()).await;
    assert!(format!("{end:?}").contains("Offline"), "{end:?}");
    clock.pass(Duration::from_secs(1)).await;
    near.offline().await;
    let _far = Far::start_at(addr).await;
    clock.pass(A_WHILE).await;
    near.online().await;
    let (text, end) = soon(asking.replies().finish()).await;
    assert_eq!(text, "hello from afar");
    assert!(matches!(end, End::Done(_)), "{end:?}");
}

/// The same for one that is kept, which was written down as sent.
#[tokio::test(start_paused = true)]
async fn a_kept_call_that_waits_for_its_agent_is_submitted_again() {
    let clock = StillClock::new();
    let (mut near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    near.online().await;
    let addr = far.dies().await;
    let task = near.start_task("far").await;
    clock.pass(Duration::from_secs(1)).await;
    near.offline().await;
    let state = || task.record().state;
    let waits = async {
        while state() != TaskState::Submitted {
            // In which everybody else gets on too.
            near.remote("far").await;
        }
    };
    soon(waits).await;
    assert!(!task.record().sent, "the next start of the hub sends it");
    let _far = Far::start_at(addr).await;
    clock.pass(A_WHILE).await;
    near.online().await;
    let is_over = async {
        while !state().is_final() {
            near.remote("far").await;
        }
    };
    soon(is_over).await;
    assert_eq!(state(), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_let_its_callers_in_is_refused_until_it_does() {
    let clock = StillClock::new();
    let (mut near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    near.online().await;
    far.wants(Some("sesame"));
    let (_, end) = near.call("far").await.unwrap();
    assert!(format!("{end:?}").contains("--bearer-env"), "{end:?}");
    let mut looks = far.looks();
    looks.mark_unchanged();
    clock.pass(FIVE_MINUTES).await;
    soon(looks.changed()).await.unwrap();
    let remote = near.remote("far").await;
    assert_eq!(remote["state"], "refused", "though its card is to be had");
    let why = remote["error"]["message"].as_str().unwrap();
    assert!(why.contains("401"), "{why}");
    far.wants(None);
    near.call("far").await.unwrap();
    assert_eq!(near.remote("far").await["state"], "online");
}

#[tokio::test]
async fn a_remote_is_there_again_after_a_restart() {
    let far = Far::start().await;
    let near = Near::start().await;
    let added = near.add(json!({"url": far.url(), "id": "far"})).await;
    let store = near.stop().await;
    let mut near = Near::on(store, Vec::new()).await;
    near.online().await;
    assert!(near.call("far").await.is_ok());
    let remote = near.remote("far").await;
    assert_eq!(remote["added_at"], added["added_at"]);
    assert_eq!(remote["configured"], false);
}

#[tokio::test]
async fn what_the_file_says_wins_over_what_was_added_and_is_not_stored() {
    let (old, new) = (Far::start().await, Far::start().await);
    let near = Near::start().await;
    near.add(json!({"url": old.url(), "id": "far"})).await;
    let store = near.stop().await;
    let configured = vec![
        (id("far"), spec(&new.url())),
        (id("more"), spec(&new.url())),
    ];
    let mut near = Near::on(store, configured).await;
    near.online().await;
    near.online().await;
    let remote = near.remote("far").await;
    assert_eq!(
        (&remote["url"], &remote["configured"]),
        (&json!(new.url()), &json!(true))
    );
    let (status, refused) = near
        .ask(Method::DELETE, "/v1/remotes/more", Value::Null)
        .await;
    assert_eq!((status, &refused["error"]), (409, &json!("conflict")));
    let store = near.stop().await;
    let mut near = Near::on(store, Vec::new()).await;
    near.online().await;
    assert_eq!(near.remote("far").await["url"], old.url());
    let (status, _) = near.ask(Method::GET, "/v1/remotes/more", Value::Null).await;
    assert_eq!(status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_registers_the_id_keeps_it_until_it_leaves() {
    let clock = StillClock::new();
    let (mut near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    near.online().await;
    let manner = Manner {
        door: "agora",
        ..Manner::default()
    };
    let local = Principal::local();
    let mut other = Scripted::attach(&near.hub, &local, "far", Profile::default(), manner);
    let looks = far.looks();
    let before = *looks.borrow();
    // Each round is some time and an exchange with the hub, in which everybody else gets on too.
    while *looks.borrow() < before + 3 {
        clock.pass(A_WHILE).await;
        near.remote("far").await;
    }
    assert_eq!(near.agent("far").unwrap().door, "agora");
    assert_eq!(near.remote("far").await["state"], "refused");
    other.leave();
    while near.remote("far").await["state"] != "online" {
        clock.pass(A_WHILE).await;
    }
    assert_eq!(near.agent("far").unwrap().door, "a2a");
}

#[tokio::test]
async fn remotes_stop_with_the_hub() {
    let (near, far) = (Near::start().await, Far::start().await);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    let url = format!("http://{}", nobody().await);
    near.add(json!({"url": url, "id": "away", "keep": true}))
        .await;
    near.hub.stop(Duration::ZERO).await;
    assert_eq!(near.tasks.stop(Duration::from_secs(10)).await, 0);
}
