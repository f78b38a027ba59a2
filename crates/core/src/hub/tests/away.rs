//! Agents that cannot be reached for a while although their connection holds: they count as offline, keep what they have, and
//! get what waits when they can be reached again.

use super::*;
use jackfield_model::{Chunk, End};

fn patient(request: Request) -> Request {
    Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..request
    }
}

fn is_online(hub: &Hub) -> bool {
    hub.agents().discover(&ann(), &Wanted::default())[0].online
}

#[tokio::test]
async fn an_agent_that_is_away_keeps_its_calls_and_others_wait_or_are_refused() {
    let hub = hub().await;
    let (attached, line) = agent(&hub, "a");
    let first = hub.calls().open(to("a", "first")).unwrap();
    let serving = line.next();
    attached.set_away(true);
    assert!(!is_online(&hub));
    assert_eq!(metric(&hub, "jackfield_agents_online"), 0);
    assert_eq!(
        hub.calls().open(to("a", "now")).unwrap_err().reason,
        Reason::Offline
    );
    let second = hub.calls().open(patient(to("a", "second"))).unwrap();
    assert!(line.texts().is_empty());
    serving.push(Event::Chunk(Chunk::text("still here")));
    serving.finish(End::done());
    assert_eq!(first.replies().finish().await.0, "still here");
    attached.set_away(false);
    assert!(is_online(&hub));
    assert_eq!(metric(&hub, "jackfield_agents_online"), 1);
    line.next().finish(End::done());
    assert_eq!(second.replies().finish().await.1, End::done());
}

#[tokio::test]
async fn an_agent_that_leaves_while_it_is_away_leaves_once() {
    let hub = hub().await;
    let (attached, _line) = agent(&hub, "a");
    attached.set_away(true);
    drop(attached);
    assert_eq!(metric(&hub, "jackfield_agents_online"), 0);
    let (_again, _line) = agent(&hub, "a");
    assert_eq!(metric(&hub, "jackfield_agents_online"), 1);
    assert!(is_online(&hub));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_given_back_waits_and_is_sent_again() {
    let hub = hub().await;
    let (attached, line) = agent(&hub, "a");
    let task = hub.tasks().start(patient(to("a", "hi"))).await.unwrap();
    until_idle().await;
    assert_eq!(state(&task), TaskState::Working);
    attached.set_away(true);
    line.next().give_back().unwrap();
    until_idle().await;
    assert_eq!(state(&task), TaskState::Submitted);
    assert!(!task.record().sent && line.texts().is_empty());
    attached.set_away(false);
    until_idle().await;
    assert_eq!(state(&task), TaskState::Working);
    line.next().finish(End::done());
    until_idle().await;
    assert_eq!(state(&task), TaskState::Completed);
}

#[tokio::test]
async fn a_call_whose_caller_does_not_wait_is_not_given_back() {
    let hub = hub().await;
    let (_attached, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next().give_back().unwrap_err();
    serving.finish(End::done());
    assert_eq!(asking.replies().finish().await.1, End::done());
}
