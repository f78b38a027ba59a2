//! Last conversation with each agent of each hub, for `call --continue`. Each is one small file, under
//! `$XDG_STATE_HOME/jackfield` or `~/.local/state/jackfield`.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use jackfield_sdk::encode;

/// Returns the folder for state files of this user.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let from = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let state = from("XDG_STATE_HOME").or_else(|| Some(from("HOME")?.join(".local/state")))?;
    Some(state.join("jackfield"))
}

fn folder() -> Option<PathBuf> {
    Some(state_folder()?.join("sessions"))
}

/// Returns the file for an agent. Both names are safe in a path: the hub's URL is encoded, and an agent id
/// has no slash and begins with a letter or digit.
fn file(folder: &Path, hub: &str, agent: &str) -> PathBuf {
    folder.join(encode(hub)).join(agent)
}

/// Returns the id of the last conversation with an agent.
pub(crate) fn last(hub: &str, agent: &str) -> Option<String> {
    let text = fs::read_to_string(file(&folder()?, hub, agent)).ok()?;
    Some(text.trim().to_owned()).filter(|session| !session.is_empty())
}

/// Stores the id of the last conversation with an agent, for [`last`].
pub(crate) fn remember(hub: &str, agent: &str, session: &str) -> io::Result<()> {
    match folder() {
        Some(folder) => save(&file(&folder, hub, agent), session),
        None => Ok(()),
    }
}

fn save(file: &Path, session: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    // Write to a temporary name first: a concurrent call reads either the old or the new id.
    let new = file.with_file_name(format!(".new-{}", std::process::id()));
    fs::write(&new, format!("{session}\n"))?;
    fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_of_each_hub_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let one = file(folder.path(), "http://127.0.0.1:7411", "a:b@c");
        let two = file(folder.path(), "https://hub/base", "a:b@c");
        save(&one, "first").unwrap();
        save(&two, "second").unwrap();
        save(&one, "third").unwrap();
        assert_eq!(fs::read_to_string(one).unwrap(), "third\n");
        assert_eq!(fs::read_to_string(two).unwrap(), "second\n");
    }
}
