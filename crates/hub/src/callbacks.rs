//! Operator settings for callbacks: the key that signs callbacks, and the addresses that the hub may connect
//! to.

use anyhow::{Context, Result};
use jackfield_kit::{
    outbound::{Outbound, OutboundRules},
    outbox::CallbackKey,
};
use jackfield_store::secrets;

use crate::config::HubConfig;

/// Name of the secret file with the key that signs callbacks.
pub const CALLBACK_KEY: &str = "callback-key";

/// Returns the [`CallbackKey`] that signs callbacks; creates the key at the first start.
pub fn signing_key(config: &HubConfig) -> Result<CallbackKey> {
    let key = secrets::load_or_create(&config.data_dir, CALLBACK_KEY)
        .with_context(|| format!("cannot read or make the secret {CALLBACK_KEY}"))?;
    Ok(CallbackKey::new(key.expose()))
}

/// Returns the client for all outbound requests. Addresses from the configuration are trusted, private ones
/// too.
pub fn outbound(config: &HubConfig) -> Result<Outbound> {
    let typed = config.callback_base.iter();
    let rules = OutboundRules {
        allow_private: config.allow_private_outbound,
        trusted_origins: typed
            .chain(&config.callback_trusted_origins)
            .cloned()
            .collect(),
    };
    Outbound::new(&rules).context("cannot set up outbound requests")
}
