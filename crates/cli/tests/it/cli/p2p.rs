//! `p2p peers`, `card`, `handoff`, `delegate`: each step by hand, with a hub as a peer and with scripted peers.

mod told;

use std::{fs, os::unix::fs::PermissionsExt as _};

use jackfield_model::{Chunk, End, Event};
use jackfield_peer::identity::Identity;
use jackfield_testkit::{TestHub, attach_agent};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::raw::{RawPeer, card, register};
use crate::run::Cli;

const NOBODY: &str = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";

async fn hub() -> TestHub {
    TestHub::start_with(|config| config.p2p.enabled = true).await
}

#[tokio::test]
async fn the_flow_of_the_seed_peers_then_card_then_handoff_then_all_in_one() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let shown = card("weather", "forecast", "/forecast/{city}");
    let mut weather = RawPeer::unary(shown.clone()).await;
    weather.register(&hub, "weather", "forecast").await;

    let peers = cli
        .run(&["p2p", "peers", "--skill", "forecast", "--json"])
        .await;
    let peers = peers.ok().json();
    let [peer] = peers["peers"].as_array().unwrap().as_slice() else {
        panic!("{peers}")
    };
    assert_eq!(peer["name"], "weather");
    assert_eq!(peer["peer_id"], weather.id());
    assert_eq!(peer["skills"], json!(["forecast"]));
    assert_eq!(peer["addresses"], json!([weather.address()]));
    let table = cli.run(&["p2p", "peers", "--name", "weather"]).await.ok();
    let row = format!(
        "weather\t{}\tforecast\t{}\n",
        weather.id(),
        weather.address()
    );
    assert_eq!(table.out, row);

    for peer in ["weather", &weather.id(), &weather.address()] {
        let whole = cli.run(&["p2p", "card", peer, "--json"]).await.ok();
        assert_eq!(whole.json(), shown, "{peer}");
    }
    let table = cli.run(&["p2p", "card", "weather"]).await.ok();
    let row = "forecast\tPOST\t/forecast/{city}\tDoes forecast.\n";
    assert!(table.out.ends_with(row), "{table:?}");

    let run = cli.start(&[
        "p2p",
        "handoff",
        "weather",
        "post",
        "/forecast/{city}",
        "--params",
        "city=Paris",
        "--data",
        "now",
    ]);
    let mut work = weather.next_handoff().await;
    assert_eq!(
        work.request,
        json!({"method": "POST", "path": "/forecast/{city}", "params": {"city": "Paris"}, "input_data": "now"})
    );
    work.send_text("sunny, ").await;
    work.send_text("then rain").await;
    work.end().await;
    assert_eq!(run.end().await.ok().out, "sunny, then rain\n");

    let run = cli.start(&["p2p", "delegate", "--skill", "Forecast", "Rome"]);
    let mut work = weather.next_handoff().await;
    assert_eq!(work.request["params"], json!({"city": "Rome"}));
    assert_eq!(work.request["input_data"], "Rome");
    work.send_text(r#"{"degrees":21}"#).await;
    work.end().await;
    let run = run.end().await.ok();
    assert_eq!(run.out, "{\"degrees\":21}\n");
    let steps = format!(
        "the registry has one matching peer\nasking weather ({}) for its card\nhanding off: forecast, POST /forecast/{{city}}\n",
        weather.id()
    );
    assert_eq!(run.err, steps);
}

#[tokio::test]
async fn the_hub_itself_is_a_peer_whose_agents_are_streamed_from() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let address = hub.peer_addresses().remove(0);
    let shown = cli.run(&["p2p", "card", &address, "--json"]).await.ok();
    assert_eq!(shown.json()["skills"][0]["path"], "/agents/bob/ask");
    let ask = [
        "p2p",
        "handoff",
        &address,
        "POST",
        "/agents/bob/ask",
        "--data",
    ];

    let mut run = cli.start(&[&ask[..], &["hello", "-v"]].concat());
    let serving = agent.next_call().await;
    assert_eq!(serving.call().message.joined_text(), "hello");
    serving.push(Event::text("one\ntw"));
    assert_eq!(run.line().await.unwrap(), "one");
    serving.push(Event::Chunk(Chunk::status("at it")));
    serving.push(Event::text("o"));
    serving.finish(End::done());
    let run = run.end().await.ok();
    assert_eq!((run.out.as_str(), run.err.as_str()), ("two\n", "at it\n"));

    let mut run = cli.start(&[&ask[..], &["{\"n\":1}", "--json"]].concat());
    let serving = agent.next_call().await;
    serving.push(Event::text("one"));
    assert_eq!(run.json().await, json!({"type": "chunk", "data": "one"}));
    serving.finish(End::done());
    assert_eq!(run.json().await, json!({"type": "result"}));
    run.end().await.ok();

    let run = cli.start(&[&ask[..], &["x", "--no-stream"]].concat());
    let serving = agent.next_call().await;
    serving.push(Event::text("in one "));
    serving.push(Event::text("piece"));
    serving.finish(End::done());
    assert_eq!(run.end().await.ok().out, "in one piece\n");
}

