//! Secrets of the platform, as the operator sets and rotates them.

use std::{env, fs, io, path::Path};

use anyhow::{Context, Result};
use jackfield_bridge::SharedSecret;
pub use jackfield_bridge::{OLD_PLATFORM_SECRET, PLATFORM_SECRET};
use jackfield_store::secrets;

/// Environment variables with the platform's secrets, instead of the files: the current secret, and the
/// previous one.
const SECRET_VARIABLES: [&str; 2] = ["JACKFIELD_PLATFORM_SECRET", "JACKFIELD_PLATFORM_SECRET_OLD"];

/// Returns the secrets from the environment, newest first. Flags would show in `ps`, so none exist.
pub fn secrets_from_env() -> Vec<SharedSecret> {
    SECRET_VARIABLES
        .into_iter()
        .filter_map(|name| env::var(name).ok())
        .filter_map(|text| SharedSecret::new(text.trim()))
        .collect()
}

/// Creates a new platform [`secrets::HubSecret`]. The previous secret stays valid beside the new one.
pub fn rotate_secret(data_dir: &Path) -> Result<secrets::HubSecret> {
    let (newest, old) = (
        data_dir.join(PLATFORM_SECRET),
        data_dir.join(OLD_PLATFORM_SECRET),
    );
    match fs::rename(&newest, &old) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        result => result.with_context(|| format!("cannot rename {}", newest.display()))?,
    }
    secrets::load_or_create(data_dir, PLATFORM_SECRET)
        .with_context(|| format!("cannot make the secret {PLATFORM_SECRET}"))
}

/// Revokes the previous platform secret. Returns false if none existed.
pub fn revoke_previous(data_dir: &Path) -> Result<bool> {
    let old = data_dir.join(OLD_PLATFORM_SECRET);
    match fs::remove_file(&old) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", old.display())),
    }
}
