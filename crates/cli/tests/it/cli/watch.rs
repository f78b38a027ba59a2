//! `watch`.

use jackfield_model::{End, Event};
use jackfield_testkit::{FaultProxy, TestHub, attach_agent};
use rustix::process::Signal;
use serde_json::json;

use crate::run::Cli;

#[tokio::test]
async fn each_event_is_a_line() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut watch = cli.start(&["watch"]);
    watch.until_it_says("watching").await;
    let mut bob = attach_agent(hub.hub(), "bob");
    let online = watch.line().await.unwrap();
    assert!(
        online.contains("\tbob\t") && online.ends_with("online by local"),
        "{online}"
    );
    let _call = cli.start(&["call", "bob", "hello\nthere"]);
    let serving = bob.next_call().await;
    let id = serving.call().id.to_string();
    let started = watch.line().await.unwrap();
    let end = &id[id.len() - 8..];
    let expected = format!("\tbob\t{end}\tlocal calls: hello there");
    assert!(started.ends_with(&expected), "{started}");
    serving.push(Event::text("hi"));
    assert!(watch.line().await.unwrap().ends_with("\thi"));
    serving.finish(End::done());
    assert!(watch.line().await.unwrap().ends_with("done, completed"));
    drop(bob);
    assert!(watch.line().await.unwrap().ends_with("offline"));
    watch.signal(Signal::INT);
    watch.end().await.code(130);
}

#[tokio::test]
async fn raw_shows_frames_both_ways_of_one_agent() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let (mut bob, mut eve) = (hub.agora("bob").await, hub.agora("eve").await);
    let mut watch = cli.start(&["watch", "bob", "--raw"]);
    watch.until_it_says("watching").await;
    eve.expect_nothing().await;
    eve.send(json!({"type": "send", "to": "bob", "payload": {"hello": 1}}))
        .await;
    bob.frame().await;
    let out = watch.line().await.unwrap();
    assert!(out.contains("\t-> {\"type\":\"message\""), "{out}");
    bob.expect_nothing().await;
    let read = watch.line().await.unwrap();
    assert!(read.contains("\t<- {\"type\":\"ping\"}"), "{read}");
}

#[tokio::test]
async fn json_has_one_object_per_line() {
    let hub = TestHub::start().await;
    let mut watch = Cli::new(&hub).start(&["watch", "--json"]);
    watch.until_it_says("watching").await;
    let _bob = attach_agent(hub.hub(), "bob");
    let seen = watch.json().await;
    assert_eq!(
        (&seen["type"], &seen["agent"]),
        (&json!("online"), &json!("bob"))
    );
}

#[tokio::test]
async fn it_comes_back_after_a_cut() {
    let hub = TestHub::start().await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let mut watch = Cli::at(&format!("http://{}", proxy.addr())).start(&["watch"]);
    watch.until_it_says("watching").await;
    proxy.cut();
    watch.until_it_says("reconnected").await;
    let _bob = attach_agent(hub.hub(), "bob");
    assert!(watch.line().await.unwrap().contains("bob"));
}

#[tokio::test]
async fn a_task_is_followed_to_its_end() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut bob = attach_agent(hub.hub(), "bob");
    let task = cli.run(&["call", "bob", "do it", "--detach"]).await.ok();
    let mut watch = cli.start(&["watch", task.out.trim()]);
    assert!(watch.line().await.unwrap().ends_with("message: do it"));
    let serving = bob.next_call().await;
    serving.push(Event::text("done"));
    assert!(watch.line().await.unwrap().ends_with("\tdone"));
    serving.finish(End::done());
    assert!(watch.line().await.unwrap().ends_with("done, completed"));
    watch.end().await.ok();
}

#[tokio::test]
async fn an_agent_that_is_not_there_yet_is_waited_for() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut watch = cli.start(&["watch", "bob"]);
    watch.until_it_says("no agent bob is known yet").await;
    watch.until_it_says("watching").await;
    let _eve = attach_agent(hub.hub(), "eve");
    let _bob = attach_agent(hub.hub(), "bob");
    assert!(watch.line().await.unwrap().contains("bob"));
    Cli::at("http://127.0.0.1:1")
        .run(&["watch"])
        .await
        .code(3)
        .stderr_has("jackfield serve");
}

#[tokio::test]
async fn a_revoked_token_ends_it() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let args = [
        "token", "create", "--owner", "ann", "--scope", "watch:*", "--json",
    ];
    let made = cli.run(&args).await.ok().json();
    let mut command = cli.command(&["watch"]);
    command.env("JACKFIELD_TOKEN", made["token"].as_str().unwrap());
    let mut watch = cli.start_command(command);
    watch.until_it_says("watching").await;
    cli.run(&["token", "revoke", made["id"].as_str().unwrap()])
        .await
        .ok();
    watch.end().await.code(4).stderr_has("--token-file");
}
