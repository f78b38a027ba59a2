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
pub struct LocalHubAddress {
    /// URL of the hub.
    pub url: String,
    /// Fingerprint of the hub's CA or certificate, for hubs with TLS. The file is as private as the hub's
    /// secrets, and commands trust only this fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

/// Address file of a running hub. Dropping the value removes the file.
#[derive(Debug)]
pub struct AddressFile {
    path: PathBuf,
    /// Keeps the lock.
    #[allow(dead_code, reason = "it is kept open")]
    file: File,
}

impl AddressFile {
    /// Writes the file, and replaces a leftover of an earlier hub.
    pub fn new(data_dir: &Path, address: &LocalHubAddress) -> io::Result<Self> {
        let path = data_dir.join(FILE);
        Ok(Self {
            file: write(&path, address)?,
            path,
        })
    }

    /// Replaces the address. The rename is atomic: commands read either the old or the new address.
    pub fn replace(&mut self, address: &LocalHubAddress) -> io::Result<()> {
        self.file = write(&self.path, address)?;
        Ok(())
    }
}

/// Writes the file under a temporary name, locked and complete, and then renames the file.
fn write(path: &Path, address: &LocalHubAddress) -> io::Result<File> {
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

impl Drop for AddressFile {
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
pub enum AddressLookup {
    /// A hub is running.
    Running(LiveAddress),
    /// No hub is running. The last hub was killed and left the file.
    LeftBehind(LocalHubAddress),
    /// A hub may be running, but this user may not read the file.
    Unreadable(io::Error),
    /// No hub is running.
    Nothing,
}

/// Address of a running hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveAddress {
    /// Address from the file.
    pub address: LocalHubAddress,
    /// User id of the file's owner, who runs the hub.
    pub owner: u32,
}

/// Looks for the hub that runs with this data directory.
pub fn look_up(data_dir: &Path) -> AddressLookup {
    let file = match File::open(data_dir.join(FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return AddressLookup::Unreadable(error);
        }
        Err(_) => return AddressLookup::Nothing,
    };
    // Only the hub takes the exclusive lock, and before the file gets its name, so this shared attempt
    // disturbs no starting hub.
    let is_running = file.try_lock_shared().is_err();
    let Ok(owner) = file.metadata().map(|it| it.uid()) else {
        return AddressLookup::Nothing;
    };
    match serde_json::from_reader(file) {
        Ok(address) if is_running => AddressLookup::Running(LiveAddress { address, owner }),
        Ok(address) => AddressLookup::LeftBehind(address),
        Err(_) => AddressLookup::Nothing,
    }
}

/// Returns the address of the hub that runs with this data directory. `None` if no hub runs, or if this user
/// may not read the file.
pub fn find(data_dir: &Path) -> Option<LocalHubAddress> {
    match look_up(data_dir) {
        AddressLookup::Running(found) => Some(found.address),
        AddressLookup::LeftBehind(_) | AddressLookup::Unreadable(_) | AddressLookup::Nothing => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> LocalHubAddress {
        LocalHubAddress {
            url: url.to_owned(),
            certificate: None,
        }
    }

    #[test]
    fn an_address_is_found_as_long_as_its_hub_runs() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(find(dir.path()), None);
        let first = address("http://127.0.0.1:1");
        let published = AddressFile::new(dir.path(), &first).unwrap();
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
        let AddressLookup::LeftBehind(left) = look_up(dir.path()) else {
            panic!("it is left behind");
        };
        assert_eq!(left, address("http://127.0.0.1:1"));
        let second = address("http://127.0.0.1:2");
        let mut published = AddressFile::new(dir.path(), &second).unwrap();
        assert_eq!(find(dir.path()), Some(second));
        let third = address("http://127.0.0.1:3");
        published.replace(&third).unwrap();
        assert_eq!(find(dir.path()), Some(third));
    }
}
