//! The entry in a registry: made once the agent was seen, with the peer's signature; renewed, and said anew with every
//! change of card or addresses; taken away at the end. Registries of the original, which know no signatures, take it too.

use std::{fmt, sync::Arc, time::Duration};

use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use jackfield_kit::outbound::{MAX_ANSWER, Outbound, OutboundError};
use jackfield_wire::p2p::{
    Answer, MAX_ADDRESSES, read_answer, read_card,
    registry::{DEFAULT_TTL, Heartbeat, Proof, Registration},
};
use libp2p::{Multiaddr, identity::Keypair, multiaddr::Protocol};
use serde::Deserialize;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::standing::{Listing, Standing, until_seen};
use crate::{
    node::Node,
    registry::{Statement, sign},
    serve::{Shown, Sight},
    waits::Waits,
};

/// How long a registry may take for one request (the original's own limit).
const PATIENCE: Duration = Duration::from_secs(5);

/// How often the entry is renewed: two renewals may be lost.
const RENEW: Duration = Duration::from_secs(DEFAULT_TTL / 3);

/// How long changes are waited for that come together, as the addresses at several relays do.
const SETTLE: Duration = Duration::from_millis(200);

/// A registry, and what to show there.
#[derive(Clone)]
pub struct RegistryAt {
    /// Its URL.
    pub url: String,
    /// The token, where the peer's signature is not enough.
    pub token: Option<String>,
}

impl fmt::Debug for RegistryAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryAt")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl RegistryAt {
    /// The same, if its URL can be used.
    pub(super) fn checked(self, outbound: &Outbound) -> Result<Self, OutboundError> {
        outbound.trusting([&*self.url])?;
        Ok(Self {
            url: self.url.trim_end_matches('/').to_owned(),
            ..self
        })
    }
}

/// Whoever keeps the entry.
#[derive(Debug)]
pub(super) struct Lister {
    pub(super) at: RegistryAt,
    pub(super) outbound: Outbound,
    pub(super) key: Keypair,
    pub(super) node: Node,
    pub(super) relays: Vec<Multiaddr>,
    pub(super) sight: watch::Receiver<Sight>,
    pub(super) tell: Arc<watch::Sender<Standing>>,
}

/// Why there is no entry.
#[derive(Debug, thiserror::Error)]
enum ListError {
    #[error(transparent)]
    Unreachable(#[from] OutboundError),
    #[error("it does not answer within {} s", PATIENCE.as_secs())]
    Late,
    #[error("it answers {status}: {text}")]
    Refused { status: StatusCode, text: String },
    #[error("the registration cannot be signed: {0}")]
    Unsigned(#[from] libp2p::identity::SigningError),
}

impl ListError {
    fn is_refused(&self) -> bool {
        let codes = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
        matches!(self, Self::Refused { status, .. } if codes.contains(status))
    }
}

#[derive(Debug, Deserialize)]
struct Challenge {
    challenge: String,
}

impl Lister {
    /// Keeps the entry up to date. Ends with the node.
    pub(super) async fn stay_listed(self: Arc<Self>) {
        let (mut sight, mut addresses) = (self.sight.clone(), self.node.watch_addresses());
        if !until_seen(&mut sight).await {
            return;
        }
        let mut waits = Waits::new();
        loop {
            addresses.mark_unchanged();
            let shown = sight.borrow_and_update().last().cloned();
            let Some(shown) = shown else { return };
            let (listing, pause) = match self.list(&shown).await {
                Ok(()) => {
                    waits.start_over();
                    (Listing::Listed, RENEW)
                }
                Err(error) => {
                    let is_refused = error.is_refused();
                    let why = error.to_string().into();
                    (Listing::Failed { why, is_refused }, waits.next())
                }
            };
            self.tell(listing);
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

    /// Takes the entry away, if there is one.
    pub(super) async fn leave(&self) {
        if self.tell.borrow().listing != Listing::Listed {
            return;
        }
        let left = async {
            let word = Heartbeat {
                peer_id: self.node.peer_id().to_string(),
                ttl: None,
                proof: self.proof(&Statement::Remove).await?,
            };
            self.ask(Method::DELETE, &self.own_path(), word.to_json())
                .await
        };
        match left.await {
            Ok(_) => self.tell(Listing::None),
            Err(error) => tracing::debug!(%error, "the registry cannot be told"),
        }
    }

    async fn list(&self, shown: &Shown) -> Result<(), ListError> {
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
            // As small as peers get it: the body has a limit too.
            card: read_card(shown.text.as_bytes()).ok(),
            ttl: DEFAULT_TTL,
            addresses,
            proof,
        };
        let body = registration.to_json();
        self.ask(Method::POST, "/register", body).await?;
        Ok(())
    }

    /// Where it is reached: where it listens, and through its relays. A relay may want to find it registered before it
    /// gives a place, so that the way through it is told before it leads anywhere.
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

    /// What proves that the peer itself says so; nothing where the registry gives no challenge.
    async fn proof(&self, statement: &Statement<'_>) -> Result<Option<Proof>, ListError> {
        let asked = self.ask(Method::GET, &self.own_path(), String::new()).await;
        let body = match asked {
            Ok(body) => body,
            Err(ListError::Refused { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Ok(Challenge { challenge }) = serde_json::from_slice(&body) else {
            return Ok(None);
        };
        Ok(Some(sign(&self.key, &challenge, statement)?))
    }

    fn own_path(&self) -> String {
        format!("/register/{}", self.node.peer_id())
    }

    async fn ask(&self, method: Method, path: &str, body: String) -> Result<Vec<u8>, ListError> {
        let url = format!("{}{path}", self.at.url);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = &self.at.token
            && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {token}"))
        {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let outbound = self.outbound.trusting([&*self.at.url])?;
        let asked = async {
            let opened = outbound.open(method, &url, headers, body, None).await?;
            let status = opened.status();
            // A word of refusal that breaks off is none.
            let body = opened.whole(MAX_ANSWER).await.unwrap_or_default();
            if status.is_success() {
                return Ok(body.to_vec());
            }
            let text = match read_answer(&body) {
                Answer::Error(error) => error.text,
                Answer::Body(_) => error_in(&body).unwrap_or_default(),
            };
            Err(ListError::Refused { status, text })
        };
        let asked = timeout(PATIENCE, asked).await;
        asked.map_err(|_| ListError::Late)?
    }

    fn tell(&self, listing: Listing) {
        self.tell.send_if_modified(|standing| {
            let is_new = standing.listing != listing;
            standing.listing = listing;
            is_new
        });
    }
}

/// The text in `{"error": text}`, as registries say it.
fn error_in(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Told {
        error: String,
    }
    let told: Told = serde_json::from_slice(body).ok()?;
    Some(told.error)
}

/// Waits until the agent shows another card than this one.
async fn until_new(sight: &mut watch::Receiver<Sight>, shown: &Shown) {
    let is_new = |sight: &Sight| sight.last().is_some_and(|now| now.text != shown.text);
    if sight.wait_for(is_new).await.is_err() {
        // Nobody looks any more; the entry is kept as it is.
        std::future::pending().await
    }
}
