//! `[p2p]` of a program built without libp2p. Only settings that disable libp2p are accepted.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

/// `[p2p]`. All settings are parsed, so that one file serves programs with and without libp2p.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct P2pConfig {
    #[serde(default)]
    pub(super) relay: bool,
    #[serde(flatten)]
    settings: toml::Table,
}

impl P2pConfig {
    pub(super) fn check(&self) -> Result<()> {
        let enabled = self.settings.get("enabled").and_then(toml::Value::as_bool);
        let is_wanted = enabled.unwrap_or(!self.settings.is_empty() || self.relay);
        if is_wanted {
            bail!(
                "[p2p] needs a jackfield that was built with the feature p2p, and this one was not; \
                 remove [p2p], or set enabled = false in it"
            );
        }
        Ok(())
    }
}
