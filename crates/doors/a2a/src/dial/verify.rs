//! Verification of a card's signatures (JWS, RFC 7515) by keys that the signer publishes.
//!
//! A valid signature proves that the holder of the key wrote the card. People decide whether to trust the
//! holder, so the result names the key and the URL of the key.

mod key;
#[cfg(test)]
mod tests;

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, StatusCode};
use jackfield_kit::outbound::{Outbound, Url, origin_of};
use serde::Deserialize;

use self::key::{KeySet, PublishedKey};
use crate::wire::card::{Generation, Signature, forms};

/// Largest number of signatures to check per card.
const MAX_SIGNATURES: usize = 16;
/// Largest number of key sets to fetch per card, because each fetch may take long.
const MAX_SETS: usize = 3;
/// Largest key set in bytes.
const MAX_SET: usize = 256 << 10;

/// Result of the signature check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SignatureCheck {
    /// The card has no signatures.
    None,
    /// A signature is valid.
    Verified {
        /// Id of the key; empty if the key has no id.
        kid: String,
        /// URL of the key set.
        jku: String,
    },
    /// The card is signed, but the key is not available.
    Unverified(String),
    /// The card differs from the signed card.
    Bad(String),
}

impl fmt::Display for SignatureCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("not signed"),
            Self::Verified { kid, jku } => write!(f, "signed with key {kid:?} of {jku}"),
            Self::Unverified(why) => write!(f, "signed, but not verified: {why}"),
            Self::Bad(why) => write!(f, "the signature is wrong: {why}"),
        }
    }
}

/// Checks each [`Signature`] of a card that was found at the typed origin. `generation` selects the fields of the
/// card that the hub uses.
pub(super) async fn verify(
    outbound: &Outbound,
    typed: &Url,
    card: &str,
    signatures: &[Signature],
    generation: Generation,
) -> SignatureCheck {
    if signatures.is_empty() {
        return SignatureCheck::None;
    }
    let rings = KeySetCache {
        outbound,
        typed,
        fetched: Vec::new(),
    };
    judge(rings, card, signatures, generation).await
}

async fn judge(
    mut rings: KeySetCache<'_>,
    card: &str,
    signatures: &[Signature],
    generation: Generation,
) -> SignatureCheck {
    let forms = forms(card, generation);
    let encode = |form| URL_SAFE_NO_PAD.encode(form);
    let forms: Vec<_> = forms.iter().map(encode).collect();
    let mut why_not = None;
    let mut mismatch = None;
    for signature in signatures.iter().take(MAX_SIGNATURES) {
        match check(&mut rings, signature, &forms).await {
            SignatureOutcome::Valid { kid, jku } => return SignatureCheck::Verified { kid, jku },
            SignatureOutcome::Invalid(why) => mismatch = mismatch.or(Some(why)),
            SignatureOutcome::NoKey(why) => why_not = why_not.or(Some(why)),
        }
    }
    match (mismatch, why_not) {
        (Some(why), _) => SignatureCheck::Bad(why),
        (None, why) => SignatureCheck::Unverified(why.unwrap_or_default()),
    }
}

/// Result for one signature.
enum SignatureOutcome {
    Valid {
        kid: String,
        jku: String,
    },
    /// The key was found, but the signature does not match the card.
    Invalid(String),
    /// The signature cannot be checked.
    NoKey(String),
}

/// Protected header of a signature.
#[derive(Debug, Deserialize)]
struct ProtectedHeader {
    alg: String,
    kid: Option<String>,
    jku: Option<String>,
    /// Extensions that a verifier must understand; the hub supports none.
    crit: Option<serde::de::IgnoredAny>,
}

