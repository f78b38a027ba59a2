//! Observers see what they may and want to, miss what they cannot keep up with, and never hold anybody up.

use super::*;
use jackfield_model::Done;

use crate::tap::Direction;

async fn sights(watching: &mut Watching, count: usize) -> Vec<(String, &'static str)> {
    let mut out = Vec::new();
    for _ in 0..count {
        let seen = watching.next().await;
        let name = match seen.sight {
            Sight::Online(_) => "online",
            Sight::Offline => "offline",
            Sight::Started { .. } => "started",
            Sight::Event(_) => "event",
            Sight::Ended(_) => "ended",
            Sight::Relayed { .. } => "relayed",
            Sight::Frame(..) => "frame",
        };
        out.push((seen.agent.to_string(), name));
    }
    out
}

fn one_call(hub: &Hub, line: &Line, name: &str) {
    let asking = hub.calls().open(to(name, "hi")).unwrap();
    let serving = line.next();
    serving.push(Event::text("words"));
    serving.finish(End::done());
    drop(asking);
}

#[tokio::test]
async fn an_observer_sees_all_that_happens_in_order() {
    let hub = hub().await;
    let mut watching = hub.taps().watch(ann(), TapFilter::default());
    let (attached, line) = agent(&hub, "a");
    one_call(&hub, &line, "a");
    drop(attached);
    let names: Vec<_> = sights(&mut watching, 5)
        .await
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    assert_eq!(names, ["online", "started", "event", "ended", "offline"]);
}

#[tokio::test]
async fn nothing_is_noted_while_nobody_watches() {
    let hub = hub().await;
    assert!(!hub.taps().are_watched() && !hub.taps().want_frames());
    let (_a, line) = agent(&hub, "a");
    one_call(&hub, &line, "a");
    let mut watching = hub.taps().watch(
        ann(),
        TapFilter {
            raw: true,
            ..TapFilter::default()
        },
    );
    assert!(hub.taps().are_watched() && hub.taps().want_frames());
    let (_b, _) = agent(&hub, "b");
    assert_eq!(
        sights(&mut watching, 1).await,
        [("b".to_owned(), "online")],
        "the past is not there"
    );
    drop(watching);
    assert!(!hub.taps().are_watched() && !hub.taps().want_frames());
}

#[tokio::test]
async fn a_filter_shows_one_agent_and_frames_only_on_request() {
    let hub = hub().await;
    let (a, line_a) = agent(&hub, "a");
    let (_b, line_b) = agent(&hub, "b");
    let mut only_a = hub.taps().watch(
        ann(),
        TapFilter {
            agent: Some(id("a")),
            ..TapFilter::default()
        },
    );
    let mut raw = hub.taps().watch(
        ann(),
        TapFilter {
            agent: None,
            raw: true,
            ..TapFilter::default()
        },
    );
    hub.taps()
        .see_frame(a.entry(), Direction::In, || "{}".into());
    one_call(&hub, &line_b, "b");
    one_call(&hub, &line_a, "a");
    let a = |name| ("a".to_owned(), name);
    assert_eq!(
        sights(&mut only_a, 3).await,
        [a("started"), a("event"), a("ended")]
    );
    assert_eq!(sights(&mut raw, 1).await, [a("frame")]);
}

#[tokio::test]
async fn an_observer_sees_its_own_agents_those_in_scope_and_an_admin_all() {
    let hub = hub().await;
    let mut stranger = hub.taps().watch(bob(), TapFilter::default());
    let mut scope = hub
        .taps()
        .watch(scoped("bob", &["watch:a*"]), TapFilter::default());
    let mut admin = hub.taps().watch(Principal::local(), TapFilter::default());
    let (_a, line) = agent(&hub, "a");
    drop(
        hub.agents()
            .change(&ann(), &id("a"), Some(Share::Everyone), None)
            .unwrap(),
    );
    one_call(&hub, &line, "a");
    let _bobs = attach_as(&hub, &bob(), "b", &Line::new(), false).unwrap();
    assert_eq!(
        sights(&mut stranger, 1).await,
        [("b".to_owned(), "online")],
        "to call is not to watch"
    );
    assert_eq!(sights(&mut scope, 4).await.len(), 4);
    assert_eq!(sights(&mut admin, 5).await.len(), 5);
}

