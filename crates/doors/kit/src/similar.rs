//! Ids of agents that somebody may have meant.
//!
//! A miss costs little, however many agents there are and however long the asked id is: ids are sorted out by length and
//! letters, at most `COMPARED` are compared, and nothing is compared that is longer than an id can be.

use jackfield_core::{hub::Hub, principal::Principal};
use jackfield_model::{AgentId, Failure, id::MAX_NAME};

/// How many are named.
const NAMED: usize = 3;
/// How many ids are compared letter by letter, those nearest in length first. Of two ids of 128 characters that takes some
/// 16,000 steps, so that a miss takes 7 million at most, a few milliseconds: few enough for the thread that answers it.
const COMPARED: usize = 200;
/// The letters are counted in so many classes. Ids have 67 different characters; those that share a class are told apart
/// by the comparison.
const CLASSES: usize = 64;

/// The failure of a call to an agent; one that there is not gets the ids of those that may have been meant, of those
/// that the principal may see.
pub fn with_meant(failure: Failure, given: &str, hub: &Hub, principal: &Principal) -> Failure {
    if failure != Failure::no_such_agent(given) {
        return failure;
    }
    let Some(asked) = Asked::new(given) else {
        return failure;
    };
    let near = hub
        .agents()
        .visible_ids(principal, |id| asked.may_mean(id.as_str()));
    let meant = asked.nearest(near.iter().map(AgentId::as_str).collect());
    if meant.is_empty() {
        return failure;
    }
    let meant: Vec<_> = meant.iter().map(|id| format!("{id:?}")).collect();
    let text = format!("{}; perhaps {} is meant", failure.text, meant.join(" or "));
    Failure::new(failure.reason, text)
}

/// An id that was asked for.
struct Asked {
    /// In lower case.
    id: String,
    /// How many characters may differ.
    far: usize,
    letters: Letters,
}

/// How often letters of each class occur.
#[derive(Clone, Copy)]
struct Letters([i16; CLASSES]);

impl Letters {
    fn of(text: &str) -> Self {
        let mut counts = [0; CLASSES];
        for byte in text.bytes() {
            counts[usize::from(byte.to_ascii_lowercase()) % CLASSES] += 1;
        }
        Self(counts)
    }

    /// At least how many letters must be added, taken away or changed to make one of the other.
    fn differ(&self, other: &Self) -> usize {
        let (mut more, mut less) = (0, 0);
        for (ours, theirs) in self.0.iter().zip(&other.0) {
            let by = ours - theirs;
            if by > 0 {
                more += by;
            } else {
                less -= by;
            }
        }
        usize::from(more.max(less).unsigned_abs())
    }
}

impl Asked {
    /// Nothing for what can be no id, nor a slip of one.
    fn new(given: &str) -> Option<Self> {
        if given.is_empty() || given.len() > MAX_NAME {
            return None;
        }
        let id = given.to_lowercase();
        Some(Self {
            far: (id.chars().count() / 3).max(2),
            letters: Letters::of(&id),
            id,
        })
    }

    /// Whether a name may be near enough. Cheap: a look at its length and its letters.
    fn may_mean(&self, name: &str) -> bool {
        self.is_part(name)
            || self.has_letters_of(name)
            || stem(name).is_some_and(|stem| self.has_letters_of(stem))
    }

    fn has_letters_of(&self, name: &str) -> bool {
        // Names are ASCII; what was asked for need not be, and has no more characters than bytes.
        name.len() <= self.id.len() + self.far
            && name.len() + self.far >= self.id.chars().count()
            && self.letters.differ(&Letters::of(name)) <= self.slack()
    }

    /// By how many bytes what was asked for may differ if `far` characters do.
    fn slack(&self) -> usize {
        let beyond_ascii = self.id.len() - self.id.chars().count();
        self.far + beyond_ascii
    }

    /// Whether one is a part of the other.
    fn is_part(&self, name: &str) -> bool {
        let lower = name.to_ascii_lowercase();
        if lower.len() >= self.id.len() {
            lower.contains(&self.id)
        } else {
            self.id.contains(&lower)
        }
    }

