//! The stage's own arithmetic; what it shows is tested with the hub.

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
    let run = Run::new();
    let (one, two) = (run.event_id(1), run.event_id(2));
    assert_eq!(two - one, 256);
    assert_ne!(Run::new().event_id(1), one);
}

#[test]
fn what_all_stages_hold_is_counted_and_given_back() {
    let theatre = Arc::new(Theatre::default());
    let limits = Limits {
        team_rings: jackfield_core::units::Size(20_000),
        ..Limits::default()
    };
    let id = AgentId::parse("t").unwrap();
    let stages = [(); 2].map(|()| Stage::new(id.clone(), theatre.clone(), &limits));
    for stage in &stages {
        for _ in 0..1000 {
            let body = Body::Team {
                new: TeamStatus::Idle,
                old: None,
                error: None,
            };
            stage.tell(&[].into(), Arc::new(body));
        }
    }
    let held = || theatre.held();
    // Each keeps a little, however much all of them hold.
    let least = limits.team_tail.0 / 16;
    assert!(held() <= 2 * (least + 2048), "{}", held());
    let [one, two] = stages;
    drop(one);
    assert!(held() <= least + 2048 && held() > 0);
    two.rest(Instant::now() + std::time::Duration::from_secs(1));
    assert_eq!(held(), 0);
}

#[test]
fn a_viewer_that_never_reads_holds_back_no_more_than_the_ring_may_have() {
    let theatre = Arc::new(Theatre::default());
    let limits = Limits {
        team_ring: jackfield_core::units::Size(50_000),
        team_tail: jackfield_core::units::Size(10_000),
        ..Limits::default()
    };
    let stage = Stage::new(AgentId::parse("t").unwrap(), theatre.clone(), &limits);
    let says = |words: usize| {
        Arc::new(Body::Team {
            new: TeamStatus::Error,
            old: None,
            error: Some("w".repeat(words)),
        })
    };
    let mut reads = Viewing::new(stage.clone(), None, &Since::Now);
    let stalled = Viewing::new(stage.clone(), None, &Since::Now);
    let (mut most, mut seen) = (0, Vec::new());
    for words in (0..1000).map(|count| count % 500) {
        stage.tell(&[].into(), says(words));
        most = most.max(theatre.held());
        reads.take(usize::MAX, &mut seen);
    }
    assert!(most <= limits.team_ring.0, "{most}");
    let is_event = |seen: &Seen| matches!(seen, Seen::Event(_));
    assert!(seen.iter().all(is_event), "whoever reads loses nothing");
    assert_eq!(seen.len(), 1000);
    drop(stalled);
    stage.tell(&[].into(), says(0));
    assert!(theatre.held() <= limits.team_tail.0 + 2048);
}

#[test]
fn boards_weigh_all_that_is_on_them() {
    use crate::team::board::{BoardChange, BoardStatus, BoardTask, Deliverable};

    let text = || "x".repeat(10_000);
    let given = || Deliverable {
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
        let theatre = Arc::new(Theatre::default());
        let id = AgentId::parse("t").unwrap();
        let stage = Stage::new(id, theatre.clone(), &Limits::default());
        stage.tell(&[].into(), Arc::new(Body::Board(change)));
        assert!(theatre.held() > texts * 10_000, "{}", theatre.held());
    }
}
