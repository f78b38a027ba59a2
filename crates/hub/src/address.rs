//! The address of the hub that runs with a data directory, in a file there, so that commands of the same user find a hub on
//! another port, on another address or with TLS.
//!
//! The hub keeps the file locked while it runs. A file that nobody has locked is left over from a hub that was killed:
//! commands name it in errors and do not connect there.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// The name of the file in the data directory.
const FILE: &str = "address";

/// Where local commands reach a hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The URL.
    pub url: String,
    /// The fingerprint of the hub's CA or certificate, if it has one. The file is as private as the hub's secrets, so commands
    /// trust it and nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

/// The file of a running hub. Dropping it removes the file.
#[derive(Debug)]
pub struct Published {
    path: PathBuf,
    /// Holds the lock.
    #[allow(dead_code, reason = "it is kept open")]
    file: File,
}

impl Published {
    /// Writes the file, in place of what an earlier hub left.
    pub fn new(data_dir: &Path, address: &Address) -> io::Result<Self> {
        let path = data_dir.join(FILE);
        Ok(Self {
            file: write(&path, address)?,
            path,
        })
    }

    /// Writes another address in place of this one; commands find one or the other at any time.
    pub fn change(&mut self, address: &Address) -> io::Result<()> {
        self.file = write(&self.path, address)?;
        Ok(())
    }
}

/// Writes the file, which has its lock and its whole text before it has its name.
fn write(path: &Path, address: &Address) -> io::Result<File> {
    // Only one hub at a time has the data directory.
    let temp = path.with_extension("new");
    match fs::remove_file(&temp) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temp)?;
    lock(&file)?;
    file.write_all(serde_json::to_string(address)?.as_bytes())?;
    fs::rename(&temp, path)?;
    Ok(file)
}

impl Drop for Published {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// Locks the file where its file system has locks. Where it has none, a file that is left over is not recognised.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// What the file in a data directory says.
#[derive(Debug)]
pub enum Lookup {
    /// A hub runs.
    Running(Found),
    /// No hub runs. The last one was killed, and left its address.
    LeftBehind(Address),
    /// There may be a hub, and this user may not read its address.
    Unreadable(io::Error),
    /// No hub runs.
    Nothing,
}

/// The address of a hub that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The address.
    pub address: Address,
    /// The number of the user who owns the file, and runs the hub.
    pub owner: u32,
}

/// Looks for the hub that runs with this data directory.
pub fn look(data_dir: &Path) -> Lookup {
    let file = match File::open(data_dir.join(FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Lookup::Unreadable(error);
        }
        Err(_) => return Lookup::Nothing,
    };
    // Nobody else takes this lock exclusively after the hub, so asking for it disturbs no hub that starts meanwhile.
    let is_running = file.try_lock_shared().is_err();
    let Ok(owner) = file.metadata().map(|it| it.uid()) else {
        return Lookup::Nothing;
    };
    match serde_json::from_reader(file) {
        Ok(address) if is_running => Lookup::Running(Found { address, owner }),
        Ok(address) => Lookup::LeftBehind(address),
        Err(_) => Lookup::Nothing,
    }
}

/// The address of the hub that runs with this data directory. Nothing if none runs, or if this user may not read it.
pub fn find(data_dir: &Path) -> Option<Address> {
    match look(data_dir) {
        Lookup::Running(found) => Some(found.address),
        Lookup::LeftBehind(_) | Lookup::Unreadable(_) | Lookup::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Address {
        Address {
            url: url.to_owned(),
            certificate: None,
        }
    }

    #[test]
    fn an_address_is_found_as_long_as_its_hub_runs() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(find(dir.path()), None);
        let first = address("http://127.0.0.1:1");
        let published = Published::new(dir.path(), &first).unwrap();
        assert_eq!(find(dir.path()), Some(first));
        drop(published);
        assert_eq!(find(dir.path()), None);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_address_that_a_killed_hub_left_is_ignored_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), r#"{"url":"http://127.0.0.1:1"}"#).unwrap();
        fs::write(dir.path().join("address.new"), "half").unwrap();
        assert_eq!(find(dir.path()), None);
        let Lookup::LeftBehind(left) = look(dir.path()) else {
            panic!("it is left behind");
        };
        assert_eq!(left, address("http://127.0.0.1:1"));
        let second = address("http://127.0.0.1:2");
        let mut published = Published::new(dir.path(), &second).unwrap();
        assert_eq!(find(dir.path()), Some(second));
        let third = address("http://127.0.0.1:3");
        published.change(&third).unwrap();
        assert_eq!(find(dir.path()), Some(third));
    }
}
