//! What the events of a task add up to.

use jackfield_core::event::{Artifact, Message, Part};

use super::*;

fn text(text: &str) -> LogItem {
    LogItem::Event(Event::text(text))
}

fn artifact(id: &str, text: &str, append: bool) -> LogItem {
    LogItem::Event(Event::Artifact(Artifact {
        id: id.into(),
        name: None,
        parts: vec![Part::Text(text.into())],
        append,
        last: false,
        extra: None,
    }))
}

#[test]
fn artifacts_are_appended_to_or_replaced_by_id() {
    let mut gathered = Gathered::new(10_000);
    for item in [
        artifact("a", "1", false),
        artifact("b", "x", false),
        artifact("a", "2", true),
        artifact("b", "y", false),
    ] {
        gathered.add(item);
    }
    let parts: Vec<_> = gathered.artifacts.iter().map(|it| it.parts.len()).collect();
    assert_eq!(parts, [2, 1]);
    assert_eq!(gathered.artifacts[1].parts, [Part::Text("y".into())]);
}

#[test]
fn the_text_is_that_of_the_last_turn() {
    let mut gathered = Gathered::new(10_000);
    for item in [
        LogItem::Message(Message::text("one")),
        text("a"),
        text("b"),
        LogItem::End(End::done()),
        LogItem::Message(Message::text("two")),
    ] {
        gathered.add(item);
    }
    // An agent that says all at the end.
    gathered.add(LogItem::End(End::Done(Box::new(Done {
        result: Some("c".into()),
        ..Done::default()
    }))));
    assert_eq!(gathered.text, "c");
}

#[test]
fn what_does_not_fit_is_left_out_and_said_to_be() {
    let mut gathered = Gathered::new(200);
    gathered.add(text("fits"));
    assert!(!gathered.is_truncated());
    gathered.add(text(&"x".repeat(200)));
    gathered.add(text("small, but after a hole"));
    assert!(gathered.is_truncated());
    assert_eq!(gathered.text, "fits");
}
