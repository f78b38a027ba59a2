//! When a callback is tried again, and when it is given up.

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn row(attempts: u32) -> OutboxRow {
    let callback = Callback {
        url: "https://example.com/done".into(),
        kind: "bridge".into(),
        data: None,
        token: None,
    };
    let task = jackfield_model::CallId::new().into();
    OutboxRow {
        attempts,
        ..OutboxRow::new(task, callback, Timestamp::UNIX_EPOCH)
    }
}

#[test]
fn pauses_double_from_a_second_to_a_quarter_of_an_hour() {
    let longest: Vec<u64> = (0..12).map(|n| pause(n, 1.0, None).as_secs()).collect();
    assert_eq!(longest, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
    for n in [31, 32, 33, u32::MAX] {
        assert_eq!(pause(n, 1.0, None), LONGEST_PAUSE);
    }
    assert_eq!(pause(5, 0.0, None), Duration::ZERO);
    assert_eq!(pause(5, 0.5, None), 16 * SECOND);
}

#[test]
fn a_destination_that_asks_for_time_gets_it_up_to_the_longest_pause() {
    assert_eq!(pause(0, 0.5, Some(60 * SECOND)), 60 * SECOND);
    assert_eq!(pause(9, 1.0, Some(60 * SECOND)), 512 * SECOND, "no sooner");
    assert_eq!(pause(0, 0.0, Some(Duration::MAX)), LONGEST_PAUSE);
}

#[test]
fn after_a_day_it_is_given_up() {
    let (row, day) = (row(20), row(0).created_at + GIVE_UP);
    let tried_at = |now| row.after_failure(now, 1.0, None, "503".into());
    let early = day - LONGEST_PAUSE;
    assert_eq!(
        tried_at(early),
        Settled::Retry {
            at: day,
            error: "503".into()
        }
    );
    let dead = Settled::Dead {
        error: "503".into(),
    };
    assert_eq!(tried_at(early + SECOND), dead);
    assert_eq!(tried_at(Timestamp::MAX), dead);
}

#[test]
fn a_destination_is_scheme_host_and_port() {
    for (url, origin) in [
        ("https://Example.com/a/b?c", "https://example.com"),
        ("https://example.com:8443?x=/", "https://example.com:8443"),
        ("http://user:secret@example.com#x", "http://example.com"),
        ("https://example.com\\@other/", "https://example.com"),
        ("nonsense", "://nonsense"),
    ] {
        let callback = Callback {
            url: url.into(),
            ..row(0).callback
        };
        assert_eq!(callback.origin(), origin);
    }
}

#[test]
fn a_follower_is_told_in_a_lane_of_its_own() {
    let OutboxRow { task, callback, .. } = row(0);
    let kind = callback.kind.clone();
    let follower = Follower {
        id: "a/b".into(),
        callback,
    };
    let told = OutboxRow::to(&follower, task, 7, Timestamp::UNIX_EPOCH);
    assert_eq!(told.lane, Some(format!("{task}/{kind}/a/b")));
    assert_eq!((told.pos, told.follower()), (Some(7), Some("a/b")));
    assert_eq!((row(0).lane.as_deref(), row(0).follower()), (None, None));
}

proptest! {
    #[test]
    fn no_pause_is_longer_than_the_longest_and_a_day_has_its_end(
        fractions in proptest::collection::vec(0.0..1.0, 1..400),
        retry_after in proptest::option::of(0u64..1_000_000),
    ) {
        let mut row = row(0);
        let mut now = row.created_at;
        for fraction in fractions {
            match row.after_failure(now, fraction, retry_after.map(Duration::from_secs), String::new()) {
                Settled::Retry { at, .. } => {
                    prop_assert!(at >= now && at <= now + LONGEST_PAUSE && at <= row.created_at + GIVE_UP);
                    now = at;
                    row.attempts += 1;
                }
                Settled::Dead { .. } => {
                    prop_assert!(now + LONGEST_PAUSE > row.created_at + GIVE_UP);
                    return Ok(());
                }
                Settled::Delivered => prop_assert!(false),
            }
        }
    }
}
