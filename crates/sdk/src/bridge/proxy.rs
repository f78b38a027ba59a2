//! Connects to a hub through the proxy in the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`,
//! `NO_PROXY`, interpreted as by curl and by the HTTP client of [`Hub`](crate::Hub)). A WebSocket always uses
//! a tunnel (`CONNECT`), with or without TLS: proxies cannot forward a WebSocket in any other way.

use std::io;

use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_tungstenite::tungstenite::http::Uri;

/// Longest response head of a proxy, in bytes.
const LONGEST: usize = 8 << 10;

/// Why a tunnel through a proxy failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProxyError {
    #[error("the proxy {0} speaks another protocol than HTTP; name one that begins with http://")]
    Unsupported(String),
    #[error("cannot reach the proxy {0}: {1}")]
    Unreachable(String, io::Error),
    #[error(
        "the proxy {0} wants to know who you are (407); name it as http://USER:PASSWORD@HOST:PORT"
    )]
    Unauthorized(String),
    #[error(
        "the proxy {proxy} does not lead to {hub}: it answered {answer}; NO_PROXY names hubs that are reached without it"
    )]
    Refused {
        proxy: String,
        hub: String,
        answer: String,
    },
}

/// Returns the proxy for a hub, if the environment names one.
pub(super) fn for_hub(proxies: &Matcher, base: &str) -> Option<(Intercept, Uri)> {
    let hub: Uri = base.parse().ok()?;
    Some((proxies.intercept(&hub)?, hub))
}

/// Opens a tunnel to the hub.
pub(super) async fn tunnel(proxy: &Intercept, hub: &Uri) -> Result<TcpStream, ProxyError> {
    let at = proxy.uri();
    // The URI contains no user info: a password would be shown.
    let name = at.to_string().trim_end_matches('/').to_owned();
    if at.scheme_str() != Some("http") {
        return Err(ProxyError::Unsupported(name));
    }
    let unreachable = |error| ProxyError::Unreachable(name.clone(), error);
    let host = bare(at.host().unwrap_or_default());
    let tcp = TcpStream::connect((host, at.port_u16().unwrap_or(80))).await;
    let mut tcp = tcp.map_err(unreachable)?;
    // Frames are batched by the writer and must not wait in the kernel as well.
    tcp.set_nodelay(true).map_err(unreachable)?;
    let usual = if hub.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    let host = hub.host().unwrap_or_default();
    let hub = format!("{host}:{}", hub.port_u16().unwrap_or(usual));
    let mut request = format!("CONNECT {hub} HTTP/1.1\r\nHost: {hub}\r\n").into_bytes();
    if let Some(auth) = proxy.basic_auth() {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(auth.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    tcp.write_all(&request).await.map_err(unreachable)?;
    let answer = head(&mut tcp).await.map_err(unreachable)?;
    match status(&answer) {
        Some(200..=299) => Ok(tcp),
        Some(407) => Err(ProxyError::Unauthorized(name)),
        _ => Err(ProxyError::Refused {
            proxy: name,
            hub,
            answer: answer.escape_debug().to_string(),
        }),
    }
}

/// Reads the response head and returns its first line. Reads no byte beyond the head, because the hub's data
/// follows.
async fn head(tcp: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= LONGEST {
            return Err(io::Error::other("its answer has no end"));
        }
        head.push(tcp.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    Ok(head.lines().next().unwrap_or_default().to_owned())
}

fn status(line: &str) -> Option<u16> {
    let (version, rest) = line.split_once(' ')?;
    let code = rest.split(' ').next()?;
    version.starts_with("HTTP/1.").then(|| code.parse().ok())?
}

/// Strips the brackets of an IPv6 host in a URL, for the lookup.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests;
