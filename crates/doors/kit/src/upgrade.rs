//! The server side of the WebSocket handshake for axum handlers. An [`Upgrade`] is extracted from the
//! request. [`Upgrade::run`] answers `101` and runs the session of the door as a tracked task once the
//! connection is free. A bad handshake is answered with a clear JSON error and has no side effects.

use std::future::Future;

use axum::{
    body::Body,
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header, request::Parts,
};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tungstenite::handshake::derive_accept_key;

use crate::{
    io::Io,
    server::HttpIo,
    tasks::Tasks,
    ticket::BROWSER_PROTOCOL,
    ws::{Ws, WsConfig},
};

/// The only version of the WebSocket protocol (RFC 6455).
const VERSION: HeaderValue = HeaderValue::from_static("13");

/// A valid handshake that waits for its response.
#[derive(Debug)]
pub struct Upgrade {
    on_upgrade: OnUpgrade,
    accept: HeaderValue,
    protocols: Vec<String>,
    chosen: Option<HeaderValue>,
}

impl Upgrade {
    /// Checks the handshake of a request.
    pub fn from_parts(parts: &mut Parts) -> Result<Self, BadHandshake> {
        let accept = check(&parts.method, parts.version, &parts.headers)?;
        let protocols = tokens(&parts.headers, &header::SEC_WEBSOCKET_PROTOCOL)
            .map(str::to_owned)
            .collect();
        let on_upgrade = parts
            .extensions
            .remove::<OnUpgrade>()
            .ok_or(BadHandshake::NotUpgradable)?;
        Ok(Self {
            on_upgrade,
            accept,
            protocols,
            chosen: None,
        })
    }

    /// Returns the subprotocols offered by the client, most preferred first.
    pub fn protocols(&self) -> &[String] {
        &self.protocols
    }

    /// Selects a subprotocol for the response. A subprotocol that the client did not offer is ignored.
    pub fn with_protocol(mut self, protocol: &str) -> Self {
        if self.protocols.iter().any(|offered| offered == protocol) {
            self.chosen = HeaderValue::from_str(protocol).ok();
        }
        self
    }

    /// Answers `101 Switching Protocols`. If the door selected no subprotocol, [`BROWSER_PROTOCOL`] is selected if
    /// the client offered it. Once the response is written, `session` runs with
    /// the [`Ws`] as one of `tasks`.
    pub fn run<F>(
        self,
        tasks: &Tasks,
        config: WsConfig,
        session: impl FnOnce(Ws<Io>) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let on_upgrade = self.on_upgrade;
        // Two tasks, so that the task of an idle session does not carry the state of the upgrade as well.
        let starter = tasks.clone();
        tasks.spawn(async move {
            match on_upgrade.await {
                Ok(upgraded) => {
                    let ws = ws_from_upgraded(upgraded, config);
                    starter.spawn(session(ws));
                }
                Err(error) => tracing::debug!(%error, "connection ended before its upgrade"),
            }
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept);
        let is_from_page = self.protocols.iter().any(|it| it == BROWSER_PROTOCOL);
        let usual = is_from_page.then(|| HeaderValue::from_static(BROWSER_PROTOCOL));
        if let Some(protocol) = self.chosen.or(usual) {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        response
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Upgrade {
    type Rejection = BadHandshake;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Self::from_parts(parts)
    }
}

fn ws_from_upgraded(upgraded: Upgraded, config: WsConfig) -> Ws<Io> {
    match upgraded.downcast::<TokioIo<HttpIo>>() {
        Ok(parts) => {
            let (io, ahead) = parts.io.into_inner().into_parts(&parts.read_buf);
            Ws::server_with_leftover(io, ahead, config)
        }
        Err(foreign) => Ws::server(Io::Foreign(Box::new(TokioIo::new(foreign))), config),
    }
}

/// The error of a request that is not a valid WebSocket handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadHandshake {
    /// The method is not GET.
    #[error("a websocket handshake is a GET request")]
    Method,
    /// The request uses HTTP/1.0 or HTTP/2.
    #[error("a websocket handshake needs HTTP/1.1")]
    HttpVersion,
    /// `Connection` does not contain `Upgrade`.
    #[error("header Connection must contain \"Upgrade\"")]
    Connection,
    /// `Upgrade` does not contain `websocket`.
    #[error("header Upgrade must contain \"websocket\"; this address speaks WebSocket only")]
    Upgrade,
    /// `Sec-WebSocket-Version` is not 13.
    #[error("header Sec-WebSocket-Version must be 13")]
    Version,
    /// `Sec-WebSocket-Key` is missing, repeated or not 16 bytes in base64.
    #[error("header Sec-WebSocket-Key must be 16 bytes in base64")]
    Key,
    /// The server cannot upgrade this connection.
    #[error("this connection cannot be upgraded")]
    NotUpgradable,
}

impl BadHandshake {
    /// Returns the HTTP status of the error response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Version => StatusCode::UPGRADE_REQUIRED,
            Self::Method
            | Self::HttpVersion
            | Self::Connection
            | Self::Upgrade
            | Self::Key
            | Self::NotUpgradable => StatusCode::BAD_REQUEST,
        }
    }
}

impl IntoResponse for BadHandshake {
    fn into_response(self) -> Response {
        let body = serde_json::json!({
            "error": "invalid_handshake",
            "message": self.to_string(),
        });
        let mut response = (self.status(), axum::Json(body)).into_response();
        if self == Self::Version {
            let headers = response.headers_mut();
            headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            headers.insert(header::SEC_WEBSOCKET_VERSION, VERSION);
        }
        response
    }
}

/// Checks a handshake and computes the value of `Sec-WebSocket-Accept`.
fn check(
    method: &Method,
    version: Version,
    headers: &HeaderMap,
) -> Result<HeaderValue, BadHandshake> {
    if method != Method::GET {
        return Err(BadHandshake::Method);
    }
    if version != Version::HTTP_11 {
        return Err(BadHandshake::HttpVersion);
    }
    let says = |name, word: &str| tokens(headers, name).any(|it| it.eq_ignore_ascii_case(word));
    if !says(&header::UPGRADE, "websocket") {
        return Err(BadHandshake::Upgrade);
    }
    if !says(&header::CONNECTION, "upgrade") {
        return Err(BadHandshake::Connection);
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION) != Some(&VERSION) {
        return Err(BadHandshake::Version);
    }
    let mut keys = headers.get_all(header::SEC_WEBSOCKET_KEY).iter();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return Err(BadHandshake::Key);
    };
    if !is_key(key.as_bytes()) {
        return Err(BadHandshake::Key);
    }
    HeaderValue::try_from(derive_accept_key(key.as_bytes())).map_err(|_| BadHandshake::Key)
}

/// Returns whether `key` has the form of 16 bytes in base64: 22 characters and two of padding.
fn is_key(key: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    key.len() == 24 && key.ends_with(b"==") && key[..22].iter().all(is_digit)
}

/// Returns the comma-separated tokens of a header that may be repeated.
pub(crate) fn tokens<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> + use<'a> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|token| !token.is_empty())
}
