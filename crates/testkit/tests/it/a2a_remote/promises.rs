//! Promises for every published server, from every caller.

use jackfield_testkit::with_files;
use serde_json::Value;

use crate::a2a_remote::{
    callers::{Caller, CallerEvent, Ended, Questions},
    server::{Lack, RemoteFixture},
};

const HELLO: &str = "Hello, world";
const HALF: &str = "1 2 3 4 5 6 7 8 9 10 ";
pub(crate) const COUNT: &str = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 ";
const QUESTION: &str = "Which colour?";
const ANSWER: &str = "You said: blue";
const FAILURE: &str = "I cannot do that";

/// Checks all promises.
pub(crate) async fn all<C: Caller>(fixture: &mut RemoteFixture) {
    println!("{}", C::NAME);
    let mut caller = C::join(&fixture.hub).await;
    one_shot(&mut caller).await;
    streamed(&mut caller, fixture).await;
    cancelled(&mut caller, fixture).await;
    cut(&mut caller, fixture).await;
    if fixture.published.has(Lack::Questions) {
        asked(&mut caller).await;
    }
    if fixture.published.has(Lack::Failures) {
        failed(&mut caller).await;
    }
    if fixture.published.has(Lack::Files) {
        made(&mut caller, fixture).await;
    }
    if fixture.published.has(Lack::Messages) {
        brief(&mut caller).await;
    }
}

fn kept(what: &str) {
    println!("  {what}");
}

async fn one_shot(caller: &mut impl Caller) {
    let answer = caller.once("hello").await;
    assert_eq!(
        answer,
        (HELLO.to_owned(), Ended::Done),
        "{:?}",
        caller.raw_events()
    );
    kept("one-shot");
}

/// Reads until the first half of `count` has arrived: as answer, or as status for servers that answer only at the end.
/// Returns the answer so far.
pub(crate) async fn first_half(caller: &mut impl Caller, fixture: &RemoteFixture) -> String {
    let mut answer_text = String::new();
    let mut done = String::new();
    while answer_text != HALF {
        match caller.next().await {
            CallerEvent::Text(text) => answer_text.push_str(&text),
            CallerEvent::Status(text) => done.push_str(&text),
            CallerEvent::Other => {}
            other => panic!("{other:?}"),
        }
        if !fixture.published.has(Lack::Pieces) && done.ends_with("10 ") {
            break;
        }
        assert!(HALF.starts_with(&answer_text), "{answer_text}");
    }
    answer_text
}

/// Pieces arrive before the end: the server waits in the middle until a caller has read the first
/// half.
async fn streamed(caller: &mut impl Caller, fixture: &mut RemoteFixture) {
    caller.begin("count").await;
    let mut answer_text = first_half(caller, fixture).await;
    fixture.release().await;
    let (rest, end) = caller.rest().await;
    answer_text.push_str(&rest);
    assert_eq!(
        (answer_text.as_str(), end),
        (COUNT, Ended::Done),
        "{:?}",
        caller.raw_events()
    );
    kept("streamed");
}

async fn cancelled(caller: &mut impl Caller, fixture: &mut RemoteFixture) {
    caller.begin("work").await;
    while !matches!(
        caller.next().await,
        CallerEvent::Text(_) | CallerEvent::Status(_)
    ) {}
    cancel(caller).await;
    fixture.wait_for_line("stopped").await;
    kept("cancelled");
}

async fn cancel<C: Caller>(caller: &mut C) {
    caller.cancel().await;
    if C::RECEIVES_CANCEL {
        assert_eq!(caller.rest().await.1, Ended::Cancelled);
    }
}

async fn cut(caller: &mut impl Caller, fixture: &mut RemoteFixture) {
    caller.begin("count").await;
    let mut answer_text = first_half(caller, fixture).await;
    fixture.proxy.cut();
    if fixture.published.has(Lack::Resuming) {
        fixture.release().await;
    }
    let (rest, end) = caller.rest().await;
    answer_text.push_str(&rest);
    if fixture.published.has(Lack::Resuming) {
        assert_eq!(
            (answer_text.as_str(), end),
            (COUNT, Ended::Done),
            "{:?}",
            caller.raw_events()
        );
    } else {
        assert_eq!(answer_text, HALF, "nothing is said twice");
        assert_ne!(end, Ended::Done);
    }
    kept("cut");
}

async fn asked<C: Caller>(caller: &mut C) {
    caller.begin("ask").await;
    match C::QUESTIONS {
        Questions::Answered => {
            while caller.next().await != CallerEvent::Asked {}
            assert!(
                Value::from(caller.raw_events())
                    .to_string()
                    .contains(QUESTION)
            );
            caller.answer("blue").await;
            let (answer_text, end) = caller.rest().await;
            assert_eq!(
                (answer_text.as_str(), end),
                (ANSWER, Ended::Done),
                "{:?}",
                caller.raw_events()
            );
        }
        Questions::Shown => {
            loop {
                match caller.next().await {
                    CallerEvent::Status(text) if text.contains(QUESTION) => break,
                    CallerEvent::Status(_) | CallerEvent::Text(_) | CallerEvent::Other => {}
                    other => panic!("{other:?}"),
                }
            }
            cancel(caller).await;
        }
        Questions::Fatal => {
            let (_, end) = caller.rest().await;
            assert!(matches!(end, Ended::Failed(_)), "{end:?}");
            assert!(
                Value::from(caller.raw_events())
                    .to_string()
                    .contains(QUESTION)
            );
        }
    }
    kept("asked");
}

async fn failed(caller: &mut impl Caller) {
    caller.begin("fail").await;
    let (answer_text, end) = caller.rest().await;
    assert_eq!(
        (answer_text.as_str(), &end),
        ("", &Ended::Failed(FAILURE.to_owned()))
    );
    kept("failed");
}

async fn made(caller: &mut impl Caller, fixture: &RemoteFixture) {
    caller.begin("file").await;
    let (_, end) = caller.rest().await;
    assert_eq!(end, Ended::Done, "{:?}", caller.raw_events());
    let events_text = with_files(caller.raw_events().into()).await.to_string();
    // As a link, or as bytes.
    let file = [r#""fetched: Hello, file""#, r#""SGVsbG8sIGZpbGU=""#];
    assert!(
        file.iter().any(|it| events_text.contains(it)),
        "{events_text}"
    );
    if fixture.published.has(Lack::Data) {
        assert!(events_text.contains("apples"), "{events_text}");
    }
    kept("files and data");
}

async fn brief(caller: &mut impl Caller) {
    let answer = caller.once("brief").await;
    assert_eq!(
        answer,
        ("briefly".to_owned(), Ended::Done),
        "{:?}",
        caller.raw_events()
    );
    kept("a message and no task");
}
