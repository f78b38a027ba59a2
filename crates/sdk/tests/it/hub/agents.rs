//! Agents of the SDK as their callers see them.

use std::sync::{Arc, Mutex};

use jackfield_sdk::{Agent, ChunkKind, Error, Event, File, Part};
use jackfield_testkit::{FaultProxy, Raw, SOON, TestHub};
use serde_json::json;
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use crate::hub::background::{BackgroundAgent, address, client};

/// The agent of the documentation.
pub(crate) fn echo() -> Agent {
    Agent::new("echo")
        .description("says what you said")
        .on_message(|message, reply| async move {
            for word in message.text.split_whitespace() {
                reply.text(format!("{word} ")).await?;
            }
            Ok(())
        })
}

#[tokio::test]
async fn the_examples_of_the_documentation_work() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let _echo = BackgroundAgent::start(echo(), served.addr()).await;
    let hub = client(served.addr());
    assert_eq!(hub.ask("echo", "hello").await?, "hello ");
    let mut call = hub.call("echo").text("hello again").start().await?;
    let mut text = String::new();
    while let Some(event) = call.next().await? {
        if let Event::Chunk(chunk) = event {
            text += &chunk.text;
        }
    }
    assert_eq!(text, "hello again ");
    assert!(call.next().await?.is_none(), "nothing after the end");
    Ok(())
}

#[tokio::test]
async fn an_agent_says_who_it_is() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let agent = echo()
        .name("Echo")
        .agent_type("example")
        .skill("repeat")
        .skill("speak");
    let _echo = BackgroundAgent::start(agent, served.addr()).await;
    let agents = client(served.addr()).agents().await?;
    let [echo] = &agents[..] else {
        panic!("{agents:?}")
    };
    assert!(echo.is_online());
    assert_eq!(
        (echo.id.as_str(), echo.name.as_str(), echo.door.as_str()),
        ("echo", "Echo", "bridge")
    );
    assert_eq!(echo.rest["skills"][1]["id"], "speak");
    assert_eq!(echo.rest["description"], "says what you said");
    Ok(())
}

#[tokio::test]
async fn a_handler_knows_session_and_caller_and_says_more_than_text() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let agent = Agent::new("bob").on_message(|message, reply| async move {
        reply.thinking("hm").await?;
        reply.tool_start("look", "t1").await?;
        reply.tool_result("t1", "found").await?;
        reply.status("nearly there").await?;
        let parts: Vec<_> = message
            .parts
            .into_iter()
            .map(serde_json::Value::from)
            .collect();
        let content = json!([message.session, message.caller, parts, message.call]);
        Ok(reply.text(content.to_string()).await?)
    });
    let _bob = BackgroundAgent::start(agent, served.addr()).await;
    let hub = client(served.addr());
    let parts = [Part::File(File::bytes(*b"hi").name("a"))];
    let mut call = hub
        .call("bob")
        .text("x")
        .parts(parts)
        .session("mine")
        .start()
        .await?;
    assert_eq!(call.started().session, "mine");
    let (mut kinds, mut text) = (Vec::new(), String::new());
    while let Some(event) = call.next().await? {
        if let Event::Chunk(chunk) = event {
            if chunk.kind == ChunkKind::Text {
                text += &chunk.text;
            }
            kinds.push(chunk.kind.name());
        }
    }
    assert_eq!(
        kinds,
        ["thinking", "tool_start", "tool_result", "status", "text"]
    );
    let content: serde_json::Value = serde_json::from_str(&text)?;
    assert_eq!(
        (&content[0], &content[1]),
        (&json!("mine"), &json!("local"))
    );
    let parts = json!([{"text": "x"}, {"file": {"name": "a", "bytes": "aGk="}}]);
    assert_eq!(content[2], parts);
    assert_eq!(
        content[3],
        call.started().id,
        "to be named as the parent of others"
    );
    Ok(())
}

#[tokio::test]
async fn an_agent_comes_back_after_a_cut() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let proxy = FaultProxy::start(served.addr()).await;
    let mut echo = BackgroundAgent::start(echo(), proxy.addr()).await;
    let hub = client(served.addr());
    for _ in 0..3 {
        proxy.cut();
        echo.is_attached().await;
        assert_eq!(hub.ask("echo", "still here").await?, "still here ");
    }
    Ok(())
}

