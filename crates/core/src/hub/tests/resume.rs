//! What the agent had when the hub was restarted waits for it to come back; what it does not take up fails.

use super::{
    asks::question,
    slow_store::{begin, on_slow_store},
    *,
};
use jackfield_model::{Ask, AskKind, Input, TaskId};

use crate::{
    agent::Keep,
    store::{LogItem, TaskRecord},
    task::Cursor,
};

/// A task that the agent has and of which it said something, in a store as a killed process leaves it.
async fn cut_off(frames: &[(u64, &str)]) -> (Arc<MemoryStore>, TaskId) {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let request = with_id("r1", in_session("s", to("a", "hi")));
    let task = hub.tasks().start(request).await.unwrap().id;
    until_idle().await;
    let serving = line.next();
    for (seq, text) in frames {
        serving.push_numbered(Event::text(*text), *seq);
    }
    until_idle().await;
    (Arc::new(store.copy()), task)
}

async fn record(hub: &Hub, task: TaskId) -> TaskRecord {
    hub.tasks().find(&ann(), task).await.unwrap().record()
}

fn assert_restarted(record: &TaskRecord) {
    let failure = record.failure.clone().unwrap();
    assert_eq!(failure.reason, Reason::Offline);
    assert!(failure.text.contains("restarted"), "{failure}");
    assert_eq!(record.state, TaskState::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_resuming_agent_goes_on_where_the_log_ends() {
    let (store, task) = cut_off(&[(1, "one "), (2, "two ")]).await;
    let hub = hub_on(store, |_| ()).await;
    pass(&hub, 29).await;
    let line = Line::new();
    let mut attached = resume(&hub, "a", &line);
    assert!(line.texts().is_empty(), "the message is not sent again");
    let serving = attached.adopted.pop().unwrap();
    assert!(attached.adopted.is_empty());
    let call = serving.call().clone();
    assert_eq!((call.request.as_str(), call.received()), ("r1", 2));
    assert_eq!(
        call.message.joined_text(),
        "hi",
        "to be sent again if it never arrived"
    );
    assert!(call.has_reply());
    assert_eq!((call.task, call.session.as_str()), (Some(task), "s"));
    pass(&hub, 60).await;
    serving.push_numbered(Event::text("two "), 2);
    serving.push_numbered(Event::text("three"), 3);
    assert!(serving.finish_numbered(End::done(), 4).unwrap());
    until_idle().await;
    assert_eq!(line.acked().last(), Some(&4));
    let task = hub.tasks().find(&ann(), task).await.unwrap();
    assert_eq!(
        (state(&task), task.record().epoch),
        (TaskState::Completed, 1)
    );
    let items = read_on(task.subscribe(None)).await;
    let text: String = items
        .iter()
        .filter_map(|item| match item {
            TaskItem::Row {
                item: LogItem::Event(Event::Chunk(chunk)),
                ..
            } => Some(chunk.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "one two three");
    assert!(matches!(
        items.last(),
        Some(TaskItem::Row {
            next: Cursor { epoch: 1, pos: 15 },
            ..
        })
    ));
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_resume_fails_what_it_had() {
    let (store, task) = cut_off(&[(1, "one ")]).await;
    let hub = hub_on(store, |_| ()).await;
    let found = hub.tasks().find(&ann(), task).await.unwrap();
    assert_eq!(state(&found), TaskState::Working, "until then it is open");
    let (attached, line) = agent(&hub, "a");
    until_idle().await;
    assert!(attached.adopted.is_empty() && line.texts().is_empty());
    assert_restarted(&record(&hub, task).await);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_come_back_in_time_fails_what_it_had() {
    let (store, task) = cut_off(&[]).await;
    let hub = hub_on(store, |_| ()).await;
    pass(&hub, 29).await;
    assert_eq!(record(&hub, task).await.state, TaskState::Working);
    pass(&hub, 2).await;
    assert_restarted(&record(&hub, task).await);
    assert_nothing_is_open(&hub);
    let late = resume(&hub, "a", &Line::new());
    assert!(late.adopted.is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_that_resumes_and_is_lost_again_fails_as_usual() {
    let (store, task) = cut_off(&[]).await;
    let hub = hub_on(store, |_| ()).await;
    let mut attached = resume(&hub, "a", &Line::new());
    let serving = attached.adopted.pop().unwrap();
    assert!(!serving.call().has_reply(), "it may never have arrived");
    drop(serving);
    until_idle().await;
    let failure = record(&hub, task).await.failure.unwrap();
    assert_eq!(failure, Failure::agent_left_silent());
}

#[tokio::test(start_paused = true)]
async fn what_the_agent_said_without_numbers_shows_that_it_got_the_message() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    assert!(!serving.call().has_reply());
    serving.push(Event::text("word"));
    assert!(serving.call().has_reply());
    until_idle().await;
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let attached = resume(&hub, "a", &Line::new());
    let call = attached.adopted[0].call();
    assert_eq!((call.received(), call.has_reply()), (0, true));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_was_forgotten_fails_what_it_had_at_once() {
    let (store, task) = cut_off(&[]).await;
    store.remove_agent(id("a")).await.unwrap();
    let hub = hub_on(store, |_| ()).await;
    let record = record(&hub, task).await;
    assert_eq!(record.failure.unwrap().reason, Reason::NotFound);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_written_down_cannot_be_resumed() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let settings = Settings {
        store: Keep::Meta,
        ..Settings::default()
    };
    drop(
        hub.agents()
            .change(&ann(), &id("a"), None, Some(settings))
            .unwrap(),
    );
    let task = hub.tasks().start(to("a", "hi")).await.unwrap().id;
    until_idle().await;
    let _serving = line.next();
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    assert_restarted(&record(&hub, task).await);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn new_calls_wait_for_an_agent_that_may_come_back() {
    let (store, _task) = cut_off(&[]).await;
    let hub = hub_on(store, |_| ()).await;
    let asking = hub.calls().open(to("a", "two")).unwrap();
    let same = Request {
        principal: ann(),
        ..with_id("r1", to("a", "again"))
    };
    assert_eq!(
        reason(hub.calls().open(same)),
        Reason::Conflict,
        "r1 is open"
    );
    let line = Line::one_at_a_time();
    let attached = resume(&hub, "a", &line);
    assert_eq!(
        (line.texts(), attached.adopted.len()),
        (vec!["two".to_owned()], 1)
    );
    let queued = hub.calls().open(in_session("s", to("a", "three"))).unwrap();
    assert_eq!(line.texts().len(), 1, "its session is taken");
    drop(attached);
    assert_eq!(
        (failure(&asking), failure(&queued)),
        (Reason::Offline, Reason::Offline)
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_a_task_that_waits_for_its_agent() {
    let (store, task) = cut_off(&[]).await;
    let hub = hub_on(store, |_| ()).await;
    hub.tasks().cancel(&ann(), task).await.unwrap();
    until_idle().await;
    assert_eq!(record(&hub, task).await.state, TaskState::Cancelled);
    assert!(resume(&hub, "a", &Line::new()).adopted.is_empty());
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn questions_and_answers_outlive_a_restart() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    serving.ask_numbered(question("p"), 1);
    serving.ask_numbered(question("q"), 2);
    let approval = Ask {
        kind: AskKind::Approval,
        ..question("r")
    };
    serving.ask_numbered(approval.clone(), 3);
    until_idle().await;
    let yes = Answer {
        approved: Some(true),
        content: Some("yes".into()),
        ..Answer::default()
    };
    hub.calls()
        .answer(&ann(), task.record().call, "p", yes.clone())
        .unwrap();
    until_idle().await;
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let mut attached = resume(&hub, "a", &Line::new());
    let serving = attached.adopted.pop().unwrap();
    let call = serving.call().clone();
    assert_eq!(serving.answers(), [("p".to_owned(), yes.clone())]);
    assert_eq!(call.open_asks(&ann()), [question("q")]);
    let end = record(&hub, task.id).await.log_end;
    // The agent repeats what nobody answered; the owner's approval was not in the log.
    for (ask, seq) in [(question("q"), 2), (approval.clone(), 3)] {
        assert_eq!(serving.ask_numbered(ask, seq), Pushed::Room);
    }
    until_idle().await;
    assert_eq!(
        record(&hub, task.id).await.log_end,
        end,
        "nobody is asked twice"
    );
    let mut open = call.open_asks(&ann());
    open.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(open, [question("q"), approval]);
    pass(&hub, 1000).await;
    assert!(!call.is_ended(), "its clocks stand still");
    hub.calls()
        .answer(&ann(), call.id, "q", yes.clone())
        .unwrap();
    hub.calls()
        .answer(&ann(), call.id, "r", yes.clone())
        .unwrap();
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    let answers = ["q", "r"].map(|id| Input::Answer(id.into(), yes.clone()));
    assert_eq!(inputs, answers);
    assert!(serving.finish_numbered(End::done(), 4).unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_stops_leaves_kept_calls_to_agents_that_resume() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (mut attached, line) = agent(&hub, "a");
    attached.set_resumable(true);
    let asking = hub.calls().open(to("a", "live")).unwrap();
    let kept = hub.tasks().start(to("a", "kept")).await.unwrap();
    until_idle().await;
    let (_live, serving) = (line.next(), line.next());
    serving.push_numbered(Event::text("one "), 1);
    until_idle().await;
    hub.stop(Duration::from_secs(10)).await;
    assert_eq!(failure(&asking), Reason::Stopping);
    assert_eq!(line.cancelled(), [asking.call().id], "the kept one goes on");
    assert_eq!(line.closed(), [Closing::Stopping]);
    assert_eq!(line.acked(), [1]);
    // What it says now is not kept, and so it is not told that it was.
    serving.push_numbered(Event::text("two"), 2);
    until_idle().await;
    assert_eq!(line.acked(), [1]);
    drop((attached, serving));
    until_idle().await;
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let mut attached = resume(&hub, "a", &Line::new());
    let serving = attached.adopted.pop().unwrap();
    assert_eq!(serving.call().received(), 1);
    serving.push_numbered(Event::text("two"), 2);
    assert!(serving.finish_numbered(End::done(), 3).unwrap());
    until_idle().await;
    let task = hub.tasks().find(&ann(), kept.id).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed);
    assert_eq!(task.record().log_end, 1 + 7 + 1);
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_stops_does_not_wait_for_what_goes_on_elsewhere() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (mut attached, line) = agent(&hub, "a");
    attached.set_resumable(true);
    let task = begin(&hub, to("a", "kept")).done().await.unwrap();
    until_idle().await;
    let _serving = line.next();
    let start = Instant::now();
    hub.stop(Duration::from_secs(10)).await;
    assert!(start.elapsed() < Duration::from_secs(1));
    let stored = store.find_task(task.id).await.unwrap().unwrap();
    assert!(stored.sent && stored.state == TaskState::Working);
}
