//! Key that signs the hub's cards: ES256, ECDSA on the curve P-256 with SHA-256.

use std::fmt;

use aws_lc_rs::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::wire::card::{A2aCard, CardAudience, JwsHeader, PublicKey, Signature};

/// Size of the private number, and of each coordinate of the public point, in bytes.
const NUMBER: usize = 32;
/// Bytes before the private number in DER (RFC 5915): version 1, then 32 octets.
const DER_HEAD: [u8; 7] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20];
/// Bytes after the private number in DER: the name of the curve.
const DER_TAIL: [u8; 12] = [
    0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
];

/// Error for a text that is not a [`CardKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key for cards has 64 hexadecimal digits that are a number of the curve P-256")]
pub struct BadCardKey;

/// Key that signs the hub's cards. `Debug` does not show the key.
pub struct CardKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    x: String,
    y: String,
    id: String,
}

impl CardKey {
    /// Reads a key whose private number is written in 64 hexadecimal digits.
    pub fn from_hex(secret: &str) -> Result<Self, BadCardKey> {
        let number = number_from_hex(secret).ok_or(BadCardKey)?;
        let der = [&DER_HEAD[..], &number, &DER_TAIL].concat();
        let pair = EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, &der)
            .map_err(|_| BadCardKey)?;
        // The first byte marks an uncompressed point; both coordinates follow.
        let point = pair.public_key().as_ref().get(1..).ok_or(BadCardKey)?;
        let (x, y) = point.split_at_checked(NUMBER).ok_or(BadCardKey)?;
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        let id = digest(&SHA256, PublicKey { x: &x, y: &y }.to_json().as_bytes());
        Ok(Self {
            id: URL_SAFE_NO_PAD.encode(id),
            random: SystemRandom::new(),
            pair,
            x,
            y,
        })
    }

    /// Returns the key id: a hash of the public key.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the key set that verifiers fetch.
    pub(super) fn to_set(&self) -> String {
        PublicKey {
            x: &self.x,
            y: &self.y,
        }
        .to_set(&self.id)
    }

    /// Signs a card in the form for `reader`. If signing fails, the card stays unsigned, because its content
    /// is still correct.
    pub(super) fn sign(&self, card: &mut A2aCard, reader: CardAudience, keys_url: &str) {
        let header = JwsHeader {
            key: &self.id,
            keys_url,
        };
        let protected = URL_SAFE_NO_PAD.encode(header.to_json());
        let signatures = card.to_sign(reader).into_iter().map(|text| {
            let signed = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(text));
            let signature = self.pair.sign(&self.random, signed.as_bytes())?;
            Ok(Signature {
                protected: protected.clone(),
                signature: URL_SAFE_NO_PAD.encode(signature),
            })
        });
        match signatures.collect::<Result<_, aws_lc_rs::error::Unspecified>>() {
            Ok(signatures) => card.signatures = signatures,
            Err(error) => tracing::error!(card = card.name, %error, "cannot sign a card"),
        }
    }
}

impl fmt::Debug for CardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CardKey").field("id", &self.id).finish()
    }
}

fn number_from_hex(text: &str) -> Option<[u8; NUMBER]> {
    let mut number = [0; NUMBER];
    let digits = text.as_bytes();
    if digits.len() != 2 * NUMBER {
        return None;
    }
    for (byte, pair) in number.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? << 4 | digit(1)?).ok()?;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 7515, appendix A.3, whose numbers are given there.
    const SECRET: &str = "8e9b109e719098bf980487df1f5d77e9cb29606ebed2263b5f57c213df84f4b2";

    #[test]
    fn the_public_half_is_that_of_the_standards_example() {
        let set = CardKey::from_hex(SECRET).unwrap().to_set();
        for number in [
            "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        ] {
            assert!(set.contains(number), "{set}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let zero = "0".repeat(64);
        // More than the curve has numbers.
        let large = "f".repeat(64);
        for bad in ["", "00", &SECRET[1..], &"g".repeat(64), &zero, &large] {
            assert_eq!(CardKey::from_hex(bad).unwrap_err(), BadCardKey, "{bad}");
        }
    }

    #[test]
    fn the_private_number_is_not_shown() {
        let key = CardKey::from_hex(SECRET).unwrap();
        assert!(!format!("{key:?}").to_lowercase().contains(&SECRET[..8]));
    }
}
