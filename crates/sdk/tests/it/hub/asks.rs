//! Questions of an agent, answered by caller and owner.

use jackfield_sdk::{Agent, Artifact, ChunkKind, DoneState, Event, File, Hub};
use jackfield_testkit::{FaultProxy, TestHub};
use reqwest::Method;
use serde_json::{Value, json};

use crate::hub::background::{BackgroundAgent, client};

async fn approve(hub: &Hub, call: &str, ask: &Value, approved: bool) -> anyhow::Result<()> {
    let path = format!("/v1/calls/{call}/answer");
    let body = json!({"ask_id": ask, "approved": approved, "reason": "because"});
    hub.request::<Value>(Method::POST, &path, Some(&body))
        .await?;
    Ok(())
}

#[tokio::test]
async fn the_caller_answers_what_it_is_asked_also_over_a_cut() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let proxy = FaultProxy::start(served.addr()).await;
    let agent = Agent::new("bob").on_message(|_, reply| async move {
        let name = reply.ask("who are you?").await?;
        let colour = reply.ask("which colour?").await?;
        Ok(reply
            .text(format!("{} likes {}", name.text, colour.text))
            .await?)
    });
    let mut bob = BackgroundAgent::start(agent, proxy.addr()).await;
    let hub = client(served.addr());
    for keeps in [false, true] {
        let mut builder = hub.call("bob").text("x");
        if keeps {
            builder = builder.durable();
        }
        let mut call = builder.start().await?;
        let (mut asked, mut text) = (Vec::new(), String::new());
        while let Some(event) = call.next().await? {
            match event {
                Event::Ask(ask) => {
                    let content = if asked.is_empty() { "ann" } else { "blue" };
                    proxy.cut();
                    if asked.is_empty() {
                        // The first answer arrives while the agent is disconnected, the second after its
                        // return.
                        call.answer(&ask.id, content).await?;
                        bob.is_attached().await;
                    } else {
                        bob.is_attached().await;
                        call.answer(&ask.id, content).await?;
                    }
                    asked.push(ask.text);
                }
                Event::Chunk(chunk) => text += &chunk.text,
                Event::Done(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(asked, ["who are you?", "which colour?"], "each once");
        assert_eq!(text, "ann likes blue");
    }
    Ok(())
}

#[tokio::test]
async fn the_owner_approves_what_a_handler_wants_to_do() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let agent = Agent::new("bob").on_message(|_, reply| async move {
        let approval = reply.approve("rm", json!({"path": "/"})).await?;
        let (approved, reason) = (approval.approved, approval.reason);
        Ok(reply.text(format!("{approved} {reason:?}")).await?)
    });
    let _bob = BackgroundAgent::start(agent, served.addr()).await;
    let hub = client(served.addr());
    for approved in [true, false] {
        let mut call = hub.call("bob").text("x").start().await?;
        let Some(Event::Chunk(waits)) = call.next().await? else {
            panic!("the caller hears why it waits")
        };
        assert_eq!(waits.kind, ChunkKind::Status);
        // On loopback the caller is the owner.
        let id = call.started().id.clone();
        let view: Value = hub.get(&format!("/v1/calls/{id}")).await?;
        let ask = &view["asks"][0];
        assert_eq!(
            (&ask["tool_name"], &ask["arguments"]),
            (&json!("rm"), &json!({"path": "/"})),
            "{view}"
        );
        approve(&hub, &id, &ask["id"], approved).await?;
        assert_eq!(call.text().await?, format!("{approved} Some(\"because\")"));
    }
    Ok(())
}

#[tokio::test]
async fn a_caller_gets_what_was_made_and_how_it_ended() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let agent = Agent::new("bob").on_message(|message, reply| async move {
        reply
            .artifact(Artifact::new("log").name("a log").text("one").open())
            .await?;
        reply
            .artifact(Artifact::new("log").data(json!({"two": 2})).append())
            .await?;
        reply
            .attach(File::at("https://x/a.png").name("a.png"))
            .await?;
        reply.result("the whole answer");
        reply.usage(json!({"tokens": 7}));
        reply.stop_reason("end_turn");
        match message.text.as_str() {
            "reject" => reply.rejected(),
            "wait" => reply.input_required(),
            "pass" => reply.bare_message(),
            _ => {}
        }
        Ok(())
    });
    let _bob = BackgroundAgent::start(agent, served.addr()).await;
    let hub = client(served.addr());
    for (text, state) in [
        ("go", DoneState::Completed),
        ("wait", DoneState::InputRequired),
        ("pass", DoneState::Completed),
        ("reject", DoneState::Rejected),
    ] {
        let mut call = hub.call("bob").text(text).start().await?;
        let mut artifacts = Vec::new();
        let done = loop {
            match call.next().await?.expect("an end") {
                Event::Artifact(artifact) => artifacts.push(artifact),
                Event::Done(done) => break done,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            artifacts,
            [
                Artifact::new("log").name("a log").text("one").open(),
                Artifact::new("log").data(json!({"two": 2})).append(),
            ]
        );
        assert_eq!(done.state, state);
        assert_eq!(done.result.as_deref(), Some("the whole answer"));
        assert_eq!(done.usage, Some(json!({"tokens": 7}).into()));
        assert_eq!(done.stop_reason.as_deref(), Some("end_turn"));
        let file = File::at("https://x/a.png").name("a.png");
        assert_eq!(done.attachments, [file]);
    }
    Ok(())
}
