//! The same scenario with repeated cuts of the client's socket, and with a hub restart.

use jackfield_core::units::Size;
use jackfield_testkit::{Dropped, FaultProxy, Screen, TestHub, WebClient, answer};
use reqwest::Method;
use serde_json::json;

use crate::team::{
    duo_of,
    scenario::{MEMBERS, Shop, final_screen},
};

/// Approximate number of bytes of the whole scenario.
const SCENARIO_BYTES: u64 = 50_000;

/// Positions of cuts, in bytes from the start of a connection: after the handshake, further and further into the
/// scenario, also within frames.
fn places(seed: u64, cuts: u64) -> Vec<usize> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut place = 1500;
    let steps = (0..cuts).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        place += usize::try_from(state % (2 * SCENARIO_BYTES / cuts)).unwrap();
        place
    });
    steps.collect()
}

async fn scenario_with_cuts(seed: u64, cuts: u64) {
    let hub = TestHub::start().await;
    let mut shop = Shop::open(&hub).await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let places = places(seed, cuts);
    proxy.cut_next_after(places.iter().copied());
    let mut user = WebClient::open(proxy.addr(), "shop", &MEMBERS).await;
    shop.run_scenario(&hub, &mut user).await;
    user.until_rest(1).await;
    let context = format!("seed {seed}, cut {} times, at {places:?}", user.returns);
    assert!(user.returns > 0, "{context}");
    assert_eq!(user.screen.shown(), final_screen(), "{context}");
    let numbers: Vec<_> = user.screen.passed().iter().map(|(_, it)| *it).collect();
    let all: Vec<_> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, all, "{context}");
    let lost = user.screen.lost();
    // A decision whose frame was lost may still have arrived.
    let lost: Vec<_> = lost
        .iter()
        .filter(|(_, text)| !text.contains("APPROVAL_INVOCATION_NOT_PENDING"))
        .collect();
    assert!(lost.is_empty(), "{context}: {lost:?}");
}

#[tokio::test]
async fn a_day_with_a_few_cuts_ends_in_the_same_state() {
    for seed in 1..=8 {
        scenario_with_cuts(seed, 5).await;
    }
}

#[tokio::test]
async fn a_day_with_many_cuts_ends_in_the_same_state() {
    for seed in 1..=4 {
        scenario_with_cuts(seed, 40).await;
    }
}

/// The client reads nothing between the first text and the end.
#[tokio::test]
async fn a_client_that_was_away_while_everything_happened_is_told_all_of_it() {
    let hub = TestHub::start().await;
    let mut shop = Shop::open(&hub).await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let mut user = WebClient::open(hub.addr(), "shop", &MEMBERS).await;
    let mut sleeper = WebClient::open(proxy.addr(), "shop", &MEMBERS).await;
    // A user's own message isn't echoed, so a second user sends it.
    let mut speaker = WebClient::open(hub.addr(), "shop", &MEMBERS).await;
    speaker.say("wake up", None).await;
    let request = shop.lead.expect_message("wake up").await;
    shop.lead.send_text(&request, "Good ").await;
    sleeper
        .until("the first word", |screen| screen.text("lead") == "Good ")
        .await;
    // The client reconnects only on its next read.
    proxy.cut();
    shop.lead.send_text(&request, "morning.").await;
    shop.lead.ends(&request).await;
    user.until_rest(1).await;
    sleeper.until_rest(1).await;
    assert_eq!(sleeper.returns, 1);
    assert_eq!(sleeper.screen.shown(), user.screen.shown());
    assert_eq!(sleeper.screen.text("lead"), "Good morning.");
}

#[tokio::test]
async fn how_far_a_task_was_once_is_not_told_over_how_far_it_is() {
    let hub = TestHub::start().await;
    let (_lead, _dev, _user) = duo_of(&hub).await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let mut user = WebClient::open(proxy.addr(), "duo", &["lead", "dev"]).await;
    let web = hub.web();
    let add = async |name: &str| {
        let tasks = json!({"tasks": [{"task_name": name, "assignee_name": "dev"}]});
        assert_eq!(web.post("/v1/teams/duo/tasks", tasks).await.0, 201);
    };
    let set = async |status: &str| {
        let patch = web.ask(Method::PATCH, "/v1/teams/duo/tasks/scan");
        let (code, answer) = answer(patch.json(&json!({ "status": status }))).await;
        assert_eq!(code, 200, "{answer}");
    };
    add("scan").await;
    set("in_progress").await;
    add("fix").await;
    set("completed").await;
    let is_done = |screen: &Screen| screen.shown()["plan"][0]["status"] == "completed";
    user.until("it is done", is_done).await;
    proxy.cut();
    user.until_back().await;
    add("rest").await;
    user.until("the last task", |screen| {
        screen.shown()["plan"].as_array().unwrap().len() == 3
    })
    .await;
    user.until("it is done", is_done).await;
    let seen = user.screen.passed().last().unwrap().1;
    set("failed").await;
    user.until("one more", |screen| {
        screen.passed().last().unwrap().1 > seen
    })
    .await;
    assert_eq!(user.screen.shown()["plan"][0]["status"], "failed");
    assert_eq!(user.screen.lost().len(), 0, "{:?}", user.screen.lost());
}

