//! What goes wrong with TLS, in words for people: what happened, and what to do about it.

use std::{error::Error as StdError, io, path::PathBuf};

use rustls::CertificateError;

use super::Fingerprint;

/// Why there is no TLS connection to a hub.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The file with the CA cannot be used.
    #[error("cannot use the CA file {path}: {why}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The text is no fingerprint.
    #[error("{0:?} is no fingerprint of a certificate")]
    Fingerprint(String),
    /// There is nothing to trust.
    #[error("this machine has no CA certificates")]
    NoRoots,
    /// Nobody whom this machine trusts signed the certificate.
    #[error("its certificate is signed by a CA that this machine does not trust")]
    UnknownIssuer,
    /// The hub shows the certificate of a CA as its own.
    #[error("it shows the certificate of a CA as its own certificate (CaUsedAsEndEntity)")]
    CaAsLeaf,
    /// Another certificate than the one that was pinned.
    #[error("neither its certificate nor its CA has the expected fingerprint; it shows {shown}")]
    NotPinned {
        /// The fingerprint of the last certificate that the hub shows.
        shown: Fingerprint,
    },
    /// The certificate is for other names.
    #[error("its certificate is for another name{}", names(.0))]
    WrongName(Vec<String>),
    /// The certificate is too old.
    #[error("its certificate has expired")]
    Expired,
    /// The certificate is not valid yet.
    #[error("its certificate is not valid yet")]
    NotYetValid,
    /// The server does not speak TLS.
    #[error("it does not speak TLS on this port")]
    PlainServer,
    /// The server speaks TLS, and was spoken to without it.
    #[error("it speaks TLS on this port")]
    TlsServer,
    /// Anything else.
    #[error("TLS failed: {0}")]
    Other(String),
}

fn names(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!(" (it is for {})", names.join(", ")),
    }
}

impl TlsError {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::File { .. } => "name a PEM file with the certificate of the hub's CA",
            Self::Fingerprint(_) => {
                "write it as sha256: and 64 hexadecimal digits; jackfield cert and jackfield invite print it"
            }
            Self::NoRoots => {
                "install the system's CA certificates, or name the hub's CA with --ca FILE (or JACKFIELD_CA)"
            }
            Self::UnknownIssuer => {
                "if the hub has a CA of its own, name it with --ca FILE or --ca sha256:HEX (or JACKFIELD_CA)"
            }
            Self::CaAsLeaf => {
                "name exactly this certificate with --ca FILE or --ca sha256:HEX, or make a CA and a certificate with: jackfield cert"
            }
            Self::NotPinned { .. } => {
                "ask the hub's operator which fingerprint is right; a hub that does not send its CA along must be named by its own certificate's"
            }
            Self::WrongName(_) => {
                "use a name that the certificate is for, or have the hub's operator make one for this name: jackfield cert NAME"
            }
            Self::Expired => "the hub's operator renews it; is the clock of this machine right?",
            Self::NotYetValid => "is the clock of this machine right?",
            Self::PlainServer => "use http:// instead of https://",
            Self::TlsServer => "use https:// instead of http://",
            Self::Other(_) => "the hub's log may say more; jackfield doctor looks into it",
        }
    }

    /// What of a failed request or connection has to do with TLS.
    pub fn find(error: &(dyn StdError + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref::<rustls::Error>() {
                return Some(Self::from(found));
            }
            // An I/O error hides the error that it is made of from `source`.
            let inner = error
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref);
            if let Some(found) = inner.and_then(|inner| Self::find(inner)) {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }

    /// Whether this is what servers that speak TLS answer to plain HTTP: ours, nginx, Go's.
    pub(crate) fn is_asked_for(url: &str, body: &str) -> bool {
        let is_plain = url.starts_with("http://");
        is_plain
            && ["speaks TLS", "to HTTPS port", "to an HTTPS server"]
                .iter()
                .any(|words| body.contains(words))
    }
}

impl From<&rustls::Error> for TlsError {
    fn from(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(error) => of_certificate(error),
            rustls::Error::InvalidMessage(_) => Self::PlainServer,
            other => Self::Other(other.to_string()),
        }
    }
}

fn of_certificate(error: &CertificateError) -> TlsError {
    match error {
        CertificateError::UnknownIssuer => TlsError::UnknownIssuer,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsError::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsError::NotYetValid
        }
        CertificateError::NotValidForName => TlsError::WrongName(Vec::new()),
        CertificateError::NotValidForNameContext { presented, .. } => {
            TlsError::WrongName(presented.iter().map(|name| bare(name)).collect())
        }
        error if is_ca_as_leaf(error) => TlsError::CaAsLeaf,
        CertificateError::Other(other) => match other.0.downcast_ref::<TlsError>() {
            Some(ours) => ours.clone(),
            None => TlsError::Other(other.to_string()),
        },
        other => TlsError::Other(other.to_string()),
    }
}

/// A name of a certificate, which rustls writes as `DnsName("localhost")`, `IpAddress(127.0.0.1)`.
fn bare(name: &str) -> String {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner);
    inner.trim_matches([')', '"']).to_owned()
}

/// Whether a CA was shown as a server's own certificate. rustls passes on the error of the library below by its name only.
pub(super) fn is_ca_as_leaf(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(other) if other.0.to_string() == "CaUsedAsEndEntity")
}
