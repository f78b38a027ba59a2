//! A supervised reservation at a relay. Peers that cannot reach the node directly reach it through the relay.
//! Relays restart and networks change, so a lost reservation is asked for again; no other code does that.

use std::sync::Arc;

use libp2p::{Multiaddr, PeerId, relay::HOP_PROTOCOL_NAME};
use tokio::{
    sync::{
        broadcast::{self, error::TryRecvError},
        oneshot, watch,
    },
    time::{sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Node, StreamOpenError,
    command::{Command, RelayPlace},
};
use crate::{limits, node::PeerEvent, retry::RetryDelay};

/// State of a reservation at a relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReservationState {
    /// The relay is being asked.
    Asking,
    /// The reservation is held, and the node's addresses include the relay.
    Held,
    /// The relay refused or dropped the reservation, for this reason. It is asked again soon.
    Lost(Arc<str>),
    /// The relay cannot be reached, for this reason. It is dialled again soon.
    Unreached(Arc<str>),
    /// The peer is connected but is no relay. It is asked again later.
    NoRelay,
}

/// A reservation at a relay; given up on drop.
#[derive(Debug)]
pub struct Reservation {
    state: watch::Receiver<ReservationState>,
    _guard: DropGuard,
}

impl Reservation {
    /// Returns the present state.
    pub fn state(&self) -> ReservationState {
        self.state.borrow().clone()
    }

    /// Watches the state; only the newest value is kept.
    pub fn watch(&self) -> watch::Receiver<ReservationState> {
        self.state.clone()
    }

    /// Waits until the reservation is held. Returns false if the node stops first.
    pub async fn held(&mut self) -> bool {
        let held = self
            .state
            .wait_for(|state| *state == ReservationState::Held);
        held.await.is_ok()
    }
}

pub(super) fn hold(node: Node, relay: PeerId, address: Multiaddr) -> Reservation {
    let (tell, state) = watch::channel(ReservationState::Asking);
    let guard = CancellationToken::new();
    let given_up = guard.clone();
    let stop = node.0.tasks.stop_token().clone();
    let tasks = node.0.tasks.clone();
    let holder = ReservationTask {
        node,
        relay,
        address,
        tell,
    };
    tasks.spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = given_up.cancelled() => {}
            _ = holder.run() => {}
        }
    });
    Reservation {
        state,
        _guard: guard.drop_guard(),
    }
}

struct ReservationTask {
    node: Node,
    relay: PeerId,
    address: Multiaddr,
    tell: watch::Sender<ReservationState>,
}

impl ReservationTask {
    async fn run(self) -> Result<(), StreamOpenError> {
        let mut retry = RetryDelay::new();
        let mut news = self.node.watch();
        let mut was_away = false;
        loop {
            self.tell.send_replace(ReservationState::Asking);
            let state = self.hold_once(&mut retry).await?;
            // A relay that is back may not know us yet, but soon will, so the delay starts over.
            let has_come = self.has_come(&mut news);
            if has_come && was_away {
                retry.start_over();
            }
            was_away = !has_come;
            tracing::debug!(relay = %self.relay, ?state, "no place at the relay");
            self.tell.send_replace(state);
            sleep(retry.next_delay()).await;
        }
    }

    /// Returns whether the relay has connected anew since the last call.
    fn has_come(&self, news: &mut broadcast::Receiver<PeerEvent>) -> bool {
        let mut has_come = false;
        loop {
            match news.try_recv() {
                Ok(PeerEvent::Connected { peer, .. }) => has_come |= peer == self.relay,
                Ok(_) | Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return has_come,
            }
        }
    }

    /// Asks for the reservation and holds it until it is lost. Returns the state after that.
    async fn hold_once(&self, retry: &mut RetryDelay) -> Result<ReservationState, StreamOpenError> {
        let address = std::slice::from_ref(&self.address);
        match self.node.reach(self.relay, address).await {
            Ok(()) => {}
            Err(StreamOpenError::Stopped) => return Err(StreamOpenError::Stopped),
            Err(error) => return Ok(ReservationState::Unreached(error.to_string().into())),
        }
        let why = self.hold_there(retry).await?;
        Ok(if self.is_no_relay() {
            ReservationState::NoRelay
        } else {
            ReservationState::Lost(why.into())
        })
    }

    /// Returns whether the peer has reported its protocols and relaying is not among them.
    fn is_no_relay(&self) -> bool {
        let peer = self.node.peer(self.relay);
        peer.is_some_and(|it| it.agent.is_some() && !it.protocols.contains(&HOP_PROTOCOL_NAME))
    }

    /// Asks the connected relay for the reservation and holds it until it is lost. Returns the reason.
    async fn hold_there(&self, retry: &mut RetryDelay) -> Result<String, StreamOpenError> {
        let (place, mut watch) = watch::channel(RelayPlace::Asked);
        let (reply, asked) = oneshot::channel();
        let command = Command::Reserve {
            relay: self.relay,
            address: self.address.clone(),
            place,
            reply,
        };
        self.node.send(command).await?;
        let id = match asked.await.map_err(|_| StreamOpenError::Stopped)? {
            Ok(id) => id,
            Err(why) => return Ok(why),
        };
        // Also dropped when this future is.
        let _release = Release {
            node: self.node.clone(),
            id,
        };
        let decided = timeout(
            limits::RESERVE,
            watch.wait_for(|place| *place != RelayPlace::Asked),
        );
        match decided.await {
            Err(_) => return Ok("the relay did not answer in time".to_owned()),
            Ok(Err(_)) => return Err(StreamOpenError::Stopped),
            Ok(Ok(place)) => {
                if let RelayPlace::Lost(why) = &*place {
                    return Ok(why.clone());
                }
            }
        }
        retry.start_over();
        self.tell.send_replace(ReservationState::Held);
        let lost = watch.wait_for(|place| *place != RelayPlace::Held).await;
        match &*lost.map_err(|_| StreamOpenError::Stopped)? {
            RelayPlace::Lost(why) => Ok(why.clone()),
            RelayPlace::Asked | RelayPlace::Held => Ok("it was given up".to_owned()),
        }
    }
}

/// Gives the reservation back on drop, whatever ended the wait.
struct Release {
    node: Node,
    id: libp2p::core::transport::ListenerId,
}

impl Drop for Release {
    fn drop(&mut self) {
        self.node.tell(Command::Release(self.id));
    }
}
