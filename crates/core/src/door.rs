//! Names of doors that come from the store. A door names itself by a constant, which calls, metrics and logs
//! carry without copying; the store keeps the name as text. There is no list of doors here: any stored text
//! is a name.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// Largest number of names that are kept for the life of the process. Programs have a dozen doors.
const NAMES: usize = 256;
/// Name in place of further ones.
const OTHER: &str = "other";

static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns a door's name with the lifetime of the process.
pub(crate) fn interned(name: &str) -> &'static str {
    let mut known = KNOWN.lock();
    if let Some(known) = known.get(name) {
        return known;
    }
    if known.len() >= NAMES {
        return OTHER;
    }
    let kept: &'static str = Box::leak(name.into());
    known.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_as_written_and_is_kept_once() {
        let first = interned("a door that nobody wrote yet");
        assert_eq!(first, "a door that nobody wrote yet");
        let again = interned(&String::from(first));
        assert!(std::ptr::eq(first, again));
    }
}