#[tokio::test]
async fn ctrl_c_cancels_the_work_where_it_is_done() {
    let hub = hub().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let address = hub.peer_addresses().remove(0);
    let cli = Cli::new(&hub);
    for args in [
        &[
            "p2p",
            "handoff",
            &address,
            "POST",
            "/agents/bob/ask",
            "--data",
            "x",
        ][..],
        &["p2p", "delegate", "--skill", "bob", "x"],
    ] {
        let run = cli.start(args);
        let serving = agent.next_call().await;
        run.signal(Signal::INT);
        assert_eq!(agent.next_cancel().await, serving.call().id);
        run.end().await.code(130).stderr_has("cancelled");
    }
}

#[tokio::test]
async fn delegate_passes_over_who_is_away_or_lacks_the_skill_and_never_sends_twice() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let away = format!("/ip4/127.0.0.1/tcp/1/p2p/{NOBODY}");
    register(&hub, NOBODY, &away, "away", "sum").await;
    let other = RawPeer::unary(card("other", "product", "/product")).await;
    other.register(&hub, "other", "sum").await;
    let mut first = RawPeer::streaming(card("first", "sum", "/sum")).await;
    first.register(&hub, "first", "sum").await;
    let mut second = RawPeer::streaming(card("second", "sum", "/sum")).await;
    second.register(&hub, "second", "sum").await;

    let run = cli.start(&["p2p", "delegate", "--skill", "sum", "[1,2]", "--json"]);
    let mut work = first.next_handoff().await;
    assert_eq!(work.request["input_data"], json!([1, 2]));
    work.send_text(
        "{\"type\":\"error\",\"error\":\"no such number\",\"code\":502,\"reason\":\"crashed\"}\n",
    )
    .await;
    work.end().await;
    let run = run.end().await.code(6).stderr_has("no such number");
    assert!(second.has_no_handoff());
    for step in [
        "the registry has 4 matching peers",
        &format!("asking away ({NOBODY}) for its card\n  skipped: cannot connect"),
        "  skipped: its card has no skill \"sum\"",
        "handing off: sum, POST /sum",
    ] {
        assert!(run.err.contains(step), "{step:?} is not in {run:?}");
    }
    let lines: Vec<Value> = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            json!({"type": "delegated", "name": "first", "peer_id": first.id(), "skill": "sum", "path": "/sum"}),
            json!({"type": "error", "error": "the peer says: no such number", "reason": "crashed"}),
        ]
    );
}

#[tokio::test]
async fn a_goal_finds_a_peer_and_the_skill_of_its_card_that_fits() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let mut shown = card("helper", "count", "/count");
    let translate = json!({"id": "translate", "name": "Translate", "path": "/to/{lang}/{tone}", "method": "PUT",
                           "description": "Brings a text into another language."});
    shown["skills"].as_array_mut().unwrap().push(translate);
    let mut helper = RawPeer::unary(shown).await;
    helper.register(&hub, "helper", "translate").await;
    let goal = "translate this into another language";
    let wanting = cli.run(&["p2p", "delegate", "--goal", goal]).await.code(2);
    wanting.stderr_has("\"lang\"").stderr_has("--params");
    let run = cli.start(&[
        "p2p",
        "delegate",
        "--goal",
        goal,
        "good morning",
        "--params",
        r#"{"lang":"fr"}"#,
        "--params",
        "tone=kind",
    ]);
    let mut work = helper.next_handoff().await;
    assert_eq!(
        work.request,
        json!({"method": "PUT", "path": "/to/{lang}/{tone}", "params": {"lang": "fr", "tone": "kind"},
               "input_data": "good morning"})
    );
    work.send_text("bonjour").await;
    work.end().await;
    assert_eq!(run.end().await.ok().out, "bonjour\n");
}

