//! Verification of a hub's certificate.

use std::sync::Arc;

use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};

use super::{Fingerprint, HubTlsError, error::is_ca_as_leaf};

/// The trusted certificates.
#[derive(Debug)]
pub(super) enum TrustedCerts {
    Roots {
        by_roots: Arc<WebPkiServerVerifier>,
        /// Certificates from the user's CA file; also among the roots.
        own: Vec<CertificateDer<'static>>,
    },
    Pin(Fingerprint),
}

#[derive(Debug)]
pub(super) struct HubCertVerifier {
    trusted: TrustedCerts,
    provider: Arc<CryptoProvider>,
}

impl HubCertVerifier {
    pub(super) fn new(trusted: TrustedCerts, provider: Arc<CryptoProvider>) -> Self {
        Self { trusted, provider }
    }

    /// Verifies that the hub presents the pinned certificate as its own, or a certificate signed by the
    /// pinned CA.
    fn check_pin(
        &self,
        pin: Fingerprint,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if Fingerprint::of(leaf) == pin {
            return Ok(ServerCertVerified::assertion());
        }
        let ca = others.iter().find(|it| Fingerprint::of(it) == pin);
        let ca = ca.ok_or_else(|| {
            let shown = others.last().unwrap_or(leaf);
            refused(HubTlsError::NotPinned {
                shown: Fingerprint::of(shown),
            })
        })?;
        let mut store = RootCertStore::empty();
        store.add(ca.clone().into_owned())?;
        let roots = Arc::new(store);
        WebPkiServerVerifier::builder_with_provider(roots, self.provider.clone())
            .build()
            .map_err(|error| Error::General(error.to_string()))?
            .verify_server_cert(leaf, others, name, &[], now)
    }
}

/// Wraps a [`HubTlsError`] so that rustls passes it on.
fn refused(error: HubTlsError) -> Error {
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(error))))
}

impl ServerCertVerifier for HubCertVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let (by_roots, own) = match &self.trusted {
            TrustedCerts::Pin(pin) => {
                return self.check_pin(*pin, end_entity, intermediates, server_name, now);
            }
            TrustedCerts::Roots { by_roots, own } => (by_roots, own),
        };
        let checked =
            by_roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match checked {
            // `openssl req -x509` creates a CA certificate that servers use as their own. A user who passes
            // exactly this certificate with --ca trusts it.
            Err(Error::InvalidCertificate(error))
                if is_ca_as_leaf(&error) && own.contains(end_entity) =>
            {
                let parsed = ParsedCertificate::try_from(end_entity)?;
                verify_server_name(&parsed, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