#[tokio::test]
async fn nobody_waits_for_an_agent_that_said_goodbye() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (attached, is_attached) = tokio::sync::oneshot::channel();
    let mut attached = Some(attached);
    let agent = Agent::new("bob")
        .hub(address(served.addr()))
        .on_message(|_, _| std::future::pending());
    let mut running = JoinSet::new();
    running.spawn(agent.run_until(async { drop(stopped.await) }, move || {
        if let Some(attached) = attached.take() {
            attached.send(()).unwrap();
        }
    }));
    is_attached.await?;
    let hub = client(served.addr());
    let call = hub.call("bob").text("x").durable().start().await?;
    drop(stop);
    let ended = timeout(SOON, running.join_next()).await?;
    ended.unwrap()?.unwrap();
    // Well before the reconnect time of a cut agent ends.
    let failed = timeout(SOON, call.text()).await?.unwrap_err();
    assert_eq!(failed.code(), Some("offline"));
    let failed = timeout(SOON, hub.ask("bob", "x")).await?.unwrap_err();
    assert_eq!(failed.code(), Some("offline"));
    Ok(())
}

#[tokio::test]
async fn an_agent_that_was_replaced_stays_away() {
    let served = TestHub::start().await;
    let echo = BackgroundAgent::start(echo(), served.addr()).await;
    let _newer = served.agora("echo").await;
    let error = echo.ended().await;
    assert!(
        matches!(error, Error::Closed { code: 4001, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_agent_whose_token_is_revoked_stays_away() {
    let served = TestHub::start().await;
    let token = served.token("ann", &["agent:*"]).await;
    let (sender, mut attached) = mpsc::channel(1);
    let mut agents = JoinSet::new();
    let agent = echo().hub(address(served.addr()).with_token(token));
    agents.spawn(agent.run_with(move || sender.try_send(()).unwrap()));
    timeout(SOON, attached.recv()).await.unwrap();
    let tokens = served.hub().tokens();
    tokens.revoke(tokens.list()[0].id).await.unwrap();
    let ended = timeout(SOON, agents.join_next()).await.unwrap();
    let error = ended.unwrap().unwrap().unwrap_err();
    assert!(
        matches!(error, Error::Closed { code: 4002, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_error_of_the_handler_is_what_the_caller_gets() {
    let served = TestHub::start().await;
    let agent = Agent::new("bob").on_message(|_, reply| async move {
        reply.text("I try").await?;
        Err("it is broken".into())
    });
    let _bob = BackgroundAgent::start(agent, served.addr()).await;
    let error = client(served.addr()).ask("bob", "x").await.unwrap_err();
    let Error::Failed { code, message, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("agent_error", "it is broken")
    );
}

/// Reports its own drop.
struct DropReport(mpsc::Sender<()>);

impl Drop for DropReport {
    fn drop(&mut self) {
        self.0.try_send(()).ok();
    }
}

#[tokio::test]
async fn a_cancelled_call_drops_its_handler() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let (sender, mut dropped) = mpsc::channel(4);
    let agent = Agent::new("bob").on_message(move |_, reply| {
        let sender = DropReport(sender.clone());
        async move {
            let _report = sender;
            reply.text("working").await?;
            std::future::pending().await
        }
    });
    let _bob = BackgroundAgent::start(agent, served.addr()).await;
    let hub = client(served.addr());
    // Cancel a live call, drop a live call, cancel a durable call.
    for (asks, keeps) in [(true, false), (false, false), (true, true)] {
        let mut builder = hub.call("bob").text("x");
        if keeps {
            builder = builder.durable();
        }
        let mut call = builder.start().await?;
        assert!(matches!(call.next().await?, Some(Event::Chunk(_))));
        if asks {
            call.cancel().await?;
        } else {
            drop(call);
        }
        timeout(SOON, dropped.recv()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_call_waits_for_its_agent_to_come_online() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    served.agora("echo").await.close().await;
    let hub = client(served.addr());
    let offline = hub.ask("echo", "x").await.unwrap_err();
    assert_eq!(offline.code(), Some("offline"));
    let call = hub
        .call("echo")
        .text("at last")
        .wait_online(SOON)
        .start()
        .await?;
    let _echo = BackgroundAgent::start(echo(), served.addr()).await;
    assert_eq!(call.text().await?, "at last ");
    Ok(())
}

#[tokio::test]
async fn an_agent_answers_an_agora_agent_that_calls_it_directly() {
    let served = TestHub::start().await;
    let seen_caller = Arc::new(Mutex::new(None));
    let caller = seen_caller.clone();
    let agent = Agent::new("bob").on_message(move |message, reply| {
        *caller.lock().unwrap() = message.caller;
        async move { Ok(reply.text("hi").await?) }
    });
    let _bob = BackgroundAgent::start(agent, served.addr()).await;
    let mut ann: Raw = served.agora("ann").await;
    let payload = json!({"request_id": "r", "body": {"question": "hello"}});
    ann.send(json!({"type": "send", "to": "bob", "payload": payload}))
        .await;
    let kinds = [ann.frame().await, ann.frame().await, ann.frame().await].map(|frame| {
        assert_eq!(frame["from"], "bob");
        frame["type"].as_str().unwrap().to_owned()
    });
    assert_eq!(kinds, ["reply", "reply_chunk", "reply_end"]);
    assert_eq!(seen_caller.lock().unwrap().as_deref(), Some("ann"));
}