#[tokio::test]
async fn a_skill_of_an_agent_behind_the_hub_is_reached_through_it() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let mut bob = hub
        .bridge_as("bob", json!({"capabilities": ["translate"]}))
        .await;
    let run = cli.start(&["p2p", "delegate", "--skill", "translate", "guten Tag"]);
    let request = bob.expect_message("guten Tag").await;
    bob.send(
        json!({"type": "done", "request_id": request, "session_id": "s", "result": "good day"}),
    )
    .await;
    let run = run.end().await.ok();
    assert_eq!(run.out, "good day\n");
    assert!(run.err.contains("POST /agents/bob/translate"), "{run:?}");
}

#[tokio::test]
async fn answers_of_every_kind_of_peer_arrive_whole() {
    let cli = Cli::at("http://127.0.0.1:1");
    let handoff = |address: &str| {
        let args = ["p2p", "handoff", address, "GET", "/x"].map(str::to_owned);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        cli.start(&args)
    };
    // A peer that never closes its side.
    let mut open = RawPeer::unary(card("open", "x", "/x")).await;
    let run = handoff(&open.address());
    let mut work = open.next_handoff().await;
    assert_eq!(work.request["input_data"], Value::Null);
    work.send_text(r#"{"done":true}"#).await;
    work.leave_open();
    assert_eq!(run.end().await.ok().out, "{\"done\":true}\n");
    // A peer with a very long line.
    let mut long = RawPeer::streaming(card("long", "x", "/x")).await;
    let mut run = handoff(&long.address());
    let text = "x".repeat(300 << 10);
    let mut work = long.next_handoff().await;
    work.send_text(&format!("{}\n", json!({"type": "result", "data": text})))
        .await;
    work.end().await;
    assert_eq!(run.line().await, Some(text));
    run.end().await.ok();
    // A peer that stops in the middle.
    let run = handoff(&open.address());
    let mut work = open.next_handoff().await;
    work.send_text(r#"{"done":"#).await;
    work.end().await;
    run.end().await.code(6).stderr_has("was cut");
}

#[tokio::test]
async fn where_only_known_peers_are_let_in_a_key_makes_one_known() {
    let home = tempfile::tempdir().unwrap();
    let key = home.path().join("key");
    let keep = |file: &std::path::Path| {
        fs::write(file, [7; 32]).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
        let key = Identity::load(file).unwrap().unwrap();
        key.public().to_peer_id().to_string()
    };
    let id = keep(&key);
    let hub = TestHub::start_with(|config| {
        config.listen = "0.0.0.0:0".parse().unwrap();
        config.p2p.enabled = true;
        config.p2p.listen = vec!["/ip4/127.0.0.1/tcp/0".to_owned()];
        config.p2p.allowed = [id].into();
    })
    .await;
    let cli = Cli::new(&hub);
    let address = hub.peer_addresses().remove(0);
    let get = ["p2p", "handoff", &address, "GET", "/agents"];
    cli.run(&get).await.code(4).stderr_has("--key FILE");
    let known = [&get[..], &["--key", key.to_str().unwrap()]].concat();
    assert_eq!(cli.run(&known).await.ok().json(), json!({"agents": []}));
    // The registry of a closed hub requires a token.
    cli.run(&["p2p", "peers"]).await.code(4).stderr_has("token");
    let none = [&get[..], &["--key", "nowhere"]].concat();
    cli.run(&none)
        .await
        .code(2)
        .stderr_has("nowhere")
        .stderr_has("make one");
}

#[tokio::test]
async fn what_cannot_be_meant_is_said_with_the_next_step() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let away = format!("/ip4/127.0.0.1/tcp/1/p2p/{NOBODY}");
    for (args, code, said) in [
        (&["card", "nobody"][..], 3, "jackfield p2p peers"),
        (&["card", NOBODY], 3, "jackfield p2p peers"),
        (&["card", "/ip4/127.0.0.1/tcp/1"], 2, "/p2p/"),
        (&["card", "/ip4/127.0.0.1/tcp/1/ws/p2p/x"], 2, "PEER"),
        (&["card", &away], 3, "does the peer run?"),
        (&["handoff", &away, "POST", "/x"], 3, "does the peer run?"),
        (&["handoff", &away, "TRACE", "/x"], 2, "GET, POST"),
        (&["handoff", &away, "POST", "/{x}"], 2, "--params"),
        (&["handoff", &away, "POST", "/../x"], 2, "PATH"),
        (
            &["handoff", &away, "POST", "/x", "--params", "x"],
            2,
            "name=value",
        ),
        (
            &["handoff", &away, "POST", "/x", "--data", "@nowhere"],
            2,
            "nowhere",
        ),
        (&["delegate", "x"], 2, "--skill"),
        (
            &["delegate", "--skill", "flying", "x"],
            3,
            "jackfield p2p peers",
        ),
        (&["delegate", "--skill", "flying"], 2, "TEXT"),
        (
            &["delegate", "--goal", "fly to the moon"],
            3,
            "jackfield p2p peers",
        ),
    ] {
        let args = [&["p2p"], args].concat();
        cli.run(&args).await.code(code).stderr_has(said);
    }
    // Any peer may use any name.
    register(&hub, NOBODY, &away, "twin", "x").await;
    let twin = RawPeer::unary(card("twin", "x", "/x")).await;
    twin.register(&hub, "twin", "x").await;
    let which = cli.run(&["p2p", "card", "twin"]).await.code(2);
    which.stderr_has(NOBODY).stderr_has(&twin.id());
    let ashore = TestHub::start().await;
    let refused = Cli::new(&ashore).run(&["p2p", "peers"]).await.code(3);
    refused.stderr_has("no registry").stderr_has("[p2p]");
}

#[tokio::test]
async fn one_flag_makes_a_hub_a_relay() {
    let cli = Cli::at("");
    let file = cli.home().join("jackfield.toml");
    fs::write(&file, "[p2p]\nenabled = false\n").unwrap();
    let none = cli
        .run(&["serve", "--relay", "--listen", "127.0.0.1:0"])
        .await;
    none.code(2).stderr_has("--relay").stderr_has("p2p.enabled");
    fs::write(&file, "").unwrap();
    let shown = cli.run(&["config", "show", "--relay"]).await.ok();
    assert!(shown.out.contains("relay = true"), "{shown:?}");
}

#[tokio::test]
async fn the_hub_of_the_command_is_called_hub() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "echo");
    let run = cli.start(&[
        "p2p",
        "handoff",
        "hub",
        "POST",
        "/agents/echo/ask",
        "--data",
        "hello",
    ]);
    let serving = agent.next_call().await;
    assert_eq!(serving.call().message.joined_text(), "hello");
    serving.push(Event::text("hi"));
    serving.finish(End::done());
    assert_eq!(run.end().await.ok().out, "hi\n");
}

