//! Work that goes on elsewhere while the hub is restarted, and that the agent's door finds again by what it noted.

use super::*;
use jackfield_model::{Done, DoneState, End, Json, TaskId};

use crate::store::TaskRecord;

fn handle() -> Json {
    Json::of(&["t", "1"]).unwrap()
}

/// A task that the agent has and whose door noted something, before the agent said a word.
async fn noted(hub: &Hub) -> (Arc<Task>, Attached, AgentHandle) {
    let (attached, line) = agent(hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    serving.note(handle());
    serving.push(Event::text("one "));
    until_idle().await;
    (task, attached, serving)
}

/// The agent's door goes on, though the agent may not be there yet.
fn come_back(hub: &Hub, line: &Arc<Line>) -> Attached {
    let entry = hub.agents().find(&ann(), "a").unwrap();
    hub.agents()
        .resume_at(&entry, Profile::default(), line.clone())
        .unwrap()
}

async fn record(hub: &Hub, task: TaskId) -> TaskRecord {
    hub.tasks().find(&ann(), task).await.unwrap().record()
}

#[tokio::test(start_paused = true)]
async fn what_a_door_noted_is_kept_as_long_as_the_turn_lasts() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (task, _a, serving) = noted(&hub).await;
    serving.note(Json::of(&"another").unwrap());
    until_idle().await;
    let stored = store.find_task(task.id).await.unwrap().unwrap();
    assert_eq!(stored.handle, Some(handle()), "the first one counts");
    serving.finish(End::done());
    until_idle().await;
    let stored = store.find_task(task.id).await.unwrap().unwrap();
    assert_eq!((stored.handle, stored.state), (None, TaskState::Completed));
}

/// An agent that ends its turn and waits.
fn wait(serving: AgentHandle) {
    serving.finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    })));
}

#[tokio::test(start_paused = true)]
async fn what_a_door_noted_is_given_to_the_next_turn_of_a_task_that_waits() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (task, _a, serving) = noted(&hub).await;
    assert_eq!(serving.call().handle_before(), None);
    wait(serving);
    until_idle().await;
    // The next hub knows it too.
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let waiting = hub.tasks().find(&ann(), task.id).await.unwrap();
    hub.tasks()
        .continue_task(to("a", "more"), &waiting)
        .await
        .unwrap();
    until_idle().await;
    let serving = line.next();
    assert_eq!(serving.call().handle_before(), Some(&handle()));
    assert_eq!(serving.call().handle(), None, "this turn has noted nothing");
    let other = Json::of(&"another").unwrap();
    serving.note(other.clone());
    wait(serving);
    until_idle().await;
    assert_eq!(record(&hub, task.id).await.handle, Some(other));
    hub.tasks().cancel(&ann(), task.id).await.unwrap();
    assert_eq!(record(&hub, task.id).await.handle, None);
}

#[tokio::test(start_paused = true)]
async fn a_next_turn_that_was_not_sent_before_a_restart_is_given_what_was_noted() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (task, attached, serving) = noted(&hub).await;
    wait(serving);
    until_idle().await;
    drop(attached);
    let later = Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..to("a", "more")
    };
    hub.tasks().continue_task(later, &task).await.unwrap();
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert_eq!(line.next().call().handle_before(), Some(&handle()));
}

#[tokio::test(start_paused = true)]
async fn nobody_hears_a_word_before_what_the_door_noted_is_kept() {
    let store = Arc::new(slow_store::SlowStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.hold();
    serving.note(handle());
    serving.push(Event::text("one "));
    until_idle().await;
    let end = |task: &Task| task.record().log_end;
    let before = end(&task);
    store.let_go();
    until_idle().await;
    assert!(end(&task) > before, "{before}");
}

#[tokio::test(start_paused = true)]
async fn a_door_goes_on_with_what_was_open_before_its_agent_is_there() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (task, ..) = noted(&hub).await;
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let line = Line::new();
    let mut attached = come_back(&hub, &line);
    let serving = attached.adopted.pop().unwrap();
    assert_eq!(serving.call().handle(), Some(&handle()));
    let waiting = Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..to("a", "later")
    };
    let _waiting = hub.calls().open(waiting).unwrap();
    // Longer than agents are given to come back.
    pass(&hub, 60).await;
    assert_eq!(reason(hub.calls().open(to("a", "now"))), Reason::Offline);
    assert!(!hub.agents().discover(&ann(), &Wanted::default())[0].online);
    assert!(line.texts().is_empty(), "nothing is sent to who is away");
    attached.set_away(false);
    assert_eq!(line.texts(), ["later"]);
    serving.push(Event::text("two"));
    serving.finish(End::done());
    until_idle().await;
    let record = record(&hub, task.id).await;
    assert_eq!(record.state, TaskState::Completed);
    let said = hub.tasks().find(&ann(), task.id).await.unwrap();
    let said = format!("{:?}", read_on(said.subscribe(None)).await);
    assert!(said.contains("one ") && said.contains("two"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_agent_stays_away_ends_by_its_own_clock() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (task, ..) = noted(&hub).await;
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let attached = come_back(&hub, &Line::new());
    let idle = hub.limits().idle_kept.0.as_secs();
    pass(&hub, idle - 1).await;
    assert_eq!(record(&hub, task.id).await.state, TaskState::Working);
    pass(&hub, 1).await;
    let failure = record(&hub, task.id).await.failure.unwrap();
    assert_eq!(failure.reason, Reason::Timeout);
    drop(attached);
}

#[tokio::test(start_paused = true)]
async fn a_stop_leaves_to_the_next_hub_what_a_door_finds_again() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (task, mut attached, serving) = noted(&hub).await;
    let start = Instant::now();
    hub.stop(Duration::from_secs(10)).await;
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "nobody waits for it"
    );
    attached.set_resumable(true);
    drop(attached);
    drop(serving);
    let stored = store.find_task(task.id).await.unwrap().unwrap();
    assert_eq!(
        (stored.state, stored.handle),
        (TaskState::Working, Some(handle()))
    );
    let hub = hub_on(store, |_| ()).await;
    let attached = come_back(&hub, &Line::new());
    assert_eq!(attached.adopted.len(), 1);
}
