//! Tickets work once, for one direction and for a while.

use jackfield_core::principal::Principal;
use jackfield_model::{AgentId, Offer};
use tokio::time::Instant;

use super::{
    super::{pipe::pipe, registry::Transfers},
    *,
};

fn transfer() -> Arc<Transfer> {
    let offer = Offer {
        transfer_id: "t".into(),
        zip_size: 5,
        zip_sha256: "ab".repeat(32),
        file_count: 1,
    };
    let agent = AgentId::parse("bob").unwrap();
    let announced =
        Transfers::default().announced(&agent, &Principal::local(), offer, Instant::now());
    announced.unwrap()
}

fn sends(relays: &Arc<ArchiveRelays>) -> (String, TicketWait, ArchiveReceiver) {
    let (inlet, outlet) = pipe(5, relays.permit().unwrap());
    let half = AgentSide::Send(
        inlet,
        RequestLifetime::for_principal(&Principal::local()),
        transfer(),
    );
    let (ticket, meeting) = relays.issue(half).unwrap();
    (ticket, meeting, outlet)
}

#[tokio::test(start_paused = true)]
async fn a_ticket_works_once_and_for_its_own_direction() {
    let relays = Arc::new(ArchiveRelays::new(2));
    let (ticket, meeting, _outlet) = sends(&relays);
    assert_eq!(ticket.len(), 64);
    let wrong = relays.take_outlet(&ticket).unwrap_err();
    assert!(relays.take_inlet(&ticket).is_ok(), "still good");
    meeting.wait().await.unwrap();
    let twice = relays.take_inlet(&ticket).unwrap_err();
    let unknown = relays.take_inlet("0").unwrap_err();
    assert!(wrong == twice && twice == unknown, "they look the same");
    let (other, ..) = sends(&relays);
    assert_ne!(ticket, other);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_that_nobody_comes_with_is_over_after_a_while() {
    let relays = Arc::new(ArchiveRelays::new(1));
    let (ticket, meeting, outlet) = sends(&relays);
    let start = Instant::now();
    let late = meeting.wait().await.unwrap_err();
    assert_eq!(
        (start.elapsed(), &late.reason),
        (MEET_WITHIN, &Reason::Timeout)
    );
    assert!(
        late.text.contains("may not be able to move files"),
        "{late}"
    );
    assert_eq!(
        relays.take_inlet(&ticket).unwrap_err().reason,
        Reason::NotFound
    );
    drop(outlet);
    assert!(relays.permit().is_ok(), "its place is free again");
    assert!(relays.waiting.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_takes_its_ticket_along() {
    let relays = Arc::new(ArchiveRelays::new(1));
    let (ticket, meeting, _outlet) = sends(&relays);
    let busy = relays.permit().unwrap_err();
    assert_eq!(busy.reason, Reason::Busy);
    assert!(busy.text.contains("files.max_relayed"), "{busy}");
    drop(meeting);
    assert!(relays.take_inlet(&ticket).is_err());
    assert!(relays.permit().is_ok());
}