    /// The names that are compared.
    fn shortlist<'a>(&self, mut names: Vec<&'a str>) -> Vec<&'a str> {
        if names.len() > COMPARED {
            let order = |name: &&'a str| (name.len().abs_diff(self.id.len()), *name);
            names.select_nth_unstable_by_key(COMPARED, order);
            names.truncate(COMPARED);
        }
        names
    }

    /// Those of the names that are like the one that was asked for, best first. What follows an `@` need not be known.
    fn nearest<'a>(&self, names: Vec<&'a str>) -> Vec<&'a str> {
        let names = self.shortlist(names);
        let mut found: Vec<_> = names
            .into_iter()
            .filter_map(|name| {
                let lower = name.to_ascii_lowercase();
                let whole = strsim::levenshtein(&self.id, &lower);
                let stem = stem(&lower).map(|stem| strsim::levenshtein(&self.id, stem));
                let distance = stem.map_or(whole, |stem| stem.min(whole));
                (distance <= self.far || self.is_part(name)).then_some((distance, name))
            })
            .collect();
        found.sort_unstable();
        found.truncate(NAMED);
        found.into_iter().map(|(_, name)| name).collect()
    }
}

/// What stands before the `@` of a name that has one.
fn stem(name: &str) -> Option<&str> {
    name.split_once('@').map(|(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar<'a>(given: &str, names: &[&'a str]) -> Vec<&'a str> {
        let Some(asked) = Asked::new(given) else {
            return Vec::new();
        };
        let near = names.iter().copied();
        asked.nearest(near.filter(|name| asked.may_mean(name)).collect())
    }

    #[test]
    fn a_slip_finds_what_was_meant_and_nonsense_finds_nothing() {
        let of = |given| similar(given, &["translator", "echo", "echo-2", "reviewer"]);
        assert_eq!(of("ehco"), ["echo"]);
        assert_eq!(of("Echo"), ["echo", "echo-2"]);
        assert_eq!(of("\u{e9}cho"), ["echo"]);
        assert_eq!(of("xecho"), ["echo"]);
        assert_eq!(of("translater"), ["translator"]);
        assert_eq!(of("review"), ["reviewer"]);
        assert!(of("quantum-banana").is_empty());
        assert!(of("").is_empty());
        let peer = "weather@wUpT3WyJGkoj";
        for given in ["weather", "Weathr"] {
            assert_eq!(similar(given, &[peer]), [peer]);
        }
    }

    #[test]
    fn what_is_sorted_out_by_its_letters_would_not_have_been_near() {
        let names = ["abc", "cab@x", "bca", "aabbcc", "xyz-1", "Echo_1", "a:b@c"];
        for given in ["abc", "ACB", "bbb", "echo", "\u{e9}cho-1", "zyx", "a:b"] {
            let asked = Asked::new(given).unwrap();
            for name in names.iter().filter(|name| !asked.may_mean(name)) {
                let lower = name.to_ascii_lowercase();
                let stem = lower.split('@').next().unwrap();
                let near = strsim::levenshtein(&asked.id, &lower)
                    .min(strsim::levenshtein(&asked.id, stem));
                assert!(near > asked.far, "{given} {name}");
            }
        }
    }

    #[test]
    fn what_is_longer_than_any_id_is_compared_with_nothing() {
        assert!(Asked::new(&"x".repeat(MAX_NAME)).is_some());
        assert!(Asked::new(&"x".repeat(MAX_NAME + 1)).is_none());
    }

    #[test]
    fn of_many_names_those_nearest_in_length_are_compared_and_no_more() {
        let width = |n: usize| n % 90;
        let names = (0..20_000).map(|n| format!("agent-{n:0w$}", w = width(n)));
        let names: Vec<_> = names.chain(["agent-x".to_owned()]).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(similar("agemt-x", &names)[0], "agent-x");
        let compared = Asked::new("agent").unwrap().shortlist(names.clone());
        assert_eq!(compared.len(), COMPARED);
        assert!(compared.contains(&"agent-x"));
        let longest = compared.iter().map(|name| name.len()).max().unwrap();
        let nearer = names.iter().filter(|name| name.len() < longest);
        assert!(nearer.count() < COMPARED);
    }
}
