//! What is signed of a card, and how signatures and keys are written (JWS, RFC 7515; JWK, RFC 7517).
//!
//! A signature is made over the canonical form of the card, and every verifier computes that form from what it reads.
//! They disagree: some drop fields they do not know, some drop what is empty. A card therefore bears one signature for
//! each form; a verifier is content with one that fits.

use jackfield_wire::json::ObjectWriter;

use super::{
    Card, Reader,
    canonical::{Empty, ascii, canonical},
    write::Defaults,
};

use crate::wire::official::Version;

/// A signature in a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    /// The header that is signed too, in base64url.
    pub protected: String,
    /// The signature itself, in base64url.
    pub signature: String,
}

impl Signature {
    pub(super) fn write(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object
            .text("protected", self.protected.as_str())
            .text("signature", self.signature.as_str());
        object.close();
    }
}

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
        let mut out = String::with_capacity(160);
        let mut object = ObjectWriter::open(&mut out);
        object
            .text("alg", "ES256")
            .text("typ", "JOSE")
            .text("kid", self.key)
            .text("jku", self.keys_url);
        object.close();
        out
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

impl PublicKey<'_> {
    /// The members that make the key, in the order in which they are hashed to its id (RFC 7638).
    pub(crate) fn to_json(self) -> String {
        let mut out = String::with_capacity(160);
        let mut object = ObjectWriter::open(&mut out);
        self.write(&mut object);
        object.close();
        out
    }

    /// A set of this key alone.
    pub(crate) fn to_set(self, id: &str) -> String {
        let mut out = String::with_capacity(320);
        let mut set = ObjectWriter::open(&mut out);
        set.list("keys", &[self], |out, key| {
            let mut object = ObjectWriter::open(out);
            key.write(&mut object);
            object
                .text("kid", id)
                .text("alg", "ES256")
                .text("use", "sig");
            object.close();
        });
        set.close();
        out
    }

    fn write(&self, object: &mut ObjectWriter<'_>) {
        object
            .text("crv", "P-256")
            .text("kty", "EC")
            .text("x", self.x)
            .text("y", self.y);
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
