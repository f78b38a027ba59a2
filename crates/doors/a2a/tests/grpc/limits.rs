//! How large messages may be: the hub's limit, not the lower one that the library would set.

use jackfield_core::{limits::Limits, units::Size};
use tonic::Code;

use crate::harness::{Running, answer, refused, said};

#[tokio::test]
async fn a_message_up_to_the_limit_of_the_hub_is_taken_and_given_back() {
    let running = Running::start().await;
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
    let running = Running::start_with(true, limits).await;
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
