//! What the bridge's door needs of the operator: the platform's secrets, how it is called back, and rules for files.

use std::{env, fs, io, path::Path};

use anyhow::{Context, Result};
use jackfield_bridge::{CallbackRules, Platform, Secret};
use jackfield_kit::outbound::Outbound;
use jackfield_store::secrets;

use crate::config::Config;

/// The file of the secret that the platform shows.
pub const PLATFORM_SECRET: &str = "platform-secret";
/// The file of the one before it, which counts until it is removed.
pub const OLD_PLATFORM_SECRET: &str = "platform-secret-old";

/// The variables that hold the platform's secrets instead of the files: the one that counts, and the one before it.
const VARIABLES: [&str; 2] = ["JACKFIELD_PLATFORM_SECRET", "JACKFIELD_PLATFORM_SECRET_OLD"];

/// The secrets that the environment names, the newest first. Not flags: those would show in `ps`.
pub fn secrets_from_env() -> Vec<Secret> {
    VARIABLES
        .into_iter()
        .filter_map(|name| env::var(name).ok())
        .filter_map(|text| Secret::new(text.trim()))
        .collect()
}

/// What the operator set for the platform. Secrets are made at the first start, so that they are there when the first
/// platform asks for them.
pub fn platform(config: &Config, outbound: Outbound) -> Result<Platform> {
    Ok(Platform {
        secrets: secrets_of(config)?,
        callbacks: Some(CallbackRules {
            outbound,
            base: config.callback_base.clone(),
            trusted_origins: config.callback_trusted_origins.clone(),
        }),
        files: config.files.rules(),
    })
}

/// The secrets that let the platform in, the newest first: from the environment, else from their files.
pub fn secrets_of(config: &Config) -> Result<Vec<Secret>> {
    if !config.platform_secrets.is_empty() {
        return Ok(config.platform_secrets.clone());
    }
    let newest = secrets::load_or_create(&config.data_dir, PLATFORM_SECRET)
        .with_context(|| format!("cannot read or make the secret {PLATFORM_SECRET}"))?;
    let old = secrets::load(&config.data_dir, OLD_PLATFORM_SECRET)
        .with_context(|| format!("cannot read the secret {OLD_PLATFORM_SECRET}"))?;
    let texts = [Some(newest), old].into_iter().flatten();
    Ok(texts
        .filter_map(|secret| Secret::new(secret.expose()))
        .collect())
}

/// Makes a new platform secret; the one before it counts beside it.
pub fn rotate(data_dir: &Path) -> Result<secrets::Secret> {
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

/// Lets only the newest platform secret count; false if there was no other.
pub fn forget_old(data_dir: &Path) -> Result<bool> {
    let old = data_dir.join(OLD_PLATFORM_SECRET);
    match fs::remove_file(&old) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", old.display())),
    }
}
