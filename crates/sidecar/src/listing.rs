//! The entry in a registry. It is created with the peer's signature once the agent's card was fetched,
//! renewed, replaced after every change of card or addresses, and removed at the end. Registries of the
//! original, which know no signatures, accept it too.

use std::{sync::Arc, time::Duration};

use http::Method;
use jackfield_peer::{
    Multiaddr,
    keys::{Keypair, SigningError},
    multiaddr::Protocol,
    node::Node,
    proof::{Statement, sign},
    retry::RetryDelay,
    wire::{
        MAX_ADDRESSES, read_card,
        registry::{DEFAULT_TTL, Heartbeat, Proof, Registration},
    },
};
use serde::Deserialize;
use tokio::{
    sync::{Mutex, watch},
    time::sleep,
};

use super::{
    site::{HttpSite, SiteError},
    status::{ListingStatus, SidecarStatus, until_seen},
};
use crate::endpoint::{EndpointState, SeenCard};

/// Interval of renewals: two may be lost.
const RENEW: Duration = Duration::from_secs(DEFAULT_TTL / 3);

/// Time to collect changes that come together, such as addresses at several relays.
const SETTLE: Duration = Duration::from_millis(200);

/// Keeps the entry in the registry.
#[derive(Debug)]
pub(super) struct RegistryClient {
    pub(super) site: HttpSite,
    pub(super) key: Keypair,
    pub(super) node: Node,
    pub(super) relays: Vec<Multiaddr>,
    pub(super) sight: watch::Receiver<EndpointState>,
    pub(super) tell: Arc<watch::Sender<SidecarStatus>>,
    /// Held during every request to the registry; true once the entry was removed. A registration that
    /// arrived after the removal would stay.
    pub(super) has_left: Mutex<bool>,
}

/// Why there is no entry.
#[derive(Debug, thiserror::Error)]
enum ListError {
    #[error(transparent)]
    Site(#[from] SiteError),
    #[error("the registration cannot be signed: {0}")]
    Unsigned(#[from] SigningError),
}

#[derive(Debug, Deserialize)]
struct Challenge {
    challenge: String,
}

impl RegistryClient {
    /// Keeps the entry up to date. Ends with the node.
    pub(super) async fn stay_listed(self: Arc<Self>) {
        let (mut sight, mut addresses) = (self.sight.clone(), self.node.watch_addresses());
        if !until_seen(&mut sight).await {
            return;
        }
        let mut retry = RetryDelay::new();
        loop {
            addresses.mark_unchanged();
            let shown = sight.borrow_and_update().last().cloned();
            let Some(shown) = shown else { return };
            let has_left = self.has_left.lock().await;
            if *has_left {
                return;
            }
            let (listing, pause) = match self.list(&shown).await {
                Ok(()) => {
                    retry.start_over();
                    (ListingStatus::Listed, RENEW)
                }
                Err(error) => {
                    let why = error.to_string().into();
                    let listing = match &error {
                        ListError::Site(it) if it.is_forbidden() => ListingStatus::Forbidden(why),
                        ListError::Site(it) => ListingStatus::Failed {
                            why,
                            is_refused: it.is_refused(),
                        },
                        ListError::Unsigned(_) => ListingStatus::Failed {
                            why,
                            is_refused: false,
                        },
                    };
                    (listing, retry.next_delay())
                }
            };
            self.tell(listing);
            drop(has_left);
            tokio::select! {
                () = sleep(pause) => {}
                () = until_new(&mut sight, &shown) => sleep(SETTLE).await,
                changed = addresses.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    sleep(SETTLE).await;
                }
            }
        }
    }

    /// Removes the entry, if there is one.
    pub(super) async fn leave(&self) {
        let mut has_left = self.has_left.lock().await;
        *has_left = true;
        if self.tell.borrow().listing != ListingStatus::Listed {
            return;
        }
        let left = async {
            let word = Heartbeat {
                peer_id: self.node.peer_id().to_string(),
                ttl: None,
                proof: self.proof(&Statement::Remove).await?,
            };
            let body = word.to_json();
            let path = self.own_path();
            let left = self.site.ask(Method::DELETE, &path, body).await;
            left.map_err(ListError::from)
        };
        match left.await {
            Ok(_) => self.tell(ListingStatus::None),
            Err(error) => tracing::debug!(%error, "the registry cannot be told"),
        }
    }

    async fn list(&self, shown: &SeenCard) -> Result<(), ListError> {
        let addresses = self.addresses();
        let statement = Statement::Register {
            name: &shown.card.name,
            addresses: &addresses,
        };
        let proof = self.proof(&statement).await?;
        let skills = shown.card.skills.iter();
        let registration = Registration {
            peer_id: self.node.peer_id().to_string(),
            agent_name: Some(shown.card.name.clone()),
            capabilities: skills.map(|skill| skill.id.clone()).collect(),
            // Cut as peers get it, since the body has a limit too.
            card: read_card(shown.text.as_bytes()).ok(),
            ttl: DEFAULT_TTL,
            addresses,
            proof,
        };
        let body = registration.to_json();
        self.site.ask(Method::POST, "/register", body).await?;
        Ok(())
    }

    /// Returns the addresses to announce: listen addresses, and addresses through relays. A relay may require
    /// the entry before it grants a reservation, so its address is announced first.
    fn addresses(&self) -> Vec<String> {
        let peer = self.node.peer_id();
        let mut all = self.node.addresses();
        for relay in &self.relays {
            let through = relay.clone().with(Protocol::P2pCircuit);
            let through = through.with(Protocol::P2p(peer));
            if !all.contains(&through) {
                all.push(through);
            }
        }
        let all = all.iter().map(ToString::to_string);
        all.take(MAX_ADDRESSES).collect()
    }

    /// Signs a [`Statement`]; `None` if the registry gives no challenge.
    async fn proof(&self, statement: &Statement<'_>) -> Result<Option<Proof>, ListError> {
        let path = self.own_path();
        let body = match self.site.ask(Method::GET, &path, String::new()).await {
            Ok(body) => body,
            Err(SiteError::Refused { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Ok(Challenge { challenge }) = serde_json::from_slice(&body) else {
            return Ok(None);
        };
        Ok(Some(sign(&self.key, &challenge, statement)?))
    }

    fn own_path(&self) -> String {
        format!("/register/{}", self.node.peer_id())
    }

    fn tell(&self, listing: ListingStatus) {
        self.tell.send_if_modified(|status| {
            let is_new = status.listing != listing;
            status.listing = listing;
            is_new
        });
    }
}

/// Waits until the agent's card differs from `shown`.
async fn until_new(sight: &mut watch::Receiver<EndpointState>, shown: &SeenCard) {
    let is_new = |sight: &EndpointState| sight.last().is_some_and(|now| now.text != shown.text);
    if sight.wait_for(is_new).await.is_err() {
        // The card is not fetched any more; the entry stays as it is.
        std::future::pending().await
    }
}
