//! The promises of a pipe: order, merging, levels, one end, the reader's ring, the writer's gate, the budget; and a
//! property test against a simple model.

use proptest::prelude::*;

use super::*;
use jackfield_model::{Chunk, End, Event};

use crate::{gate::Reading, ready::ReadySet};

const LEVELS: Levels = Levels {
    full: 1000,
    low: 500,
    overrun: 8000,
};

fn pipe() -> Pipe<Event, End> {
    Pipe::new(LEVELS, Arc::new(Budget::new(1 << 20)))
}

fn status(text: &str) -> Event {
    Event::Chunk(Chunk::status(text))
}

fn take_all(pipe: &Pipe<Event, End>) -> (Vec<Event>, Option<End>) {
    let mut items = Vec::new();
    let end = pipe.take(&mut items, usize::MAX);
    (items, end)
}

#[test]
fn unread_text_is_merged_but_never_across_kinds() {
    let pipe = pipe();
    for event in [
        Event::text("a"),
        Event::text("b"),
        status("s"),
        Event::text("c"),
    ] {
        assert_eq!(pipe.push(event), Pushed::Room);
    }
    assert_eq!(
        take_all(&pipe).0,
        [Event::text("ab"), status("s"), Event::text("c")]
    );
}

#[test]
fn a_quiet_push_joins_the_last_item_and_its_reader_hears_of_it_afterwards() {
    let (pipe, ready) = (pipe(), ReadySet::new());
    pipe.listen(ready.handle(1));
    let weight = Event::text("a").weight();
    for text in ["a", "b"] {
        let pushed = pipe.push_quietly(weight, |last| match last {
            Some(last) => last.merge(Event::text(text)),
            None => Some(Event::text(text)),
        });
        assert_eq!(pushed, Pushed::Room);
    }
    assert!(!ready.take(&mut Vec::new()));
    pipe.pulse();
    pipe.pulse();
    let mut keys = Vec::new();
    assert!(ready.take(&mut keys));
    assert_eq!(keys, [1]);
    assert_eq!(take_all(&pipe).0, [Event::text("ab")]);
}

#[test]
fn what_was_read_is_not_merged_into() {
    let pipe = pipe();
    pipe.push(Event::text("a"));
    assert_eq!(take_all(&pipe).0, [Event::text("a")]);
    pipe.push(Event::text("b"));
    assert_eq!(take_all(&pipe).0, [Event::text("b")]);
}

#[test]
fn the_end_comes_once_and_after_everything_unread() {
    let pipe = pipe();
    pipe.push(Event::text("a"));
    assert!(pipe.end(End::done(), false));
    assert!(!pipe.end(End::Cancelled, false));
    assert_eq!(pipe.push(Event::text("late")), Pushed::Ended);
    assert_eq!(take_all(&pipe), (vec![Event::text("a")], Some(End::done())));
    assert_eq!(take_all(&pipe), (vec![], None));
}

#[test]
fn a_discarding_end_drops_what_is_unread() {
    let pipe = pipe();
    pipe.push(Event::text("a"));
    pipe.end(End::Cancelled, true);
    assert_eq!(take_all(&pipe), (vec![], Some(End::Cancelled)));
}

#[test]
fn it_is_full_until_it_is_down_to_its_low_level() {
    let pipe = pipe();
    assert_eq!(pipe.push(status(&"x".repeat(400))), Pushed::Room);
    assert_eq!(pipe.push(status(&"x".repeat(600))), Pushed::Full);
    let mut items = Vec::new();
    pipe.take(&mut items, 1);
    assert!(pipe.is_full(), "664 bytes are above the low level");
    pipe.take(&mut items, 1);
    assert!(!pipe.is_full());
}

#[test]
fn small_tokens_are_weighed_after_merging() {
    let pipe = pipe();
    for _ in 0..200 {
        assert_eq!(pipe.push(Event::text("word")), Pushed::Room);
    }
    assert_eq!(take_all(&pipe).0.len(), 1);
}

