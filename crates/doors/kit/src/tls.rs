//! The server's certificate: read from PEM files, swapped while running. Connections that are open keep
//! the certificate they began with; a reload that fails leaves the old one in place.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
};

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or holds nothing of the kind that was looked for.
    #[error("cannot read {what} from {path}")]
    Pem {
        /// What was looked for: a certificate or a private key.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: pem::Error,
    },
    /// The certificate and the key do not fit, or are of a kind we cannot use.
    #[error("certificate {path} and its key cannot be used")]
    Unusable {
        /// The certificate's file.
        path: PathBuf,
        /// What went wrong.
        source: rustls::Error,
    },
}

/// A certificate with its key, for HTTP/2 and HTTP/1.1; clones share it.
#[derive(Debug, Clone)]
pub struct Tls(Arc<Files>);

#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<ServerConfig>,
}

impl Tls {
    /// Reads a certificate chain and its private key.
    pub fn load(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Result<Self, TlsError> {
        let (certificate, key) = (certificate.into(), key.into());
        let current = ArcSwap::new(config_from_files(&certificate, &key)?);
        Ok(Self(Arc::new(Files {
            certificate,
            key,
            current,
        })))
    }

    /// Reads the files again; new connections get what they hold now.
    pub fn reload(&self) -> Result<(), TlsError> {
        let files = &self.0;
        let config = config_from_files(&files.certificate, &files.key)?;
        files.current.store(config);
        Ok(())
    }

    /// What a new connection gets.
    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        self.0.current.load_full()
    }
}

fn config_from_files(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .and_then(|chain| match chain.is_empty() {
            true => Err(pem::Error::NoItemsFound),
            false => Ok(chain),
        })
        .map_err(|source| TlsError::Pem {
            what: "a certificate",
            path: certificate.to_owned(),
            source,
        })?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|source| TlsError::Pem {
        what: "a private key",
        path: key.to_owned(),
        source,
    })?;
    // The provider is named, because a program with two of them has no default.
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map(|config| config.with_no_client_auth())
        .and_then(|config| config.with_single_cert(chain, key))
        .map_err(|source| TlsError::Unusable {
            path: certificate.to_owned(),
            source,
        })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
