//! Ends that the client makes: the tool, the notification, and going away.

use jackfield_core::store::TaskState;
use serde_json::json;
use tokio::task::JoinSet;

use crate::harness::{McpHub, soon, words};

#[tokio::test]
async fn the_tool_ends_a_task_and_its_agent_is_told() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let arguments = json!({"agent": "amy", "message": "hi", "wait_seconds": 0});
    let begun = hub.tool("call_agent", arguments).await;
    let serving = amy.next_call().await;
    let task = begun["structuredContent"]["task"].clone();
    let cancelled = hub.tool("cancel", json!({"task": task})).await;
    assert_eq!(
        cancelled["structuredContent"],
        json!({"task": task, "state": "cancelled"})
    );
    assert_eq!(amy.next_cancel().await, serving.call().id);
    let looked = hub.tool("task", json!({"task": task})).await;
    assert_eq!(looked["structuredContent"]["state"], "cancelled");
    assert_eq!(looked["isError"], true);
    let again = hub.tool("cancel", json!({"task": task})).await;
    assert!(words(&again).contains("cannot be cancelled"), "{again}");
}

#[tokio::test]
async fn a_request_that_is_cancelled_takes_its_task_along() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let arguments = json!({"agent": "amy", "message": "hi"});
    let mut reader = hub.begin("call_agent", arguments, Some("t")).await;
    reader.next().await.unwrap();
    let serving = amy.next_call().await;
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 7, "reason": "the user pressed escape"},
    });
    for stranger in [None, Some("other")] {
        let mut request = hub.post(&cancelled);
        if let Some(session) = stranger {
            request = request.header("mcp-session-id", session);
        }
        assert_eq!(request.send().await.unwrap().status(), 202);
    }
    assert!(
        !serving.call().is_ended(),
        "it was meant for another request"
    );
    let request = hub.post(&cancelled).header("mcp-session-id", "s");
    assert_eq!(request.send().await.unwrap().status(), 202);
    assert_eq!(amy.next_cancel().await, serving.call().id);
    while let Some(next) = reader.next().await {
        assert_eq!(next.data["result"], json!(null), "there is no result");
    }
}

#[tokio::test]
async fn a_client_that_leaves_without_the_tasks_id_is_not_worked_for() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let arguments = json!({"agent": "amy", "message": "hi"});
    let mut reader = hub.begin("call_agent", arguments, Some("t")).await;
    let first = reader.next().await.unwrap().data;
    let serving = amy.next_call().await;
    let task = hub.task(&first["params"]["_meta"]["jackfield/task"]).await;
    drop(reader);
    soon(async {
        while !hub.tasks.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // The handler hears of it a few turns of the runtime later.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    let mut sweeper = JoinSet::new();
    let swept = hub.hub.clone();
    sweeper.spawn(async move { swept.sweep_forever().await });
    tokio::time::advance(std::time::Duration::from_secs(20)).await;
    assert_eq!(task.record().state, TaskState::Working, "it may come back");
    tokio::time::advance(std::time::Duration::from_secs(15)).await;
    assert_eq!(amy.next_cancel().await, serving.call().id);
}

#[tokio::test]
async fn a_client_that_has_the_tasks_id_may_come_back_whenever_it_likes() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let arguments = json!({"agent": "amy", "message": "hi", "wait_seconds": 0});
    let begun = hub.tool("call_agent", arguments).await;
    let _serving = amy.next_call().await;
    let task = hub.task(&begun["structuredContent"]["task"]).await;
    assert_eq!(task.record().unread, None);
}

#[tokio::test]
async fn closing_the_stream_cancels_where_the_protocol_says_so() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let meta = json!({
        "progressToken": "t",
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let message = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "call_agent", "arguments": {"agent": "amy", "message": "hi"}, "_meta": meta},
    });
    let request = hub
        .post(&message)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "call_agent");
    let response = request.send().await.unwrap();
    let serving = amy.next_call().await;
    drop(response);
    assert_eq!(amy.next_cancel().await, serving.call().id);
}

#[tokio::test]
async fn who_waits_when_the_hub_stops_is_told_how_to_go_on() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let calling = hub.tool("call_agent", json!({"agent": "amy", "message": "hi"}));
    let stopping = async {
        let serving = amy.next_call().await;
        hub.tasks.stop_token().cancel();
        serving
    };
    let (result, _serving) = tokio::join!(calling, stopping);
    let told = &result["structuredContent"];
    assert_eq!(told["state"], "working");
    assert!(
        told["note"].as_str().unwrap().contains("being restarted"),
        "{told}"
    );
    let task = hub.task(&told["task"]).await;
    assert_eq!(task.record().unread, None);
}
