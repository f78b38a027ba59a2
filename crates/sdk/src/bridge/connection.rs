//! One socket to the hub: opened, registered, and serving frames in both directions until it ends.

use std::{
    future::poll_fn,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use hyper_util::client::proxy::matcher::Matcher;
use jackfield_model::Reason;
use jackfield_wire::bridge::{Downlink, RegisterRefusal, parse_downlink};
use reqwest::{
    StatusCode,
    header::{AUTHORIZATION, HeaderValue},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config,
    connect_async_tls_with_config,
    tungstenite::{
        self, Message as Frame, Utf8Bytes,
        client::IntoClientRequest as _,
        http::Uri,
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::{proxy, session::BridgeSession};
use crate::{ConnectionEnds, Discovery, Error, HubAddress, encode, hub::refused};

/// Time limit for connecting and registering.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
/// Heartbeat interval, as the protocol defines it.
const HEARTBEAT: Duration = Duration::from_secs(20);
/// Receive timeout. The hub answers pings and sends pings of its own, so silence means a lost hub.
pub(crate) const SILENCE: Duration = Duration::from_secs(75);
/// Time limit for the closing handshake.
pub(crate) const FAREWELL: Duration = Duration::from_secs(2);
/// Largest frame that is accepted: a message of 8 MiB with every character escaped.
const LARGEST: usize = 64 << 20;

pub(crate) const LATE: &str = "it did not answer in time";

/// A registered connection.
#[derive(Debug)]
pub(super) struct BridgeConnection<S> {
    socket: WebSocketStream<S>,
    /// Whether written data may still have to be flushed.
    dirty: bool,
    /// Whether a ping is due.
    ping: bool,
    /// Writing failed. The reason may still be readable.
    mute: bool,
}

/// Connects and registers.
pub(super) async fn open(
    session: &mut BridgeSession<'_>,
    address: &HubAddress,
) -> Result<BridgeConnection<MaybeTlsStream<TcpStream>>, Error> {
    let attempt = async {
        let path = format!("/ws?agent_id={}", encode(&session.agent().id));
        let socket = connect(&path, address, &Matcher::from_env()).await?;
        let mut connection = BridgeConnection::new(socket);
        connection.register(session, address.token()).await?;
        Ok(connection)
    };
    match timeout(PATIENCE, attempt).await {
        Ok(result) => result,
        Err(_) => Err(Error::unreachable(address.base(), LATE)),
    }
}

/// Opens and closes the WebSocket by which agents attach to a hub, to check whether an agent could attach.
pub async fn try_socket(address: &HubAddress) -> Result<(), Error> {
    let proxies = Matcher::from_env();
    match timeout(PATIENCE, connect("/ws", address, &proxies)).await {
        Ok(socket) => {
            BridgeConnection::new(socket?).close().await;
            Ok(())
        }
        Err(_) => Err(Error::unreachable(address.base(), LATE)),
    }
}

/// A WebSocket to a hub.
pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Opens a WebSocket whose protocol has the token in a frame.
pub(super) async fn connect(
    path: &str,
    address: &HubAddress,
    proxies: &Matcher,
) -> Result<Socket, Error> {
    connect_with(path, address, proxies, None).await
}

/// Opens a WebSocket. `token` is sent in a header.
pub(crate) async fn connect_with(
    path: &str,
    address: &HubAddress,
    proxies: &Matcher,
    token: Option<&str>,
) -> Result<Socket, Error> {
    // The provider is set once per process; a provider set elsewhere is fine too.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let url = address.socket(path);
    // Used for wss only.
    let tls = Some(Connector::Rustls(address.tls()?.into()));
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST))
        .max_frame_size(Some(LARGEST));
    let unreachable = |error: BoxError| Error::unreachable(address.base(), error);
    let request = url.as_str().into_client_request();
    let mut request = request.map_err(|error| unreachable(error.into()))?;
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let value = value.map_err(|error| unreachable(error.into()))?;
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    let connected = if let Some(discovery) = address.discovery() {
        let tcp = checked(&url, &**discovery).await.map_err(unreachable)?;
        client_async_tls_with_config(request, tcp, Some(config), tls).await
    } else if let Some((proxy, hub)) = proxy::for_hub(proxies, address.base()) {
        let tunnel = proxy::tunnel(&proxy, &hub).await;
        let tunnel = tunnel.map_err(|error| unreachable(error.into()))?;
        client_async_tls_with_config(request, tunnel, Some(config), tls).await
    } else {
        // Frames are batched here and must not wait in the kernel as well.
        let no_delay = true;
        connect_async_tls_with_config(request, Some(config), no_delay, tls).await
    };
    match connected {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            let body = String::from_utf8_lossy(body);
            Err(handshake_error(address.base(), response.status(), &body))
        }
        Err(error) => Err(Error::unreachable(address.base(), error)),
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Connects to the host of a URL and has the [`Discovery`] check the peer.
async fn checked(url: &str, discovery: &dyn Discovery) -> Result<TcpStream, BoxError> {
    let uri: Uri = url.parse()?;
    let usual = if url.starts_with("wss:") { 443 } else { 80 };
    let host = uri.host().unwrap_or_default();
    // IPv6 addresses are in brackets in a URL.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let tcp = TcpStream::connect((host, uri.port_u16().unwrap_or(usual))).await?;
    // Frames are batched by the writer and must not wait in the kernel as well.
    tcp.set_nodelay(true)?;
    let ends = ConnectionEnds {
        peer: tcp.peer_addr()?,
        ours: tcp.local_addr()?,
    };
    discovery.check(ends).await?;
    Ok(tcp)
}

/// Converts a response to the handshake that opens no WebSocket. `invalid_handshake` from a hub means that a
/// proxy turned the handshake into an ordinary request. A response that is not from a hub most likely has the
/// same cause, unless the server asks for a login or for more time.
fn handshake_error(url: &str, status: StatusCode, body: &str) -> Error {
    let error = refused(url, status, body);
    let is_about_the_socket = match error.code() {
        Some("invalid_handshake") => true,
        Some("unknown") => {
            !matches!(status.as_u16(), 401 | 403 | 407 | 429) && !status.is_server_error()
        }
        _ => false,
    };
    match error {
        Error::Refused { message, .. } if is_about_the_socket => Error::NoWebSocket {
            url: url.to_owned(),
            why: message,
        },
        error => error,
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> BridgeConnection<S> {
    fn new(socket: WebSocketStream<S>) -> Self {
        Self {
            socket,
            dirty: false,
            ping: false,
            mute: false,
        }
    }

    async fn register(
        &mut self,
        session: &mut BridgeSession<'_>,
        token: Option<&str>,
    ) -> Result<(), Error> {
        let register = Frame::Text(session.register(token));
        self.socket
            .send(register)
            .await
            .map_err(|_| Error::Broken)?;
        loop {
            let text = self.next_text().await?;
            let frame = parse_downlink(&text);
            match frame.map_err(|error| Error::Unreadable(error.to_string()))? {
                Downlink::Registered(registered) => {
                    session.registered(&registered);
                    return Ok(());
                }
                Downlink::Refused(message) => return Err(self.refused(&message).await),
                _ => {}
            }
        }
    }

    /// Waits for the next text frame, during registration.
    async fn next_text(&mut self) -> Result<Utf8Bytes, Error> {
        loop {
            match self.socket.next().await {
                Some(Ok(Frame::Text(text))) => return Ok(text),
                Some(Ok(Frame::Close(frame))) => return Err(closed(frame)),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(Error::Broken),
            }
        }
    }

    /// Converts a refused registration. The reason of the following close frame tells whether a retry may
    /// help.
    async fn refused(&mut self, message: &str) -> Error {
        let refusal = match self.next_text().await {
            Err(Error::Closed { reason, .. }) => RegisterRefusal::from_close_reason(&reason),
            _ => None,
        };
        let reason = match refusal {
            Some(RegisterRefusal::NotNow) => Reason::Busy,
            Some(RegisterRefusal::Unauthorized) => Reason::Unauthorized,
            _ => Reason::Invalid,
        };
        Error::Refused {
            status: 0,
            code: reason.name().to_owned(),
            cause: None,
            field: None,
            message: message.to_owned(),
        }
    }

    /// Exchanges frames until the connection ends.
    pub(super) async fn serve(&mut self, session: &mut BridgeSession<'_>) -> Error {
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                frame = poll_fn(|cx| self.poll_io(cx, session)) => {
                    heard = Instant::now();
                    match frame {
                        Ok(Frame::Text(text)) => session.handle_frame(&text),
                        Ok(Frame::Close(frame)) => return closed(frame),
                        Ok(_) => {}
                        Err(error) => return error,
                    }
                }
                _ = heartbeat.tick() => {
                    if heard.elapsed() >= SILENCE {
                        return Error::Broken;
                    }
                    session.queue_heartbeat();
                    self.ping = true;
                }
            }
        }
    }

    /// Tells the hub that the agent does not reconnect. A hub that misses the close frame sees a lost
    /// connection.
    pub(super) async fn close(&mut self) {
        let goodbye = CloseFrame {
            code: CloseCode::Normal,
            reason: Utf8Bytes::default(),
        };
        // No caller is left to receive an error.
        drop(timeout(FAREWELL, self.socket.close(Some(goodbye))).await);
    }

    /// Sends pending frames as far as the socket accepts them, and reads the next frame. Neither waits for
    /// the other: a hub that does not read for a while can still send acknowledgements and cancellations.
    fn poll_io(
        &mut self,
        cx: &mut Context<'_>,
        session: &mut BridgeSession<'_>,
    ) -> Poll<Result<Frame, Error>> {
        if !self.mute && self.poll_send(cx, session).is_err() {
            self.mute = true;
        }
        self.socket.poll_next_unpin(cx).map(|frame| match frame {
            Some(Ok(frame)) => Ok(frame),
            Some(Err(_)) | None => Err(Error::Broken),
        })
    }

    /// Writes as much as the socket accepts, then flushes once.
    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        session: &mut BridgeSession<'_>,
    ) -> Result<(), tungstenite::Error> {
        while let Poll::Ready(ready) = self.socket.poll_ready_unpin(cx) {
            ready?;
            let frame = if std::mem::take(&mut self.ping) {
                Frame::Ping(tungstenite::Bytes::new())
            } else if let Poll::Ready(text) = session.poll_frame(cx) {
                Frame::Text(text)
            } else {
                break;
            };
            self.socket.start_send_unpin(frame)?;
            self.dirty = true;
        }
        if self.dirty
            && let Poll::Ready(flushed) = self.socket.poll_flush_unpin(cx)
        {
            flushed?;
            self.dirty = false;
        }
        Ok(())
    }
}

pub(crate) fn closed(frame: Option<CloseFrame>) -> Error {
    let (code, reason) = frame.map_or((CloseCode::Status, String::new()), |frame| {
        (frame.code, frame.reason.to_string())
    });
    Error::Closed {
        code: code.into(),
        reason,
    }
}

#[cfg(test)]
mod tests;
