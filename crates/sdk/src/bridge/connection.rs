//! One socket: it is opened, the agent registers, and frames go both ways until it ends.

use std::{
    future::poll_fn,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use hyper_util::client::proxy::matcher::Matcher;
use jackfield_wire::bridge::{Downlink, parse_downlink};
use reqwest::StatusCode;
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
        http::Uri,
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::{proxy, session::Session};
use crate::{Address, Discovery, Ends, Error, encode, hub::refused};

/// How long connecting and registering may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often the agent gives a sign of life, as the protocol has it.
const HEARTBEAT: Duration = Duration::from_secs(20);
/// The hub answers pings, and sends some of its own; silence means that it is gone.
const SILENCE: Duration = Duration::from_secs(75);
/// How long the hub may take to be told that the agent leaves.
const FAREWELL: Duration = Duration::from_secs(2);
/// The largest frame that is read: a message of 8 MiB each of whose characters may have been escaped.
const LARGEST: usize = 64 << 20;

const LATE: &str = "it did not answer in time";

/// A connection that has registered.
#[derive(Debug)]
pub(super) struct Connection<S> {
    socket: WebSocketStream<S>,
    /// Whether something was written that may not have gone out.
    dirty: bool,
    /// Whether a ping is due.
    ping: bool,
    /// Writing failed. Why may still be read.
    mute: bool,
}

/// Connects and registers.
pub(super) async fn open(
    session: &mut Session<'_>,
    address: &Address,
) -> Result<Connection<MaybeTlsStream<TcpStream>>, Error> {
    let attempt = async {
        let path = format!("/ws?agent_id={}", encode(&session.agent().id));
        let socket = connect(&path, address, &Matcher::from_env()).await?;
        let mut connection = Connection::new(socket);
        connection.register(session, address.token()).await?;
        Ok(connection)
    };
    match timeout(PATIENCE, attempt).await {
        Ok(result) => result,
        Err(_) => Err(Error::unreachable(address.base(), LATE)),
    }
}

/// Opens the WebSocket by which agents attach to a hub, and closes it again: whether an agent could attach there.
pub async fn try_socket(address: &Address) -> Result<(), Error> {
    let proxies = Matcher::from_env();
    match timeout(PATIENCE, connect("/ws", address, &proxies)).await {
        Ok(socket) => {
            Connection::new(socket?).say_goodbye().await;
            Ok(())
        }
        Err(_) => Err(Error::unreachable(address.base(), LATE)),
    }
}

pub(super) async fn connect(
    path: &str,
    address: &Address,
    proxies: &Matcher,
) -> Result<WebSocketStream<MaybeTlsStream<TcpStream>>, Error> {
    // Chosen once per process; somebody else's choice is as good.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let url = address.socket(path);
    // Used for wss only.
    let tls = Some(Connector::Rustls(address.tls()?.into()));
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST))
        .max_frame_size(Some(LARGEST));
    let unreachable = |error: BoxError| Error::unreachable(address.base(), error);
    let connected = if let Some(discovery) = address.discovery() {
        let tcp = checked(&url, &**discovery).await.map_err(unreachable)?;
        client_async_tls_with_config(url, tcp, Some(config), tls).await
    } else if let Some((proxy, hub)) = proxy::for_hub(proxies, address.base()) {
        let tunnel = proxy::tunnel(&proxy, &hub).await;
        let tunnel = tunnel.map_err(|error| unreachable(error.into()))?;
        client_async_tls_with_config(url, tunnel, Some(config), tls).await
    } else {
        // Frames are batched here, and should not wait in the kernel as well.
        let no_delay = true;
        connect_async_tls_with_config(url, Some(config), no_delay, tls).await
    };
    match connected {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            let body = String::from_utf8_lossy(body);
            Err(not_opened(address.base(), response.status(), &body))
        }
        Err(error) => Err(Error::unreachable(address.base(), error)),
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A connection to the host of a URL, whose other end was checked.
async fn checked(url: &str, discovery: &dyn Discovery) -> Result<TcpStream, BoxError> {
    let uri: Uri = url.parse()?;
    let usual = if url.starts_with("wss:") { 443 } else { 80 };
    let host = uri.host().unwrap_or_default();
    // Addresses of IPv6 stand in brackets in a URL.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let tcp = TcpStream::connect((host, uri.port_u16().unwrap_or(usual))).await?;
    // Frames are batched by whoever writes them, and should not wait in the kernel as well.
    tcp.set_nodelay(true)?;
    let ends = Ends {
        peer: tcp.peer_addr()?,
        ours: tcp.local_addr()?,
    };
    discovery.check(ends).await?;
    Ok(tcp)
}

