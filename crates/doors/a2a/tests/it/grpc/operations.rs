//! Every operation, as it is meant.

use jackfield_core::limits::Limits;
use jackfield_model::{End, Event};
use serde_json::json;
use tonic::Code;

use crate::grpc::harness::{A2aHub, answer, begun, refused, said, wrong_fields};

#[tokio::test]
async fn a_message_is_answered_by_the_task_when_it_is_over() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let mut asked = said("hello");
    asked["message"]["contextId"] = json!("c1");
    let (answered, ()) = tokio::join!(client.send_message(asked), answer(&mut echo, "hello back"));
    let task = &answered.unwrap()["task"];
    assert_eq!(task["contextId"], "c1");
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "hello back");
    assert_eq!(task["history"][0]["messageId"], "m1");
    assert_eq!(task["history"][0]["role"], "ROLE_USER");
}

#[tokio::test]
async fn files_and_data_reach_the_agent_and_come_back() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let parts = json!([
        {"text": "", "metadata": {"n": 1.0}},
        {"raw": "AP8Q", "filename": "a.bin", "mediaType": "application/x-a"},
        {"url": "https://a.example/b.png", "mediaType": "image/png"},
        {"data": {"count": 42.0, "half": 0.5, "list": [null, true, "x"]}},
    ]);
    let asked = json!({
        "tenant": "echo",
        "message": {"messageId": "m1", "role": "ROLE_USER", "parts": parts, "metadata": {"k": "v"}},
    });
    let (answered, ()) = tokio::join!(client.send_message(asked), answer(&mut echo, "seen"));
    let said = &answered.unwrap()["task"]["history"][0];
    assert_eq!(said["parts"], parts);
    assert_eq!(said["metadata"], json!({"k": "v"}));
}

#[tokio::test]
async fn a_task_is_got_with_as_much_history_as_is_asked_for() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let (answered, ()) = tokio::join!(client.send_message(said("hello")), answer(&mut echo, "hi"));
    let id = answered.unwrap()["task"]["id"].clone();
    let whole = client.get_task(json!({"id": id})).await.unwrap();
    assert_eq!(whole["id"], id);
    assert!(
        whole["history"]
            .as_array()
            .is_some_and(|all| !all.is_empty()),
        "{whole}"
    );
    let bare = client.get_task(json!({"id": id, "historyLength": 0}));
    let bare = bare.await.unwrap();
    assert_eq!(bare.get("history"), None, "{bare}");
    assert_eq!(bare["artifacts"], whole["artifacts"]);
}

#[tokio::test]
async fn tasks_are_listed_page_by_page() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let mut ids = Vec::new();
    for words in ["one", "two", "three"] {
        let (answered, ()) =
            tokio::join!(client.send_message(said(words)), answer(&mut echo, words));
        ids.push(answered.unwrap()["task"]["id"].clone());
    }
    ids.reverse();
    let first = client
        .list_tasks(json!({"tenant": "echo", "pageSize": 2}))
        .await
        .unwrap();
    assert_eq!(
        (&first["pageSize"], &first["totalSize"]),
        (&json!(2), &json!(3))
    );
    let listed = |page: &serde_json::Value| -> Vec<_> {
        page["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| task["id"].clone())
            .collect()
    };
    assert_eq!(listed(&first), ids[..2]);
    assert_eq!(first["tasks"][0].get("artifacts"), None);
    let rest = client
        .list_tasks(json!({"pageToken": first["nextPageToken"], "includeArtifacts": true}))
        .await
        .unwrap();
    assert_eq!(listed(&rest), ids[2..]);
    assert_eq!(rest.get("nextPageToken"), None, "an empty one is left out");
    assert_eq!(rest["tasks"][0]["artifacts"][0]["parts"][0]["text"], "one");
    let none = client
        .list_tasks(json!({"status": "TASK_STATE_WORKING"}))
        .await
        .unwrap();
    assert_eq!(none, json!({"pageSize": 50}));
}

#[tokio::test]
async fn a_task_that_is_cancelled_is_so_at_its_agent() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let begun = client.send_message(begun("take your time")).await.unwrap();
    let serving = echo.next_call().await;
    let asked = json!({"id": begun["task"]["id"], "metadata": {"why": "enough"}});
    let cancelled = client.cancel_task(asked).await.unwrap();
    assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(echo.next_cancel().await, serving.call().id);
}

