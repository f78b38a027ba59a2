//! Promises to the callers of an agent, independent of the agent's door.

use a2a::{
    A2AError, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest,
    ListTasksResponse, Role, Task, TaskPushNotificationConfig, TaskState, error_code,
};
use futures_util::StreamExt;
use jackfield_testkit::CallbackReceiver;
use serde_json::{Value, json};

use super::{
    Called, Stream,
    followed::{Followed, is_open, made, messages_by, status_text},
    request,
};

const HELLO: &str = "Hello, world";
const QUESTION: &str = "Which colour?";
const ANSWER: &str = "You said: blue";
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// The complete text of `count`.
fn counted() -> String {
    (1..=20).map(|number| format!("{number} ")).collect()
}

fn code<T>(refused: Result<T, A2AError>) -> i32 {
    refused.err().expect("it is refused").code
}

/// The error code of a stream that is refused before it begins, or by its first item.
async fn stream_code(stream: Result<Stream, A2AError>) -> i32 {
    match stream {
        Ok(mut stream) => code(stream.next().await.expect("it is refused")),
        Err(error) => error.code,
    }
}

pub(super) async fn one_shot(called: &Called) {
    let task = called.send_text("hello").await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(made(&task), HELLO, "the answer is in the artifacts");
    assert_eq!(messages_by(&task, &Role::User), ["hello"]);
    let answer = messages_by(&task, &Role::Agent).concat();
    assert_eq!(answer, HELLO, "the answer is in the history");
}

pub(super) async fn streamed(called: &Called) {
    let stream = called.stream(&request("hello", None, None)).await;
    let followed = Followed::read(stream).await;
    assert_eq!(followed.state, TaskState::Completed);
    assert_eq!(followed.text, HELLO, "the pieces make up the answer");
    let stored = called.stored(&followed.task.id).await;
    assert_eq!(stored.status.state, TaskState::Completed);
    assert_eq!(made(&stored), HELLO, "it is stored as it was streamed");
}

pub(super) async fn cancelled(called: &Called) {
    let stream = called.stream(&request("work", None, None)).await;
    let followed = Followed::first_piece(stream).await;
    let task = called.cancel(&followed.task.id).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
    let followed = followed.finish().await;
    assert_eq!(followed.state, TaskState::Canceled, "the stream says so");
    let again = called.cancel(&task.id).await;
    assert_eq!(code(again), error_code::TASK_NOT_CANCELABLE);
    let stored = called.stored(&task.id).await;
    assert_eq!(stored.status.state, TaskState::Canceled, "it stays so");

    let at_once = json!({"returnImmediately": true});
    let task = called.send(&request("work", None, Some(at_once))).await;
    assert!(is_open(&task.status.state), "it goes on: {task:?}");
    let task = called.cancel(&task.id).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
}

pub(super) async fn resubscribed(called: &mut Called) {
    let stream = called.stream(&request("count", None, None)).await;
    // Dropping the stream disconnects the subscriber.
    let task = Followed::first_piece(stream).await.task;
    called.reconnect().await;
    let again = Followed::begin(called.subscribe(&task.id).await.unwrap()).await;
    assert_eq!(again.task.id, task.id);
    called.send_text("release").await;
    let again = again.finish().await;
    assert_eq!(
        again.state,
        TaskState::Completed,
        "it was not harmed by who left"
    );
    assert_eq!(again.text, counted(), "nothing is lost, nothing doubled");
    assert_eq!(made(&called.stored(&task.id).await), counted());
    let ended = stream_code(called.subscribe(&task.id).await).await;
    assert_eq!(ended, error_code::UNSUPPORTED_OPERATION);
}

/// Lists tasks with these fields.
async fn listed(called: &Called, fields: Value) -> ListTasksResponse {
    let request: ListTasksRequest = serde_json::from_value(fields).unwrap();
    called.client.list_tasks(&request).await.unwrap()
}

fn ids(tasks: &[Task]) -> Vec<&str> {
    tasks.iter().map(|task| task.id.as_str()).collect()
}

pub(super) async fn looked_up(called: &Called) {
    let first = called.send_text("hello").await;
    let second = called.send_text("hello").await;
    for length in [0, 1] {
        let stored = called.get(&first.id, Some(length)).await.unwrap();
        let history = stored.history.unwrap_or_default();
        assert_eq!(i32::try_from(history.len()), Ok(length));
    }

    let one = listed(called, json!({"contextId": first.context_id})).await;
    assert_eq!(ids(&one.tasks), [&first.id], "the tasks of one context");
    assert_eq!(one.next_page_token, "", "a last page names no further one");
    assert_eq!(made(&one.tasks[0]), "", "artifacts only if asked for");
    let newest = listed(called, json!({"pageSize": 1, "includeArtifacts": true})).await;
    assert_eq!(ids(&newest.tasks), [&second.id], "the newest first");
    assert_eq!(made(&newest.tasks[0]), HELLO);
    assert!(newest.total_size >= 2, "how many there are: {newest:?}");
    let next = json!({"pageSize": 1, "pageToken": newest.next_page_token});
    let next = listed(called, next).await;
    assert_eq!(ids(&next.tasks), [&first.id], "the next page goes on");
}