async fn check(
    rings: &mut KeySetCache<'_>,
    signature: &Signature,
    forms: &[String],
) -> SignatureOutcome {
    let Some(header) = decode(&signature.protected)
        .and_then(|header| serde_json::from_slice::<ProtectedHeader>(&header).ok())
    else {
        return SignatureOutcome::NoKey(
            "the protected header of a signature cannot be read".to_owned(),
        );
    };
    let Some(bytes) = decode(&signature.signature) else {
        return SignatureOutcome::NoKey("a signature is not base64url".to_owned());
    };
    if header.crit.is_some() {
        return SignatureOutcome::NoKey(
            "a signature wants more understood than is known here".to_owned(),
        );
    }
    let Some(jku) = header.jku else {
        return SignatureOutcome::NoKey(
            "a signature does not say where its key is (jku)".to_owned(),
        );
    };
    let keys = match rings.get(&jku).await {
        Ok(keys) => keys,
        Err(why) => return SignatureOutcome::NoKey(why),
    };
    let named = |key: &&PublishedKey| header.kid.is_none() || key.kid == header.kid;
    let mut was_tried = false;
    for key in keys.iter().filter(named) {
        let Some(key) = key.verifier(&header.alg) else {
            continue;
        };
        was_tried = true;
        let fits = |form: &String| {
            let signed = format!("{}.{form}", signature.protected);
            key.verify(signed.as_bytes(), &bytes)
        };
        if forms.iter().any(fits) {
            let kid = header.kid.unwrap_or_default();
            return SignatureOutcome::Valid { kid, jku };
        }
    }
    let kid = header.kid.unwrap_or_default();
    if was_tried {
        return SignatureOutcome::Invalid(format!(
            "the card is not what was signed with key {kid:?} of {jku}"
        ));
    }
    let alg = header.alg;
    SignatureOutcome::NoKey(format!(
        "{jku} has no key {kid:?} that can be used for {alg}"
    ))
}

/// Returns the key ids that signatures name.
pub(super) fn key_ids(signatures: &[Signature]) -> Vec<String> {
    let named = |signature: &Signature| {
        let header = decode(&signature.protected)?;
        serde_json::from_slice::<ProtectedHeader>(&header).ok()?.kid
    };
    signatures
        .iter()
        .take(MAX_SIGNATURES)
        .filter_map(named)
        .collect()
}

/// Cache of key sets by URL; each set is fetched once.
struct KeySetCache<'a> {
    outbound: &'a Outbound,
    typed: &'a Url,
    fetched: Vec<(String, Result<Vec<PublishedKey>, String>)>,
}

impl KeySetCache<'_> {
    async fn get(&mut self, jku: &str) -> Result<&[PublishedKey], String> {
        let known = self.fetched.iter().position(|(url, _)| url == jku);
        let at = match known {
            Some(at) => at,
            None if self.fetched.len() == MAX_SETS => {
                return Err(format!("keys are at more than {MAX_SETS} places"));
            }
            None => {
                let keys = self.fetch(jku).await;
                self.fetched.push((jku.to_owned(), keys));
                self.fetched.len() - 1
            }
        };
        match &self.fetched[at].1 {
            Ok(keys) => Ok(keys),
            Err(why) => Err(why.clone()),
        }
    }

    async fn fetch(&self, jku: &str) -> Result<Vec<PublishedKey>, String> {
        let url = Url::parse(jku).map_err(|error| format!("jku {jku:?} is no URL: {error}"))?;
        // A key that can be changed in transit proves nothing. The typed origin was the operator's own
        // choice.
        if url.scheme() != "https" && origin_of(&url) != origin_of(self.typed) {
            return Err(format!(
                "the keys at {jku} are not fetched, since it is not https"
            ));
        }
        // No credentials: keys are public.
        let fetched = self.outbound.fetch(jku, HeaderMap::new(), MAX_SET).await;
        let fetched = fetched.map_err(|error| format!("the keys at {jku}: {error}"))?;
        if fetched.status != StatusCode::OK {
            return Err(format!(
                "the keys at {jku}: the server answers {}",
                fetched.status
            ));
        }
        let set: Option<KeySet> = serde_json::from_slice(&fetched.body).ok();
        let set = set.filter(|_| fetched.is_whole);
        let set = set.ok_or_else(|| format!("what is at {jku} is no set of keys"))?;
        Ok(set.keys())
    }
}

/// Decodes base64url, with or without padding.
fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}
