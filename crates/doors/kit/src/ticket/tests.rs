//! The mechanism of tickets, with a kind that exists only here.

use jackfield_core::principal::Principal;

use super::*;

#[derive(Debug)]
struct Pass(Principal);

impl TicketKind for Pass {
    const LIFETIME: Duration = Duration::from_secs(5 * 60);
    const PER_OWNER: usize = 4;
    const TOTAL: usize = 10;
    const PREFIX: &'static str = "pass_";

    fn owner(&self) -> &Owner {
        &self.0.owner
    }

    fn grant(&self) -> &Grant {
        &self.0.grant
    }

    fn too_many() -> Failure {
        Failure::new(Reason::RateLimited, "too many")
    }

    fn unknown() -> Failure {
        Failure::new(Reason::NotFound, "unknown")
    }
}

fn pass(owner: &str) -> Pass {
    Pass(Principal::person(Owner::parse(owner).unwrap()))
}

fn reason(result: Result<(Pass, Instant), Failure>) -> Reason {
    result.expect_err("the ticket was good").reason
}

#[tokio::test(start_paused = true)]
async fn a_ticket_works_once_and_within_its_time() {
    let tickets = Tickets::default();
    let [once, late] = [(); 2].map(|()| tickets.issue(pass("ann")).unwrap());
    assert!(once.starts_with("pass_") && once != late);
    assert_eq!(tickets.take(&once).unwrap().0.owner().as_str(), "ann");
    assert_eq!(reason(tickets.take(&once)), Reason::NotFound);
    tokio::time::advance(Pass::LIFETIME).await;
    assert_eq!(reason(tickets.take(&late)), Reason::NotFound);
}

#[test]
fn of_many_that_take_a_ticket_at_once_one_gets_it() {
    let tickets = Tickets::default();
    let secret = tickets.issue(pass("ann")).unwrap();
    let taken = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| tickets.take(&secret).is_ok()))
            .collect();
        let taken = takers.into_iter().map(|taker| taker.join().unwrap());
        taken.filter(|is_taken| *is_taken).count()
    });
    assert_eq!(taken, 1);
}

#[test]
fn a_ticket_of_a_revoked_token_is_none() {
    let tickets = Tickets::default();
    let made = pass("ann");
    let grant = made.0.grant.clone();
    let secret = tickets.issue(made).unwrap();
    grant.revoked.cancel();
    assert_eq!(reason(tickets.take(&secret)), Reason::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_for_which_nothing_was_given_works_again_until_its_end() {
    let tickets = Tickets::default();
    let [first, second] = [(); 2].map(|()| tickets.issue(pass("ann")).unwrap());
    tokio::time::advance(Pass::LIFETIME - MINUTE).await;
    for secret in [&first, &second] {
        let (taken, until) = tickets.take(secret).unwrap();
        tickets.restore(secret, taken, until);
    }
    tickets.take(&first).unwrap();
    tokio::time::advance(MINUTE).await;
    assert_eq!(reason(tickets.take(&second)), Reason::NotFound);
}

#[tokio::test(start_paused = true)]
async fn an_owner_has_a_number_of_tickets_that_come_back_with_time() {
    let tickets = Tickets::default();
    for _ in 0..Pass::PER_OWNER {
        tickets.issue(pass("ann")).unwrap();
    }
    let refused = tickets.issue(pass("ann")).unwrap_err();
    assert_eq!(refused.reason, Reason::RateLimited);
    tickets.issue(pass("bob")).unwrap();
    tokio::time::advance(Pass::LIFETIME).await;
    tickets.issue(pass("ann")).unwrap();
}

#[test]
fn all_owners_together_have_a_number_of_tickets() {
    let tickets = Tickets::default();
    for number in 0..Pass::TOTAL {
        tickets.issue(pass(&format!("owner-{number}"))).unwrap();
    }
    let refused = tickets.issue(pass("ann")).unwrap_err();
    assert_eq!(refused.reason, Reason::RateLimited);
}

#[tokio::test(start_paused = true)]
async fn who_guesses_is_slowed_down_and_harms_nobody_with_a_ticket() {
    let tickets = Tickets::default();
    let good = tickets.issue(pass("ann")).unwrap();
    for _ in 0..MISSES {
        assert_eq!(reason(tickets.take("guess")), Reason::NotFound);
    }
    assert_eq!(reason(tickets.take("guess")), Reason::RateLimited);
    tickets.take(&good).unwrap();
    tokio::time::advance(MINUTE).await;
    assert_eq!(reason(tickets.take("guess")), Reason::NotFound);
}

#[test]
fn a_ticket_is_not_printed() {
    let tickets = Tickets::default();
    let secret = tickets.issue(pass("ann")).unwrap();
    assert!(!format!("{tickets:?}").contains(&secret["pass_".len()..]));
}
