//! Signed text of a card, and the form of signatures and keys (JWS, RFC 7515; JWK, RFC 7517).
//!
//! A signature covers the canonical form of the card, and every verifier computes the form from the card that
//! it reads. Verifiers disagree: some drop unknown fields, some drop empty values. A card therefore has a
//! signature for each form, and a verifier needs a single match.

use serde::Serialize;

use super::{
    A2aCard, CardAudience,
    canonical::{EmptyValues, ascii, canonical},
    write::WriteDefaults,
};

use crate::wire::{official::A2aVersion, write::to_json};

/// Signature in a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Signature {
    /// Protected header in base64url, which is signed too.
    pub protected: String,
    /// Signature bytes in base64url.
    pub signature: String,
}

/// JWS name of the signature algorithm.
const ALGORITHM: &str = "ES256";

/// Protected header of a signature.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JwsHeader<'a> {
    /// Id of the key.
    pub key: &'a str,
    /// URL of the key set.
    pub keys_url: &'a str,
}

impl JwsHeader<'_> {
    /// Serializes the header to JSON, before base64url.
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

/// Public key on the curve P-256; coordinates in base64url.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublicKey<'a> {
    /// X coordinate.
    pub x: &'a str,
    /// Y coordinate.
    pub y: &'a str,
}

/// Serialized form of a [`PublicKey`].
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
    /// Serializes the members of the key in the order of the hash for the key id (RFC 7638).
    pub(crate) fn to_json(self) -> String {
        to_json(&self.out())
    }

    /// Serializes a key set with only this key.
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

impl A2aCard {
    /// Returns the texts to sign, one for each kind of verifier of the audience: verifiers that take the card
    /// as written, and for each version the verifiers that keep only known fields.
    pub(crate) fn to_sign(&self, reader: CardAudience) -> Vec<String> {
        let whole = |reader| self.write(reader, WriteDefaults::Written, false);
        let mut forms = Vec::new();
        if reader.takes(A2aVersion::V10) {
            let card = whole(CardAudience::Of(A2aVersion::V10));
            // The published SDKs drop empty values, other verifiers do not.
            forms.push(canonical(&card, EmptyValues::Dropped));
            forms.push(canonical(&card, EmptyValues::Kept));
        }
        if reader.takes(A2aVersion::V03) {
            // The published SDK drops default values, and writes ASCII in place of RFC 8785.
            let reader = CardAudience::Of(A2aVersion::V03);
            let card = self.write(reader, WriteDefaults::Omitted, false);
            let form = canonical(&card, EmptyValues::Dropped);
            forms.push(form.map(|form| ascii(&form).into_owned()));
        }
        forms.push(canonical(&whole(reader), EmptyValues::Kept));
        let mut texts: Vec<String> = Vec::new();
        for text in forms.into_iter().flatten() {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }
}
