//! `GET /v1/prove`: a hub proves possession of the administrator token in its data directory, without
//! revealing the token. Commands on the hub's machine ask for the proof before sending the token, to avoid
//! sending it to a program listening in place of the hub.
//!
//! A program in between could forward the question to the hub, so the proof is bound to an address: to the
//! socket that received the question, which differs after forwarding, or to the hub's public URL, which
//! counts only if a certificate proves the URL.

use std::{fmt, net::SocketAddr, sync::Arc};

use axum::{Extension, Json, Router, extract::State};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::Uri;
use jackfield_core::hub::Hub;
use jackfield_kit::{
    api::{ApiError, ErrorResponses, count_refused, invalid, wrong_method},
    server::RequestPeer,
};
use jackfield_model::{Failure, Reason};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use utoipa::{ToSchema, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::DOOR;

/// Allowed length of a nonce, in characters: at least 16 random bytes in hexadecimal, and short enough to
/// hash quickly.
const NONCE: std::ops::RangeInclusive<usize> = 32..=128;

/// Administrator token of a hub's data directory, as the key of proofs. `Debug` hides the
/// token.
#[derive(Clone)]
pub struct ProofKey(Arc<[u8]>);

impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProofKey(…)")
    }
}

impl ProofKey {
    /// Creates the key from the token.
    pub fn new(token: &str) -> Self {
        Self(token.as_bytes().into())
    }

    /// Returns the proof that the owner of the key was asked at `socket`.
    pub fn at_socket(&self, nonce: &str, socket: SocketAddr) -> String {
        let ip = socket.ip().to_canonical();
        self.seal(
            "socket",
            nonce,
            &SocketAddr::new(ip, socket.port()).to_string(),
        )
    }

    /// Returns the proof that the owner of the key has the address `url`. `None` for an invalid URL.
    pub fn at_url(&self, nonce: &str, url: &str) -> Option<String> {
        Some(self.seal("url", nonce, &origin(url)?))
    }

    fn seal(&self, kind: &str, nonce: &str, subject: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("an HMAC takes any key");
        mac.update(format!("jackfield proof\n{kind}\n{nonce}\n{subject}").as_bytes());
        let digest = mac.finalize().into_bytes();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Returns the normalized scheme, host and port of a URL.
fn origin(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let port = uri.port_u16().or(match scheme.as_str() {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    })?;
    let host = uri.host()?.to_ascii_lowercase();
    Some(format!("{scheme}://{host}:{port}"))
}

/// State of [`proof_router`].
#[derive(Debug, Clone)]
pub struct Prover {
    /// The [`Hub`].
    pub hub: Hub,
    /// Key, if the hub's data directory has an administrator token.
    pub key: Option<ProofKey>,
    /// Public URL of the hub.
    pub public_url: Option<String>,
}

/// Builds the route and its [`OpenApi`] description.
pub fn proof_router(prover: Prover) -> (Router, OpenApi) {
    let (router, api) = OpenApiRouter::new()
        .routes(routes!(prove))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::map_response_with_state(
            (prover.hub.clone(), DOOR),
            count_refused,
        ))
        .with_state(prover);
    (router, api)
}

/// Proofs of the hub: each an HMAC-SHA256 with the administrator token as key, in hexadecimal.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Proof)]
pub struct ProofView {
    /// Proof for the address and port that received the request.
    pub socket: Option<String>,
    /// Proof for the hub's public URL, if configured.
    pub public_url: Option<String>,
}

/// Proves the identity of the hub to clients that can read the administrator token in its data directory.
/// Needs no token.
#[utoipa::path(
    get,
    path = "/v1/prove",
    tag = "health",
    security(()),
    params(("nonce" = String, Query, description = "32 to 128 random letters and digits", min_length = 32, max_length = 128, pattern = "^[0-9A-Za-z]+$")),
    responses(
        (status = 200, description = "The proof", body = ProofView),
        ErrorResponses,
        (status = 404, description = "This hub needs no token and has no proof: not_found", body = jackfield_kit::api::ApiErrorBody),
    ),
)]
async fn prove(
    State(prover): State<Prover>,
    peer: Option<Extension<RequestPeer>>,
    mut params: jackfield_kit::api::ApiQuery,
) -> Result<Json<ProofView>, ApiError> {
    let nonce: Option<String> = params.one("nonce")?;
    params.finish()?;
    let nonce = nonce.unwrap_or_default();
    let is_plain = nonce.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_plain || !NONCE.contains(&nonce.len()) {
        let text = "query parameter nonce must have 32 to 128 letters and digits";
        return Err(invalid(text).into());
    }
    let Some(key) = &prover.key else {
        let text = "this hub needs no token from its own user, and proves nothing";
        return Err(Failure::new(Reason::NotFound, text).into());
    };
    let socket = peer.and_then(|Extension(peer)| peer.user.local_addr());
    let public_url = prover.public_url.as_deref();
    Ok(Json(ProofView {
        socket: socket.map(|socket| key.at_socket(&nonce, socket)),
        public_url: public_url.and_then(|url| key.at_url(&nonce, url)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_bound_to_key_nonce_and_address() {
        let key = ProofKey::new("secret");
        let at = |addr: &str| key.at_socket("n", addr.parse().unwrap());
        assert_eq!(at("127.0.0.1:7411"), at("[::ffff:127.0.0.1]:7411"));
        let here = at("127.0.0.1:7411");
        for other in [
            at("127.0.0.1:7412"),
            at("[::1]:7411"),
            key.at_socket("m", "127.0.0.1:7411".parse().unwrap()),
            ProofKey::new("other").at_socket("n", "127.0.0.1:7411".parse().unwrap()),
            key.at_url("n", "http://127.0.0.1:7411").unwrap(),
        ] {
            assert_ne!(here, other);
        }
        let url = |url: &str| key.at_url("n", url);
        assert_eq!(url("https://Hub.lan/base"), url("https://hub.lan:443"));
        assert_ne!(url("https://hub.lan"), url("http://hub.lan"));
        assert_eq!(url("hub"), None);
        assert!(!format!("{key:?}").contains("secret"));
    }
}
