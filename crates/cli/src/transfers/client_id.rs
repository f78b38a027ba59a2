//! Client id under which agents keep files separate: one per user and machine, created once. The id is
//! random, because every caller who knows the id gets the same folder at the agent.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

use anyhow::{Context as _, Result};
use jackfield_wire::bridge::{FREE_CLIENT_ID_RULE, is_free_client_id};
use uuid::Uuid;

use crate::{exit::CliError, sessions};

const FILE: &str = "client-id";

/// Parses a client id as typed.
pub(crate) fn parse(text: &str) -> Result<String, String> {
    match is_free_client_id(text) {
        true => Ok(text.to_owned()),
        false => Err(FREE_CLIENT_ID_RULE.to_owned()),
    }
}

/// Returns the client id of this user and machine.
pub(crate) fn own() -> Result<String> {
    let state = sessions::state_folder().ok_or_else(|| {
        CliError::usage("there is no folder for state files; set HOME or XDG_STATE_HOME, or name a client with --client ID")
    })?;
    load_or_make(&state).context("cannot store the client id under which agents keep your files")
}

fn load_or_make(state: &Path) -> io::Result<String> {
    let file = state.join(FILE);
    if let Some(id) = read(&file)? {
        return Ok(id);
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state)?;
    // Write to a temporary name first, so that no process reads a partial file. Of two concurrent processes,
    // the second uses the id of the first.
    let draft = state.join(format!(".{FILE}-{}", std::process::id()));
    let mut made = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    writeln!(made, "{}", Uuid::new_v4())?;
    let linked = fs::hard_link(&draft, &file);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => read(&file)?.ok_or_else(|| io::Error::other(format!("{} is damaged", file.display()))),
    }
}

/// Reads the id; `None` if there is none.
fn read(file: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|id| is_free_client_id(id))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_name_is_made_once_and_for_the_owner_alone() {
        let state = tempfile::tempdir().unwrap();
        let id = load_or_make(state.path()).unwrap();
        assert!(is_free_client_id(&id));
        assert_eq!(load_or_make(state.path()).unwrap(), id);
        let meta = fs::metadata(state.path().join(FILE)).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(load_or_make(other.path()).unwrap(), id);
    }
}
