//! The signature of a callback: `t=SECONDS,v1=HEX`, the HMAC-SHA256 of `SECONDS.ID.BODY` under the callback key, where
//! ID is the `Idempotency-Key`. Receivers compute the same, and refuse a time that is long past.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::CallbackKey;

/// The header that carries it.
pub(super) const HEADER: &str = "jackfield-signature";

/// Signs a body for the time in seconds since 1970.
pub(super) fn sign(key: &CallbackKey, seconds: i64, id: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.bytes()).expect("an HMAC takes any key");
    mac.update(format!("{seconds}.{id}.").as_bytes());
    mac.update(body);
    let digest = mac.finalize().into_bytes();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={seconds},v1={hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_any_other_tool_computes() {
        // printf '1700000000.abc.{"x":1}' | openssl dgst -sha256 -hmac key
        let signed = sign(
            &CallbackKey::new("key"),
            1_700_000_000,
            "abc",
            br#"{"x":1}"#,
        );
        assert_eq!(signed, format!("t=1700000000,v1={}", EXPECTED));
    }

    const EXPECTED: &str = "69f07930da02821f4e9ab80ffd51396b069ade50f1809bf26718b0987c37df51";
}
