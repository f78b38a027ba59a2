//! How large messages may be: the hub's limit, not the lower one that the library would set; and how many things they may
//! hold, which is known before they are read.

use jackfield_core::{limits::Limits, units::Size};
use serde_json::{Value, json};
use tonic::Code;

use crate::grpc::harness::{A2aHub, answer, refused, said, wrong_fields};

#[tokio::test]
async fn a_message_up_to_the_limit_of_the_hub_is_taken_and_given_back() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let words = "x".repeat(5 << 20);
    let (answered, ()) = tokio::join!(client.send_message(said(&words)), answer(&mut echo, "hi"));
    let task = &answered.unwrap()["task"];
    assert_eq!(task["history"][0]["parts"][0]["text"], words);
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_refused_and_the_connection_goes_on() {
    let limits = Limits {
        message: Size::kib(64),
        ..Limits::default()
    };
    let running = A2aHub::start_with(true, limits).await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let words = "x".repeat(128 << 10);
    let answered = client.send_message(said(&words)).await;
    assert_eq!(refused(answered).0, Code::ResourceExhausted);
    let answered = client.send_streaming_message(said(&words)).await;
    assert_eq!(refused(answered).0, Code::ResourceExhausted);
    let (answered, ()) = tokio::join!(client.send_message(said("less")), answer(&mut echo, "hi"));
    assert!(answered.is_ok());
}

#[tokio::test]
async fn a_message_may_have_as_many_parts_as_in_json() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let mut client = running.client().await;
    let parts = |count: usize| {
        let mut asked = said("x");
        asked["message"]["parts"] = Value::Array(vec![json!({"text": "x"}); count]);
        asked
    };
    let refused = client.send_message(parts(1001)).await;
    assert_eq!(wrong_fields(refused), ["message.parts"]);
    let refused = client.send_streaming_message(parts(1001)).await;
    assert_eq!(wrong_fields(refused.map(drop)), ["message.parts"]);
    let (answered, ()) = tokio::join!(client.send_message(parts(1000)), answer(&mut echo, "hi"));
    assert!(answered.is_ok());
}

#[tokio::test]
async fn values_that_are_small_on_the_wire_and_large_in_memory_are_counted_first() {
    let running = A2aHub::start().await;
    let _echo = running.attach("echo");
    let mut client = running.client().await;
    let mut asked = said("x");
    asked["message"]["parts"] = json!([{"data": vec![Value::Null; 1_000_001]}]);
    let answered = client.send_message(asked).await;
    assert_eq!(refused(answered).0, Code::ResourceExhausted);
    let mut asked = said("x");
    asked["message"]["extensions"] = json!(vec![""; 1_000_001]);
    let answered = client.send_message(asked).await;
    assert_eq!(refused(answered).0, Code::ResourceExhausted);
}
