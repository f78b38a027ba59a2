//! Streams: what they carry, and what becomes of a task whose reader leaves.

use jackfield_model::{End, Event};
use serde_json::json;

use crate::grpc::harness::{A2aHub, Client, begun, refused, said};

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_its_state() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let mut stream = client.send_streaming_message(said("hello")).await.unwrap();
    let task = stream.expect("task").await;
    let serving = echo.next_call().await;
    serving.push(Event::text("hi"));
    serving.finish(End::done());
    let rest = stream.rest().await;
    let text: String = rest
        .iter()
        .filter(|(name, _)| name == "artifactUpdate")
        .filter_map(|(_, update)| update["artifact"]["parts"][0]["text"].as_str())
        .collect();
    assert_eq!(text, "hi");
    let (name, last) = rest.last().unwrap();
    assert_eq!(name, "statusUpdate");
    assert_eq!(last["taskId"], task["id"]);
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn an_element_is_sent_as_soon_as_the_agent_says_it() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let mut stream = client.send_streaming_message(said("hello")).await.unwrap();
    stream.expect("task").await;
    let serving = echo.next_call().await;
    for word in ["one", "two"] {
        serving.push(Event::text(word));
        loop {
            let (name, update) = stream.next().await.expect("the stream goes on");
            if name == "artifactUpdate" {
                assert_eq!(update["artifact"]["parts"][0]["text"], word);
                break;
            }
        }
    }
    serving.finish(End::done());
    stream.rest().await;
}

#[tokio::test]
async fn a_stream_that_its_reader_leaves_changes_nothing_at_the_task() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let mut stream = client.send_streaming_message(said("hello")).await.unwrap();
    let id = stream.expect("task").await["id"].clone();
    let serving = echo.next_call().await;
    serving.push(Event::text("half "));
    drop(stream);
    let got = client.get_task(json!({"id": id})).await.unwrap();
    assert_eq!(got["status"]["state"], "TASK_STATE_WORKING");
    let mut again = client.subscribe_to_task(json!({"id": id})).await.unwrap();
    assert_eq!(again.expect("task").await["id"], id);
    serving.push(Event::text("and half"));
    serving.finish(End::done());
    let rest = again.rest().await;
    assert_eq!(
        rest.last().unwrap().1["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    let done = client.get_task(json!({"id": id})).await.unwrap();
    assert_eq!(done["artifacts"][0]["parts"][0]["text"], "half and half");
}

#[tokio::test]
async fn all_readers_of_a_task_are_told_the_same() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let id = client.send_message(begun("hello")).await.unwrap()["task"]["id"].clone();
    let serving = echo.next_call().await;
    let mut first = client.subscribe_to_task(json!({"id": id})).await.unwrap();
    let mut second = client
        .subscribe_to_task(json!({"id": id, "tenant": "echo"}))
        .await
        .unwrap();
    assert_eq!(first.expect("task").await, second.expect("task").await);
    serving.push(Event::text("hi"));
    serving.finish(End::done());
    assert_eq!(first.rest().await, second.rest().await);
}

#[tokio::test]
async fn what_cannot_be_followed_is_refused_before_any_stream() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let unknown = json!({"id": "00000000-0000-4000-8000-000000000000"});
    let answer = client.subscribe_to_task(unknown).await;
    assert_eq!(
        refused(answer),
        (tonic::Code::NotFound, "TASK_NOT_FOUND".into())
    );
    let (answered, ()) = tokio::join!(
        client.send_message(said("hello")),
        crate::grpc::harness::answer(&mut echo, "hi")
    );
    let over = json!({"id": answered.unwrap()["task"]["id"]});
    let answer = client.subscribe_to_task(over).await;
    let expected = (
        tonic::Code::FailedPrecondition,
        "UNSUPPORTED_OPERATION".into(),
    );
    assert_eq!(refused(answer), expected);
    let mut foreign = said("hello");
    foreign["tenant"] = json!("nobody");
    let answer = client.send_streaming_message(foreign).await;
    assert_eq!(refused(answer).0, tonic::Code::NotFound);
}

#[tokio::test]
async fn a_revoked_token_ends_its_streams_and_what_it_waits_for_and_the_tasks_go_on() {
    let running = A2aHub::start().await;
    let ann = running.token("ann", &["agent:*"]).await;
    let mut echo = running.attach_for(&running.principal_of(&ann), "echo");
    let mut owner = bearer(&running, &ann).await;
    let expected = (tonic::Code::Unauthenticated, "UNAUTHENTICATED".to_owned());
    for way in ["stream", "subscribe", "send"] {
        let doomed = running.token("ann", &[]).await;
        let mut client = bearer(&running, &doomed).await;
        let revoke = async || {
            let id = running.principal_of(&doomed).grant.token.unwrap();
            assert!(running.hub.tokens().revoke(id).await.unwrap());
        };
        let serving = match way {
            "send" => {
                let revoking = async {
                    let serving = echo.next_call().await;
                    revoke().await;
                    serving
                };
                let (sent, serving) = tokio::join!(client.send_message(said("hello")), revoking);
                assert_eq!(refused(sent), expected);
                serving
            }
            _ => {
                let mut stream = client.send_streaming_message(said("hello")).await.unwrap();
                let id = stream.expect("task").await["id"].clone();
                let serving = echo.next_call().await;
                if way == "subscribe" {
                    stream = client.subscribe_to_task(json!({"id": id})).await.unwrap();
                    stream.expect("task").await;
                }
                serving.push(Event::text("half "));
                while stream.next().await.unwrap().0 != "artifactUpdate" {}
                revoke().await;
                assert_eq!(stream.broken().await, expected, "{way}");
                serving
            }
        };
        let id = json!({"id": serving.call().task.unwrap().to_string()});
        let mut again = owner.subscribe_to_task(id).await.unwrap();
        serving.finish(End::done());
        let (_, last) = again.rest().await.pop().unwrap();
        assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED", "{way}");
    }
}

async fn bearer(running: &A2aHub, token: &str) -> Client {
    let client = running.client().await;
    client.with("authorization", format!("Bearer {token}"))
}
