//! TLS errors for people: cause and remedy.

use std::{error::Error as StdError, io, path::PathBuf};

use rustls::CertificateError;

use super::Fingerprint;

/// Why a TLS connection to a hub failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HubTlsError {
    /// The CA file cannot be used.
    #[error("cannot use the CA file {path}: {why}", path = path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Problem with the file.
        why: String,
    },
    /// The text is not a fingerprint.
    #[error("{0:?} is no fingerprint of a certificate")]
    Fingerprint(String),
    /// The system has no CA certificates.
    #[error("this machine has no CA certificates")]
    NoRoots,
    /// The certificate's issuer is not trusted on this machine.
    #[error("its certificate is signed by a CA that this machine does not trust")]
    UnknownIssuer,
    /// The hub presents a CA certificate as its own certificate.
    #[error("it shows the certificate of a CA as its own certificate (CaUsedAsEndEntity)")]
    CaAsLeaf,
    /// The certificate differs from the pinned one.
    #[error("neither its certificate nor its CA has the expected fingerprint; it shows {shown}")]
    NotPinned {
        /// Fingerprint of the last certificate that the hub presents.
        shown: Fingerprint,
    },
    /// The certificate is for other names.
    #[error("its certificate is for another name{}", names(.0))]
    WrongName(Vec<String>),
    /// The certificate has expired.
    #[error("its certificate has expired")]
    Expired,
    /// The certificate is not valid yet.
    #[error("its certificate is not valid yet")]
    NotYetValid,
    /// The server does not use TLS.
    #[error("it does not speak TLS on this port")]
    PlainServer,
    /// The server uses TLS, but the client did not.
    #[error("it speaks TLS on this port")]
    TlsServer,
    /// Any other error.
    #[error("TLS failed: {0}")]
    Other(String),
}

fn names(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!(" (it is for {})", names.join(", ")),
    }
}

impl HubTlsError {
    /// Returns what the user can do.
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
            Self::Other(_) => "the hub's log may say more; run: jackfield doctor",
        }
    }

    /// Finds the TLS error among the causes of a failed request or connection.
    pub fn find(error: &(dyn StdError + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref::<rustls::Error>() {
                return Some(Self::from(found));
            }
            // `io::Error::source` skips the wrapped error itself.
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

    /// Returns whether the response is a TLS server's reply to plain HTTP: of the hub, nginx, or Go.
    pub(crate) fn is_tls_required_reply(url: &str, body: &str) -> bool {
        let is_plain = url.starts_with("http://");
        is_plain
            && ["speaks TLS", "to HTTPS port", "to an HTTPS server"]
                .iter()
                .any(|words| body.contains(words))
    }
}

impl From<&rustls::Error> for HubTlsError {
    fn from(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(error) => of_certificate(error),
            rustls::Error::InvalidMessage(_) => Self::PlainServer,
            other => Self::Other(other.to_string()),
        }
    }
}

fn of_certificate(error: &CertificateError) -> HubTlsError {
    match error {
        CertificateError::UnknownIssuer => HubTlsError::UnknownIssuer,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => HubTlsError::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            HubTlsError::NotYetValid
        }
        CertificateError::NotValidForName => HubTlsError::WrongName(Vec::new()),
        CertificateError::NotValidForNameContext { presented, .. } => {
            HubTlsError::WrongName(presented.iter().map(|name| bare(name)).collect())
        }
        error if is_ca_as_leaf(error) => HubTlsError::CaAsLeaf,
        CertificateError::Other(other) => match other.0.downcast_ref::<HubTlsError>() {
            Some(ours) => ours.clone(),
            None => HubTlsError::Other(other.to_string()),
        },
        other => HubTlsError::Other(other.to_string()),
    }
}

/// Returns the bare name of a certificate, which rustls writes as `DnsName("localhost")`,
/// `IpAddress(127.0.0.1)`.
fn bare(name: &str) -> String {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner);
    inner.trim_matches([')', '"']).to_owned()
}

/// Returns whether a CA certificate was presented as the server's own. rustls exposes this webpki error only
/// by its name.
pub(super) fn is_ca_as_leaf(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(other) if other.0.to_string() == "CaUsedAsEndEntity")
}
