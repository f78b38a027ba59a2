//! The feed's own arithmetic; what it shows is tested with the hub.

use super::*;

#[test]
fn a_route_is_below_its_teams_and_not_below_names_that_only_begin_like_it() {
    assert!(is_at_or_below("backend/db/dba", "backend"));
    assert!(is_at_or_below("backend/db/dba", "backend/db"));
    assert!(is_at_or_below("lead", "lead"));
    assert!(!is_at_or_below("leader", "lead"));
    assert!(!is_at_or_below("lead", "leader"));
}

#[test]
fn ids_of_events_leave_room_for_their_levels() {
    let run = TeamRun::new();
    let (one, two) = (run.event_id(1), run.event_id(2));
    assert_eq!(two - one, 256);
    assert_ne!(TeamRun::new().event_id(1), one);
}

#[test]
fn what_all_stages_hold_is_counted_and_given_back() {
    let pool = Arc::new(FeedPool::default());
    let limits = TeamLimits {
        rings: jackfield_core::units::Size(20_000),
        ..TeamLimits::default()
    };
    let id = AgentId::parse("t").unwrap();
    let feeds = [(); 2].map(|()| EventFeed::new(id.clone(), pool.clone(), &limits));
    for feed in &feeds {
        for _ in 0..1000 {
            let body = EventBody::Team {
                new: TeamStatus::Idle,
                old: None,
                error: None,
            };
            feed.append_event(&[].into(), Arc::new(body));
        }
    }
    let held = || pool.held();
    // Each keeps a little, however much all of them hold.
    let least = limits.tail.0 / 16;
    assert!(held() <= 2 * (least + 2048), "{}", held());
    let [one, two] = feeds;
    drop(one);
    assert!(held() <= least + 2048 && held() > 0);
    two.end_if_idle(Instant::now() + std::time::Duration::from_secs(1));
    assert_eq!(held(), 0);
}

#[test]
fn a_viewer_that_never_reads_holds_back_no_more_than_the_ring_may_have() {
    let pool = Arc::new(FeedPool::default());
    let limits = TeamLimits {
        ring: jackfield_core::units::Size(50_000),
        tail: jackfield_core::units::Size(10_000),
        ..TeamLimits::default()
    };
    let feed = EventFeed::new(AgentId::parse("t").unwrap(), pool.clone(), &limits);
    let says = |words: usize| {
        Arc::new(EventBody::Team {
            new: TeamStatus::Error,
            old: None,
            error: Some("w".repeat(words)),
        })
    };
    let mut reads = FeedReader::new(feed.clone(), None, &ReplayStart::Now);
    let stalled = FeedReader::new(feed.clone(), None, &ReplayStart::Now);
    let (mut most, mut seen) = (0, Vec::new());
    for words in (0..1000).map(|count| count % 500) {
        feed.append_event(&[].into(), says(words));
        most = most.max(pool.held());
        reads.read_batch(usize::MAX, &mut seen);
    }
    assert!(most <= limits.ring.0, "{most}");
    let is_event = |seen: &FeedItem| matches!(seen, FeedItem::Event(_));
    assert!(seen.iter().all(is_event), "whoever reads loses nothing");
    assert_eq!(seen.len(), 1000);
    drop(stalled);
    feed.append_event(&[].into(), says(0));
    assert!(pool.held() <= limits.tail.0 + 2048);
}

#[test]
fn boards_weigh_all_that_is_on_them() {
    use crate::team::board::{BoardChange, BoardDeliverable, BoardStatus, BoardTask};

    let text = || "x".repeat(10_000);
    let given = || BoardDeliverable {
        file_path: text(),
        summary: text(),
        author_agent_name: text(),
        timestamp: jiff::Timestamp::UNIX_EPOCH,
    };
    let task = BoardTask {
        id: "task_0001".into(),
        name: text(),
        assignee: text(),
        description: text(),
        dependencies: vec![text()],
        status: BoardStatus::NotStarted,
        deliverables: vec![given()],
    };
    let (added, all) = ([task.clone()].into(), [task.clone(), task].into());
    let status = BoardChange::Status {
        task: "task_0001".into(),
        new: BoardStatus::Completed,
        by: "lead".into(),
        deliverables: vec![given()],
    };
    for (change, texts) in [(BoardChange::Created { added, all }, 21), (status, 3)] {
        let pool = Arc::new(FeedPool::default());
        let id = AgentId::parse("t").unwrap();
        let feed = EventFeed::new(id, pool.clone(), &TeamLimits::default());
        feed.append_event(&[].into(), Arc::new(EventBody::Board(change)));
        assert!(pool.held() > texts * 10_000, "{}", pool.held());
    }
}

#[test]
fn an_event_is_encoded_once_for_all_its_readers() {
    let limits = TeamLimits::default();
    let id = AgentId::parse("t").unwrap();
    let feed = EventFeed::new(id, Arc::new(FeedPool::default()), &limits);
    let mut readers = [(); 3].map(|()| FeedReader::new(feed.clone(), None, &ReplayStart::Now));
    let mut encoded = 0;
    for sequence in 1..=2 {
        let body = EventBody::Team {
            new: TeamStatus::Idle,
            old: None,
            error: None,
        };
        feed.append_event(&[].into(), Arc::new(body));
        for reader in &mut readers {
            let mut seen = Vec::new();
            reader.read_batch(usize::MAX, &mut seen);
            let [FeedItem::Event(told)] = &seen[..] else {
                panic!("{seen:?}");
            };
            let frame = reader.frame(told, |told| {
                encoded += 1;
                told.sequence.to_string().into()
            });
            assert_eq!(frame, sequence.to_string());
        }
    }
    assert_eq!(encoded, 2);
}
