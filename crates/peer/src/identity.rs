//! The identity of a node: an Ed25519 key in a file of the data directory that only its owner may read,
//! created at the first start. Keys of other programs are accepted too: a file with a bare seed of 32 bytes,
//! or with libp2p's own encoding of a key.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use libp2p::identity::{Keypair, ed25519};

/// Name of the key file in the data directory.
pub const FILE: &str = "p2p-key";

/// Name that the original programs give to the key file.
const ORIGINAL_FILE: &str = "node.key";

/// Length of a seed, as the original programs keep it.
const SEED: usize = 32;

/// Largest key file in bytes: an encoded RSA key of 4096 bits takes about half.
const MAX_FILE: u64 = 8 * 1024;

/// Why no identity could be loaded or created.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The file could not be created.
    #[error("cannot make {path}")]
    Make {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Other users could have read the key.
    #[error("{path} can be read by other users; run `chmod 600 {path}`", path = .0.display())]
    Open(PathBuf),
    /// The file holds no key.
    #[error(
        "{path} holds neither a seed of 32 bytes nor a libp2p key; remove it, and a new identity is made",
        path = .0.display()
    )]
    NoKey(PathBuf),
}

/// The node's key on disk.
#[derive(Debug)]
pub struct Identity;

impl Identity {
    /// Loads the [`Keypair`] of this data directory, or creates one. A key file of the original programs is used as
    /// it is. If several processes start at once, the first creates the key and the others read it.
    pub fn load_or_create(data_dir: &Path) -> Result<Keypair, IdentityError> {
        let path = data_dir.join(FILE);
        for there in [&path, &data_dir.join(ORIGINAL_FILE)] {
            if let Some(key) = Self::load(there)? {
                return Ok(key);
            }
        }
        let make = |source| IdentityError::Make {
            path: path.clone(),
            source,
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data_dir)
            .map_err(make)?;
        let key = ed25519::Keypair::generate();
        match publish(data_dir, &path, key.secret().as_ref()) {
            Ok(()) => Ok(key.into()),
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::load(&path)?.ok_or_else(|| make(io::ErrorKind::NotFound.into()))
            }
            Err(error) => Err(make(error)),
        }
    }

    /// Creates a key that is not saved, for a peer that need not be recognised later.
    pub fn fresh() -> Keypair {
        Keypair::generate_ed25519()
    }

    /// Loads the key in this file; `None` if the file does not exist.
    pub fn load(path: &Path) -> Result<Option<Keypair>, IdentityError> {
        let read = |source| IdentityError::Read {
            path: path.to_owned(),
            source,
        };
        let meta = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            meta => meta.map_err(read)?,
        };
        if meta.permissions().mode() & 0o077 != 0 {
            return Err(IdentityError::Open(path.to_owned()));
        }
        if meta.len() > MAX_FILE {
            return Err(IdentityError::NoKey(path.to_owned()));
        }
        let mut bytes = fs::read(path).map_err(read)?;
        let key = if bytes.len() == SEED {
            Keypair::ed25519_from_bytes(&mut bytes).ok()
        } else {
            Keypair::from_protobuf_encoding(&bytes).ok()
        };
        key.map(Some)
            .ok_or_else(|| IdentityError::NoKey(path.to_owned()))
    }
}

/// Writes the seed to a new file, completely or not at all, and never over an existing file.
fn publish(data_dir: &Path, path: &Path, seed: &[u8]) -> io::Result<()> {
    let temp = data_dir.join(format!("{FILE}.new-{:016x}", rand::random::<u64>()));
    let written = write_private(&temp, seed).and_then(|()| fs::hard_link(&temp, path));
    let removed = fs::remove_file(&temp);
    written?;
    removed?;
    fs::File::open(data_dir)?.sync_all()
}

fn write_private(path: &Path, seed: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(seed)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn put(path: &Path, bytes: &[u8], mode: u32) {
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_key_is_made_once_for_its_owner_only_and_stays_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let first = Identity::load_or_create(&data).unwrap();
        assert_eq!(mode(&data), 0o700);
        assert_eq!(mode(&data.join(FILE)), 0o600);
        assert_eq!(fs::read(data.join(FILE)).unwrap().len(), 32);
        let second = Identity::load_or_create(&data).unwrap();
        assert_eq!(first.public(), second.public());
        // Nothing is left of how it was made.
        assert_eq!(fs::read_dir(&data).unwrap().count(), 1);
    }

    #[test]
    fn the_seed_of_another_program_gives_the_peer_id_that_it_had() {
        for name in [FILE, ORIGINAL_FILE] {
            let dir = tempfile::tempdir().unwrap();
            put(&dir.path().join(name), &[7; 32], 0o600);
            let key = Identity::load_or_create(dir.path()).unwrap();
            let same = Keypair::ed25519_from_bytes([7; 32]).unwrap();
            assert_eq!(key.public().to_peer_id(), same.public().to_peer_id());
        }
    }

    #[test]
    fn a_key_in_the_encoding_of_libp2p_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let key = Keypair::generate_ed25519();
        let bytes = key.to_protobuf_encoding().unwrap();
        put(&dir.path().join(FILE), &bytes, 0o600);
        let read = Identity::load_or_create(dir.path()).unwrap();
        assert_eq!(read.public(), key.public());
    }

    #[test]
    fn a_key_that_others_may_read_is_refused_with_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join(FILE), &[7; 32], 0o640);
        let error = Identity::load_or_create(dir.path()).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }

    #[test]
    fn what_is_no_key_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        for bytes in [&b""[..], &[1; 31], &[1; 33], &[0; 9000]] {
            put(&dir.path().join(FILE), bytes, 0o600);
            let error = Identity::load_or_create(dir.path()).unwrap_err();
            assert!(matches!(error, IdentityError::NoKey(_)), "{error}");
            assert_eq!(fs::read(dir.path().join(FILE)).unwrap(), bytes);
        }
    }
}
