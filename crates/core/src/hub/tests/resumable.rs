//! Whether a connection may resume another: it shows the token that its program was given.

use super::*;

/// Attaches ann's agent with a token, or none.
fn come(hub: &Hub, line: &Arc<Line>, shown: Option<&str>) -> (Attached, String) {
    let profile = Profile::default();
    let attached = hub
        .agents()
        .attach_resumable(&ann(), &id("a"), profile, line.clone(), shown);
    let (attached, token) = attached.unwrap();
    (attached, token.expose().to_owned())
}

#[tokio::test]
async fn whoever_shows_the_token_of_the_last_connection_goes_on_and_the_token_stays() {
    let hub = hub().await;
    let line = Line::new();
    let (old, token) = come(&hub, &line, None);
    assert!(!old.resumes() && token.len() == 64);
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let cut = line.next();
    drop(old);
    drop(cut);
    let (mut new, again) = come(&hub, &Line::new(), Some(&token));
    assert!(new.resumes() && token == again);
    let serving = new.adopted.pop().unwrap();
    // Cut before it heard anything: the same token is good again, and the old connection looks alive.
    let (mut newer, again) = come(&hub, &Line::new(), Some(&token));
    assert!(newer.resumes() && token == again);
    drop((new, serving));
    assert!(newer.adopted.pop().unwrap().finish(End::done()));
    assert_eq!(read(&asking).1, Some(End::done()));
}

#[tokio::test]
async fn a_wrong_or_an_old_token_is_as_good_as_none() {
    for shown in [Some("guess"), Some("old"), Some(""), None] {
        let hub = hub().await;
        let (_first, old) = come(&hub, &Line::new(), None);
        let line = Line::new();
        let (_second, token) = come(&hub, &line, None);
        assert_ne!(old, token, "each program has its own");
        let asking = hub.calls().open(to("a", "hi")).unwrap();
        let _serving = line.next();
        let shown = if shown == Some("old") {
            Some(&*old)
        } else {
            shown
        };
        let (attached, fresh) = come(&hub, &Line::new(), shown);
        assert!(!attached.resumes() && attached.adopted.is_empty());
        assert!(fresh != old && fresh != token && Some(&*fresh) != shown);
        assert_eq!(failure(&asking), Reason::Offline, "{shown:?}");
    }
}

#[tokio::test]
async fn a_connection_without_a_token_makes_the_one_before_worthless() {
    let hub = hub().await;
    let (old, token) = come(&hub, &Line::new(), None);
    drop(old);
    let (plain, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let _serving = line.next();
    let (attached, _) = come(&hub, &Line::new(), Some(&token));
    assert!(!attached.resumes());
    assert_eq!(failure(&asking), Reason::Offline);
    drop(plain);
}

#[tokio::test]
async fn the_token_of_another_agent_and_of_another_owner_open_nothing() {
    let hub = hub().await;
    let (_a, token) = come(&hub, &Line::new(), None);
    let other = hub.agents().attach_resumable(
        &ann(),
        &id("b"),
        Profile::default(),
        Line::new(),
        Some(&token),
    );
    assert!(!other.unwrap().0.resumes());
    let stolen = hub.agents().attach_resumable(
        &bob(),
        &id("a"),
        Profile::default(),
        Line::new(),
        Some(&token),
    );
    assert_eq!(reason(stolen), Reason::Unauthorized);
}

#[tokio::test(start_paused = true)]
async fn the_token_is_good_after_a_restart_of_the_hub() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let line = Line::new();
    let (attached, token) = come(&hub, &line, None);
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    serving.push_numbered(Event::text("one "), 1);
    until_idle().await;
    assert_eq!(serving.call().acked(), 1);
    let store = Arc::new(store.copy());
    drop((attached, serving));
    let kept = store.load_agents().await.unwrap().remove(0).resume.unwrap();
    assert!(!token.as_bytes().windows(32).any(|part| part == kept));
    let hub = hub_on(store, |_| ()).await;
    let (mut attached, again) = come(&hub, &Line::new(), Some(&token));
    assert!(attached.resumes() && token == again);
    let serving = attached.adopted.pop().unwrap();
    assert_eq!((serving.call().received(), serving.call().acked()), (1, 1));
    assert!(serving.finish_numbered(End::done(), 2).unwrap());
    until_idle().await;
    let task = hub.tasks().find(&ann(), task.id).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn resuming_never_holds_the_id() {
    let hub = hub().await;
    let (first, token) = come(&hub, &Line::new(), None);
    let mut attached = vec![first];
    for _ in 0..10 {
        attached.push(come(&hub, &Line::new(), Some(&token)).0);
    }
    // Somebody else has still three tries.
    for _ in 0..3 {
        attached.push(come(&hub, &Line::new(), None).0);
    }
    let refused =
        hub.agents()
            .attach_resumable(&ann(), &id("a"), Profile::default(), Line::new(), None);
    assert_eq!(reason(refused), Reason::RateLimited);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_come_back_is_given_up_at_once() {
    let hub = hub().await;
    let line = Line::new();
    let (attached, token) = come(&hub, &line, None);
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let _cut = line.next();
    let entry = attached.entry().clone();
    drop(attached);
    let generation = entry.generation();
    // It came and went again: that was not the connection that is given up.
    let (mut again, _) = come(&hub, &Line::new(), Some(&token));
    let adopted = std::mem::take(&mut again.adopted);
    drop(again);
    drop(adopted);
    entry.give_up(generation);
    assert!(!asking.call().is_ended());
    entry.give_up(entry.generation());
    assert_eq!(failure(&asking), Reason::Offline);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn what_is_written_down_while_nobody_is_there_is_known_to_who_comes_next() {
    let (store, hub) = slow_store::on_slow_store(|_| ()).await;
    let line = Line::new();
    let (attached, token) = come(&hub, &line, None);
    hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    store.hold();
    serving.push_numbered(Event::text("one "), 1);
    until_idle().await;
    drop((attached, serving));
    store.let_go();
    until_idle().await;
    assert!(line.acked().is_empty());
    let (mut attached, _) = come(&hub, &Line::new(), Some(&token));
    let serving = attached.adopted.pop().unwrap();
    assert_eq!((serving.call().received(), serving.call().acked()), (1, 1));
}
