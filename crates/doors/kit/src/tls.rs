//! The certificate of the server: read from PEM files, replaceable while running. Open connections keep their
//! certificate; a failed reload keeps the old one in use.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use rustls::{
    RootCertStore, ServerConfig,
    client::{verify_server_cert_signed_by_trust_anchor, verify_server_name},
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem, pem::PemObject},
    server::ParsedCertificate,
};
use sha2::{Digest as _, Sha256};

/// The reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ServerCertificateError {
    /// A file is unreadable, or holds no item of the expected kind.
    #[error("cannot read {what} from {path}")]
    Pem {
        /// Expected item: a certificate or a private key.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Cause of the error.
        source: pem::Error,
    },
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error("certificate {path} and its key cannot be used")]
    Unusable {
        /// Path of the certificate file.
        path: PathBuf,
        /// Cause of the error.
        source: rustls::Error,
    },
}

/// A certificate with its key, for HTTP/2 and HTTP/1.1. Clones share the certificate.
#[derive(Debug, Clone)]
pub struct Tls(Arc<CertificateFiles>);

#[derive(Debug)]
struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<LoadedCertificate>,
}

#[derive(Debug)]
struct LoadedCertificate {
    config: Arc<ServerConfig>,
    fingerprint: Option<String>,
    /// Certificate, followed by the certificates sent with it.
    chain: Vec<CertificateDer<'static>>,
}

impl Tls {
    /// Reads a certificate chain and its private key.
    pub fn load(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Result<Self, ServerCertificateError> {
        let (certificate, key) = (certificate.into(), key.into());
        let current = ArcSwap::from_pointee(read(&certificate, &key)?);
        Ok(Self(Arc::new(CertificateFiles {
            certificate,
            key,
            current,
        })))
    }

    /// Reads the files again; new connections use the new content.
    pub fn reload(&self) -> Result<(), ServerCertificateError> {
        let files = &self.0;
        let current = read(&files.certificate, &files.key)?;
        files.current.store(Arc::new(current));
        Ok(())
    }

    /// Returns the fingerprint that clients need to trust a certificate not signed by a public CA, as
    /// `sha256:HEX`: of the CA if the chain contains the CA, else of the certificate itself. Returns `None`
    /// for a certificate of a public CA, which clients trust without a fingerprint.
    pub fn fingerprint(&self) -> Option<String> {
        self.0.current.load().fingerprint.clone()
    }

    /// Returns the fingerprint by which a client without other trust anchors recognizes the server at `host`,
    /// as `sha256:HEX`. Uses the CA in the chain, so that a renewed certificate is recognized too. Uses the
    /// certificate itself if the chain has no CA, or if the certificate is not valid for `host`.
    pub fn fingerprint_at(&self, host: IpAddr) -> String {
        let current = self.0.current.load();
        let Some((leaf, others)) = current.chain.split_first() else {
            return String::new();
        };
        let is_for_host = ParsedCertificate::try_from(leaf)
            .is_ok_and(|leaf| verify_server_name(&leaf, &ServerName::from(host)).is_ok());
        sha256(match others.last() {
            Some(ca) if is_for_host => ca,
            _ => leaf,
        })
    }

    /// Returns the configuration for a new connection.
    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        self.0.current.load().config.clone()
    }
}

/// Returns the fingerprint that clients need, or `None` for a certificate of a public CA.
fn fingerprint(chain: &[CertificateDer<'_>]) -> Option<String> {
    let (leaf, others) = chain.split_first()?;
    if is_public(leaf, others) {
        return None;
    }
    Some(sha256(others.last().unwrap_or(leaf)))
}

/// Returns the fingerprint of a certificate.
fn sha256(certificate: &CertificateDer<'_>) -> String {
    let digest = Sha256::digest(certificate);
    let text = "sha256:".to_owned();
    digest
        .iter()
        .fold(text, |text, byte| text + &format!("{byte:02x}"))
}

/// Returns whether a public CA signed the certificate.
fn is_public(leaf: &CertificateDer<'_>, others: &[CertificateDer<'_>]) -> bool {
    let roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
    ParsedCertificate::try_from(leaf).is_ok_and(|leaf| {
        let now = UnixTime::now();
        let all = algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&leaf, &roots, others, now, all).is_ok()
    })
}

fn read(certificate: &Path, key: &Path) -> Result<LoadedCertificate, ServerCertificateError> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .and_then(|chain| match chain.is_empty() {
            true => Err(pem::Error::NoItemsFound),
            false => Ok(chain),
        })
        .map_err(|source| ServerCertificateError::Pem {
            what: "a certificate",
            path: certificate.to_owned(),
            source,
        })?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|source| ServerCertificateError::Pem {
        what: "a private key",
        path: key.to_owned(),
        source,
    })?;
    let fingerprint = fingerprint(&chain);
    let sent = chain.clone();
    // The provider is named, because a program with two providers has no default.
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map(|config| config.with_no_client_auth())
        .and_then(|config| config.with_single_cert(chain, key))
        .map_err(|source| ServerCertificateError::Unusable {
            path: certificate.to_owned(),
            source,
        })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(LoadedCertificate {
        config: Arc::new(config),
        fingerprint,
        chain: sent,
    })
}
