//! Messages about peers for the user: ambiguous names, missing permissions, blocked peers, and the
//! remedies.

use jackfield_testkit::TestHub;
use serde_json::{Value, json};

use super::{NOBODY, hub};
use crate::raw::{RawPeer, card, register};
use crate::run::Cli;

/// A card without skills.
fn closed(name: &str) -> Value {
    json!({"name": name, "version": "1", "description": "For some.", "skills": []})
}

async fn peers(hub: &TestHub) -> Vec<String> {
    let (_, found) = hub.web().get("/peers?format=list").await;
    let ids = found.as_array().expect("a list").iter();
    ids.map(|it| it["peer_id"].as_str().expect("an id").to_owned())
        .collect()
}

#[tokio::test]
async fn the_id_of_an_agent_on_the_hub_names_its_peer() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let weather = RawPeer::streaming(card("weather", "forecast", "/forecast")).await;
    let agent = weather.join(&hub, "weather").await;
    let shown = cli.run(&["p2p", "card", &agent, "--json"]).await.ok();
    assert_eq!(shown.json()["name"], "weather");
    cli.run(&["p2p", "card", "weather@wUpT3WyJGkoj"])
        .await
        .code(3)
        .stderr_has("weather@wUpT3WyJGkoj");
}

#[tokio::test]
async fn whoever_is_shown_no_skills_is_told_who_it_is() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let guarded = RawPeer::streaming(closed("guarded")).await;
    guarded.register(&hub, "guarded", "sum").await;
    let refused = cli.run(&["p2p", "delegate", "--skill", "sum", "1"]).await;
    refused
        .code(4)
        .stderr_has("only to peers that it allows")
        .stderr_has("your peer id is 12D3KooW")
        .stderr_has("--key");
    let mut open = RawPeer::streaming(card("open", "sum", "/sum")).await;
    open.register(&hub, "open", "sum").await;
    let run = cli.start(&["p2p", "delegate", "--skill", "sum", "1"]);
    let mut work = open.next_handoff().await;
    work.send_text("{\"type\":\"result\",\"data\":\"3\"}\n")
        .await;
    work.end().await;
    run.end()
        .await
        .ok()
        .stderr_has("skipped: the peer shows its skills");
    let shown = cli.run(&["p2p", "card", "guarded"]).await.ok();
    shown
        .stderr_has("your peer id is 12D3KooW")
        .stderr_has("--key FILE");
}

#[tokio::test]
async fn agents_of_peers_are_asked_for_at_the_peer_itself() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let weather = RawPeer::streaming(card("weather", "forecast", "/forecast")).await;
    let agent = weather.join(&hub, "weather").await;
    let shown = cli.run(&["p2p", "card", "hub"]).await.ok();
    shown
        .stderr_has("shows agents of its peers")
        .stderr_has("no peer");
    let path = format!("/agents/{agent}/forecast");
    let refused = cli.run(&["p2p", "handoff", "hub", "POST", &path]).await;
    refused.code(3).stderr_has("hand off to the peer itself");
}

#[tokio::test]
async fn a_blocked_peer_is_listed_nowhere_and_cannot_register_until_it_is_unblocked() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let peer = RawPeer::streaming(card("weather", "forecast", "/forecast")).await;
    let agent = peer.join(&hub, "weather").await;
    peer.register(&hub, "weather", "forecast").await;
    let mut watch = hub.watch(&agent);
    let blocked = cli.run(&["p2p", "block", &agent]).await.ok();
    blocked.stderr_has(&format!("jackfield p2p unblock {}", peer.id()));
    watch.until_offline().await;
    assert!(!peers(&hub).await.contains(&peer.id()));
    let body = json!({"agent_name": "weather", "peer_id": peer.id(), "addrs": [peer.address()]});
    let (status, refused) = hub.web().post("/register", body.clone()).await;
    let text = "this hub refuses this peer: its operator has blocked it";
    assert_eq!((status, refused), (403, json!({ "error": text })));
    let delegated = cli.run(&["p2p", "delegate", "--skill", "forecast", "x"]);
    delegated.await.code(3).stderr_has("no matching peer");

    // A blocked peer stays blocked.
    let hub = hub.restart().await;
    let cli = Cli::new(&hub);
    let (status, _) = hub.web().post("/register", body.clone()).await;
    assert_eq!(status, 403);
    let address = format!("/p2p/{}", peer.id());
    let args = ["p2p", "unblock", &address, "--json"];
    let let_in = cli.run(&args);
    assert_eq!(let_in.await.ok().json()["blocked"], false);
    let (status, _) = hub.web().post("/register", body).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn the_entry_of_a_peer_that_is_gone_is_removed_with_it() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let away = format!("/ip4/127.0.0.1/tcp/1/p2p/{NOBODY}");
    register(&hub, NOBODY, &away, "away", "sum").await;
    let peer = format!("/p2p/{NOBODY}");
    cli.run(&["rm", &peer]).await.ok().stderr_has("is removed");
    assert!(!peers(&hub).await.contains(&NOBODY.to_owned()));
    cli.run(&["rm", &peer]).await.code(3);
}