#[tokio::test]
async fn who_lags_misses_and_blocks_nobody() {
    let hub = hub_with(|limits| limits.tap = Size::kib(4)).await;
    let (_a, line) = agent(&hub, "a");
    let mut watching = hub.taps().watch(ann(), TapFilter::default());
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    for _ in 0..100 {
        assert_eq!(serving.push(Event::text("x".repeat(1000))), Pushed::Room);
    }
    serving.finish(End::done());
    assert_eq!(read(&asking).1, Some(End::done()));
    let missed = watching.missed();
    assert!(missed > 90, "{missed}");
    assert_eq!(watching.missed(), 0, "counted since last asked");
    assert_eq!(metric(&hub, "jackfield_taps_missed_total"), missed);
    let rest = usize::try_from(102 - missed).unwrap();
    assert_eq!(sights(&mut watching, rest).await[0].1, "started");
    let (_b, _) = agent(&hub, "b");
    assert_eq!(
        sights(&mut watching, 1).await[0].1,
        "online",
        "and it goes on"
    );
    assert_eq!(
        hub.shared().budget.used(),
        asking_lease(&asking),
        "observers do not count for calls"
    );
}

/// What the one call still takes: the lease of its pipes, and its message.
fn asking_lease(asking: &CallerHandle) -> usize {
    let used = asking.call().shared.budget.used();
    assert!(used <= (4 << 10) + asking.call().message.weight());
    used
}

#[tokio::test]
async fn what_is_relayed_is_seen_once_by_whoever_watches_either_side() {
    let hub = hub().await;
    let (one, _) = agent(&hub, "one");
    let (two, _) = agent(&hub, "two");
    let (three, _) = agent(&hub, "three");
    let watch = |name: Option<&str>| {
        let agent = name.map(|name| AgentId::parse(name).unwrap());
        hub.taps().watch(
            ann(),
            TapFilter {
                agent,
                ..TapFilter::default()
            },
        )
    };
    let mut watchers = [watch(None), watch(Some("one")), watch(Some("two"))];
    let mut stranger = watch(Some("three"));
    hub.taps()
        .see_relayed(one.entry(), two.entry(), "message", || "hi".to_owned());
    drop(one);
    drop(two);
    for watching in &mut watchers {
        let seen = sights(watching, 2).await;
        assert_eq!(seen[0], ("one".to_owned(), "relayed"));
        assert_eq!(seen[1].1, "offline", "seen once");
    }
    drop(three);
    assert_eq!(sights(&mut stranger, 1).await[0].1, "offline");
}

#[tokio::test]
async fn what_no_observer_may_or_wants_to_see_is_not_even_made() {
    let hub = hub().await;
    let ((one, _), (two, _)) = (agent(&hub, "one"), agent(&hub, "two"));
    let filter = |agent: Option<&str>, raw| TapFilter {
        agent: agent.map(id),
        raw,
        ..TapFilter::default()
    };
    let _elsewhere = hub.taps().watch(ann(), filter(Some("three"), true));
    let _stranger = hub.taps().watch(bob(), filter(None, true));
    let taps = hub.taps();
    taps.see_frame(one.entry(), Direction::In, || panic!("a frame was copied"));
    taps.see_relayed(one.entry(), two.entry(), "message", || panic!("read"));
    assert!(!taps.are_on(&id("one"), &owner("ann")));
    let _here = hub.taps().watch(ann(), filter(Some("one"), false));
    taps.see_frame(one.entry(), Direction::In, || panic!("a frame was copied"));
    assert!(taps.are_on(&id("one"), &owner("ann")));
    assert!(!taps.are_on(&id("two"), &owner("ann")));
}

#[tokio::test]
async fn an_observer_that_lags_holds_one_large_result_and_misses_the_next() {
    let hub = hub_with(|limits| limits.tap = Size::mib(1)).await;
    let (_a, line) = agent(&hub, "a");
    let watching = hub.taps().watch(ann(), TapFilter::default());
    for _ in 0..3 {
        let asking = hub.calls().open(to("a", "hi")).unwrap();
        let done = Done {
            result: Some("x".repeat(2 << 20)),
            ..Done::default()
        };
        line.next().finish(End::Done(Box::new(done)));
        drop(asking);
    }
    assert_eq!(watching.missed(), 4, "the start and the end of two calls");
}
