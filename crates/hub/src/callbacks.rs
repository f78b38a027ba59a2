//! What the hub's callbacks need of the operator: the key that signs them, and whom the hub may talk to.

use anyhow::{Context, Result};
use jackfield_kit::{
    outbound::{Outbound, OutboundRules},
    outbox::CallbackKey,
};
use jackfield_store::secrets;

use crate::config::Config;

/// The file of the key that signs callbacks.
pub const CALLBACK_KEY: &str = "callback-key";

/// The key that signs callbacks, made at the first start.
pub fn key(config: &Config) -> Result<CallbackKey> {
    let key = secrets::load_or_create(&config.data_dir, CALLBACK_KEY)
        .with_context(|| format!("cannot read or make the secret {CALLBACK_KEY}"))?;
    Ok(CallbackKey::new(key.expose()))
}

/// The one way out. What the operator typed is trusted wherever it leads.
pub fn outbound(config: &Config) -> Result<Outbound> {
    let typed = config.callback_base.iter();
    let rules = OutboundRules {
        allow_private: config.allow_private_outbound,
        trusted_origins: typed
            .chain(&config.callback_trusted_origins)
            .cloned()
            .collect(),
    };
    Outbound::new(&rules).context("cannot call anybody back")
}