#[test]
fn one_large_item_fits_and_the_next_one_overruns() {
    let pipe = pipe();
    assert_eq!(pipe.push(status(&"x".repeat(100_000))), Pushed::Full);
    assert_eq!(pipe.push(status("y")), Pushed::Overrun);
}

#[test]
fn the_reader_is_rung_once_per_reading() {
    let (pipe, ready_set) = (pipe(), ReadySet::new());
    pipe.push(Event::text("before"));
    pipe.listen(ready_set.handle(3));
    pipe.push(status("s"));
    let mut keys = Vec::new();
    ready_set.take(&mut keys);
    assert_eq!(keys, [3]);
    let mut items = Vec::new();
    pipe.take(&mut items, 1);
    keys.clear();
    ready_set.take(&mut keys);
    assert_eq!(keys, [3], "something is left, so the reader is rung again");
    pipe.take(&mut items, 1);
    keys.clear();
    assert!(!ready_set.take(&mut keys), "nothing is left");
    pipe.end(End::done(), false);
    assert!(ready_set.take(&mut keys), "the end rings too");
}

#[test]
fn a_gate_is_shut_by_all_pipes_and_paced_by_some() {
    let gate = Arc::new(Gate::default());
    let (a, b) = (pipe(), pipe());
    a.written_by(Some(gate.clone()), 1);
    b.written_by(Some(gate.clone()), 1);
    a.push(status(&"x".repeat(1000)));
    assert_eq!(gate.reading(), Reading::Paced);
    b.push(status(&"x".repeat(1000)));
    assert_eq!(gate.reading(), Reading::Shut);
    take_all(&a);
    assert_eq!(gate.reading(), Reading::Paced);
    drop(b);
    assert_eq!(gate.reading(), Reading::Free);
    a.push(status(&"x".repeat(1000)));
    a.end(End::Cancelled, true);
    assert_eq!(gate.reading(), Reading::Free, "an ended pipe paces nobody");
}

#[test]
fn a_writer_that_was_replaced_cannot_write() {
    let pipe = pipe();
    pipe.written_by(None, 1);
    assert_eq!(pipe.push_as(Some(1), Event::text("old")), Pushed::Room);
    pipe.written_by(None, 2);
    assert_eq!(pipe.push_as(Some(1), Event::text("stale")), Pushed::Ended);
    assert_eq!(pipe.push_as(Some(2), Event::text(" new")), Pushed::Room);
    assert_eq!(take_all(&pipe).0, [Event::text("old new")]);
}

#[test]
fn a_mark_covers_what_was_merged_and_nothing_beyond() {
    let pipe = pipe();
    for (mark, event) in [
        (1, Event::text("a")),
        (2, Event::text("b")),
        (5, status("s")),
    ] {
        assert_eq!(pipe.push_marked(None, event, mark), Some(Pushed::Room));
    }
    pipe.push(Event::text("unmarked"));
    assert_eq!(pipe.received(), 5);
    let mut items = Vec::new();
    assert!(pipe.take_marked(&mut items, 1).is_none());
    assert_eq!(items, [(Event::text("ab"), Some(2))]);
    pipe.end_marked(End::done(), false, 6);
    items.clear();
    let end = pipe.take_marked(&mut items, usize::MAX);
    assert_eq!(
        items,
        [(status("s"), Some(5)), (Event::text("unmarked"), None)]
    );
    assert_eq!(end, Some((End::done(), Some(6))));
    assert_eq!(pipe.received(), 6);
}

#[test]
fn what_comes_again_with_its_mark_is_dropped() {
    let pipe = pipe();
    pipe.written_by(None, 1);
    pipe.push_marked(Some(1), Event::text("a"), 3);
    for mark in 0..=3 {
        assert_eq!(pipe.push_marked(Some(1), Event::text("x"), mark), None);
    }
    pipe.written_by(None, 2);
    assert_eq!(pipe.push_marked(Some(2), Event::text("x"), 3), None);
    assert_eq!(
        pipe.push_marked(Some(1), Event::text("x"), 3),
        Some(Pushed::Ended),
        "a writer that was replaced is told so"
    );
    pipe.push_marked(Some(2), Event::text("b"), 4);
    assert_eq!(take_all(&pipe).0, [Event::text("ab")]);
}

