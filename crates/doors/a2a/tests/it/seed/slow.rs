//! A reader that does not read: the agent is told to slow down, then the call fails, and nobody else notices.

use jackfield_core::{limits::Limits, pipe::Pushed, units::Size};
use jackfield_model::{End, Event};
use reqwest::StatusCode;

use crate::seed::harness::{A2aHub, CURL, SEND, STREAM, answered, changed, read_until, soon};

fn limits() -> Limits {
    Limits {
        pipe_full: Size::mib(1),
        pipe_overrun: Size::mib(2),
        // Far more than the sockets between the hub and the reader hold.
        message: Size::mib(64),
        ..Limits::default()
    }
}

#[tokio::test]
async fn a_reader_that_does_not_read_fills_the_pipe_and_then_loses_the_call() {
    let hub = A2aHub::start_with(true, limits()).await;
    let mut agent = hub.attach("my-agent");
    let mut other = hub.attach("other");
    let length = CURL.len();
    let head = format!(
        "POST {STREAM} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{CURL}"
    );
    let mut socket = hub.raw(&head).await;
    let serving = agent.next_call().await;
    let text = "x".repeat(256 << 10);
    let mut was_full = false;
    let filling = async {
        loop {
            match serving.push(Event::text(text.as_str())) {
                Pushed::Room => tokio::task::yield_now().await,
                Pushed::Full => was_full = true,
                Pushed::Overrun | Pushed::Ended => return,
            }
        }
    };
    soon(filling).await;
    assert!(was_full, "the writer was told first");
    assert_eq!(agent.next_cancel().await, serving.call().id);
    // Whoever reads is answered all the while.
    let calling = hub.post(SEND, changed("my-agent", "other"));
    let ((status, _), _) = tokio::join!(calling, answered(&mut other, "x"));
    assert_eq!(status, StatusCode::OK);
    let read = read_until(&mut socket, "slow_reader").await;
    assert!(read.contains("event: error\n"));
}

#[tokio::test]
async fn a_reader_that_comes_back_in_time_misses_nothing() {
    let hub = A2aHub::start_with(true, limits()).await;
    let mut agent = hub.attach("my-agent");
    let (mut stream, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    let text = "x".repeat(256 << 10);
    let mut said = 0;
    while serving.push(Event::text(text.as_str())) == Pushed::Room {
        said += text.len();
        tokio::task::yield_now().await;
    }
    said += text.len();
    serving.finish(End::done());
    let mut read = 0;
    loop {
        let next = stream.next().await.unwrap();
        if next.event.as_deref() == Some("task_completed") {
            let whole = &next.data["message"]["parts"][0]["text"];
            assert_eq!(whole.as_str().unwrap().len(), said);
            break;
        }
        read += next.data["delta"].as_str().unwrap().len();
    }
    assert_eq!(read, said);
    stream.ends().await;
}
