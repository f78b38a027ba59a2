//! How many of a viewer's messages may be unanswered.

use jackfield_core::{limits::Limits, ready::ReadySet, store::memory::MemoryStore};
use jackfield_kit::{auth::Gatekeeper, tasks::Tasks};

use super::*;
use crate::{Teams, translate::BoardForm};

fn stop() -> ClientMessage {
    ClientMessage::StopGeneration { target: None }
}

#[tokio::test]
async fn a_viewer_may_have_64_messages_unanswered_and_no_more_until_it_is_told() {
    let teams = Teams::open(Arc::new(MemoryStore::default()), Limits::default());
    let teams = teams.await.unwrap();
    let door = TeamDoor {
        gatekeeper: Gatekeeper::new(teams.hub().clone(), true),
        tasks: Tasks::new(),
        teams,
    };
    let ready_set = ReadySet::new();
    let mut orders = CommandQueue::new(Mailbox::new(ready_set.handle(1)));
    let (local, subject) = (
        Principal::local(),
        ViewedSubject::Team("x".into(), BoardForm::All),
    );
    let give = |orders: &mut CommandQueue| orders.submit(stop(), &door, &local, &subject, None);
    for _ in 0..UNANSWERED {
        give(&mut orders).unwrap();
    }
    assert_eq!(give(&mut orders).unwrap_err().code, "BUSY");
    // Refused, all of them, since there is no such team; but the viewer has not heard so.
    ready_set.wait(&mut Vec::new()).await;
    assert_eq!(give(&mut orders).unwrap_err().code, "BUSY");
    let (outcome, unanswered) = orders.outcomes.take().unwrap();
    assert!(matches!(outcome, CommandOutcome::Refused(refusal) if refusal.code == "NOT_FOUND"));
    drop(unanswered);
    give(&mut orders).unwrap();
    assert_eq!(give(&mut orders).unwrap_err().code, "BUSY");
}