#[tokio::test]
async fn a_call_names_the_skill_that_is_meant() {
    let hub = hub().await;
    let mut both = card("both", "first", "/first");
    let second = json!({"id": "second", "path": "/second", "method": "POST"});
    both["skills"].as_array_mut().unwrap().push(second);
    let mut peer = RawPeer::streaming(both).await;
    let agent = peer.join(&hub, "both").await;
    let run = Cli::new(&hub).start(&["call", &agent, "hi", "--skill", "second"]);
    let mut work = peer.next_handoff().await;
    assert_eq!(work.request["path"], "/second");
    work.send_text("{\"type\":\"result\",\"data\":\"done\"}\n")
        .await;
    work.end().await;
    assert_eq!(run.end().await.ok().out, "done\n");
}

#[tokio::test]
async fn words_of_several_lines_fill_the_path_of_a_peer_of_the_seed_and_no_word_is_no_answer() {
    let hub = hub().await;
    let mut peer = RawPeer::unary(card("mute", "goal", "/{goal}")).await;
    let agent = peer.join(&hub, "mute").await;
    let words = "plan a trip\nto Rome";
    let run = Cli::new(&hub).start(&["call", &agent, words]);
    let work = peer.next_handoff().await;
    assert_eq!(work.request["params"]["goal"], words);
    work.end().await;
    let run = run.end().await.code(6);
    run.stderr_has("before its answer was complete")
        .stderr_has("crashed");
}

#[tokio::test]
async fn a_peer_that_ends_without_a_last_frame_has_failed_and_is_not_offline() {
    let hub = hub().await;
    let mut peer = RawPeer::streaming(card("hasty", "sum", "/sum")).await;
    let agent = peer.join(&hub, "hasty").await;
    let run = Cli::new(&hub).start(&["call", &agent, "1"]);
    let mut work = peer.next_handoff().await;
    work.send_text("{\"type\":\"accepted\"}\n").await;
    work.end().await;
    let run = run.end().await.code(6);
    run.stderr_has("before its answer was complete")
        .stderr_has("crashed");
}

#[tokio::test]
async fn what_is_missing_or_empty_is_named() {
    let cli = Cli::at("http://127.0.0.1:1");
    let missing = cli.run(&["p2p", "delegate", "Paris"]).await.code(2);
    missing.stderr_has("--skill").stderr_has("--goal");
    let both = ["p2p", "delegate", "--skill", "a", "--goal", "b"];
    cli.run(&both)
        .await
        .code(2)
        .stderr_has("cannot be used with");
    let args = [
        "p2p",
        "handoff",
        "x",
        "POST",
        "/f/{city}",
        "--params",
        "city=",
    ];
    cli.run(&args)
        .await
        .code(2)
        .stderr_has("\"city\"")
        .stderr_has("empty");
}

#[tokio::test]
async fn a_hub_has_a_name_of_its_own_among_peers() {
    let hub = TestHub::start_with(|config| {
        config.p2p.enabled = true;
        config.p2p.name = "Harbour".to_owned();
    })
    .await;
    let shown = Cli::new(&hub).run(&["p2p", "card", "hub"]).await.ok();
    assert!(shown.out.contains("name\tHarbour"), "{shown:?}");
}

/// Checks the hub's answers to a peer without permission to call.
async fn expect_a_stranger(hub: &TestHub, peer: &RawPeer) {
    let shown = peer.ask(hub, None).await;
    assert_eq!(shown["skills"], json!([]), "{shown}");
    for request in [
        json!({"method": "GET", "path": "/agents"}),
        json!({"method": "POST", "path": "/agents/claude/ask", "input_data": "steal"}),
    ] {
        let refused = peer.ask(hub, Some(request)).await;
        assert_eq!(refused["code"], 401, "{refused}");
    }
}

#[tokio::test]
async fn a_peer_that_was_added_is_called_and_cannot_call_although_it_is_on_this_machine() {
    let hub = hub().await;
    let mut claude = hub.bridge("claude").await;
    let peer = RawPeer::streaming(card("weather", "forecast", "/forecast")).await;
    let added = Cli::new(&hub)
        .run(&["add", &peer.address(), "--json"])
        .await;
    let added = added.ok().json();
    assert_eq!(
        (&added["allowed"], added["agents"].as_array().map(Vec::len)),
        (&json!(false), Some(1)),
        "{added}"
    );
    expect_a_stranger(&hub, &peer).await;
    claude.expect_no_bridge_frame().await;
}

#[tokio::test]
async fn where_the_operator_lists_peers_others_are_strangers_on_this_machine_too() {
    let listed = RawPeer::streaming(card("listed", "sum", "/sum")).await;
    let id = listed.id();
    let hub = TestHub::start_with(|config| {
        config.p2p.enabled = true;
        config.p2p.allowed = [id].into();
    })
    .await;
    let mut claude = hub.bridge("claude").await;
    let stranger = RawPeer::streaming(card("stranger", "sum", "/sum")).await;
    expect_a_stranger(&hub, &stranger).await;
    claude.expect_no_bridge_frame().await;
    listed.join(&hub, "listed").await;
    let (_, agents) = hub.web().get("/v1/agents").await;
    assert!(!agents.to_string().contains("stranger"), "{agents}");
    let shown = listed.ask(&hub, None).await;
    assert_eq!(shown["skills"][0]["path"], "/agents/claude/ask", "{shown}");
}
