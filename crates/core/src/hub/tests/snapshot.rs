//! Readers who come at any moment: what a task is now, and what follows, with nothing lost and nothing said twice.

use super::{asks::question, slow_store::on_slow_store, tasks::input_required, *};
use crate::{store::LogItem, task::Cursor};

fn items(read: Vec<TaskItem>) -> Vec<LogItem> {
    let items = read.into_iter().map(|item| match item {
        TaskItem::Row { item, .. } => item,
        TaskItem::Gap { .. } => panic!("a gap"),
    });
    items.collect()
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_read_from_its_message_on() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "one")).await.unwrap();
    assert_eq!(task.turn(), Some(Cursor { epoch: 0, pos: 0 }));
    until_idle().await;
    let serving = line.next();
    serving.push(Event::text("words"));
    serving.finish(input_required());
    until_idle().await;
    let task = hub
        .tasks()
        .continue_task(to("a", "two"), &task)
        .await
        .unwrap();
    until_idle().await;
    let serving = line.next();
    serving.push(Event::text("at once"));
    serving.finish(End::done());
    until_idle().await;
    let turn = items(read_on(task.subscribe(task.turn())).await);
    let wanted = [
        LogItem::Message(Message::text("two")),
        LogItem::Event(Event::text("at once")),
        LogItem::End(End::done()),
    ];
    assert_eq!(turn, wanted);
    let found = hub.tasks().find(&ann(), task.id).await.unwrap();
    assert_eq!(found.turn(), None);
}

#[tokio::test(start_paused = true)]
async fn the_state_and_the_cursor_are_of_one_moment() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    let follows = async |cursor| items(read_on(task.subscribe(Some(cursor))).await);
    let (before, at_start) = task.snapshot();
    assert_eq!((before.state, at_start.pos), (TaskState::Working, 1));
    serving.ask(question("q"));
    until_idle().await;
    let (asked, at_ask) = task.snapshot();
    assert_eq!(asked.state, TaskState::InputRequired);
    assert_eq!(at_ask.pos, 2);
    let answer = Answer {
        content: Some("yes".into()),
        ..Answer::default()
    };
    hub.calls()
        .answer(&ann(), serving.call().id, "q", answer.clone())
        .unwrap();
    assert_eq!(task.snapshot().0.state, TaskState::Working);
    store.hold();
    serving.finish(End::done());
    until_idle().await;
    let (open, unended) = task.snapshot();
    assert_eq!(
        (open.state, open.log_end),
        (TaskState::Working, unended.pos)
    );
    store.let_go();
    until_idle().await;
    let (over, at_end) = task.snapshot();
    assert_eq!(
        (over.state, over.log_end),
        (TaskState::Completed, at_end.pos)
    );
    assert_eq!(follows(at_end).await, []);
    assert_eq!(follows(unended).await, [LogItem::End(End::done())]);
    let rest = [
        LogItem::Answer("q".into(), answer),
        LogItem::End(End::done()),
    ];
    assert_eq!(follows(at_ask).await, rest);
    assert_eq!(follows(at_start).await.len(), 3);
    let stored = store.find_task(task.id).await.unwrap().unwrap();
    assert_eq!(stored, over, "to the same nanosecond");
}
