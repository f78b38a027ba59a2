//! The signature of a callback: `t=SECONDS,v1=HEX`, the HMAC-SHA256 of `SECONDS.ID.BODY` under the
//! [`CallbackKey`], where ID is the `Idempotency-Key`. A receiver computes the same value, and refuses an old
//! time.

use std::{fmt, sync::Arc};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Header with the signature.
pub(super) const HEADER: &str = "jackfield-signature";

/// The key that signs callbacks. `Debug` hides the key.
#[derive(Clone)]
pub struct CallbackKey(Arc<[u8]>);

impl CallbackKey {
    /// Creates a key from its text, as printed by `jackfield token show callback`.
    pub fn new(text: &str) -> Self {
        Self(text.as_bytes().into())
    }

    /// Signs a body for a time in seconds since 1970.
    pub(super) fn sign(&self, seconds: i64, id: &str, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("an HMAC takes any key");
        mac.update(format!("{seconds}.{id}.").as_bytes());
        mac.update(body);
        let digest = mac.finalize().into_bytes();
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("t={seconds},v1={hex}")
    }
}

impl fmt::Debug for CallbackKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallbackKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_any_other_tool_computes() {
        // printf '1700000000.abc.{"x":1}' | openssl dgst -sha256 -hmac key
        let signed = CallbackKey::new("key").sign(1_700_000_000, "abc", br#"{"x":1}"#);
        assert_eq!(signed, format!("t=1700000000,v1={EXPECTED}"));
    }

    const EXPECTED: &str = "69f07930da02821f4e9ab80ffd51396b069ade50f1809bf26718b0987c37df51";

    #[test]
    fn a_key_is_not_printed() {
        assert!(!format!("{:?}", CallbackKey::new("hunter2")).contains("hunter2"));
    }
}
