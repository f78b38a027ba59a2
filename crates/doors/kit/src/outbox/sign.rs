//! The signature of a callback: `t=SECONDS,v1=HEX`, the HMAC-SHA256 of `SECONDS.ID.BODY` under the callback key, where
//! ID is the `Idempotency-Key`. Receivers compute the same, and refuse a time that is long past.

use std::{fmt, sync::Arc};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The header that carries it.
pub(super) const HEADER: &str = "jackfield-signature";

/// The key that signs callbacks. `Debug` does not show it.
#[derive(Clone)]
pub struct CallbackKey(Arc<[u8]>);

impl CallbackKey {
    /// A key out of its text, as `jackfield token show callback` prints it.
    pub fn new(text: &str) -> Self {
        Self(text.as_bytes().into())
    }

    /// Signs a body for the time in seconds since 1970.
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
