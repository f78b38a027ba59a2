//! Stopping: nothing new, some time for what is open, everybody told, nothing lost that was not sent.

use super::*;

const GRACE: Duration = Duration::from_secs(10);

fn patient(request: Request) -> Request {
    Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..request
    }
}

#[tokio::test(start_paused = true)]
async fn new_calls_and_agents_are_refused_while_open_calls_get_the_grace() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let kept = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let (serving, kept_serving) = (line.next(), line.next());
    let during = async {
        tokio::time::sleep(GRACE / 2).await;
        assert_eq!(reason(hub.calls().open(to("a", "hi"))), Reason::Stopping);
        assert_eq!(
            reason(hub.tasks().start(to("a", "hi")).await),
            Reason::Stopping
        );
        assert_eq!(
            reason(attach_as(&hub, &ann(), "b", &Line::new(), false)),
            Reason::Stopping
        );
        assert!(line.closed().is_empty());
        serving.push(Event::text("just in time"));
        assert!(serving.finish(End::done()));
        assert!(kept_serving.finish(End::done()));
    };
    let start = Instant::now();
    tokio::join!(hub.stop(GRACE), during);
    assert!(start.elapsed() < GRACE, "no longer than needed");
    assert_eq!(read(&asking).1, Some(End::done()));
    assert_eq!(state(&kept), TaskState::Completed);
    assert_eq!(line.closed(), [Closing::Stopping]);
}

#[tokio::test(start_paused = true)]
async fn the_hub_stops_at_the_moment_when_the_last_call_ends() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let mut askings = vec![hub.calls().open(to("a", "hi")).unwrap()];
    askings.push(hub.calls().open(to("a", "hi")).unwrap());
    let servings = [line.next(), line.next()];
    let each = Duration::from_millis(333);
    let work = async {
        for serving in servings {
            tokio::time::sleep(each).await;
            assert!(line.closed().is_empty());
            serving.finish(End::done());
            assert_eq!(read(&askings.remove(0)).1, Some(End::done()));
        }
    };
    let start = Instant::now();
    tokio::join!(hub.stop(GRACE), work);
    assert_eq!(start.elapsed(), 2 * each);
    assert_eq!(line.closed(), [Closing::Stopping]);
}

