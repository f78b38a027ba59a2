//! TLS to a hub: trusted certificates, and errors of failed connections. Used by all clients: the HTTP
//! client, the WebSocket of an agent, file transfers and the command line.

mod error;
mod verifier;

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    client::WebPkiServerVerifier,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem, pem::PemObject as _},
};
use sha2::{Digest as _, Sha256};

pub use self::error::HubTlsError;
use self::verifier::{HubCertVerifier, TrustedCerts};

/// Prefix of a fingerprint.
const SHA256: &str = "sha256:";

/// SHA-256 of a certificate (DER), written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes the fingerprint of a certificate.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SHA256)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Fingerprint {
    type Err = HubTlsError;

    /// Parses `sha256:HEX`. Colons between the digits, as openssl prints them, are allowed.
    fn from_str(text: &str) -> Result<Self, HubTlsError> {
        let bad = || HubTlsError::Fingerprint(text.to_owned());
        let digits = text.strip_prefix(SHA256).ok_or_else(bad)?.replace(':', "");
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() || !digits.is_ascii() {
            return Err(bad());
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).map_err(|_| bad())?;
        }
        Ok(Self(bytes))
    }
}

/// The certificates of a hub that are trusted.
///
/// - By default ([`TlsTrust::default`]): certificates that the system's store leads to, or the files in
///   `SSL_CERT_FILE` and `SSL_CERT_DIR` instead.
/// - A CA file is trusted in addition to the system's store ([`TlsTrust::from_ca`]).
/// - A fingerprint is trusted exclusively ([`TlsTrust::pinned`]).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsTrust(TrustAnchor);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum TrustAnchor {
    #[default]
    System,
    File(PathBuf),
    Pin(Fingerprint),
}

impl TlsTrust {
    /// Parses the value of `--ca` or `JACKFIELD_CA`: the PEM file of a CA, or the fingerprint of a CA or
    /// certificate (`sha256:HEX`). Reads the file once, to report an invalid file at once.
    pub fn from_ca(text: &str) -> Result<Self, HubTlsError> {
        let text = text.trim();
        if text.starts_with(SHA256) {
            return text.parse().map(Self::pinned);
        }
        certificates(Path::new(text))?;
        Ok(Self(TrustAnchor::File(text.into())))
    }

    /// Trusts only the CA or the certificate with this fingerprint. The hub must send a pinned CA along with
    /// its certificate. A certificate that is pinned itself may have any name and date, like an SSH host key.
    pub fn pinned(fingerprint: Fingerprint) -> Self {
        Self(TrustAnchor::Pin(fingerprint))
    }

    /// Builds a client configuration without any trusted certificate, for hubs without TLS.
    pub(crate) fn trusting_none() -> Result<ClientConfig, HubTlsError> {
        Self::pinned(Fingerprint([0; 32])).client_config()
    }

    /// Reads `JACKFIELD_CA`, or uses the system's store.
    pub fn from_env() -> Result<Self, HubTlsError> {
        match std::env::var("JACKFIELD_CA") {
            Ok(ca) if !ca.trim().is_empty() => Self::from_ca(&ca),
            _ => Ok(Self::default()),
        }
    }

    /// Returns a value for [`from_ca`](Self::from_ca), valid in any working directory; `None` for the
    /// system's store.
    pub fn ca(&self) -> Option<String> {
        match &self.0 {
            TrustAnchor::System => None,
            TrustAnchor::File(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                Some(path.display().to_string())
            }
            TrustAnchor::Pin(fingerprint) => Some(fingerprint.to_string()),
        }
    }

    /// Returns the fingerprint, if pinned.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        match self.0 {
            TrustAnchor::Pin(fingerprint) => Some(fingerprint),
            TrustAnchor::System | TrustAnchor::File(_) => None,
        }
    }

    /// Builds a TLS client configuration for HTTP/1.1 and WebSockets. Reads the files again, so that a
    /// changed store takes effect with the next connection.
    pub fn client_config(&self) -> Result<ClientConfig, HubTlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let trusted = match &self.0 {
            TrustAnchor::Pin(fingerprint) => TrustedCerts::Pin(*fingerprint),
            TrustAnchor::System => roots(Vec::new(), &provider)?,
            TrustAnchor::File(path) => roots(certificates(path)?, &provider)?,
        };
        let verifier = HubCertVerifier::new(trusted, provider.clone());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| HubTlsError::Other(error.to_string()))?;
        let mut config = config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Trusts the system's store and the certificates in `own`.
fn roots(
    own: Vec<CertificateDer<'static>>,
    provider: &Arc<rustls::crypto::CryptoProvider>,
) -> Result<TrustedCerts, HubTlsError> {
    let mut store = RootCertStore::empty();
    // Certificates of the system that cannot be parsed are skipped, as other programs do.
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for certificate in &own {
        let added = store.add(certificate.clone());
        added.map_err(|error| HubTlsError::Other(error.to_string()))?;
    }
    if store.is_empty() {
        return Err(HubTlsError::NoRoots);
    }
    let by_roots =
        WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone()).build();
    Ok(TrustedCerts::Roots {
        by_roots: by_roots.map_err(|error| HubTlsError::Other(error.to_string()))?,
        own,
    })
}

/// Reads the certificates of a PEM file; at least one is required.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, HubTlsError> {
    let read = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .and_then(|found| match found.is_empty() {
            true => Err(pem::Error::NoItemsFound),
            false => Ok(found),
        });
    read.map_err(|error| HubTlsError::File {
        path: path.to_owned(),
        why: match error {
            pem::Error::NoItemsFound => "there is no certificate in it".to_owned(),
            pem::Error::Io(error) => error.to_string(),
            other => other.to_string(),
        },
    })
}
