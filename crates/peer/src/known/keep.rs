//! Keeps connections with known peers: dials until connected, and dials again after a connection ends.

use libp2p::{Multiaddr, PeerId};
use tokio::{sync::broadcast::error::RecvError, time::sleep};

use super::{KnownPeers, PastError, PeerEntry};
use crate::{node::StreamOpenError, retry::RetryDelay};

impl KnownPeers {
    /// Keeps a connection with the peer from now on, by the entry's present addresses.
    pub(super) fn start(&self, peer: PeerId, entry: &mut PeerEntry) {
        let over = self.0.tasks.stop_token().child_token();
        let staying = self.clone().stay_connected(peer, entry.addresses());
        // The task that kept the connection before ends here.
        entry.keeping = Some(over.clone().drop_guard());
        let task = async move { over.run_until_cancelled(staying).await };
        self.0.tasks.spawn(task);
    }

    async fn stay_connected(self, peer: PeerId, addresses: Vec<Multiaddr>) {
        let node = &self.0.node;
        let mut news = node.watch();
        let mut retry = RetryDelay::new();
        loop {
            let tried = self.connect(&addresses).await;
            if tried == Err(StreamOpenError::Stopped) {
                return;
            }
            self.tried(peer, tried.err());
            if node.peer(peer).is_some() {
                retry.start_over();
            }
            while node.peer(peer).is_some() {
                // The peer may have disconnected and reconnected since.
                node.keep(peer);
                if let Err(RecvError::Closed) = news.recv().await {
                    return;
                }
            }
            sleep(retry.next_delay()).await;
        }
    }

    /// Dials the addresses one after the other.
    async fn connect(&self, addresses: &[Multiaddr]) -> Result<(), StreamOpenError> {
        let mut tried = Err(StreamOpenError::NoAddress);
        for address in addresses {
            tried = self.0.node.connect(address.clone()).await.map(|_| ());
            if matches!(tried, Ok(()) | Err(StreamOpenError::Stopped)) {
                break;
            }
        }
        tried
    }

    fn tried(&self, peer: PeerId, error: Option<StreamOpenError>) {
        if let Some(error) = &error {
            tracing::debug!(%peer, %error, "a peer cannot be reached");
        }
        if let Some(entry) = self.0.peers.lock().get_mut(&peer) {
            entry.error = error.map(|error| PastError::now(error.to_string()));
        }
    }
}
