//! Suggestions for a mistyped agent id.
//!
//! A miss costs little, independent of the number of agents and the length of the requested id: candidates
//! are filtered by length and letters, at most `MAX_COMPARED` are compared, and an id longer than the maximum is
//! not compared at all.

use jackfield_core::{hub::Hub, principal::Principal};
use jackfield_model::{AgentId, Failure, id::MAX_NAME};

/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;
/// Maximum number of ids compared letter by letter, those nearest in length first. Two ids of 128 characters
/// take some 16,000 steps, so a miss takes 7 million at most, a few milliseconds: few enough for the thread
/// that answers the request.
const MAX_COMPARED: usize = 200;
/// Number of classes for counting letters. Ids have 67 different characters; the full comparison
/// distinguishes characters of one class.
const CLASSES: usize = 64;

/// Adds suggestions to the failure of a call to an unknown agent: similar ids that the [`Principal`] may see.
/// Other failures stay unchanged.
pub fn with_suggestions(
    failure: Failure,
    given: &str,
    hub: &Hub,
    principal: &Principal,
) -> Failure {
    if failure != Failure::no_such_agent(given) {
        return failure;
    }
    let Some(asked) = RequestedId::new(given) else {
        return failure;
    };
    let near = hub
        .agents()
        .visible_ids(principal, |id| asked.may_match(id.as_str()));
    let meant = asked.nearest(near.iter().map(AgentId::as_str).collect());
    if meant.is_empty() {
        return failure;
    }
    let meant: Vec<_> = meant.iter().map(|id| format!("{id:?}")).collect();
    let text = format!("{}; perhaps {} is meant", failure.text, meant.join(" or "));
    Failure::new(failure.reason, text)
}

/// A requested id.
struct RequestedId {
    /// Requested id in lower case.
    id: String,
    /// Maximum number of different characters.
    far: usize,
    letters: LetterCounts,
}

/// Number of letters in each class.
#[derive(Clone, Copy)]
struct LetterCounts([i16; CLASSES]);

impl LetterCounts {
    fn of(text: &str) -> Self {
        let mut counts = [0; CLASSES];
        for byte in text.bytes() {
            counts[usize::from(byte.to_ascii_lowercase()) % CLASSES] += 1;
        }
        Self(counts)
    }

    /// Returns a lower bound for the number of letters to insert, delete or change between two texts.
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

impl RequestedId {
    /// Returns `None` for a text that cannot be an id, nor a typo of one.
    fn new(given: &str) -> Option<Self> {
        if given.is_empty() || given.len() > MAX_NAME {
            return None;
        }
        let id = given.to_lowercase();
        Some(Self {
            far: (id.chars().count() / 3).max(2),
            letters: LetterCounts::of(&id),
            id,
        })
    }

    /// Returns whether a name may be similar enough. Cheap: compares only length and letters.
    fn may_match(&self, name: &str) -> bool {
        self.is_part(name)
            || self.has_letters_of(name)
            || stem(name).is_some_and(|stem| self.has_letters_of(stem))
    }

    fn has_letters_of(&self, name: &str) -> bool {
        // Names are ASCII; the requested id may not be, and has no more characters than bytes.
        name.len() <= self.id.len() + self.far
            && name.len() + self.far >= self.id.chars().count()
            && self.letters.differ(&LetterCounts::of(name)) <= self.slack()
    }

    /// Returns how many bytes of the requested id may differ if `far` characters do.
    fn slack(&self) -> usize {
        let beyond_ascii = self.id.len() - self.id.chars().count();
        self.far + beyond_ascii
    }

    /// Returns whether one of the two names contains the other.
    fn is_part(&self, name: &str) -> bool {
        let lower = name.to_ascii_lowercase();
        if lower.len() >= self.id.len() {
            lower.contains(&self.id)
        } else {
            self.id.contains(&lower)
        }
    }

    /// Selects the names to compare.
    fn shortlist<'a>(&self, mut names: Vec<&'a str>) -> Vec<&'a str> {
        if names.len() > MAX_COMPARED {
            let order = |name: &&'a str| (name.len().abs_diff(self.id.len()), *name);
            names.select_nth_unstable_by_key(MAX_COMPARED, order);
            names.truncate(MAX_COMPARED);
        }
        names
    }

    /// Returns the names similar to the requested id, best first. A match of the part before `@` is enough.
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
        found.truncate(MAX_SUGGESTIONS);
        found.into_iter().map(|(_, name)| name).collect()
    }
}

/// Returns the part before the `@` of a name, if there is an `@`.
fn stem(name: &str) -> Option<&str> {
    name.split_once('@').map(|(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar<'a>(given: &str, names: &[&'a str]) -> Vec<&'a str> {
        let Some(asked) = RequestedId::new(given) else {
            return Vec::new();
        };
        let near = names.iter().copied();
        asked.nearest(near.filter(|name| asked.may_match(name)).collect())
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
            let asked = RequestedId::new(given).unwrap();
            for name in names.iter().filter(|name| !asked.may_match(name)) {
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
        assert!(RequestedId::new(&"x".repeat(MAX_NAME)).is_some());
        assert!(RequestedId::new(&"x".repeat(MAX_NAME + 1)).is_none());
    }

    #[test]
    fn of_many_names_those_nearest_in_length_are_compared_and_no_more() {
        let width = |n: usize| n % 90;
        let names = (0..20_000).map(|n| format!("agent-{n:0w$}", w = width(n)));
        let names: Vec<_> = names.chain(["agent-x".to_owned()]).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(similar("agemt-x", &names)[0], "agent-x");
        let compared = RequestedId::new("agent").unwrap().shortlist(names.clone());
        assert_eq!(compared.len(), MAX_COMPARED);
        assert!(compared.contains(&"agent-x"));
        let longest = compared.iter().map(|name| name.len()).max().unwrap();
        let nearer = names.iter().filter(|name| name.len() < longest);
        assert!(nearer.count() < MAX_COMPARED);
    }
}