#[tokio::test(start_paused = true)]
async fn callers_read_how_their_calls_ended_before_connections_are_closed() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let ended = hub.calls().open(to("a", "hi")).unwrap();
    line.next().finish(End::done());
    let cut = hub.calls().open(to("a", "hi")).unwrap();
    let _serving = line.next();
    let callers = async {
        tokio::time::sleep(Duration::from_millis(900)).await;
        assert!(line.closed().is_empty());
        assert_eq!(read(&ended).1, Some(End::done()));
        assert_eq!(failure(&cut), Reason::Stopping);
        drop((ended, cut));
    };
    tokio::join!(hub.stop(Duration::ZERO), callers);
    assert_eq!(line.closed(), [Closing::Stopping]);
    let hub = super::hub().await;
    let (_a, line) = agent(&hub, "a");
    let _never_read = hub.calls().open(to("a", "hi")).unwrap();
    hub.stop(Duration::ZERO).await;
    assert_eq!(line.closed(), [Closing::Stopping], "at last");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_again_for_its_agent_is_waited_for_no_longer_than_a_look() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let _asking = hub.calls().open(patient(to("a", "hi"))).unwrap();
    let serving = line.next();
    let give_back = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        serving.give_back().unwrap();
    };
    let start = Instant::now();
    tokio::join!(hub.stop(GRACE), give_back);
    assert!(start.elapsed() < GRACE / 2, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn after_the_grace_open_calls_end_with_stopping_and_agents_are_told() {
    let store = Arc::new(MemoryStore::default());
    for _ in 0..20 {
        let hub = hub_on(store.clone(), |_| ()).await;
        let (_a, line) = agent(&hub, "a");
        let asking = hub.calls().open(to("a", "live")).unwrap();
        let kept = hub.tasks().start(to("a", "kept")).await.unwrap();
        until_idle().await;
        let _servings = [line.next(), line.next()];
        hub.stop(GRACE).await;
        assert_eq!(failure(&asking), Reason::Stopping);
        assert_eq!(
            kept.record().failure.unwrap().reason,
            Reason::Stopping,
            "always, not only mostly"
        );
        let stored = store.find_task(kept.id).await.unwrap().unwrap();
        assert_eq!(stored.state, TaskState::Failed, "and it is on disk");
        let told = stored.failure.unwrap().text;
        let still_true = "the hub was stopped before the call was over; call again";
        assert_eq!(
            told, still_true,
            "whoever reads it later, at a hub that is up"
        );
        assert_eq!(line.cancelled().len(), 2);
        assert_nothing_is_open(&hub);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_was_not_sent_goes_out_after_the_next_start() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    drop(agent(&hub, "a"));
    let waiting = hub
        .tasks()
        .start(patient(to("a", "waiting")))
        .await
        .unwrap();
    let line = Line::one_at_a_time();
    let _b = attach(&hub, "b", &line);
    let sent = hub
        .tasks()
        .start(in_session("s", to("b", "sent")))
        .await
        .unwrap();
    let queued = hub
        .tasks()
        .start(in_session("s", to("b", "queued")))
        .await
        .unwrap();
    until_idle().await;
    let _serving = line.next();
    hub.stop(GRACE).await;
    assert!(
        line.texts().is_empty(),
        "the queued one did not slip out while the hub stopped"
    );
    assert_eq!(state(&sent), TaskState::Failed);
    let hub = hub_on(store, |_| ()).await;
    let ((_a, at_a), (_b, at_b)) = (agent(&hub, "a"), agent(&hub, "b"));
    until_idle().await;
    assert_eq!(
        (at_a.texts(), at_b.texts()),
        (vec!["waiting".to_owned()], vec!["queued".to_owned()])
    );
    assert!(at_a.next().finish(End::done()) && at_b.next().finish(End::done()));
    until_idle().await;
    for id in [waiting.id, queued.id] {
        let task = hub.tasks().find(&ann(), id).await.unwrap();
        assert_eq!(state(&task), TaskState::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_just_being_written_down_is_kept_for_the_next_start() {
    let store = Arc::new(slow_store::SlowStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    store.hold();
    let starting = slow_store::begin(&hub, to("a", "hi"));
    until_idle().await;
    let let_go = async {
        tokio::time::sleep(2 * GRACE).await;
        store.let_go();
    };
    tokio::join!(hub.stop(GRACE), let_go);
    assert!(starting.done().await.is_ok(), "it was accepted");
    assert!(line.texts().is_empty());
    let hub = hub_on(store, |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert_eq!(line.texts(), ["hi"]);
}

#[tokio::test(start_paused = true)]
async fn queued_live_calls_end_without_ever_reaching_the_agent() {
    let hub = hub().await;
    let line = Line::one_at_a_time();
    let _a = attach(&hub, "a", &line);
    let calls: Vec<_> = (0..5)
        .map(|n| {
            hub.calls()
                .open(in_session("s", to("a", &n.to_string())))
                .unwrap()
        })
        .collect();
    let _serving = line.next();
    hub.stop(Duration::ZERO).await;
    assert!(
        calls
            .iter()
            .all(|asking| failure(asking) == Reason::Stopping)
    );
    assert!(line.texts().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_does_not_keep_the_hub_from_stopping() {
    let store = Arc::new(slow_store::SlowStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.hold();
    serving.push(Event::text("never written"));
    let start = Instant::now();
    hub.stop(GRACE).await;
    let took = start.elapsed();
    assert!(took >= 2 * GRACE && took < 3 * GRACE, "{took:?}");
    assert_eq!(
        line.closed(),
        [Closing::Stopping],
        "agents are told all the same"
    );
}
