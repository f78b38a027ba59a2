//! Base URL of links to files, and the key that signs the links.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use jackfield_kit::files::{FileKey, Files};
use jackfield_store::secrets;

use crate::config::HubConfig;

/// Name of the secret file with the key that signs links.
pub const FILE_KEY: &str = "file-key";

/// Enables the hub to make links to files, below the public URL or else below the listen address.
pub fn enable_links(files: &Files, config: &HubConfig, addr: SocketAddr) -> Result<()> {
    let key = secrets::load_or_create(&config.data_dir, FILE_KEY)
        .with_context(|| format!("cannot read or make the secret {FILE_KEY}"))?;
    match base_url(config, addr) {
        Some(base) => files.serve_at(&base, FileKey::new(key.expose())),
        None => tracing::warn!(
            "this hub does not know its own address, so files are passed on as data: URLs instead of links; set public_url"
        ),
    }
    Ok(())
}

/// Returns the URL of a hub that listens on `addr`. `None` if the hub listens on all interfaces without a
/// public URL: other machines cannot use such an address.
pub fn base_url(config: &HubConfig, addr: SocketAddr) -> Option<String> {
    let has_address = config.public_url.is_some() || !addr.ip().is_unspecified();
    has_address.then(|| config.url(addr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_public_url_or_to_an_address_but_never_to_everywhere() {
        let mut config = HubConfig::default();
        let loopback = "127.0.0.1:7411".parse().unwrap();
        let everywhere = "0.0.0.0:7411".parse().unwrap();
        assert_eq!(
            base_url(&config, loopback).as_deref(),
            Some("http://127.0.0.1:7411")
        );
        assert_eq!(base_url(&config, "[::]:1".parse().unwrap()), None);
        assert_eq!(base_url(&config, everywhere), None);
        config.public_url = Some("https://hub.example.com/base".to_owned());
        for addr in [loopback, everywhere] {
            assert_eq!(base_url(&config, addr), config.public_url);
        }
    }
}
