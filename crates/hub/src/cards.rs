//! What the A2A door needs of the operator to write the cards of agents: where it is, and the key that signs them.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use jackfield_a2a::{CardKey, Cards};
use jackfield_store::secrets;

use crate::{config::Config, files};

/// The file of the key that signs cards. Its public half is at `/.well-known/jwks.json`.
pub const CARD_KEY: &str = "card-key";

/// The cards of a hub that listens here. One that does not know its address shows none.
pub fn cards(config: &Config, addr: SocketAddr) -> Result<Cards> {
    let secret = secrets::load_or_create(&config.data_dir, CARD_KEY)
        .with_context(|| format!("cannot read or make the secret {CARD_KEY}"))?;
    let Some(base) = files::base(config, addr) else {
        tracing::warn!(
            "agents have no A2A cards, since this hub does not know its address; set public_url"
        );
        return Ok(Cards::default());
    };
    let key = CardKey::from_hex(secret.expose()).with_context(|| {
        let path = config.data_dir.join(CARD_KEY);
        format!(
            "cannot use {}; remove it, and a new one is made",
            path.display()
        )
    })?;
    let cards = Cards::at(&base).signed_by(key);
    Ok(if cfg!(feature = "grpc") {
        cards.with_grpc()
    } else {
        cards
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_and_cards_need_an_address() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config {
            data_dir: folder.path().to_owned(),
            ..Config::default()
        };
        let everywhere = "0.0.0.0:7411".parse().unwrap();
        // `Debug` shows the key's id.
        let made = |config: &Config| format!("{:?}", cards(config, everywhere).unwrap());
        assert!(!made(&config).contains("CardKey"));
        config.public_url = Some("https://hub.example.com/base".to_owned());
        let first = made(&config);
        assert!(first.contains("CardKey") && first.contains("hub.example.com/base"));
        assert_eq!(made(&config), first);
        std::fs::remove_file(folder.path().join(CARD_KEY)).unwrap();
        assert_ne!(made(&config), first);
    }
}