#[test]
fn what_was_not_taken_in_may_come_again() {
    let pipe = pipe();
    pipe.push_marked(None, status(&"x".repeat(100_000)), 1);
    let again = || pipe.push_marked(None, status("y"), 2);
    assert_eq!((again(), pipe.received()), (Some(Pushed::Overrun), 1));
    take_all(&pipe);
    assert_eq!((again(), pipe.received()), (Some(Pushed::Room), 2));
}

#[test]
fn a_full_pipe_is_stalled_only_while_nothing_is_taken() {
    let pipe = pipe();
    assert_eq!(pipe.stalled(), 0);
    for _ in 0..4 {
        pipe.push(status(&"x".repeat(500)));
    }
    assert_eq!((pipe.stalled(), pipe.stalled()), (1, 2));
    pipe.take(&mut Vec::new(), 1);
    assert!(pipe.is_full());
    assert_eq!((pipe.stalled(), pipe.stalled()), (0, 1));
}

#[test]
fn the_budget_is_leased_and_given_back() {
    let budget = Arc::new(Budget::new(10_000));
    let pipe: Pipe<Event, End> = Pipe::new(LEVELS, budget.clone());
    pipe.push(Event::text("a"));
    assert!(budget.used() >= 65 && budget.check().is_ok());
    pipe.push(status(&"x".repeat(10_000)));
    assert!(budget.check().is_err());
    drop(pipe);
    assert_eq!(budget.used(), 0);
}

/// What a writer or reader does to a pipe.
#[derive(Debug, Clone)]
enum Step {
    Text(String),
    Status(String),
    Take(usize),
    End(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => "[a-z]{0,300}".prop_map(Step::Text),
        2 => "[a-z]{0,300}".prop_map(Step::Status),
        3 => (0usize..2000).prop_map(Step::Take),
        1 => any::<bool>().prop_map(Step::End),
    ];
    proptest::collection::vec(step, 0..80)
}

/// Joins neighbours that a pipe may merge, so that two sequences can be compared however they were cut.
fn joined(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    for event in events {
        let rest = match out.last_mut() {
            Some(last) => last.merge(event),
            None => Some(event),
        };
        out.extend(rest);
    }
    out
}

proptest! {
    #[test]
    fn it_behaves_like_a_list_that_ends_once(steps in steps()) {
        let budget = Arc::new(Budget::new(1 << 20));
        let pipe: Pipe<Event, End> = Pipe::new(LEVELS, budget.clone());
        let (mut pushed, mut read, mut ended, mut ends) = (Vec::new(), Vec::new(), None, 0);
        for step in steps {
            match step {
                Step::Text(_) | Step::Status(_) => {
                    let event = match step {
                        Step::Text(text) => Event::text(text),
                        Step::Status(text) => status(&text),
                        _ => unreachable!(),
                    };
                    match pipe.push(event.clone()) {
                        Pushed::Room | Pushed::Full => {
                            prop_assert!(ended.is_none());
                            pushed.push(event);
                        }
                        Pushed::Ended => prop_assert!(ended.is_some()),
                        Pushed::Overrun => prop_assert!(ended.is_none()),
                    }
                }
                Step::Take(max) => {
                    let mut items = Vec::new();
                    if let Some(end) = pipe.take(&mut items, max) {
                        prop_assert_eq!(Some(end), ended.clone());
                        ends += 1;
                    }
                    read.extend(items);
                }
                Step::End(discard) => {
                    let end = if discard { End::Cancelled } else { End::done() };
                    let first = pipe.end(end.clone(), discard);
                    prop_assert_eq!(first, ended.is_none());
                    if first {
                        ended = Some(end);
                        if discard {
                            pushed.clear();
                            read.clear();
                        }
                    }
                }
            }
        }
        let (rest, end) = take_all(&pipe);
        ends += usize::from(end.is_some());
        read.extend(rest);
        prop_assert_eq!(joined(read), joined(pushed));
        prop_assert_eq!(ends, usize::from(ended.is_some()));
        drop(pipe);
        prop_assert_eq!(budget.used(), 0);
    }
}
