//! Acknowledged work survives kill -9.

use rustix::process::Signal;
use serde_json::json;

use crate::cli::serve::Served;
use crate::run::Cli;

#[tokio::test]
async fn kill_9_loses_nothing_acknowledged_and_doubles_nothing() {
    let served = Served::start(Cli::at(""), &[]).await;
    // Known to the hub, and offline.
    served.agora("bob").await.close().await;
    let sent: Vec<String> = (0..3).map(|number| format!("number {number}")).collect();
    let mut tasks = Vec::new();
    for text in &sent {
        let args = ["call", "bob", text, "--wait-online", "8h", "--detach"];
        let run = served.cli.run(&args).await.ok();
        tasks.push(run.out.trim().to_owned());
    }
    served.process.signal(Signal::KILL);
    assert_eq!(served.process.end().await.code, -1);

    let served = Served::start(served.cli, &[]).await;
    let mut agent = served.agora("bob").await;
    let mut received = Vec::new();
    for _ in &sent {
        let message = agent.frame().await;
        let question = message["payload"]["body"]["question"].as_str().unwrap();
        received.push(question.to_owned());
        let payload = json!({"body": {"answer": format!("{question}: done")}});
        agent
            .send(json!({"type": "reply", "to": message["from"], "payload": payload}))
            .await;
    }
    received.sort();
    assert_eq!(received, sent);
    for (task, text) in tasks.iter().zip(&sent) {
        let run = served.cli.run(&["task", "wait", task]).await.ok();
        assert_eq!(run.out, format!("{text}: done\n"));
    }
    agent.expect_nothing().await;
    // Still not after another start.
    served.process.signal(Signal::KILL);
    served.process.end().await;
    let served = Served::start(served.cli, &[]).await;
    let mut agent = served.agora("bob").await;
    agent.expect_nothing().await;
    let run = served.cli.run(&["task", "wait", &tasks[0]]).await.ok();
    assert_eq!(run.out, "number 0: done\n");
}

#[tokio::test]
async fn who_waits_for_a_task_goes_on_after_the_hub_was_killed() {
    let cli = Cli::at("").with_any_peer_port();
    let served = Served::start(cli, &[]).await;
    served.agora("bob").await.close().await;
    let args = ["call", "bob", "hello", "--wait-online", "8h", "--detach"];
    let task = served.cli.run(&args).await.ok().out.trim().to_owned();
    let mut wait = served.cli.start(&["task", "wait", &task, "--json"]);
    assert_eq!(wait.json().await["type"], "message");
    let listen = served.addr.to_string();
    served.process.signal(Signal::KILL);
    served.process.end().await;

    let again = ["serve", "--data-dir", "data", "--listen", &listen];
    let mut process = served.cli.start(&again);
    process.line().await.expect("it listens again");
    let mut agent = jackfield_testkit::Raw::connect(served.addr, "/ws").await;
    agent.register("bob").await;
    let from = agent.frame().await["from"].clone();
    agent
        .send(json!({"type": "reply", "to": from, "payload": {"body": {"answer": "hi"}}}))
        .await;
    let mut text = String::new();
    let end = loop {
        let event = wait.json().await;
        match event["type"].as_str().unwrap() {
            "chunk" => text += event["text"].as_str().unwrap(),
            "done" => break event,
            other => panic!("{other} was read before, or is not there: {event}"),
        }
    };
    assert_eq!(end["result"].as_str().unwrap_or(&text), "hi");
    wait.end().await.ok();
}
