//! What an owner sets for calls of other agents: none at all, or so many an hour.

use super::*;

fn set(hub: &Hub, name: &str, allow_a2a: bool, calls_per_hour: Option<u32>) {
    let settings = Settings {
        allow_a2a,
        calls_per_hour,
        ..Settings::default()
    };
    drop(
        hub.agents()
            .change(&ann(), &id(name), None, Some(settings))
            .unwrap(),
    );
}

/// Calls `a` as ann's agent `b` and takes the answer at once.
fn call_as_agent(hub: &Hub, line: &Line) -> Result<(), Failure> {
    let request = Request {
        principal: ann().as_agent(id("b")),
        ..to("a", "hi")
    };
    let _asking = hub.calls().open(request)?;
    assert!(line.next().finish(End::done()));
    Ok(())
}

#[tokio::test]
async fn an_agent_that_takes_no_calls_of_agents_takes_those_of_people() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    set(&hub, "a", false, None);
    let refused = call_as_agent(&hub, &line).unwrap_err();
    assert_eq!(refused.reason, Reason::RateLimited);
    assert!(refused.text.contains("agent a"), "{refused}");
    let kept = Request {
        principal: ann().as_agent(id("b")),
        ..to("a", "hi")
    };
    assert_eq!(reason(hub.tasks().start(kept).await), Reason::RateLimited);
    assert!(line.texts().is_empty());
    let _by_person = hub.calls().open(to("a", "hi")).unwrap();
    let platform = Request {
        principal: Principal::platform(),
        ..to("a", "hi")
    };
    let _by_platform = hub.calls().open(platform).unwrap();
    assert_eq!(line.texts().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn calls_of_agents_are_limited_within_any_hour() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    set(&hub, "a", true, Some(3));
    for _ in 0..3 {
        call_as_agent(&hub, &line).unwrap();
        tokio::time::advance(Duration::from_secs(600)).await;
    }
    let refused = call_as_agent(&hub, &line).unwrap_err();
    assert_eq!(refused.reason, Reason::RateLimited);
    assert!(refused.text.contains("3 calls"), "{refused}");
    drop(hub.calls().open(to("a", "people are not counted")).unwrap());
    // The first one was 30 minutes ago.
    tokio::time::advance(Duration::from_secs(1799)).await;
    assert!(call_as_agent(&hub, &line).is_err());
    tokio::time::advance(Duration::from_secs(1)).await;
    line.try_next();
    call_as_agent(&hub, &line).unwrap();
    assert!(
        call_as_agent(&hub, &line).is_err(),
        "the others still count"
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_does_not_count() {
    let hub = hub().await;
    let (a, line) = agent(&hub, "a");
    set(&hub, "a", true, Some(1));
    drop(a);
    assert_eq!(
        call_as_agent(&hub, &line).unwrap_err().reason,
        Reason::Offline
    );
    let _a = attach(&hub, "a", &line);
    call_as_agent(&hub, &line).unwrap();
    assert!(call_as_agent(&hub, &line).is_err());
    set(&hub, "a", true, Some(2));
    call_as_agent(&hub, &line).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_task_of_an_agent_is_not_judged_again_after_a_restart() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    drop(agent(&hub, "a"));
    let request = Request {
        principal: ann().as_agent(id("b")),
        wait_online: Some(Duration::from_secs(3600)),
        ..to("a", "hi")
    };
    let task = hub.tasks().start(request).await.unwrap().id;
    set(&hub, "a", false, Some(0));
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert_eq!(line.next().call().task, Some(task));
}
