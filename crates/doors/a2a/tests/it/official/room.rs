//! What an answer takes of its asker's share is taken before the answer is made.

use jackfield_core::{limits::Limits, principal::Principal, units::Size};
use jackfield_model::{End, Event, Failure, Reason, TaskId};
use serde_json::{Value, json};

use crate::official::harness::{A2aHub, ECHO};

async fn rpc(hub: &A2aHub, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let (status, answer) = hub.post(ECHO, body.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

#[tokio::test]
async fn a_task_without_room_is_refused_in_the_protocols_words_and_a_list_takes_what_it_shows() {
    let limits = Limits {
        answers_total: Size::mib(2),
        ..Limits::default()
    };
    let hub = A2aHub::start_with(true, limits).await;
    let mut agent = hub.attach("echo");
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}]});
    let mut tasks = Vec::new();
    // Three that failed after many words, each of which has room; and one that has none.
    for size in [300 << 10, 300 << 10, 300 << 10, 900 << 10] {
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        let sent = rpc(&hub, "SendMessage", params);
        let (sent, serving) = tokio::join!(sent, agent.next_call());
        let task = &sent["result"]["task"];
        let (id, context) = (task["id"].clone(), task["contextId"].clone());
        serving.push(Event::text("x".repeat(size)));
        serving.finish(End::Failed(Failure::new(Reason::Timeout, "too late")));
        let task = TaskId::parse(id.as_str().unwrap()).unwrap();
        let task = hub.hub.tasks().find(&Principal::local(), task).await;
        task.unwrap().over().await;
        tasks.push((id, context));
    }
    let (large, _) = tasks.pop().unwrap();
    for (id, _) in &tasks {
        let seen = rpc(&hub, "GetTask", json!({"id": id})).await;
        assert_eq!(seen["result"]["status"]["state"], "TASK_STATE_FAILED");
    }
    let refused = rpc(&hub, "GetTask", json!({"id": large})).await;
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains("unread"), "{text}");
    for (_, context) in &tasks {
        let params = json!({"contextId": context, "includeArtifacts": true});
        let listed = rpc(&hub, "ListTasks", params).await;
        let words = &listed["result"]["tasks"][0]["artifacts"][0]["parts"][0]["text"];
        assert_eq!(words.as_str().map(str::len), Some(300 << 10));
    }
    // Where the words are not shown, they take no room.
    let mut params = json!({"status": "TASK_STATE_FAILED"});
    let all = rpc(&hub, "ListTasks", params.clone()).await;
    assert_eq!(all["result"]["tasks"].as_array().map(Vec::len), Some(4));
    params["includeArtifacts"] = json!(true);
    let refused = rpc(&hub, "ListTasks", params).await;
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
}
