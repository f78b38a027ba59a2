//! Published public keys (JWK, RFC 7517) and signature verification.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED, ED25519,
    ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
    RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents, VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;

use super::decode;

/// Largest number of keys to read per set.
const MAX_KEYS: usize = 64;

/// Set of keys. An unreadable key does not affect the other keys.
#[derive(Debug, Deserialize)]
pub(super) struct KeySet {
    keys: Vec<Value>,
}

impl KeySet {
    pub(super) fn keys(self) -> Vec<PublishedKey> {
        let keys = self.keys.into_iter().take(MAX_KEYS);
        keys.filter_map(|key| serde_json::from_value(key).ok())
            .collect()
    }
}

/// Published key.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PublishedKey {
    kty: String,
    pub(super) kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
}

/// Key with its signature algorithm.
pub(super) enum SignatureVerifier {
    Plain(ParsedPublicKey),
    Rsa(RsaPublicKeyComponents<Vec<u8>>, &'static RsaParameters),
}

impl SignatureVerifier {
    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Plain(key) => key.verify_sig(message, signature).is_ok(),
            Self::Rsa(key, how) => key.verify(how, message, signature).is_ok(),
        }
    }
}

impl PublishedKey {
    /// Returns the key for the algorithm `alg`; `None` if the key has a different type or purpose.
    pub(super) fn verifier(&self, alg: &str) -> Option<SignatureVerifier> {
        let is_meant = self.alg.as_deref().is_none_or(|own| own == alg)
            && self.purpose.as_deref().is_none_or(|own| own == "sig");
        if !is_meant {
            return None;
        }
        match alg {
            "ES256" => self.point("P-256", 32, &ECDSA_P256_SHA256_FIXED),
            "ES384" => self.point("P-384", 48, &ECDSA_P384_SHA384_FIXED),
            "ES512" => self.point("P-521", 66, &ECDSA_P521_SHA512_FIXED),
            "RS256" => self.rsa(&RSA_PKCS1_2048_8192_SHA256),
            "RS384" => self.rsa(&RSA_PKCS1_2048_8192_SHA384),
            "RS512" => self.rsa(&RSA_PKCS1_2048_8192_SHA512),
            "PS256" => self.rsa(&RSA_PSS_2048_8192_SHA256),
            "PS384" => self.rsa(&RSA_PSS_2048_8192_SHA384),
            "PS512" => self.rsa(&RSA_PSS_2048_8192_SHA512),
            "EdDSA" | "Ed25519" => self.edwards(),
            _ => None,
        }
    }

    fn is(&self, kty: &str, crv: &str) -> bool {
        self.kty == kty && self.crv.as_deref() == Some(crv)
    }

    fn point(
        &self,
        crv: &str,
        size: usize,
        how: &'static dyn VerificationAlgorithm,
    ) -> Option<SignatureVerifier> {
        if !self.is("EC", crv) {
            return None;
        }
        // The leading byte 4 marks an uncompressed point: both coordinates follow, padded to the size of the
        // curve.
        let mut point = vec![4];
        for coordinate in [&self.x, &self.y] {
            let number = decode(coordinate.as_deref()?)?;
            let missing = size.checked_sub(number.len())?;
            point.extend(std::iter::repeat_n(0, missing));
            point.extend(number);
        }
        plain(how, &point)
    }

    fn edwards(&self) -> Option<SignatureVerifier> {
        if !self.is("OKP", "Ed25519") {
            return None;
        }
        plain(&ED25519, &decode(self.x.as_deref()?)?)
    }

    fn rsa(&self, how: &'static RsaParameters) -> Option<SignatureVerifier> {
        if self.kty != "RSA" {
            return None;
        }
        let (n, e) = (decode(self.n.as_deref()?)?, decode(self.e.as_deref()?)?);
        Some(SignatureVerifier::Rsa(RsaPublicKeyComponents { n, e }, how))
    }
}

/// Parses a key; `None` for invalid bytes.
fn plain(how: &'static dyn VerificationAlgorithm, bytes: &[u8]) -> Option<SignatureVerifier> {
    ParsedPublicKey::new(how, bytes)
        .ok()
        .map(SignatureVerifier::Plain)
}
