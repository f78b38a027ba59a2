//! What a caller is told of files that do not come to it: as status, which everybody understands. `jackfield call` knows it by
//! how it begins, and shows it whatever else it shows.

use std::fmt::Display;

use jackfield_files::{Names, Omitted};

/// How a status begins that says why there is no archive though somebody asked for one.
const NO_OFFER: &str = "no files are offered: ";
/// How a status begins that says which files are not in the archive, and why.
const NOT_SENT: &str = "not sent: ";

/// Whether a status says something about files that do not come.
pub fn is_note(status: &str) -> bool {
    status.starts_with(NOT_SENT) || is_refusal(status)
}

/// Whether a status says that nothing is offered, whatever there is.
pub fn is_refusal(status: &str) -> bool {
    status.starts_with(NO_OFFER)
}

pub(super) fn no_offer(why: impl Display) -> String {
    format!("{NO_OFFER}{why}")
}

pub(super) fn omitted(omitted: &Omitted) -> String {
    format!("{NOT_SENT}{omitted}")
}

/// Files that an agent wrote through the links to its project.
pub(super) fn behind_links(names: &Names) -> String {
    let (what, are) = match names.count() {
        1 => ("a file", "it is"),
        _ => ("files", "they are"),
    };
    format!(
        "{NOT_SENT}{what} of the project, changed during this call: {names}; {are} behind links, which only lead there. What \
         the agent makes for you needs a name that the project does not have, or the project must lose its own"
    )
}
