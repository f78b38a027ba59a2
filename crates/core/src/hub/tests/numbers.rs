//! Numbered frames: what comes again is dropped, what is kept is acknowledged, and nothing is lost or doubled whatever
//! is cut.

use proptest::prelude::*;

use super::{
    slow_store::{SlowStore, on_slow_store},
    *,
};
use jackfield_model::{Chunk, Done, DoneState, TaskId};

use crate::{agent::Keep, store::LogItem};

fn done() -> End {
    End::Done(Box::new(Done {
        result: Some("all of it".into()),
        ..Done::default()
    }))
}

fn cut(mut attached: Attached) {
    attached.set_resumable(true);
    drop(attached);
}

#[tokio::test]
async fn a_frame_that_comes_again_is_dropped_and_counted() {
    let hub = hub().await;
    let (a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    assert_eq!(asking.call().received(), 0);
    assert_eq!(serving.push_numbered(Event::text("one "), 1), Pushed::Room);
    assert_eq!(serving.push_numbered(Event::text("one "), 1), Pushed::Room);
    serving.push_numbered(Event::text("two "), 2);
    assert_eq!(asking.call().received(), 2);
    cut(a);
    drop(serving);
    let mut new = resume(&hub, "a", &Line::new());
    let serving = new.adopted.pop().unwrap();
    assert_eq!(
        serving.call().received(),
        2,
        "what the agent need not repeat"
    );
    for (seq, text) in [(1, "one "), (2, "two "), (3, "three")] {
        assert_eq!(serving.push_numbered(Event::text(text), seq), Pushed::Room);
    }
    let serving = serving.finish_numbered(done(), 3).unwrap_err();
    assert!(
        !asking.call().is_ended(),
        "no frame that came before ends it"
    );
    assert!(serving.finish_numbered(done(), 4).unwrap());
    assert_eq!(
        read(&asking),
        (vec![Event::text("one two three")], Some(done()))
    );
    assert_eq!(asking.call().received(), 4);
    assert_eq!(metric(&hub, "jackfield_events_repeated_total"), 4);
    assert!(
        line.acked().is_empty(),
        "a live call is its door's to acknowledge"
    );
}

#[tokio::test]
async fn a_stale_connection_cannot_number_anything() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let stale = line.next();
    let mut new = resume(&hub, "a", &Line::new());
    let serving = new.adopted.pop().unwrap();
    assert_eq!(stale.push_numbered(Event::text("x"), 9), Pushed::Ended);
    assert_eq!(stale.ask_numbered(asks::question("q"), 9), Pushed::Ended);
    assert!(!stale.finish_numbered(done(), 9).unwrap());
    assert_eq!(asking.call().received(), 0);
    assert!(serving.finish_numbered(done(), 1).unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_kept_frame_is_acknowledged_when_it_is_committed() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.hold();
    serving.push_numbered(Event::text("one "), 1);
    serving.push_numbered(Event::text("two "), 2);
    until_idle().await;
    serving.push_numbered(Event::Chunk(Chunk::status("busy")), 3);
    until_idle().await;
    assert_eq!(serving.call().received(), 3);
    assert!(line.acked().is_empty(), "nothing is committed");
    store.commit_one();
    until_idle().await;
    assert_eq!(line.acked(), [2]);
    store.commit_one();
    until_idle().await;
    assert_eq!(line.acked(), [2, 3]);
    assert!(serving.finish_numbered(done(), 4).unwrap());
    until_idle().await;
    assert_eq!(line.acked(), [2, 3], "nor is the end before it is");
    store.let_go();
    until_idle().await;
    assert_eq!(line.acked(), [2, 3, 4]);
    let rows = store.read_log(task.id, 0, usize::MAX).await.unwrap();
    let numbers: Vec<_> = rows.iter().map(|row| row.seq).collect();
    assert_eq!(numbers, [None, Some(2), Some(3), Some(4)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_written_down_is_acknowledged_when_it_is_taken() {
    for keep in [Keep::Meta, Keep::None] {
        let hub = hub().await;
        let (_a, line) = agent(&hub, "a");
        let settings = Settings {
            store: keep,
            ..Settings::default()
        };
        drop(
            hub.agents()
                .change(&ann(), &id("a"), None, Some(settings))
                .unwrap(),
        );
        hub.tasks().start(to("a", "hi")).await.unwrap();
        until_idle().await;
        let serving = line.next();
        serving.push_numbered(Event::text("one"), 1);
        until_idle().await;
        assert_eq!(line.acked(), [1], "{keep:?}");
        assert!(serving.finish_numbered(done(), 2).unwrap());
        until_idle().await;
        assert_eq!(line.acked(), [1, 2], "{keep:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_frame_that_could_not_be_written_is_never_acknowledged() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.fail();
    serving.push_numbered(Event::text("lost"), 1);
    until_idle().await;
    assert!(line.acked().is_empty());
    assert!(serving.call().is_ended());
}

#[tokio::test(start_paused = true)]
async fn each_turn_of_a_task_counts_from_one_again() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "one")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    serving.push_numbered(Event::text("first"), 7);
    let waits = End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    }));
    assert!(serving.finish_numbered(waits, 8).unwrap());
    until_idle().await;
    let task = hub
        .tasks()
        .continue_task(to("a", "two"), &task)
        .await
        .unwrap();
    until_idle().await;
    let serving = line.next();
    assert_eq!(serving.call().received(), 0);
    serving.push_numbered(Event::text("second"), 1);
    assert!(serving.finish_numbered(done(), 2).unwrap());
    until_idle().await;
    assert_eq!(read_on(task.subscribe(None)).await.len(), 6);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The agent sends so many frames.
    Send(u64),
    /// The store commits so many writes.
    Commit(usize),
    /// The connection is cut; the agent comes back and repeats so many frames more than it need.
    Cut(u64),
    /// The hub is killed and starts again, with what was committed; the agent comes back likewise.
    Kill(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1..6u64).prop_map(Step::Send),
        4 => (0..4usize).prop_map(Step::Commit),
        2 => (0..5u64).prop_map(Step::Cut),
        2 => (0..5u64).prop_map(Step::Kill),
    ];
    proptest::collection::vec(step, 1..40)
}

