//! Agents that call each other over their own connections.

use jackfield_sdk::{Agent, Error, Event};
use jackfield_testkit::{FaultProxy, SOON, TestHub};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

use crate::hub::{
    agents::echo,
    background::{BackgroundAgent, client},
};

#[tokio::test]
async fn a_handler_finds_and_calls_another_agent() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let ann = Agent::new("ann").on_message(|message, reply| async move {
        let peers = reply.discover(Some("repeat")).await?;
        let [peer] = &peers[..] else {
            panic!("{peers:?}")
        };
        let answer = reply.call_agent(&peer.id, &message.text).await?;
        Ok(reply
            .text(format!("{} said {}", peer.name, answer.text().await?))
            .await?)
    });
    let _ann = BackgroundAgent::start(ann, served.addr()).await;
    let _echo = BackgroundAgent::start(echo().name("Echo").skill("repeat"), served.addr()).await;
    let answer = client(served.addr()).ask("ann", "hello there").await?;
    assert_eq!(answer, "Echo said hello there ");
    Ok(())
}

#[tokio::test]
async fn agents_that_call_each_other_in_circles_are_stopped() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let agent = |id: &str, other: &'static str| {
        Agent::new(id).on_message(move |message, reply| async move {
            Ok(reply
                .text(reply.call_agent(other, message.text).await?.text().await?)
                .await?)
        })
    };
    let _ann = BackgroundAgent::start(agent("ann", "bob"), served.addr()).await;
    let _bob = BackgroundAgent::start(agent("bob", "ann"), served.addr()).await;
    let error = client(served.addr())
        .ask("ann", "round we go")
        .await
        .unwrap_err();
    let Error::Failed { code, message, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(code, "agent_error");
    assert!(
        message.contains("chain") || message.contains("loop"),
        "{message}"
    );
    Ok(())
}

#[tokio::test]
async fn a_cancelled_call_cancels_those_that_were_made_for_it() -> anyhow::Result<()> {
    struct DropReport(mpsc::Sender<()>);
    impl Drop for DropReport {
        fn drop(&mut self) {
            self.0.try_send(()).ok();
        }
    }
    let served = TestHub::start().await;
    let (sender, mut dropped) = mpsc::channel(1);
    let bob = Agent::new("bob").on_message(move |_, reply| {
        let sender = DropReport(sender.clone());
        async move {
            let _report = sender;
            reply.text("working").await?;
            std::future::pending().await
        }
    });
    // First over the agent's own connection, then over the hub's HTTP API.
    let hub = client(served.addr());
    let caller = hub.clone();
    let ann = Agent::new("ann").on_message(move |message, reply| {
        let hub = caller.clone();
        async move {
            if message.text == "own" {
                let mut call = reply.call_agent("bob", "x").await?;
                while let Some(Event::Chunk(chunk)) = call.next().await? {
                    reply.text(chunk.text).await?;
                }
            } else {
                let parent = message.call.expect("the hub names it");
                let mut call = hub
                    .call("bob")
                    .text("x")
                    .durable()
                    .parent(parent)
                    .start()
                    .await?;
                while let Some(Event::Chunk(chunk)) = call.next().await? {
                    reply.text(chunk.text).await?;
                }
            }
            Ok(())
        }
    });
    let _bob = BackgroundAgent::start(bob, served.addr()).await;
    let _ann = BackgroundAgent::start(ann, served.addr()).await;
    for route in ["own", "http"] {
        let mut call = hub.call("ann").text(route).start().await?;
        assert!(matches!(call.next().await?, Some(Event::Chunk(_))));
        call.cancel().await?;
        timeout(SOON, dropped.recv()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_call_to_another_agent_outlives_cuts_of_its_caller() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let proxy = FaultProxy::start(served.addr()).await;
    let (step, steps) = watch::channel(0);
    let bob = Agent::new("bob").on_message(move |_, reply| {
        let mut steps = steps.clone();
        async move {
            for number in 0..20 {
                steps.wait_for(|step| *step >= number).await?;
                reply.text(format!("{number} ")).await?;
            }
            Ok(())
        }
    });
    let ann = Agent::new("ann").on_message(|_, reply| async move {
        let mut call = reply.call_agent("bob", "x").await?;
        while let Some(event) = call.next().await? {
            if let Event::Chunk(chunk) = event {
                reply.text(chunk.text).await?;
            }
        }
        Ok(())
    });
    let _bob = BackgroundAgent::start(bob, served.addr()).await;
    let mut ann = BackgroundAgent::start(ann, proxy.addr()).await;
    let mut call = client(served.addr()).call("ann").text("x").start().await?;
    let mut text = String::new();
    for number in 0..20 {
        step.send_replace(number);
        if number % 5 == 4 {
            proxy.cut();
            ann.is_attached().await;
        }
        while !text.ends_with(&format!("{number} ")) {
            match call.next().await? {
                Some(Event::Chunk(chunk)) => text += &chunk.text,
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(matches!(call.next().await?, Some(Event::Done(_))));
    let expected: String = (0..20).map(|number| format!("{number} ")).collect();
    assert_eq!(text, expected);
    Ok(())
}
