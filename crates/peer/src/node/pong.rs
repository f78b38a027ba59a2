//! Answers the pings of peers, as a behaviour of the swarm. The library's own ping stops answering once a
//! peer has refused to be pinged. A peer that refuses pings may still send them, and disconnects without an
//! answer.

use std::{
    collections::VecDeque,
    convert::Infallible,
    fmt, io,
    task::{Context, Poll, Waker},
};

use futures_util::future::BoxFuture;
use libp2p::{
    Multiaddr, PeerId, Stream,
    core::{
        Endpoint,
        transport::PortUse,
        upgrade::{DeniedUpgrade, ReadyUpgrade},
    },
    futures::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    ping::PROTOCOL_NAME,
    swarm::{
        ConnectionDenied, ConnectionHandler, ConnectionHandlerEvent, ConnectionId, FromSwarm,
        NetworkBehaviour, StreamProtocol, SubstreamProtocol, THandler, THandlerInEvent,
        THandlerOutEvent, ToSwarm,
        handler::{ConnectionEvent, FullyNegotiatedInbound},
    },
};

use crate::limits;

/// Bytes of a ping.
const PING: usize = 32;

/// Event: a peer's ping was answered.
#[derive(Debug)]
pub(super) struct Pinged(pub(super) PeerId);

/// Answers the pings of all peers.
#[derive(Debug, Default)]
pub(super) struct Behaviour {
    pinged: VecDeque<PeerId>,
    waker: Option<Waker>,
}

impl NetworkBehaviour for Behaviour {
    type ConnectionHandler = Handler;
    type ToSwarm = Pinged;

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        Ok(Handler::default())
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: Endpoint,
        _: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        Ok(Handler::default())
    }

    fn on_swarm_event(&mut self, _: FromSwarm<'_>) {}

    fn on_connection_handler_event(
        &mut self,
        peer: PeerId,
        _: ConnectionId,
        _: THandlerOutEvent<Self>,
    ) {
        self.pinged.push_back(peer);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ToSwarm<Pinged, THandlerInEvent<Self>>> {
        if let Some(peer) = self.pinged.pop_front() {
            return Poll::Ready(ToSwarm::GenerateEvent(Pinged(peer)));
        }
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// One ping and its answer; resolves to the stream for the next ping, or to `None` once the peer has closed
/// it.
type Answering = BoxFuture<'static, io::Result<Option<Stream>>>;

/// Answers the pings on one connection.
#[derive(Default)]
pub(crate) struct Handler {
    /// Streams that are answered, the newest last.
    answering: VecDeque<Answering>,
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler")
            .field("answering", &self.answering.len())
            .finish()
    }
}

impl ConnectionHandler for Handler {
    type FromBehaviour = Infallible;
    type ToBehaviour = ();
    type InboundProtocol = ReadyUpgrade<StreamProtocol>;
    type OutboundProtocol = DeniedUpgrade;
    type InboundOpenInfo = ();
    type OutboundOpenInfo = Infallible;

    fn listen_protocol(&self) -> SubstreamProtocol<Self::InboundProtocol> {
        SubstreamProtocol::new(ReadyUpgrade::new(PROTOCOL_NAME), ()).with_timeout(limits::OPEN)
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<ConnectionHandlerEvent<DeniedUpgrade, Infallible, ()>> {
        for _ in 0..self.answering.len() {
            let Some(mut answering) = self.answering.pop_front() else {
                break;
            };
            match answering.as_mut().poll(cx) {
                Poll::Pending => self.answering.push_back(answering),
                // One ping per poll, so that a peer that pings without end delays no other work.
                Poll::Ready(Ok(Some(stream))) => {
                    self.answering.push_back(Box::pin(answer_one(stream)));
                    return Poll::Ready(ConnectionHandlerEvent::NotifyBehaviour(()));
                }
                Poll::Ready(Ok(None)) => {}
                Poll::Ready(Err(error)) => tracing::debug!(%error, "a ping broke off"),
            }
        }
        Poll::Pending
    }

    fn on_behaviour_event(&mut self, event: Infallible) {
        match event {}
    }

    fn on_connection_event(
        &mut self,
        event: ConnectionEvent<'_, Self::InboundProtocol, DeniedUpgrade, (), Infallible>,
    ) {
        if let ConnectionEvent::FullyNegotiatedInbound(FullyNegotiatedInbound {
            protocol: mut stream,
            ..
        }) = event
        {
            // Pings alone do not keep a connection alive.
            stream.ignore_for_keep_alive();
            if self.answering.len() == limits::PINGS {
                self.answering.pop_front();
            }
            self.answering.push_back(Box::pin(answer_one(stream)));
        }
    }
}

/// Waits for a ping and sends it back. Returns `None` if the peer closed the stream.
async fn answer_one<S>(mut stream: S) -> io::Result<Option<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut ping = [0; PING];
    if stream.read(&mut ping[..1]).await? == 0 {
        stream.close().await?;
        return Ok(None);
    }
    stream.read_exact(&mut ping[1..]).await?;
    stream.write_all(&ping).await?;
    stream.flush().await?;
    Ok(Some(stream))
}
