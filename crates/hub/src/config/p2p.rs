//! `[p2p]` of a program that was built without libp2p: it may say that the hub is no peer, and nothing else.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

/// `[p2p]`. Settings of a program with libp2p are read, so that one file serves both programs.
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
                 take [p2p] out, or say enabled = false in it"
            );
        }
        Ok(())
    }
}
