//! [`HubSocket`]: a WebSocket to a hub for programs that exchange frames of a protocol themselves.

use futures_util::{SinkExt as _, StreamExt as _};
use hyper_util::client::proxy::matcher::Matcher;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::tungstenite::{Message as Frame, Utf8Bytes};

use crate::{
    Error, HubAddress,
    bridge::connection::{FAREWELL, LATE, PATIENCE, SILENCE, Socket, closed, connect_with},
};

/// A WebSocket to a hub, opened with the token of the [`HubAddress`]. Dropping it cuts the connection.
#[derive(Debug)]
pub struct HubSocket {
    socket: Socket,
    /// Time of the last frame.
    heard: Instant,
}

impl HubSocket {
    /// Opens the WebSocket at a path of the hub.
    pub async fn open(address: &HubAddress, path: &str) -> Result<Self, Error> {
        let proxies = Matcher::from_env();
        let opening = connect_with(path, address, &proxies, address.token());
        match timeout(PATIENCE, opening).await {
            Ok(socket) => Ok(Self {
                socket: socket?,
                heard: Instant::now(),
            }),
            Err(_) => Err(Error::unreachable(address.base(), LATE)),
        }
    }

    /// Sends a text frame.
    pub async fn send(&mut self, text: impl Into<String>) -> Result<(), Error> {
        let frame = Frame::Text(Utf8Bytes::from(text.into()));
        match timeout(SILENCE, self.socket.send(frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Error::Broken),
        }
    }

    /// Waits for the next text frame. Fails when the connection ends, also if the hub is silent for too long: it pings
    /// its connections. Cancel-safe.
    pub async fn next(&mut self) -> Result<String, Error> {
        loop {
            let frame = timeout_at(self.heard + SILENCE, self.socket.next()).await;
            let frame = frame.map_err(|_| Error::Broken)?;
            self.heard = Instant::now();
            match frame {
                Some(Ok(Frame::Text(text))) => return Ok(text.as_str().to_owned()),
                Some(Ok(Frame::Close(frame))) => return Err(closed(frame)),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(Error::Broken),
            }
        }
    }

    /// Closes the connection.
    pub async fn close(mut self) {
        // Nobody is left to receive an error.
        drop(timeout(FAREWELL, self.socket.close(None)).await);
    }
}