#[tokio::test]
async fn a_question_that_is_older_than_all_that_is_kept_is_asked_once_of_old_and_new_clients() {
    let hub = TestHub::start_with(|config| config.team_limits.tail = Size(8 << 10)).await;
    let (mut lead, mut dev, mut quick) = duo_of(&hub).await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let mut cut = WebClient::open(proxy.addr(), "duo", &["lead", "dev"]).await;
    quick.say("go", None).await;
    let request = lead.expect_message("go").await;
    lead.asks(&request, "rm", "call_1", json!({"path": "/"}))
        .await;
    cut.until("the question", |screen| screen.approvals().len() == 1)
        .await;
    // Another call fills the ring.
    quick.say("and you?", Some("dev")).await;
    let other = dev.expect_message("and you?").await;
    for _ in 0..50 {
        dev.send_text(&other, "well, ").await;
    }
    dev.ends(&other).await;
    let is_over =
        |screen: &Screen| screen.status("dev") == "idle" && screen.text("dev").len() == 300;
    cut.until("the other's end", is_over).await;
    proxy.cut();
    cut.until_back().await;
    let mut late = WebClient::open(hub.addr(), "duo", &["lead", "dev"]).await;
    late.until("the question", |screen| screen.approvals().len() == 1)
        .await;
    late.decide("call_1", true).await;
    lead.ends(&request).await;
    for client in [&mut cut, &mut late] {
        client
            .until("the end", |screen| {
                screen.team_status() == "idle" && screen.approvals().is_empty()
            })
            .await;
        let shown = client.screen.shown()["members"]["lead"].to_string();
        assert_eq!(shown.matches("\"rm\"").count(), 1, "{shown}");
        assert!(!shown.contains("pars"), "{shown}");
    }
}

#[tokio::test]
async fn after_a_restart_of_the_hub_the_new_run_is_shown_and_nothing_is_taken_for_old() {
    let hub = TestHub::start().await;
    let mut shop = Shop::open(&hub).await;
    let mut user = WebClient::open(hub.addr(), "shop", &MEMBERS).await;
    shop.run_scenario(&hub, &mut user).await;
    user.until_rest(1).await;
    let first = user.screen.run().unwrap().to_owned();
    let seen = user.screen.passed().len();

    let hub = hub.restart().await;
    user.moved(hub.addr());
    user.until_back().await;
    assert!(!user.is_dark());
    let mut shop = Shop::come(&hub).await;
    user.say("again", None).await;
    let request = shop.lead.expect_message("again").await;
    shop.lead.send_text(&request, "Here.").await;
    shop.lead.ends(&request).await;
    user.until_rest(2).await;
    assert_ne!(user.screen.run().unwrap(), first);
    assert_eq!(user.screen.dropped(Dropped::Seen), 0);
    assert!(user.screen.text("lead").ends_with("Done.Here."));
    let again = &user.screen.passed()[seen..];
    let again: Vec<_> = again.iter().filter(|(run, _)| *run != first).collect();
    assert_eq!(again[0].1, 1, "it counts from 1 on");
    // The plan outlives the hub.
    assert_eq!(user.screen.shown()["plan"], final_screen()["plan"]);
}

/// Like the published client: a single attempt.
#[tokio::test]
async fn a_client_that_finds_nobody_when_it_comes_back_stays_away() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serve = async move {
        let (tcp, _) = listener.accept().await.unwrap();
        let socket = tokio_tungstenite::accept_async(tcp).await.unwrap();
        drop((socket, listener));
    };
    let (mut user, ()) = tokio::join!(WebClient::open(addr, "shop", &MEMBERS), serve);
    user.until_back().await;
    assert!(user.is_dark());
    assert_eq!(user.returns, 0);
}
