//! Faults between the hub and a server, independent of the caller.

use crate::a2a_remote::{
    callers::{Caller, CallerEvent, Ended, Own},
    promises::{COUNT, first_half},
    server::{ACTOR, RemoteFixture},
    servers::{ADK, LANGGRAPH, NODE_1, NODE_03, PYTHON_1, PYTHON_03},
};

#[tokio::test]
async fn a_call_is_stopped_that_was_cancelled_before_the_server_named_the_task() {
    for published in [PYTHON_1, PYTHON_03, NODE_1, NODE_03] {
        let Some(mut fixture) = RemoteFixture::start(published).await else {
            continue;
        };
        let mut caller = Own::join(&fixture.hub).await;
        fixture.proxy.stall();
        caller.begin("work").await;
        caller.cancel().await;
        assert_eq!(caller.rest().await, (String::new(), Ended::Cancelled));
        fixture.proxy.pass();
        fixture.wait_for_line("stopped").await;
    }
}

#[tokio::test]
async fn what_was_said_while_the_hub_was_cut_off_is_caught_up_with() {
    for published in [PYTHON_1, PYTHON_03, NODE_1, NODE_03, ADK, LANGGRAPH] {
        let Some(mut fixture) = RemoteFixture::start(published).await else {
            continue;
        };
        let mut caller = Own::join(&fixture.hub).await;
        caller.begin("count").await;
        let mut answer_text = first_half(&mut caller, &fixture).await;
        fixture.proxy.stall();
        fixture.proxy.cut();
        fixture.release().await;
        fixture.wait_for_line("fifteen").await;
        fixture.proxy.pass();
        let (rest, end) = caller.rest().await;
        answer_text.push_str(&rest);
        assert_eq!(
            (answer_text.as_str(), end),
            (COUNT, Ended::Done),
            "{published:?}"
        );
    }
}

#[tokio::test]
async fn a_call_that_is_cut_off_twice_is_whole() {
    for published in [PYTHON_1, PYTHON_03, NODE_1, NODE_03] {
        let Some(mut fixture) = RemoteFixture::start(published).await else {
            continue;
        };
        let mut caller = Own::join(&fixture.hub).await;
        caller.begin("count").await;
        let mut answer_text = first_half(&mut caller, &fixture).await;
        fixture.proxy.cut();
        fixture.release().await;
        while !answer_text.ends_with("12 ") && answer_text.len() < COUNT.len() {
            match caller.next().await {
                CallerEvent::Text(text) => answer_text.push_str(&text),
                CallerEvent::Other => {}
                other => panic!("{other:?} after {answer_text}"),
            }
        }
        fixture.proxy.cut();
        let (rest, end) = caller.rest().await;
        answer_text.push_str(&rest);
        assert_eq!(
            (answer_text.as_str(), end),
            (COUNT, Ended::Done),
            "{published:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_is_gone_fails_the_call_and_is_offline() {
    let Some(mut fixture) = RemoteFixture::start(PYTHON_1).await else {
        return;
    };
    let mut watch = fixture.hub.watch(ACTOR);
    let mut caller = Own::join(&fixture.hub).await;
    fixture.leave().await;
    let (_, end) = caller.once("hello").await;
    assert!(matches!(end, Ended::Failed(_)), "{end:?}");
    watch.until_offline().await;
    let remote = fixture.get(&format!("/v1/remotes/{ACTOR}")).await;
    assert_eq!(remote["state"], "offline", "{remote}");
    assert_ne!(remote["error"]["message"], "", "{remote}");
}
