//! Calling agents: the client of the hub's own API.

use jackfield_model::{End, Event as CoreEvent};
use jackfield_sdk::{DoneState, Error, Event};
use jackfield_testkit::{FaultProxy, TestHub, attach_agent};
use serde_json::json;

use crate::hub::background::client;

#[tokio::test]
async fn ask_waits_for_the_whole_answer_however_it_comes() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let mut bob = served.agora("bob").await;
    let hub = client(served.addr());
    let answer = async {
        let from = bob.frame().await["from"].clone();
        let payload = json!({"body": {"answer": "all at once"}});
        bob.send(json!({"type": "reply", "to": from, "payload": payload}))
            .await;
    };
    let (answer_text, ()) = tokio::join!(hub.ask("bob", "hello"), answer);
    assert_eq!(answer_text?, "all at once");
    let error = hub.ask("ghost", "hello").await.unwrap_err();
    assert_eq!(error.code(), Some("not_found"));
    Ok(())
}

#[tokio::test]
async fn a_kept_call_survives_cuts_without_loss_or_repetition() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let proxy = FaultProxy::start(served.addr()).await;
    let mut bob = attach_agent(served.hub(), "bob");
    let mut call = client(proxy.addr())
        .call("bob")
        .text("x")
        .durable()
        .start()
        .await?;
    let serving = bob.next_call().await;
    let mut text = String::new();
    for number in 0..4 {
        let word = format!("w\u{f6}rd {number}, ");
        serving.push(CoreEvent::text(&word));
        if number == 2 {
            // Events during the lost connection.
            proxy.cut();
            serving.push(CoreEvent::text("meanwhile, "));
        }
        while !text.ends_with(&word) && !text.ends_with("meanwhile, ") {
            match call.next().await? {
                Some(Event::Chunk(chunk)) => text += &chunk.text,
                other => panic!("{other:?}"),
            }
        }
        proxy.cut();
    }
    serving.finish(End::done());
    loop {
        match call.next().await? {
            Some(Event::Chunk(chunk)) => text += &chunk.text,
            Some(Event::Done(done)) => {
                assert_eq!(done.state, DoneState::Completed);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        text,
        "w\u{f6}rd 0, w\u{f6}rd 1, w\u{f6}rd 2, meanwhile, w\u{f6}rd 3, "
    );
    Ok(())
}

#[tokio::test]
async fn a_live_call_ends_with_its_connection() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let proxy = FaultProxy::start(served.addr()).await;
    let mut bob = attach_agent(served.hub(), "bob");
    let mut call = client(proxy.addr()).call("bob").text("x").start().await?;
    let serving = bob.next_call().await;
    proxy.cut();
    assert!(matches!(call.next().await, Err(Error::Broken)));
    assert_eq!(bob.next_cancel().await, serving.call().id);
    Ok(())
}

#[tokio::test]
async fn a_task_is_followed_from_its_beginning() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let mut bob = attach_agent(served.hub(), "bob");
    let hub = client(served.addr());
    let started = hub.call("bob").text("x").detach().await?;
    let task = started.task.expect("a detached call is kept");
    let serving = bob.next_call().await;
    serving.push(CoreEvent::text("one "));
    let mut follow = hub.follow(&task).await?;
    serving.push(CoreEvent::text("two"));
    serving.finish(End::done());
    let (mut text, mut ends) = (String::new(), 0);
    while let Some(event) = follow.next().await? {
        match event {
            Event::Chunk(chunk) => text += &chunk.text,
            Event::Done(_) => ends += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((text.as_str(), ends), ("one two", 1));
    assert_eq!(hub.follow(&task).await?.text().await?, "one two");
    Ok(())
}
