//! What is signed of a card, and how signatures and keys are written (JWS, RFC 7515; JWK, RFC 7517).
//!
//! A signature is made over the canonical form of the card, and every verifier computes that form from what it reads.
//! They disagree: some drop fields they do not know, some drop what is empty. A card therefore bears one signature for
//! each form; a verifier is content with one that fits.

use serde::Serialize;

use super::{
    Card, Reader,
    canonical::{Empty, ascii, canonical},
    write::Defaults,
};

use crate::wire::{official::Version, write::to_json};

/// A signature in a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Signature {
    /// The header that is signed too, in base64url.
    pub protected: String,
    /// The signature itself, in base64url.
    pub signature: String,
}

/// How cards are signed, in the words of JWS.
const ALGORITHM: &str = "ES256";

/// What a signature says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header<'a> {
    /// The id of the key.
    pub key: &'a str,
    /// Where the key is found.
    pub keys_url: &'a str,
}

impl Header<'_> {
    /// The header as JSON, before it is encoded.
    pub(crate) fn to_json(self) -> String {
        #[derive(Serialize)]
        struct HeaderOut<'a> {
            alg: &'static str,
            typ: &'static str,
            kid: &'a str,
            jku: &'a str,
        }
        to_json(&HeaderOut {
            alg: ALGORITHM,
            typ: "JOSE",
            kid: self.key,
            jku: self.keys_url,
        })
    }
}

/// The public half of a key on the curve P-256; numbers in base64url.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublicKey<'a> {
    /// One coordinate.
    pub x: &'a str,
    /// The other.
    pub y: &'a str,
}

/// A key as it is written.
#[derive(Debug, Serialize)]
struct KeyOut<'a> {
    crv: &'static str,
    kty: &'static str,
    x: &'a str,
    y: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alg: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#use: Option<&'static str>,
}

impl<'a> PublicKey<'a> {
    /// The members that make the key, in the order in which they are hashed to its id (RFC 7638).
    pub(crate) fn to_json(self) -> String {
        to_json(&self.out())
    }

    /// A set of this key alone.
    pub(crate) fn to_set(self, id: &str) -> String {
        #[derive(Serialize)]
        struct KeysOut<'a> {
            keys: [KeyOut<'a>; 1],
        }
        let key = KeyOut {
            kid: Some(id),
            alg: Some(ALGORITHM),
            r#use: Some("sig"),
            ..self.out()
        };
        to_json(&KeysOut { keys: [key] })
    }

    fn out(self) -> KeyOut<'a> {
        KeyOut {
            crv: "P-256",
            kty: "EC",
            x: self.x,
            y: self.y,
            kid: None,
            alg: None,
            r#use: None,
        }
    }
}

impl Card {
    /// The texts to sign, so that the verifiers of whoever reads the card find one that they compute too: those that
    /// take the card as it is written, and for each version those that keep only what they know.
    pub(crate) fn to_sign(&self, reader: Reader) -> Vec<String> {
        let whole = |reader| self.write(reader, Defaults::Written, false);
        let mut forms = Vec::new();
        if reader.takes(Version::V10) {
            let card = whole(Reader::Of(Version::V10));
            // The published SDKs drop what is empty, others do not.
            forms.push(canonical(&card, Empty::Dropped));
            forms.push(canonical(&card, Empty::Kept));
        }
        if reader.takes(Version::V03) {
            // The published SDK drops values that it would put in itself, and does not write RFC 8785 but ASCII.
            let reader = Reader::Of(Version::V03);
            let card = self.write(reader, Defaults::Omitted, false);
            let form = canonical(&card, Empty::Dropped);
            forms.push(form.map(|form| ascii(&form).into_owned()));
        }
        forms.push(canonical(&whole(reader), Empty::Kept));
        let mut texts: Vec<String> = Vec::new();
        for text in forms.into_iter().flatten() {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }
}
