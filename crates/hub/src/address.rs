//! Address file in the data directory of a running hub. Commands of the same user read the file to find a hub
//! on another port, on another address or with TLS.
//!
//! The hub holds a lock on the file while running. An unlocked file is a leftover of a killed hub: commands
//! name such a file in errors and do not connect.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// Name of the address file in the data directory.
const FILE: &str = "address";

/// Address under which local commands reach a hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// URL of the hub.
    pub url: String,
    /// Fingerprint of the hub's CA or certificate, for hubs with TLS. The file is as private as the hub's
    /// secrets, and commands trust only this fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

/// Address file of a running hub. Dropping the value removes the file.
#[derive(Debug)]
pub struct Published {
    path: PathBuf,
    /// Keeps the lock.
    #[allow(dead_code, reason = "it is kept open")]
    file: File,
}

impl Published {
    /// Writes the file, and replaces a leftover of an earlier hub.
    pub fn new(data_dir: &Path, address: &Address) -> io::Result<Self> {
        let path = data_dir.join(FILE);
        Ok(Self {
            file: write(&path, address)?,
            path,
        })
    }

    /// Replaces the address. The rename is atomic: commands read either the old or the new address.
    pub fn change(&mut self, address: &Address) -> io::Result<()> {
        self.file = write(&self.path, address)?;
        Ok(())
    }
}

/// Writes the file under a temporary name, locked and complete, and then renames the file.
fn write(path: &Path, address: &Address) -> io::Result<File> {
    // Only one hub at a time uses the data directory, hence the fixed name.
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

/// Locks the file if the file system supports locks. Without locks, commands cannot recognise leftover files.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// Content of a data directory's address file.
#[derive(Debug)]
pub enum Lookup {
    /// A hub is running.
    Running(Found),
    /// No hub is running. The last hub was killed and left the file.
    LeftBehind(Address),
    /// A hub may be running, but this user may not read the file.
    Unreadable(io::Error),
    /// No hub is running.
    Nothing,
}

/// Address of a running hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Address from the file.
    pub address: Address,
    /// User id of the file's owner, who runs the hub.
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
    // Only the hub takes the exclusive lock, and before the file gets its name, so this shared attempt
    // disturbs no starting hub.
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

/// Returns the address of the hub that runs with this data directory. `None` if no hub runs, or if this user
/// may not read the file.
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
