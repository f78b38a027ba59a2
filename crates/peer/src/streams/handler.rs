//! The part of one connection: negotiates protocols and passes each stream to its requester or acceptor.

use std::{
    collections::VecDeque,
    convert::Infallible,
    fmt,
    future::{Ready, ready},
    net::IpAddr,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use futures_util::future::BoxFuture;
use libp2p::{
    PeerId, StreamProtocol,
    core::{InboundUpgrade, OutboundUpgrade, UpgradeInfo},
    swarm::{
        ConnectionHandler, ConnectionHandlerEvent, StreamUpgradeError, SubstreamProtocol,
        handler::{
            ConnectionEvent, DialUpgradeError, FullyNegotiatedInbound, FullyNegotiatedOutbound,
        },
    },
};
use tokio::sync::{mpsc, oneshot};

use super::{Inbound, OpenedStream, SharedStreams, Stream, StreamError};
use crate::{limits, origin::Origin};

/// A request for a stream.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    pub(super) protocols: Vec<StreamProtocol>,
    pub(super) reply: oneshot::Sender<OpenedStream>,
}

/// Waits for room in the acceptor's queue; `None` if the acceptor has gone.
type Room = BoxFuture<'static, Option<mpsc::OwnedPermit<Inbound>>>;

pub(crate) struct Handler {
    shared: Arc<SharedStreams>,
    peer: PeerId,
    source: Option<IpAddr>,
    origin: Origin,
    requests: VecDeque<OpenRequest>,
    /// Inbound streams that are not taken yet, each with its wait for room.
    arrived: Vec<(Inbound, Room)>,
    waker: Option<Waker>,
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler")
            .field("peer", &self.peer)
            .field("arrived", &self.arrived.len())
            .finish_non_exhaustive()
    }
}

impl Handler {
    pub(super) fn new(
        shared: Arc<SharedStreams>,
        peer: PeerId,
        source: Option<IpAddr>,
        origin: Origin,
    ) -> Self {
        Self {
            shared,
            peer,
            source,
            origin,
            requests: VecDeque::new(),
            arrived: Vec::new(),
            waker: None,
        }
    }

    fn stream_arrived(&mut self, stream: libp2p::Stream, protocol: StreamProtocol) {
        // The acceptor may have gone during the negotiation.
        let Some(taker) = self.shared.taker(&protocol) else {
            return;
        };
        let room: Room = Box::pin(async move { taker.reserve_owned().await.ok() });
        let inbound = Inbound {
            peer: self.peer,
            source: self.source,
            origin: self.origin,
            protocol,
            stream: Stream::new(stream, self.shared.in_use.token()),
        };
        self.arrived.push((inbound, room));
        self.wake();
    }

    fn hand_over(&mut self, cx: &mut Context<'_>) {
        let mut waiting = Vec::new();
        for (inbound, mut room) in self.arrived.drain(..) {
            match room.as_mut().poll(cx) {
                Poll::Ready(Some(room)) => {
                    room.send(inbound);
                }
                Poll::Ready(None) => {}
                Poll::Pending => waiting.push((inbound, room)),
            }
        }
        self.arrived = waiting;
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl ConnectionHandler for Handler {
    type FromBehaviour = OpenRequest;
    type ToBehaviour = Infallible;
    type InboundProtocol = ProtocolChoice;
    type OutboundProtocol = ProtocolChoice;
    type InboundOpenInfo = ();
    type OutboundOpenInfo = oneshot::Sender<OpenedStream>;

    fn listen_protocol(&self) -> SubstreamProtocol<ProtocolChoice> {
        SubstreamProtocol::new(ProtocolChoice(self.shared.protocols()), ())
            .with_timeout(limits::OPEN)
    }

    fn connection_keep_alive(&self) -> bool {
        self.shared.is_kept(self.peer)
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<ConnectionHandlerEvent<ProtocolChoice, Self::OutboundOpenInfo, Infallible>> {
        self.hand_over(cx);
        while let Some(OpenRequest { protocols, reply }) = self.requests.pop_front() {
            // The requester may have gone.
            if !reply.is_closed() {
                let protocol = SubstreamProtocol::new(ProtocolChoice(protocols), reply)
                    .with_timeout(limits::OPEN);
                return Poll::Ready(ConnectionHandlerEvent::OutboundSubstreamRequest { protocol });
            }
        }
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn on_behaviour_event(&mut self, open: OpenRequest) {
        self.requests.push_back(open);
        self.wake();
    }

    fn on_connection_event(
        &mut self,
        event: ConnectionEvent<'_, ProtocolChoice, ProtocolChoice, (), Self::OutboundOpenInfo>,
    ) {
        match event {
            ConnectionEvent::FullyNegotiatedInbound(FullyNegotiatedInbound {
                protocol: (stream, protocol),
                info: (),
            }) => self.stream_arrived(stream, protocol),
            ConnectionEvent::FullyNegotiatedOutbound(FullyNegotiatedOutbound {
                protocol: (stream, protocol),
                info: reply,
            }) => {
                let stream = Stream::new(stream, self.shared.in_use.token());
                // If the requester has gone, the stream is dropped.
                drop(reply.send(Ok((stream, protocol))));
            }
            ConnectionEvent::DialUpgradeError(DialUpgradeError { info: reply, error }) => {
                let trouble = match error {
                    StreamUpgradeError::Timeout => StreamError::Slow,
                    StreamUpgradeError::NegotiationFailed => StreamError::Unsupported,
                    StreamUpgradeError::Io(_) => StreamError::Lost,
                    StreamUpgradeError::Apply(never) => match never {},
                };
                drop(reply.send(Err(trouble)));
            }
            _ => {}
        }
    }
}

/// Negotiates one of several protocols and leaves the stream unchanged.
#[derive(Debug)]
pub(crate) struct ProtocolChoice(Vec<StreamProtocol>);

impl UpgradeInfo for ProtocolChoice {
    type Info = StreamProtocol;
    type InfoIter = std::vec::IntoIter<StreamProtocol>;

    fn protocol_info(&self) -> Self::InfoIter {
        self.0.clone().into_iter()
    }
}

impl InboundUpgrade<libp2p::Stream> for ProtocolChoice {
    type Output = (libp2p::Stream, StreamProtocol);
    type Error = Infallible;
    type Future = Ready<Result<Self::Output, Infallible>>;

    fn upgrade_inbound(self, stream: libp2p::Stream, protocol: StreamProtocol) -> Self::Future {
        ready(Ok((stream, protocol)))
    }
}

impl OutboundUpgrade<libp2p::Stream> for ProtocolChoice {
    type Output = (libp2p::Stream, StreamProtocol);
    type Error = Infallible;
    type Future = Ready<Result<Self::Output, Infallible>>;

    fn upgrade_outbound(self, stream: libp2p::Stream, protocol: StreamProtocol) -> Self::Future {
        ready(Ok((stream, protocol)))
    }
}