/// What the agent says, frame by frame.
fn frames() -> impl Strategy<Value = Vec<Event>> {
    let frame = prop_oneof![
        6 => "[a-zé\u{1F600}]{0,9}".prop_map(Event::text),
        1 => "[a-z]{0,9}".prop_map(|text| Event::Chunk(Chunk::status(text))),
    ];
    proptest::collection::vec(frame, 1..80)
}

/// An agent that remembers what was not acknowledged, at a hub that comes and goes.
struct Resuming {
    store: Arc<SlowStore>,
    hub: Hub,
    line: Arc<Line>,
    attached: Option<Attached>,
    serving: Option<AgentHandle>,
    task: TaskId,
    frames: Vec<Event>,
    /// The number of the next frame.
    next: u64,
    /// The number of the last one that was ever sent.
    sent: u64,
    acked: u64,
}

impl Resuming {
    async fn new(frames: Vec<Event>) -> Self {
        let (store, hub) = on_slow_store(|_| ()).await;
        let (attached, line) = agent(&hub, "a");
        let task = hub.tasks().start(to("a", "hi")).await.unwrap().id;
        until_idle().await;
        store.hold();
        Self {
            serving: Some(line.next()),
            attached: Some(attached),
            store,
            hub,
            line,
            task,
            frames,
            next: 1,
            sent: 0,
            acked: 0,
        }
    }

    fn serving(&self) -> &AgentHandle {
        self.serving.as_ref().unwrap()
    }

