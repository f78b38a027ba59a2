//! Those who follow a task are told of every change of it, in order, and of nothing that is not in its log.

use super::{asks::question, slow_store::on_slow_store, tasks::input_required, *};
use jackfield_model::{Artifact, Part, TaskId};

use crate::{
    agent::Keep,
    outbox::{Callback, Follower, OutboxRow, Settled},
    store::{CallbackFilter, LogItem, TaskRecord},
};

fn follower(id: &str) -> Follower {
    let callback = Callback {
        url: format!("https://{id}.example/told"),
        kind: "a2a".into(),
        data: None,
        token: None,
    };
    Follower {
        id: id.into(),
        callback,
    }
}

fn followed(request: Request) -> Request {
    Request {
        followers: vec![follower("f")],
        ..request
    }
}

fn artifact(id: &str, last: bool) -> Event {
    Event::Artifact(Artifact {
        id: id.into(),
        name: None,
        parts: vec![Part::Text("x".into())],
        append: false,
        last,
        extra: None,
    })
}

/// All that is in the outbox, oldest first.
async fn all(store: &dyn Store) -> Vec<OutboxRow> {
    let filter = CallbackFilter {
        limit: 99,
        ..CallbackFilter::default()
    };
    let mut rows = store.list_callbacks(filter).await.unwrap();
    rows.reverse();
    rows
}

/// What kind of item stands where a callback says.
async fn kinds(store: &dyn Store) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for row in all(store).await {
        let pos = row.pos.unwrap();
        let mut log = store.read_log(row.task, pos, 1).await.unwrap();
        let item = log.remove(0);
        assert_eq!(item.pos, pos, "{row:?}");
        kinds.push(item.item.to_row().unwrap().0);
    }
    kinds
}

/// Who is told, by their ids.
async fn told(store: &dyn Store) -> Vec<String> {
    let rows = all(store).await;
    let ids = rows.iter().map(|row| row.follower().unwrap().to_owned());
    ids.collect()
}

async fn followers(hub: &Hub, task: TaskId) -> Vec<String> {
    let task = hub.tasks().find(&ann(), task).await.unwrap();
    let followers = task.record().followers;
    followers.into_iter().map(|follower| follower.id).collect()
}

fn answer() -> Answer {
    Answer {
        content: Some("yes".into()),
        ..Answer::default()
    }
}

async fn on_memory() -> (Arc<MemoryStore>, Hub) {
    let store = Arc::new(MemoryStore::default());
    (store.clone(), hub_on(store, |_| ()).await)
}