#[tokio::test]
async fn json_is_handed_over_as_it_is_to_peers_that_answer_in_frames() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let mut summer = RawPeer::streaming(card("summer", "sum", "/sum")).await;
    let address = summer.address();
    for (data, came) in [
        (r#"{"a":1}"#, json!({"a": 1})),
        ("[1,2]", json!([1, 2])),
        ("42", json!("42")),
        ("{words}", json!("{words}")),
    ] {
        let args = ["p2p", "handoff", &address, "POST", "/sum", "--data", data];
        let run = cli.start(&args);
        let mut work = summer.next_handoff().await;
        assert_eq!(work.request["input_data"], came);
        work.send_text("{\"type\":\"result\",\"data\":\"done\"}\n")
            .await;
        work.end().await;
        run.end().await.ok();
    }
}

#[tokio::test]
async fn a_card_that_is_asked_for_at_the_hubs_http_port_is_refused_in_one_line() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    let at = format!("/ip4/127.0.0.1/tcp/{}/p2p/{NOBODY}", hub.addr().port());
    let run = cli.run(&["p2p", "card", &at]).await.code(3);
    let first = run.err.lines().next().expect("a line");
    assert!(
        first.contains("does not speak libp2p; a hub's libp2p port"),
        "{run:?}"
    );
    assert!(run.err.lines().count() <= 2, "{run:?}");
}
