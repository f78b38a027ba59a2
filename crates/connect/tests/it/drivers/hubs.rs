//! Another hub instead of a chat completions server: its agents are models of its OpenAI API.

use jackfield_connect::{
    Reaper,
    drivers::openai::{OpenAi, OpenAiSettings},
};
use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::drivers::fixture::Fixture;

/// Sends a frame for a request.
async fn send(far: &mut Raw, request: &Value, mut frame: Value) {
    frame["request_id"] = request["request_id"].clone();
    frame["session_id"] = request["session_id"].clone();
    far.send(frame).await;
}

#[tokio::test]
async fn an_agent_of_another_hub_is_streamed_through_both_hubs_in_one_session() {
    let elsewhere = TestHub::start().await;
    let mut far = elsewhere.bridge("far").await;
    let fixture = Fixture::new().await;
    let settings = OpenAiSettings {
        url: elsewhere.url(""),
        model: Some("jackfield/far".to_owned()),
        histories: fixture.folder().join("histories"),
        ..OpenAiSettings::default()
    };
    let driver = OpenAi::new(settings).unwrap();
    let amy = fixture.connect(driver, &Reaper::new()).await;
    let mut sessions = Vec::new();
    for message in ["hello", "and again"] {
        let mut call = fixture.send("s", message).await;
        let request = far.frame().await;
        // The agent remembers the session, and gets what is new.
        assert_eq!(request["content"], message);
        sessions.push(request["session_id"].clone());
        for piece in ["one ", "two"] {
            send(&mut far, &request, json!({"type": "chunk", "delta": piece})).await;
            // The agent goes on only when the first caller has the piece.
            assert_eq!(call.text().await, piece);
        }
        send(&mut far, &request, json!({"type": "done"})).await;
        let rest = call.rest().await;
        assert!(rest.last().unwrap().get("done").is_some(), "{rest:#?}");
    }
    assert_eq!(sessions[0], sessions[1]);
    let call = fixture.send("s", "and now fail").await;
    let request = far.frame().await;
    let failure = json!({"type": "error", "code": "quota", "message": "no more today"});
    send(&mut far, &request, failure).await;
    let failed = &call.rest().await.pop().unwrap()["failed"];
    assert!(
        failed["message"]
            .as_str()
            .unwrap()
            .contains("no more today"),
        "{failed}"
    );
    let mut call = fixture.send("s", "and now be cancelled").await;
    let request = far.frame().await;
    send(
        &mut far,
        &request,
        json!({"type": "chunk", "delta": "one "}),
    )
    .await;
    assert_eq!(call.text().await, "one ");
    drop(call);
    let cancel = far.frame().await;
    assert_eq!(
        (&cancel["type"], &cancel["request_id"]),
        (&json!("cancel"), &request["request_id"])
    );
    amy.stop().await;
}