#[tokio::test(start_paused = true)]
async fn every_change_is_told_in_order_with_its_place_in_the_log() {
    let (store, hub) = on_memory().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(followed(to("a", "one"))).await.unwrap();
    until_idle().await;
    assert_eq!(kinds(&*store).await, ["message"]);
    let serving = line.next();
    serving.push(Event::text("words"));
    serving.push(artifact("part", false));
    until_idle().await;
    assert_eq!(kinds(&*store).await.len(), 1, "not yet whole");
    serving.ask(question("q"));
    serving.push(artifact("whole", true));
    until_idle().await;
    let call = serving.call().id;
    hub.calls().answer(&ann(), call, "q", answer()).unwrap();
    serving.push(Event::text("more words"));
    serving.finish(input_required());
    until_idle().await;
    let task = hub
        .tasks()
        .continue_task(to("a", "two"), &task)
        .await
        .unwrap();
    until_idle().await;
    line.next().finish(End::done());
    until_idle().await;
    assert_eq!(
        kinds(&*store).await,
        [
            "message", "ask", "artifact", "answer", "done", "message", "done"
        ]
    );
    let rows = all(&*store).await;
    let lane = follower("f").lane(task.id);
    assert!(rows.iter().all(|row| row.lane.as_ref() == Some(&lane)));
    assert!(rows.is_sorted_by_key(|row| row.pos), "{rows:?}");
    for row in rows {
        assert_eq!(hub.callbacks().reply(row.id).await.unwrap(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_others_leave_open_or_that_was_answered_already_changes_nothing() {
    let (store, hub) = on_memory().await;
    let (_a, line) = agent(&hub, "a");
    hub.tasks().start(followed(to("a", "hi"))).await.unwrap();
    until_idle().await;
    let serving = line.next();
    let call = serving.call().id;
    // Both before the recorder sees any of it.
    serving.ask(question("early"));
    hub.calls().answer(&ann(), call, "early", answer()).unwrap();
    until_idle().await;
    assert_eq!(kinds(&*store).await, ["message"]);
    serving.ask(question("one"));
    serving.ask(question("two"));
    until_idle().await;
    hub.calls().answer(&ann(), call, "one", answer()).unwrap();
    until_idle().await;
    assert_eq!(kinds(&*store).await, ["message", "ask", "ask"]);
    hub.calls().answer(&ann(), call, "two", answer()).unwrap();
    assert_eq!(kinds(&*store).await, ["message", "ask", "ask", "answer"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_is_in_the_commit_of_what_it_tells_of() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(followed(to("a", "hi"))).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.hold();
    serving.ask(question("q"));
    until_idle().await;
    assert_eq!(all(&*store).await.len(), 1, "nothing is told too early");
    store.commit_one();
    assert_eq!(kinds(&store.copy()).await, ["message", "ask"]);
    store.lose_rows();
    store.let_go();
    serving.push(artifact("lost", true));
    until_idle().await;
    assert_eq!(state(&task), TaskState::Failed);
    assert_eq!(kinds(&*store).await, ["message", "ask", "failed"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_never_overtakes_an_earlier_one_and_the_next_is_due_at_once() {
    let (_store, hub) = on_memory().await;
    let (_a, line) = agent(&hub, "a");
    let callbacks = hub.callbacks().clone();
    let request = Request {
        followers: vec![follower("f"), follower("g")],
        ..to("a", "hi")
    };
    hub.tasks().start(request).await.unwrap();
    until_idle().await;
    let serving = line.next();
    serving.push(artifact("a", true));
    serving.finish(End::done());
    until_idle().await;
    callbacks.wait().await.unwrap();
    let mut heard = Vec::new();
    for _ in 0..3 {
        let due = callbacks.due(9).await.unwrap();
        assert_eq!(due.len(), 2, "one of each: {due:?}");
        for row in due {
            heard.push(row.pos.unwrap());
            let settled = callbacks.settle(row.id, Settled::Delivered);
            settled.await.unwrap();
        }
        let start = Instant::now();
        callbacks.wait().await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
    assert!(heard.is_sorted() && heard.len() == 6, "{heard:?}");
    assert_eq!(callbacks.due(9).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn whoever_gets_it_late_is_told_once_that_the_agent_has_it() {
    let (store, hub) = on_memory().await;
    let line = Line::new();
    line.is_dead.store(true, Ordering::Release);
    let attached = attach(&hub, "a", &line);
    let patient = Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..followed(to("a", "hi"))
    };
    let task = hub.tasks().start(patient).await.unwrap();
    until_idle().await;
    drop(attached);
    until_idle().await;
    assert_eq!(state(&task), TaskState::Submitted);
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    line.next().finish(End::done());
    until_idle().await;
    assert_eq!(kinds(&*store).await, ["message", "done"]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_cancelled_while_it_waits_is_told_to_followers_only() {
    let (store, hub) = on_memory().await;
    let (_a, line) = agent(&hub, "a");
    let request = Request {
        callback: Some(follower("callback").callback),
        ..followed(to("a", "hi"))
    };
    let task = hub.tasks().start(request).await.unwrap();
    until_idle().await;
    line.next().finish(input_required());
    until_idle().await;
    hub.tasks().cancel(&ann(), task.id).await.unwrap();
    let rows = all(&*store).await;
    let lanes: Vec<_> = rows.iter().map(|row| row.lane.is_some()).collect();
    assert_eq!(lanes, [true, true, false, true], "{rows:?}");
}

#[tokio::test(start_paused = true)]
async fn followers_come_and_go_wherever_the_task_stands() {
    let (store, hub) = on_memory().await;
    let (_a, line) = agent(&hub, "a");
    let tasks = hub.tasks();
    let task = hub.tasks().start(to("a", "hi")).await.unwrap().id;
    until_idle().await;
    let changed = hub.tasks().find(&ann(), task).await.unwrap().record();
    tasks.follow(&ann(), task, follower("one")).await.unwrap();
    tasks.follow(&ann(), task, follower("two")).await.unwrap();
    assert!(tasks.unfollow(&ann(), task, "a2a", "two").await.unwrap());
    assert!(!tasks.unfollow(&ann(), task, "a2a", "two").await.unwrap());
    let record = store.find_task(task).await.unwrap().unwrap();
    assert_eq!(record.followers, [follower("one")], "the store has it");
    assert_eq!(
        record.updated_at, changed.updated_at,
        "its state is the same"
    );
    line.next().finish(input_required());
    until_idle().await;
    assert_eq!(told(&*store).await, ["one"]);
    tasks.follow(&ann(), task, follower("two")).await.unwrap();
    assert_eq!(followers(&hub, task).await, ["one", "two"]);
    let found = tasks.find(&ann(), task).await.unwrap();
    let next = Request {
        followers: vec![follower("three")],
        ..to("a", "two")
    };
    hub.tasks().continue_task(next, &found).await.unwrap();
    until_idle().await;
    assert_eq!(followers(&hub, task).await, ["one", "two", "three"]);
    line.next().finish(End::done());
    until_idle().await;
    assert_eq!(told(&*store).await.len(), 1 + 2 * 3);
    // Nothing is told any more, but whoever asks sees it.
    tasks.follow(&ann(), task, follower("late")).await.unwrap();
    assert_eq!(followers(&hub, task).await.len(), 4);
    assert!(tasks.unfollow(&ann(), task, "a2a", "late").await.unwrap());
    assert_eq!(
        state(&tasks.find(&ann(), task).await.unwrap()),
        TaskState::Completed
    );
    assert_eq!(told(&*store).await.len(), 7);
}

#[tokio::test(start_paused = true)]
async fn whoever_follows_no_more_hears_nothing_more() {
    let (store, hub) = on_memory().await;
    let (_a, line) = agent(&hub, "a");
    let tasks = hub.tasks();
    let request = Request {
        followers: vec![follower("f"), follower("g")],
        ..to("a", "hi")
    };
    let task = hub.tasks().start(request).await.unwrap().id;
    until_idle().await;
    assert_eq!(told(&*store).await, ["f", "g"]);
    tasks.follow(&ann(), task, follower("f")).await.unwrap();
    assert_eq!(told(&*store).await, ["f", "g"], "nothing changed");
    let moved = Follower {
        callback: follower("elsewhere").callback,
        ..follower("f")
    };
    tasks.follow(&ann(), task, moved.clone()).await.unwrap();
    assert_eq!(told(&*store).await, ["g"]);
    tasks.unfollow(&ann(), task, "a2a", "g").await.unwrap();
    assert_eq!(told(&*store).await, Vec::<String>::new());
    line.next().finish(input_required());
    until_idle().await;
    let rows = all(&*store).await;
    assert_eq!((rows.len(), &rows[0].callback), (1, &moved.callback));
    // Another message may say so, too.
    let found = tasks.find(&ann(), task).await.unwrap();
    hub.tasks()
        .continue_task(followed(to("a", "two")), &found)
        .await
        .unwrap();
    until_idle().await;
    let rows = all(&*store).await;
    assert_eq!(
        (rows.len(), &rows[0].callback),
        (1, &follower("f").callback)
    );
}

#[tokio::test]
async fn foreign_and_unknown_tasks_cannot_be_followed_and_look_the_same() {
    let hub = hub().await;
    let (_a, _line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap().id;
    let tasks = hub.tasks();
    let foreign = tasks.follow(&bob(), task, follower("f")).await;
    let unknown = TaskId::from(CallId::new());
    let unknown = tasks.follow(&bob(), unknown, follower("f")).await;
    assert_eq!(foreign.clone().unwrap_err().reason, Reason::NotFound);
    assert_eq!(foreign, unknown);
    assert_eq!(
        reason(tasks.unfollow(&bob(), task, "a2a", "f").await),
        Reason::NotFound
    );
    assert_eq!(followers(&hub, task).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_task_has_not_more_followers_than_may_be() {
    let hub = hub_with(|limits| limits.followers = 1).await;
    let (_a, line) = agent(&hub, "a");
    let two = Request {
        followers: vec![follower("g")],
        ..to("a", "two")
    };
    let task = hub.tasks().start(followed(to("a", "hi"))).await.unwrap();
    let tasks = hub.tasks();
    let refused = tasks.follow(&ann(), task.id, follower("g")).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.reason, Reason::Invalid);
    assert!(refused.text.contains("at most 1"), "{refused}");
    until_idle().await;
    line.next().finish(input_required());
    until_idle().await;
    assert_eq!(
        reason(hub.tasks().continue_task(two, &task).await),
        Reason::Invalid
    );
    assert_eq!(followers(&hub, task.id).await, ["f"]);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_while_the_end_is_written_does_not_undo_it() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap().id;
    until_idle().await;
    store.hold();
    line.next().finish(End::done());
    until_idle().await;
    let let_go = async {
        until_idle().await;
        assert_eq!(store.held_up(), 1, "the end, and nothing else");
        store.let_go();
    };
    let caller = ann();
    let follow = hub.tasks().follow(&caller, task, follower("f"));
    let (followed, ()) = tokio::join!(follow, let_go);
    followed.unwrap();
    let record = store.find_task(task).await.unwrap().unwrap();
    assert_eq!(record.state, TaskState::Completed);
    assert_eq!(record.followers, [follower("f")]);
    assert_eq!(all(&*store).await, []);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_between_two_turns_is_known_to_the_next() {
    let (store, hub) = on_slow_store(|_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "one")).await.unwrap();
    until_idle().await;
    line.next().finish(input_required());
    until_idle().await;
    store.hold();
    let let_go = async {
        until_idle().await;
        store.let_go();
    };
    let caller = ann();
    let (followed, next, also, ()) = tokio::join!(
        hub.tasks().follow(&caller, task.id, follower("f")),
        hub.tasks().continue_task(to("a", "two"), &task),
        hub.tasks().follow(&caller, task.id, follower("g")),
        let_go
    );
    followed.unwrap();
    also.unwrap();
    assert_eq!(
        next.unwrap().record().followers,
        [follower("f"), follower("g")]
    );
    until_idle().await;
    line.next().finish(End::done());
    until_idle().await;
    let record = store.find_task(task.id).await.unwrap().unwrap();
    assert_eq!(record.followers.len(), 2);
    assert_eq!(record.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn where_no_log_is_kept_what_is_told_says_it_by_itself() {
    for keep in [Keep::None, Keep::Meta] {
        let (store, hub) = on_memory().await;
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
        // One from the beginning, and one who comes when some of it is said.
        for is_late in [false, true] {
            let request = if is_late {
                to("a", "hi")
            } else {
                followed(to("a", "hi"))
            };
            let task = hub.tasks().start(request).await.unwrap();
            until_idle().await;
            let serving = line.next();
            serving.push(Event::text("the "));
            until_idle().await;
            if is_late {
                let tasks = hub.tasks();
                tasks.follow(&ann(), task.id, follower("f")).await.unwrap();
            }
            serving.push(Event::text("answer"));
            serving.push(artifact("a", true));
            serving.finish(End::done());
            until_idle().await;
            let mut replies = Vec::new();
            for row in all(&*store).await {
                replies.push(hub.callbacks().reply(row.id).await.unwrap());
                let settled = hub.callbacks().settle(row.id, Settled::Delivered);
                settled.await.unwrap();
            }
            let (text, artifact) = (Event::text("the answer"), artifact("a", true));
            let message = vec![LogItem::Message(Message::text("hi"))];
            let whole = vec![LogItem::Event(artifact.clone())];
            let end = vec![
                LogItem::Event(text),
                LogItem::Event(artifact),
                LogItem::End(End::done()),
            ];
            let from = usize::from(is_late);
            assert_eq!(replies, [message, whole, end][from..], "{keep:?}");
            assert!(store.read_log(task.id, 0, 9).await.unwrap().is_empty());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_told_before_a_restart_is_told_after_it_and_in_order() {
    let (store, hub) = on_memory().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(followed(to("a", "hi"))).await.unwrap().id;
    until_idle().await;
    line.next().push(artifact("a", true));
    until_idle().await;
    let left = Arc::new(store.copy());
    left.remove_agent(id("a")).await.unwrap();
    let hub = hub_on(left.clone(), |_| ()).await;
    assert_eq!(kinds(&*left).await, ["message", "artifact", "failed"]);
    let mut heard = Vec::new();
    while let Some(row) = hub.callbacks().due(9).await.unwrap().pop() {
        heard.push(row.pos.unwrap());
        let settled = hub.callbacks().settle(row.id, Settled::Delivered);
        settled.await.unwrap();
    }
    assert_eq!(heard, [0, 1, 2]);
    let record: TaskRecord = left.find_task(task).await.unwrap().unwrap();
    assert_eq!(record.followers, [follower("f")]);
}
