//! Calls of a handler to other agents on behalf of its own call, and the list of agents.

use std::time::Duration;

use jackfield_core::principal::Principal;
use jackfield_model::End;
use jackfield_sdk::{Agent, Error, Event};
use jackfield_testkit::attach_agent;
use tokio::sync::mpsc;

use crate::in_process::hub::{
    call, echo, endless, hub, is_dropped, next_chunk, outcome, with, words,
};

/// An agent that forwards its message to another agent and repeats the reply.
fn forwards_to(id: &str, other: &'static str) -> Agent {
    Agent::new(id).on_message(move |message, reply| async move {
        let mut call = reply.call_agent(other, message.text).await?;
        while let Some(event) = call.next().await? {
            if let Event::Chunk(chunk) = event {
                reply.text(chunk.text).await?;
            }
        }
        Ok(())
    })
}

#[tokio::test]
async fn a_call_of_another_agent_is_made_on_behalf_of_the_message_at_hand() {
    let hub = hub().await;
    let _ann = forwards_to("ann", "bob").attach_to(&hub).unwrap();
    let mut bob = attach_agent(&hub, "bob");
    let replies = call(&hub, "ann", "hello");
    let serving = bob.next_call().await;
    let called = serving.call();
    assert_eq!(called.message.joined_text(), "hello");
    assert_eq!(called.principal.label(), "ann");
    assert!(!called.principal.is_admin());
    let parent = called.parent().expect("a parent");
    assert_eq!(parent.id, replies.asking().call().id);
    // The caller disconnects, so the call on its behalf is cancelled.
    let id = called.id;
    drop(replies);
    assert_eq!(bob.next_cancel().await, id);
}

#[tokio::test]
async fn agents_that_call_each_other_in_a_circle_are_stopped() {
    let hub = hub().await;
    let _ann = forwards_to("ann", "bob").attach_to(&hub).unwrap();
    let _bob = forwards_to("bob", "ann").attach_to(&hub).unwrap();
    let outcome = outcome(call(&hub, "ann", "hello")).await;
    let (_, why) = outcome.failure();
    assert!(why.contains("occurs 2 times in this chain"), "{why}");
}

#[tokio::test]
async fn the_answer_of_another_agent_comes_as_it_is_said_with_its_end() {
    let agent = Agent::new("ann").on_message(|message, reply| async move {
        let called = reply.call_agent(message.text, "x").session("s").await?;
        match called.text().await {
            Ok(text) => Ok(reply.text(text).await?),
            Err(error) => {
                let expected = format!("{:?} {error}", error.code());
                Ok(reply.text(expected).await?)
            }
        }
    });
    let (hub, _ann) = with(agent).await;
    let silent = Agent::new("silent").on_message(|message, reply| async move {
        reply.result(format!("only at the end of {}", message.session));
        Ok(())
    });
    let _silent = silent.attach_to(&hub).unwrap();
    assert_eq!(words(&hub, "ann", "silent").await, "only at the end of s");
    let more = Agent::new("more").on_message(|_, reply| async move {
        reply.text("begun").await?;
        reply.result("begun and ended");
        Ok(())
    });
    let _more = more.attach_to(&hub).unwrap();
    assert_eq!(words(&hub, "ann", "more").await, "begun and ended");
    for (target, expected) in [
        (
            "nobody",
            "Some(\"not_found\") no agent \"nobody\" that you may call",
        ),
        (
            "no name",
            "Some(\"not_found\") no agent \"no name\" that you may call",
        ),
    ] {
        assert_eq!(words(&hub, "ann", target).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_read_paces_whoever_gives_it() {
    const PIECES: usize = 300;
    let fast = Agent::new("fast").on_message(|_, reply| async move {
        for _ in 0..PIECES {
            reply.text("x".repeat(64 << 10)).await?;
        }
        Ok(())
    });
    let slow = Agent::new("slow").on_message(|_, reply| async move {
        let call = reply.call_agent("fast", "go").await?;
        // The paused clock advances only when all tasks are idle. The answer exceeds all queues on the way.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let text = call.text().await?;
        Ok(reply.text(text.len().to_string()).await?)
    });
    let (hub, _slow) = with(slow).await;
    let _fast = fast.attach_to(&hub).unwrap();
    let all = (PIECES * (64 << 10)).to_string();
    assert_eq!(words(&hub, "slow", "go").await, all);
}

#[tokio::test]
async fn a_call_that_nobody_reads_any_more_is_cancelled() {
    let (other, mut dropped) = endless("other");
    let agent = Agent::new("ann").on_message(|_, reply| async move {
        let mut call = reply.call_agent("other", "x").await?;
        call.next().await?;
        drop(call);
        reply.text("enough").await?;
        std::future::pending().await
    });
    let (hub, _ann) = with(agent).await;
    let _other = other.attach_to(&hub).unwrap();
    let mut replies = call(&hub, "ann", "x");
    assert_eq!(next_chunk(&mut replies).await.text, "enough");
    is_dropped(&mut dropped).await;
}

#[tokio::test]
async fn a_call_outlives_the_handler_that_made_it_if_somebody_reads_it() {
    let (found, mut calls) = mpsc::channel(1);
    let agent = Agent::new("ann").on_message(move |_, reply| {
        let found = found.clone();
        async move {
            let call = reply.call_agent("bob", "x").await?;
            found.try_send(call).ok();
            Ok(())
        }
    });
    let (hub, _ann) = with(agent).await;
    let mut bob = attach_agent(&hub, "bob");
    let ended = outcome(call(&hub, "ann", "x")).await;
    assert!(matches!(ended.end, End::Done(_)));
    let serving = bob.next_call().await;
    serving.push(jackfield_model::Event::text("late"));
    serving.finish(End::done());
    let call = calls.recv().await.unwrap();
    assert_eq!(call.text().await.unwrap(), "late");
}

#[tokio::test]
async fn a_cancelled_call_of_another_agent_is_an_error() {
    let agent = Agent::new("ann").on_message(|_, reply| async move {
        let called = reply.call_agent("bob", "x").await?.text().await;
        assert!(matches!(called, Err(Error::Cancelled)), "{called:?}");
        Ok(reply.text("it was cancelled").await?)
    });
    let (hub, _ann) = with(agent).await;
    let mut bob = attach_agent(&hub, "bob");
    let replies = call(&hub, "ann", "x");
    let serving = bob.next_call().await;
    hub.calls()
        .cancel(&Principal::local(), serving.call().id)
        .unwrap();
    assert_eq!(outcome(replies).await.words, "it was cancelled");
}

#[tokio::test]
async fn a_handler_sees_who_is_there() {
    let agent = Agent::new("ann").on_message(|message, reply| async move {
        let skill = Some(message.text.as_str()).filter(|skill| !skill.is_empty());
        let peers = reply.discover(skill).await?;
        let names: Vec<_> = peers
            .iter()
            .map(|peer| format!("{} {} {}", peer.id, peer.agent_type, peer.is_online))
            .collect();
        Ok(reply.text(names.join(", ")).await?)
    });
    let (hub, _ann) = with(agent).await;
    let bob = echo("bob").skill("repeat").agent_type("echo");
    let bob = bob.attach_to(&hub).unwrap();
    assert_eq!(
        words(&hub, "ann", "").await,
        "ann local true, bob echo true"
    );
    assert_eq!(words(&hub, "ann", "repeat").await, "bob echo true");
    drop(bob);
    assert_eq!(words(&hub, "ann", "repeat").await, "bob echo false");
}
