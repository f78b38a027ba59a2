//! Promises for every published server, from every caller.

use jackfield_testkit::with_files;
use serde_json::Value;

use crate::a2a_remote::{
    callers::{Caller, Ended, Questions, Told},
    server::{Lack, Stage},
};

const HELLO: &str = "Hello, world";
const HALF: &str = "1 2 3 4 5 6 7 8 9 10 ";
pub(crate) const COUNT: &str = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 ";
const QUESTION: &str = "Which colour?";
const ANSWER: &str = "You said: blue";
const FAILURE: &str = "I cannot do that";

/// Checks all promises.
pub(crate) async fn all<C: Caller>(stage: &mut Stage) {
    println!("{}", C::NAME);
    let mut caller = C::join(&stage.hub).await;
    one_shot(&mut caller).await;
    streamed(&mut caller, stage).await;
    cancelled(&mut caller, stage).await;
    cut(&mut caller, stage).await;
    if stage.published.has(Lack::Questions) {
        asked(&mut caller).await;
    }
    if stage.published.has(Lack::Failures) {
        failed(&mut caller).await;
    }
    if stage.published.has(Lack::Files) {
        made(&mut caller, stage).await;
    }
    if stage.published.has(Lack::Messages) {
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
        caller.heard()
    );
    kept("one-shot");
}

/// Reads until the first half of `count` has arrived: as answer, or as status for servers that answer only at the end.
/// Returns the answer so far.
pub(crate) async fn first_half(caller: &mut impl Caller, stage: &Stage) -> String {
    let mut said = String::new();
    let mut done = String::new();
    while said != HALF {
        match caller.next().await {
            Told::Text(text) => said.push_str(&text),
            Told::Status(text) => done.push_str(&text),
            Told::Other => {}
            other => panic!("{other:?}"),
        }
        if !stage.published.has(Lack::Pieces) && done.ends_with("10 ") {
            break;
        }
        assert!(HALF.starts_with(&said), "{said}");
    }
    said
}

/// Pieces arrive before the end: the server waits in the middle until a caller has read the first
/// half.
async fn streamed(caller: &mut impl Caller, stage: &mut Stage) {
    caller.begin("count").await;
    let mut said = first_half(caller, stage).await;
    stage.release().await;
    let (rest, end) = caller.rest().await;
    said.push_str(&rest);
    assert_eq!(
        (said.as_str(), end),
        (COUNT, Ended::Done),
        "{:?}",
        caller.heard()
    );
    kept("streamed");
}

async fn cancelled(caller: &mut impl Caller, stage: &mut Stage) {
    caller.begin("work").await;
    while !matches!(caller.next().await, Told::Text(_) | Told::Status(_)) {}
    cancel(caller).await;
    stage.says("stopped").await;
    kept("cancelled");
}

async fn cancel<C: Caller>(caller: &mut C) {
    caller.cancel().await;
    if C::HEARS_CANCEL {
        assert_eq!(caller.rest().await.1, Ended::Cancelled);
    }
}

async fn cut(caller: &mut impl Caller, stage: &mut Stage) {
    caller.begin("count").await;
    let mut said = first_half(caller, stage).await;
    stage.proxy.cut();
    if stage.published.has(Lack::Resuming) {
        stage.release().await;
    }
    let (rest, end) = caller.rest().await;
    said.push_str(&rest);
    if stage.published.has(Lack::Resuming) {
        assert_eq!(
            (said.as_str(), end),
            (COUNT, Ended::Done),
            "{:?}",
            caller.heard()
        );
    } else {
        assert_eq!(said, HALF, "nothing is said twice");
        assert_ne!(end, Ended::Done);
    }
    kept("cut");
}

async fn asked<C: Caller>(caller: &mut C) {
    caller.begin("ask").await;
    match C::QUESTIONS {
        Questions::Answered => {
            while caller.next().await != Told::Asked {}
            assert!(Value::from(caller.heard()).to_string().contains(QUESTION));
            caller.answer("blue").await;
            let (said, end) = caller.rest().await;
            assert_eq!(
                (said.as_str(), end),
                (ANSWER, Ended::Done),
                "{:?}",
                caller.heard()
            );
        }
        Questions::Shown => {
            loop {
                match caller.next().await {
                    Told::Status(text) if text.contains(QUESTION) => break,
                    Told::Status(_) | Told::Text(_) | Told::Other => {}
                    other => panic!("{other:?}"),
                }
            }
            cancel(caller).await;
        }
        Questions::Fatal => {
            let (_, end) = caller.rest().await;
            assert!(matches!(end, Ended::Failed(_)), "{end:?}");
            assert!(Value::from(caller.heard()).to_string().contains(QUESTION));
        }
    }
    kept("asked");
}

async fn failed(caller: &mut impl Caller) {
    caller.begin("fail").await;
    let (said, end) = caller.rest().await;
    assert_eq!(
        (said.as_str(), &end),
        ("", &Ended::Failed(FAILURE.to_owned()))
    );
    kept("failed");
}

async fn made(caller: &mut impl Caller, stage: &Stage) {
    caller.begin("file").await;
    let (_, end) = caller.rest().await;
    assert_eq!(end, Ended::Done, "{:?}", caller.heard());
    let heard = with_files(caller.heard().into()).await.to_string();
    // As a link, or as bytes.
    let file = [r#""fetched: Hello, file""#, r#""SGVsbG8sIGZpbGU=""#];
    assert!(file.iter().any(|it| heard.contains(it)), "{heard}");
    if stage.published.has(Lack::Data) {
        assert!(heard.contains("apples"), "{heard}");
    }
    kept("files and data");
}

async fn brief(caller: &mut impl Caller) {
    let answer = caller.once("brief").await;
    assert_eq!(
        answer,
        ("briefly".to_owned(), Ended::Done),
        "{:?}",
        caller.heard()
    );
    kept("a message and no task");
}
