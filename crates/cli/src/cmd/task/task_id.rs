//! Task ids on the command line: full, or the ending that `watch` shows.

use anyhow::Result;
use jackfield_model::TaskId;
use jackfield_sdk::Hub;

use crate::{
    client,
    exit::{CliError, ErrorSubject, ExitKind},
    output::{items, text},
};

/// Minimum length of an id ending.
const SHORTEST: usize = 6;

/// Parses a task id as typed. An invalid id is refused before any request to the hub.
pub(super) fn task(typed: &str) -> Result<String, String> {
    let typed = typed.trim();
    if let Some(id) = TaskId::parse(typed) {
        return Ok(id.to_string());
    }
    let is_end = typed.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if is_end && typed.len() >= SHORTEST {
        return Ok(typed.to_ascii_lowercase());
    }
    Err("use the id that jackfield task ls shows, or the end of it".to_owned())
}

/// Returns the full [`TaskId`] of the named task, or of the call that waits for this user. Endings are searched among
/// the latest tasks only.
pub(super) async fn find(hub: &Hub, named: &str) -> Result<String> {
    if TaskId::parse(named).is_some() {
        return Ok(named.to_owned());
    }
    let calls = client::get(hub, "/v1/calls?limit=200", ErrorSubject::Task).await?;
    let waiting = items(&calls, "waiting").iter().map(|call| {
        let id = text(call, "id");
        [call["task"].as_str().unwrap_or(id), id]
    });
    let tasks = items(&calls, "tasks").iter();
    let tasks = tasks.map(|task| [text(task, "id"), text(task, "call")]);
    let ends = |id: &&str| id.ends_with(named);
    let found = waiting.chain(tasks).filter(|ids| ids.iter().any(ends));
    let mut found: Vec<_> = found.map(|[id, _]| id).collect();
    found.sort_unstable();
    found.dedup();
    match found[..] {
        [id] => Ok(id.to_owned()),
        [] => Err(CliError::new(
            ExitKind::Missing,
            format!("none of your last task ids ends in {named}"),
            "jackfield task ls lists them; a call that is not stored as a task needs its whole id",
        )
        .into()),
        _ => Err(CliError::new(
            ExitKind::Usage,
            format!("several task ids end in {named}: {}", found.join(", ")),
            "give more of the id",
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_by_its_id_or_the_end_of_it() {
        let id = "0199c2f0-1111-7aaa-8bbb-123456789abc";
        assert_eq!(task(&id.to_uppercase()).unwrap(), id);
        assert_eq!(task("56789ABC").unwrap(), "56789abc");
        for bad in ["9abc", "the last one", ""] {
            assert!(task(bad).is_err(), "{bad}");
        }
    }
}