pub(super) async fn push_configs(called: &Called) {
    let task_id = called.send_text("hello").await.id;
    let config = TaskPushNotificationConfig {
        url: "http://127.0.0.1:9/told".to_owned(),
        id: Some("mine".to_owned()),
        task_id: task_id.clone(),
        token: Some("t-1".to_owned()),
        authentication: None,
        tenant: None,
    };
    let client = &called.client;
    let created = client.create_push_config(&config).await.unwrap();
    assert_eq!((&created.id, &created.url), (&config.id, &config.url));
    let mine = GetTaskPushNotificationConfigRequest {
        task_id: task_id.clone(),
        id: "mine".to_owned(),
        tenant: None,
    };
    let read = client.get_push_config(&mine).await.unwrap();
    assert_eq!((&read.id, &read.url), (&config.id, &config.url));
    let every = ListTaskPushNotificationConfigsRequest {
        task_id: task_id.clone(),
        page_size: None,
        page_token: None,
        tenant: None,
    };
    let listed = client.list_push_configs(&every).await.unwrap().configs;
    let listed: Vec<_> = listed.iter().map(|config| &config.id).collect();
    assert_eq!(listed, [&config.id]);
    let gone = DeleteTaskPushNotificationConfigRequest {
        task_id,
        id: "mine".to_owned(),
        tenant: None,
    };
    client.delete_push_config(&gone).await.unwrap();
    client.get_push_config(&mine).await.unwrap_err();
}

pub(super) async fn pushed(called: &Called) {
    let mut receiver = CallbackReceiver::start_accepting().await;
    let configuration = json!({"taskPushNotificationConfig": {
        "url": receiver.url("/told"),
        "token": "t-2",
        "authentication": {"scheme": "Bearer", "credentials": "sesame"},
    }});
    let request = request("hello", None, Some(configuration));
    let task = called.send(&request).await;
    let mut state = Value::Null;
    while state != "TASK_STATE_COMPLETED" {
        let post = receiver.next().await;
        assert_eq!(post.headers["authorization"], "Bearer sesame");
        assert_eq!(post.headers["x-a2a-notification-token"], "t-2");
        let body = post.body();
        let item = body.as_object().unwrap();
        let (kind, content) = item.iter().next().unwrap();
        let is_item = ["task", "statusUpdate", "artifactUpdate"].contains(&kind.as_str());
        assert!(is_item && item.len() == 1, "an item of a stream: {item:?}");
        let id = content.get("taskId").unwrap_or(&content["id"]);
        assert_eq!(id, &task.id, "a notification names the task");
        state = content["status"]["state"].clone();
    }
}

pub(super) async fn extended(called: &Called) {
    let request = GetExtendedAgentCardRequest { tenant: None };
    // The extended card requires a token; a hub on loopback accepts any.
    let refused_card = called.client.get_extended_agent_card(&request).await;
    refused_card.unwrap_err();
    let card = called.authenticated_client().await;
    let card = card.get_extended_agent_card(&request).await;
    assert_eq!(card.unwrap().name, called.card.name);
}

pub(super) async fn refused(called: &Called) {
    let client = &called.client;
    assert_eq!(
        code(called.get(NOBODY, None).await),
        error_code::TASK_NOT_FOUND
    );
    assert_eq!(
        code(called.cancel(NOBODY).await),
        error_code::TASK_NOT_FOUND
    );
    let stream = called.subscribe(NOBODY).await;
    assert_eq!(stream_code(stream).await, error_code::TASK_NOT_FOUND);

    let ended = called.send_text("hello").await;
    let unknown_task = Task {
        id: NOBODY.to_owned(),
        ..ended.clone()
    };
    let unknown = request("hello", Some(&unknown_task), None);
    let sent = client.send_message(&unknown).await;
    assert_eq!(code(sent), error_code::TASK_NOT_FOUND);
    let stream = client.send_streaming_message(&unknown).await;
    assert_eq!(stream_code(stream).await, error_code::TASK_NOT_FOUND);
    let sent = client
        .send_message(&request("hello", Some(&ended), None))
        .await;
    assert_eq!(
        code(sent),
        error_code::UNSUPPORTED_OPERATION,
        "a task that ended cannot go on"
    );
}

pub(super) async fn asked(called: &Called) {
    let task = called.send_text("ask").await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    assert_eq!(status_text(task.status.message.as_ref()), QUESTION);
    let task = called.send(&request("blue", Some(&task), None)).await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert!(
        made(&task).ends_with(ANSWER),
        "the answer arrived: {task:?}"
    );
    assert_eq!(messages_by(&task, &Role::User), ["ask", "blue"]);

    let stream = called.stream(&request("ask", None, None)).await;
    let followed = Followed::read(stream).await;
    assert_eq!(followed.state, TaskState::InputRequired);
    assert_eq!(
        followed.message, QUESTION,
        "a stream ends with the question"
    );
    let answer = request("blue", Some(&followed.task), None);
    let followed = Followed::read(called.stream(&answer).await).await;
    assert_eq!(followed.state, TaskState::Completed);
    assert!(followed.text.ends_with(ANSWER), "{}", followed.text);
}