/// What an answer to the handshake means that opens no WebSocket. A hub that says that the request is no handshake was asked
/// through a proxy that made an ordinary request of it; so was, most likely, whatever does not answer as a hub does, unless
/// it wants a login or more time.
fn not_opened(url: &str, status: StatusCode, body: &str) -> Error {
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

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
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
        session: &mut Session<'_>,
        token: Option<&str>,
    ) -> Result<(), Error> {
        let register = Frame::Text(session.register(token));
        self.socket
            .send(register)
            .await
            .map_err(|_| Error::Broken)?;
        loop {
            let text = self.text().await?;
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

    /// The next text, before there is anything else to do.
    async fn text(&mut self) -> Result<Utf8Bytes, Error> {
        loop {
            match self.socket.next().await {
                Some(Ok(Frame::Text(text))) => return Ok(text),
                Some(Ok(Frame::Close(frame))) => return Err(closed(frame)),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(Error::Broken),
            }
        }
    }

    /// The hub said no. Whether that may change is in the reason of the close that follows.
    async fn refused(&mut self, message: &str) -> Error {
        let code = match self.text().await {
            Err(Error::Closed { reason, .. }) if reason == "Not now" => "busy",
            Err(Error::Closed { reason, .. }) if reason == "Auth failed" => "unauthorized",
            _ => "invalid",
        };
        Error::Refused {
            status: 0,
            code: code.to_owned(),
            message: message.to_owned(),
        }
    }

    /// Carries frames both ways until the connection ends.
    pub(super) async fn serve(&mut self, session: &mut Session<'_>) -> Error {
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                frame = poll_fn(|cx| self.poll_turn(cx, session)) => {
                    heard = Instant::now();
                    match frame {
                        Ok(Frame::Text(text)) => session.hear(&text),
                        Ok(Frame::Close(frame)) => return closed(frame),
                        Ok(_) => {}
                        Err(error) => return error,
                    }
                }
                _ = heartbeat.tick() => {
                    if heard.elapsed() >= SILENCE {
                        return Error::Broken;
                    }
                    session.beat();
                    self.ping = true;
                }
            }
        }
    }

    /// Tells the hub that the agent does not come back. A hub that does not take it sees a cut.
    pub(super) async fn say_goodbye(&mut self) {
        let goodbye = CloseFrame {
            code: CloseCode::Normal,
            reason: Utf8Bytes::default(),
        };
        // Nobody is left to be told that it did not work.
        drop(timeout(FAREWELL, self.socket.close(Some(goodbye))).await);
    }

    /// Sends what there is as far as the socket takes it, and reads what came. Neither waits for the other: a hub that
    /// does not read for a while still tells what it has and what was cancelled.
    fn poll_turn(
        &mut self,
        cx: &mut Context<'_>,
        session: &mut Session<'_>,
    ) -> Poll<Result<Frame, Error>> {
        if !self.mute && self.poll_send(cx, session).is_err() {
            self.mute = true;
        }
        self.socket.poll_next_unpin(cx).map(|frame| match frame {
            Some(Ok(frame)) => Ok(frame),
            Some(Err(_)) | None => Err(Error::Broken),
        })
    }

    /// Writes all that the socket takes and flushes once.
    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        session: &mut Session<'_>,
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

fn closed(frame: Option<CloseFrame>) -> Error {
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