#[tokio::test]
async fn a_task_that_waits_goes_on_with_the_next_message() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let asking = async {
        let serving = echo.next_call().await;
        serving.push(Event::text("which one?"));
        serving.finish(input_required());
    };
    let (asked, ()) = tokio::join!(client.send_message(said("paint it")), asking);
    let task = asked.unwrap()["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let mut more = said("the red one");
    more["message"]["taskId"] = task["id"].clone();
    let (done, ()) = tokio::join!(client.send_message(more), answer(&mut echo, "painted"));
    let done = done.unwrap();
    assert_eq!(done["task"]["id"], task["id"]);
    assert_eq!(done["task"]["status"]["state"], "TASK_STATE_COMPLETED");
}

fn input_required() -> End {
    End::Done(Box::new(jackfield_model::Done {
        state: jackfield_model::DoneState::InputRequired,
        ..Default::default()
    }))
}

#[tokio::test]
async fn below_the_address_of_an_agent_no_tenant_is_needed() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let _other = running.attach("other");
    let mut client = running.client_at("/a2a/agents/echo").await;
    let mut asked = said("hello");
    asked["tenant"] = json!("");
    let (answered, ()) = tokio::join!(client.send_message(asked), answer(&mut echo, "hi"));
    let task = &answered.unwrap()["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn without_a_tenant_the_only_agent_is_meant() {
    let running = A2aHub::start_with(true, Limits::default()).await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await.with("a2a-version", "1.0");
    let mut asked = said("hello");
    asked["tenant"] = json!("");
    let (answered, ()) = tokio::join!(client.send_message(asked), answer(&mut echo, "hi"));
    let task = &answered.unwrap()["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_push_config_is_made_seen_listed_and_deleted() {
    let running = A2aHub::start().await;
    let _echo = running.attach("echo");
    let mut client = running.client().await;
    let task = client.send_message(begun("hello")).await.unwrap()["task"]["id"].clone();
    let config = json!({
        "id": "p", "taskId": task, "url": "https://93.184.215.14/hook", "token": "x",
        "authentication": {"scheme": "Bearer", "credentials": "c"},
    });
    let named = json!({"taskId": task, "id": "p"});
    let made = client.create_task_push_notification_config(config.clone());
    assert_eq!(made.await.unwrap(), config);
    let seen = client.get_task_push_notification_config(named.clone());
    assert_eq!(seen.await.unwrap(), config);
    let all = json!({"taskId": task});
    let listed = client.list_task_push_notification_configs(all.clone());
    assert_eq!(listed.await.unwrap(), json!({"configs": [config]}));
    for _ in 0..2 {
        let deleted = client.delete_task_push_notification_config(named.clone());
        deleted.await.unwrap();
    }
    let listed = client.list_task_push_notification_configs(all);
    assert_eq!(listed.await.unwrap(), json!({}));
    let private = json!({"taskId": task, "url": "http://127.0.0.1:1/hook"});
    let refused = client.create_task_push_notification_config(private);
    assert_eq!(wrong_fields(refused.await), ["url"]);
}

#[tokio::test]
async fn a_push_config_is_for_a_task_of_the_tenant() {
    let running = A2aHub::start().await;
    let _echo = running.attach("echo");
    let _other = running.attach("other");
    let mut client = running.client().await;
    let task = client.send_message(begun("hello")).await.unwrap()["task"]["id"].clone();
    let config = |tenant: &str| json!({"tenant": tenant, "id": "p", "taskId": task, "url": "https://93.184.215.14/hook"});
    let foreign = client.create_task_push_notification_config(config("other"));
    let expected = (Code::NotFound, "TASK_NOT_FOUND".to_owned());
    assert_eq!(refused(foreign.await), expected);
    let made = client.create_task_push_notification_config(config("echo"));
    assert_eq!(made.await.unwrap()["id"], "p");
}

#[tokio::test]
async fn the_extended_card_says_who_the_agent_is_and_where() {
    let running = A2aHub::start().await;
    let _echo = running.attach("echo");
    let mut client = running.client().await;
    let asked = || json!({"tenant": "echo"});
    // It is for those who say who they are, trusted or not.
    let refused = client.get_extended_agent_card(asked()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    let mut client = client.with("authorization", "Bearer whoever");
    let card = client.get_extended_agent_card(asked()).await.unwrap();
    assert_eq!(card["capabilities"]["extendedAgentCard"], true);
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    assert!(
        interfaces.iter().any(|it| it["protocolVersion"] == "1.0"),
        "{card}"
    );
}
