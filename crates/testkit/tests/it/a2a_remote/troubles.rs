//! Faults between the hub and a server, independent of the caller.

use crate::a2a_remote::{
    callers::{Caller, Ended, Own, Told},
    promises::{COUNT, first_half},
    server::{ACTOR, Stage},
    servers::{ADK, LANGGRAPH, NODE_1, NODE_03, PYTHON_1, PYTHON_03},
};

#[tokio::test]
async fn a_call_is_stopped_that_was_cancelled_before_the_server_named_the_task() {
    for published in [PYTHON_1, PYTHON_03, NODE_1, NODE_03] {
        let Some(mut stage) = Stage::start(published).await else {
            continue;
        };
        let mut caller = Own::join(&stage.hub).await;
        stage.proxy.stall();
        caller.begin("work").await;
        caller.cancel().await;
        assert_eq!(caller.rest().await, (String::new(), Ended::Cancelled));
        stage.proxy.pass();
        stage.says("stopped").await;
    }
}

#[tokio::test]
async fn what_was_said_while_the_hub_was_cut_off_is_caught_up_with() {
    for published in [PYTHON_1, PYTHON_03, NODE_1, NODE_03, ADK, LANGGRAPH] {
        let Some(mut stage) = Stage::start(published).await else {
            continue;
        };
        let mut caller = Own::join(&stage.hub).await;
        caller.begin("count").await;
        let mut said = first_half(&mut caller, &stage).await;
        stage.proxy.stall();
        stage.proxy.cut();
        stage.release().await;
        stage.says("fifteen").await;
        stage.proxy.pass();
        let (rest, end) = caller.rest().await;
        said.push_str(&rest);
        assert_eq!((said.as_str(), end), (COUNT, Ended::Done), "{published:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_cut_off_twice_is_whole() {
    for published in [PYTHON_1, PYTHON_03, NODE_1, NODE_03] {
        let Some(mut stage) = Stage::start(published).await else {
            continue;
        };
        let mut caller = Own::join(&stage.hub).await;
        caller.begin("count").await;
        let mut said = first_half(&mut caller, &stage).await;
        stage.proxy.cut();
        stage.release().await;
        while !said.ends_with("12 ") && said.len() < COUNT.len() {
            match caller.next().await {
                Told::Text(text) => said.push_str(&text),
                Told::Other => {}
                other => panic!("{other:?} after {said}"),
            }
        }
        stage.proxy.cut();
        let (rest, end) = caller.rest().await;
        said.push_str(&rest);
        assert_eq!((said.as_str(), end), (COUNT, Ended::Done), "{published:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_gone_fails_the_call_and_is_offline() {
    let Some(mut stage) = Stage::start(PYTHON_1).await else {
        return;
    };
    let mut watch = stage.hub.watch(ACTOR);
    let mut caller = Own::join(&stage.hub).await;
    stage.leave().await;
    let (_, end) = caller.once("hello").await;
    assert!(matches!(end, Ended::Failed(_)), "{end:?}");
    watch.until_offline().await;
    let remote = stage.get(&format!("/v1/remotes/{ACTOR}")).await;
    assert_eq!(remote["state"], "offline", "{remote}");
    assert_ne!(remote["error"]["message"], "", "{remote}");
}
