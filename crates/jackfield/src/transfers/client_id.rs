//! Whose files agents keep apart: one name for this user of this machine, made once. It is random, since whoever may call an
//! agent and knows it gets the same folder there.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

use anyhow::{Context as _, Result};
use jackfield_wire::bridge::{FREE_CLIENT_ID, is_free_client_id};
use uuid::Uuid;

use crate::{exit::Stop, sessions};

const FILE: &str = "client-id";

/// A name that was typed.
pub(crate) fn parse(text: &str) -> Result<String, String> {
    match is_free_client_id(text) {
        true => Ok(text.to_owned()),
        false => Err(FREE_CLIENT_ID.to_owned()),
    }
}

/// The name of this user of this machine.
pub(crate) fn own() -> Result<String> {
    let state = sessions::state_folder().ok_or_else(|| {
        Stop::usage("there is no folder for what must be kept; set HOME or XDG_STATE_HOME, or name a client with --client ID")
    })?;
    load_or_make(&state).context("cannot keep the name under which agents keep your files")
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
    // Whole under another name first, so that nobody reads half of it; who is second takes the first one's.
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

/// Nothing if there is none.
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
