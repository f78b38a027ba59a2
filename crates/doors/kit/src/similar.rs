//! Ids of agents that somebody may have meant.

use jackfield_core::{
    failure::Failure,
    hub::{Hub, Wanted},
    principal::Principal,
};

/// How many are named.
const NAMED: usize = 3;

/// The failure of a call to an agent; one that there is not gets the ids of those that may have been meant, of those
/// that the principal may see.
pub fn with_meant(failure: Failure, given: &str, hub: &Hub, principal: &Principal) -> Failure {
    if failure != Failure::no_such_agent(given) {
        return failure;
    }
    let views = hub.discover(principal, &Wanted::default());
    let meant = similar(given, views.iter().map(|view| view.id.as_str()));
    if meant.is_empty() {
        return failure;
    }
    let meant: Vec<_> = meant.iter().map(|id| format!("{id:?}")).collect();
    let text = format!("{}; perhaps {} is meant", failure.text, meant.join(" or "));
    Failure::new(failure.reason, text)
}

/// Those of the names that are like the one that was given, best first. What follows an `@` need not be known.
fn similar<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let given = given.to_lowercase();
    let far = (given.chars().count() / 3).max(2);
    let mut found: Vec<_> = names
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let is_part = !given.is_empty() && (lower.contains(&given) || given.contains(&lower));
            let stem = lower.split('@').next().unwrap_or_default();
            let distance = distance(&given, &lower).min(distance(&given, stem));
            (is_part || distance <= far).then_some((distance, name))
        })
        .collect();
    found.sort_unstable();
    found.truncate(NAMED);
    found.into_iter().map(|(_, name)| name).collect()
}

/// How many characters must be added, taken away or changed to make one of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, cb) in b.iter().enumerate() {
            let changed = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_what_was_meant_and_nonsense_finds_nothing() {
        let names = ["translator", "echo", "echo-2", "reviewer"];
        let of = |given| similar(given, names.into_iter());
        assert_eq!(of("ehco"), ["echo"]);
        assert_eq!(of("Echo"), ["echo", "echo-2"]);
        assert_eq!(of("translater"), ["translator"]);
        assert_eq!(of("review"), ["reviewer"]);
        assert!(of("quantum-banana").is_empty());
        let peer = "weather@wUpT3WyJGkoj";
        for given in ["weather", "weathr"] {
            assert_eq!(similar(given, [peer].into_iter()), [peer]);
        }
    }

    #[test]
    fn distances_are_those_of_the_book() {
        for (a, b, far) in [
            ("kitten", "sitting", 3),
            ("", "abc", 3),
            ("é", "e", 1),
            ("x", "x", 0),
        ] {
            assert_eq!(distance(a, b), far, "{a} {b}");
        }
    }
}
