//! Status lines that tell a caller which files are not sent. Every caller can show a status. `jackfield call`
//! recognizes the lines by their prefix and always shows them.

use std::fmt::Display;

use jackfield_transfer::{NameList, OmittedEntries};

/// Prefix of a status that explains why no archive is offered although the caller asked for one.
const NO_OFFER: &str = "no files are offered: ";
/// Prefix of a status that lists files missing in the archive, with the reason.
const NOT_SENT: &str = "not sent: ";

/// Returns whether a status is about files that are not sent.
pub fn is_note(status: &str) -> bool {
    status.starts_with(NOT_SENT) || is_refusal(status)
}

/// Returns whether a status states that no archive is offered at all.
pub fn is_refusal(status: &str) -> bool {
    status.starts_with(NO_OFFER)
}

pub(super) fn no_offer(why: impl Display) -> String {
    format!("{NO_OFFER}{why}")
}

pub(super) fn omitted(omitted: &OmittedEntries) -> String {
    format!("{NOT_SENT}{omitted}")
}

/// Lists files that the agent wrote through links into its project.
pub(super) fn behind_links(names: &NameList) -> String {
    let (what, are) = match names.count() {
        1 => ("a file", "it is"),
        _ => ("files", "they are"),
    };
    format!(
        "{NOT_SENT}{what} of the project, changed during this call: {names}; {are} behind links, which only lead there. What \
         the agent makes for you needs a name that the project does not have, or the project must lose its own"
    )
}
