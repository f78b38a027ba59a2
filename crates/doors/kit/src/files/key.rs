//! [`LinkKey`]: the key that signs links. A signature is the HMAC-SHA256 of `ID.EXPIRES.NAME`, in hex.

use std::{fmt, sync::Arc};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use super::Link;

/// The key that signs links. `Debug` does not show it.
#[derive(Clone)]
pub struct FileKey(Arc<[u8]>);

impl FileKey {
    /// Creates a key from its text.
    pub fn new(text: &str) -> Self {
        Self(text.as_bytes().into())
    }

    pub(super) fn sign(&self, id: &str, expires: &str, name: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("an HMAC takes any key");
        // Neither of the first two can hold a dot.
        mac.update(format!("{id}.{expires}.{name}").as_bytes());
        hex(&mac.finalize().into_bytes())
    }

    /// Whether this key made the signature. Takes constant time.
    pub(super) fn has_signed(&self, link: Link<'_>) -> bool {
        let expected = self.sign(link.id, link.expires, link.name);
        expected.as_bytes().ct_eq(link.signature.as_bytes()).into()
    }
}

impl fmt::Debug for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileKey(…)")
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