    fn send(&mut self, count: u64) {
        for _ in 0..count {
            let at = usize::try_from(self.next - 1).unwrap();
            let Some(event) = self.frames.get(at) else {
                return;
            };
            let pushed = self.serving().push_numbered(event.clone(), self.next);
            assert_eq!(pushed, Pushed::Room);
            self.sent = self.sent.max(self.next);
            self.next += 1;
        }
    }

    fn hear(&mut self) {
        let acked = self.line.acked();
        assert!(acked.is_sorted(), "{acked:?}");
        self.acked = acked
            .last()
            .map_or(self.acked, |last| self.acked.max(*last));
    }

    /// Comes back to a hub and repeats what it has not, and `more`, as far as it remembers.
    fn come_back(&mut self, more: u64) {
        self.line = Line::new();
        let mut attached = resume(&self.hub, "a", &self.line);
        let serving = attached.adopted.pop().expect("the call waited");
        let have = serving.call().received();
        assert!(have >= self.acked, "what was acknowledged is there");
        assert!(have <= self.sent, "and nothing that was never sent");
        self.next = (have + 1).saturating_sub(more).max(self.acked + 1);
        (self.serving, self.attached) = (Some(serving), Some(attached));
    }

    async fn walk(&mut self, step: Step) {
        match step {
            Step::Send(count) => self.send(count),
            Step::Commit(count) => {
                for _ in 0..count {
                    self.store.commit_one();
                    until_idle().await;
                }
            }
            Step::Cut(more) => {
                until_idle().await;
                self.hear();
                cut(self.attached.take().unwrap());
                self.serving = None;
                self.come_back(more);
            }
            Step::Kill(more) => {
                until_idle().await;
                self.hear();
                self.store = Arc::new(self.store.copy());
                self.hub = hub_on(self.store.clone(), |_| ()).await;
                self.store.hold();
                self.come_back(more);
            }
        }
        until_idle().await;
    }
}

/// A log as bytes of text and other things, each at its position.
fn flat(rows: impl IntoIterator<Item = Event>, mut pos: u64) -> Vec<(u64, String)> {
    let mut out = Vec::new();
    for event in rows {
        let Event::Chunk(chunk) = &event else {
            panic!("{event:?}")
        };
        if chunk.can_merge(chunk) && !chunk.text.is_empty() {
            let letters = chunk.text.char_indices();
            out.extend(letters.map(|(at, letter)| (pos + at as u64, letter.to_string())));
        } else {
            out.push((pos, format!("<{}>", chunk.text)));
        }
        pos += event.advance();
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn whatever_is_cut_and_repeated_the_log_says_everything_once(frames in frames(), steps in steps()) {
        // Empty text joins other text in the pipe, where a frame without words says nothing.
        let frames: Vec<_> = frames.into_iter().filter(|event| *event != Event::text("")).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut agent = Resuming::new(frames.clone()).await;
            for step in steps {
                agent.walk(step).await;
            }
            agent.send(frames.len() as u64);
            let serving = agent.serving.take().unwrap();
            assert!(serving.finish_numbered(done(), frames.len() as u64 + 1).unwrap());
            agent.store.let_go();
            until_idle().await;
            agent.hear();
            assert_eq!(agent.acked, frames.len() as u64 + 1);
            let rows = agent.store.read_log(agent.task, 0, usize::MAX).await.unwrap();
            assert_eq!(rows.first().map(|row| &row.item), Some(&LogItem::Message(Message::text("hi"))));
            assert_eq!(rows.last().map(|row| &row.item), Some(&LogItem::End(done())));
            let ends = rows.iter().map(|row| row.pos + row.item.advance());
            assert!(rows.iter().skip(1).zip(ends).all(|(next, end)| next.pos == end), "{rows:?}");
            let said = rows.iter().filter_map(|row| match &row.item {
                LogItem::Event(event) => Some(event.clone()),
                _ => None,
            });
            assert_eq!(flat(said, 1), flat(frames, 1));
        });
    }
}
