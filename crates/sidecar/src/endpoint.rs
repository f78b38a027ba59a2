//! An agent behind HTTP that the operator named. A handoff becomes one request to it, as in the seed, to this
//! origin only, and only by a method and a path that the agent's own card declares.
//!
//! The card is fetched in the background, so that the agent may start, stop and change at any time without
//! delaying requests.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use jackfield_kit::outbound::{Outbound, OutboundError, Url, origin_of};
use jackfield_peer::{
    card,
    failure::HandoffError,
    retry::RetryDelay,
    wire::{CardError, Data, MAX_CARD, MAX_WRITTEN_CARD, Method, PeerCard, path, read_card},
};
use tokio::{
    sync::{Mutex, watch},
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    fetch::{Fetch, FetchPlan},
    limits,
};

/// Why an agent behind HTTP has no card.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The agent cannot be reached.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// The agent answers with an error status.
    #[error("{url} answers {status}, and not with a card")]
    Status {
        /// URL of the card.
        url: String,
        /// Status of the answer.
        status: StatusCode,
    },
    /// The answer is no card.
    #[error("{url} is no card: {why}")]
    NoCard {
        /// URL of the card.
        url: String,
        /// What is wrong with the answer.
        why: String,
    },
}

/// The card of an agent behind HTTP.
#[derive(Debug)]
pub struct SeenCard {
    /// The parsed card.
    pub card: PeerCard,
    /// The card as peers get it: at most 16 KiB, and the agent's own bytes where they fit.
    pub text: String,
}

/// State of an agent behind HTTP.
#[derive(Debug, Clone, Default)]
pub enum EndpointState {
    /// The card was not fetched yet.
    #[default]
    Unseen,
    /// The agent is reachable and has this card.
    Here(Arc<SeenCard>),
    /// The card could not be fetched, for this reason; with the last card, if any.
    Gone(Arc<str>, Option<Arc<SeenCard>>),
}

impl EndpointState {
    /// Returns the newest card, whether the agent is reachable now or not.
    pub fn last(&self) -> Option<&Arc<SeenCard>> {
        match self {
            Self::Here(shown) | Self::Gone(_, Some(shown)) => Some(shown),
            Self::Unseen | Self::Gone(_, None) => None,
        }
    }

    /// Returns whether the agent is reachable.
    pub fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }
}

/// An agent behind HTTP. Clones are the same agent.
#[derive(Debug, Clone)]
pub struct Endpoint(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// URL of the agent, without a slash at the end.
    base: String,
    origin: String,
    /// Name in place of the card's name.
    name: Option<String>,
    outbound: Outbound,
    sight: watch::Sender<EndpointState>,
    /// Time of the last fetch.
    looked: Mutex<Option<Instant>>,
}

impl Endpoint {
    /// Creates an agent at a URL that the operator configured, with its card at `/card`. The card is fetched
    /// by [`Endpoint::keep`].
    pub fn new(
        outbound: &Outbound,
        base: &str,
        name: Option<String>,
    ) -> Result<Self, OutboundError> {
        let outbound = outbound.trusting([base])?;
        let url = outbound.check(base)?;
        Ok(Self(Arc::new(Inner {
            base: base.trim_end_matches('/').to_owned(),
            origin: origin_of(&url),
            name,
            outbound,
            sight: watch::Sender::default(),
            looked: Mutex::default(),
        })))
    }

    /// Returns the present [`EndpointState`].
    pub fn sight(&self) -> EndpointState {
        self.0.sight.borrow().clone()
    }

    /// Watches the state.
    pub fn watch(&self) -> watch::Receiver<EndpointState> {
        self.0.sight.subscribe()
    }

    /// Fetches the card now and at intervals, sooner after a failure. Never ends.
    pub async fn keep(self) {
        let mut retry = RetryDelay::new();
        loop {
            match self.look().await {
                EndpointState::Here(_) => {
                    retry.start_over();
                    sleep(limits::CARD_EVERY).await;
                }
                EndpointState::Unseen | EndpointState::Gone(..) => sleep(retry.next_delay()).await,
            }
        }
    }

    /// Fetches the card, unless it was fetched a moment ago.
    pub async fn look(&self) -> EndpointState {
        let mut looked = self.0.looked.lock().await;
        if looked.is_none_or(|at| at.elapsed() >= limits::CARD_APART) {
            let fetched = self.fetch_card().await;
            *looked = Some(Instant::now());
            self.note(fetched);
        }
        self.sight()
    }

    /// Fetches the card for a request that it does not cover; after a moment, if it was just fetched.
    pub(crate) async fn look_anew(&self) -> EndpointState {
        let looked = *self.0.looked.lock().await;
        if let Some(at) = looked {
            sleep_until(at + limits::CARD_APART).await;
        }
        self.look().await
    }

    /// Returns the card for a waiting peer: fetches it first, since the agent may have started or changed.
    pub async fn card(&self) -> Result<Arc<SeenCard>, HandoffError> {
        let looked = timeout(limits::CARD_WAIT, self.look()).await;
        match looked.unwrap_or_else(|_| self.sight()) {
            EndpointState::Here(shown) => Ok(shown),
            EndpointState::Unseen | EndpointState::Gone(..) => Err(not_there()),
        }
    }

    fn note(&self, fetched: Result<SeenCard, EndpointError>) {
        self.0.sight.send_if_modified(|sight| {
            let new = match fetched {
                Ok(shown) => match &*sight {
                    EndpointState::Here(had) if had.text == shown.text => return false,
                    _ => EndpointState::Here(Arc::new(shown)),
                },
                Err(error) => {
                    let why = error.to_string();
                    match &*sight {
                        EndpointState::Gone(had, _) if **had == *why => return false,
                        _ => EndpointState::Gone(why.into(), sight.last().cloned()),
                    }
                }
            };
            match &new {
                EndpointState::Gone(why, _) => {
                    tracing::warn!(%why, "an agent behind HTTP shows no card; it is asked again");
                }
                EndpointState::Here(shown) => {
                    let (name, url) = (&shown.card.name, &self.0.base);
                    tracing::info!(name, url, "card of an agent behind HTTP");
                    for remark in shown.card.remarks() {
                        tracing::warn!(name, url, remark, "its card is not as it should be");
                    }
                }
                EndpointState::Unseen => {}
            }
            *sight = new;
            true
        });
    }

    async fn fetch_card(&self) -> Result<SeenCard, EndpointError> {
        let url = format!("{}/card", self.0.base);
        let fetched = self.0.outbound.fetch(&url, HeaderMap::new(), MAX_CARD);
        let fetched = fetched.await?;
        if !fetched.status.is_success() {
            let status = fetched.status;
            return Err(EndpointError::Status { url, status });
        }
        let mut card = read_card(&fetched.body).map_err(|error| {
            let why = match error {
                CardError::Error(error) => error.text,
                CardError::Fault(fault) => fault.to_string(),
            };
            EndpointError::NoCard { url, why }
        })?;
        let own = String::from_utf8(fetched.body.into()).ok();
        let own = own.filter(|own| own.len() <= MAX_WRITTEN_CARD && self.0.name.is_none());
        if let Some(name) = &self.0.name {
            card.name.clone_from(name);
        }
        let text = own.unwrap_or_else(|| card::fitting(&card));
        Ok(SeenCard { card, text })
    }

    /// Returns the [`Fetch`] for a path, which must be filled in and checked. Refused unless the card declares
    /// it. At most `max` bytes of the answer are read.
    pub fn plan(
        &self,
        method: Method,
        rest: &str,
        input: Option<Data>,
        max: usize,
    ) -> Result<Fetch, HandoffError> {
        let sight = self.sight();
        let shown = sight.last().ok_or_else(not_there)?;
        let skills = shown.card.skills.iter();
        let mut here = skills
            .filter(|skill| path::matches(&skill.path, rest))
            .peekable();
        if here.peek().is_none() {
            return Err(HandoffError::with_code(
                404,
                "the agent has nothing at this path; see its card",
            ));
        }
        if !here.any(|skill| skill.method == method.name()) {
            let text = format!("the agent does not take {method} at this path; see its card");
            return Err(HandoffError::with_code(405, text));
        }
        let url = Url::parse(&format!("{}{rest}", self.0.base)).ok();
        // A checked path cannot leave the origin. A mistake would do harm here, so it is checked again.
        let url = url.filter(|url| origin_of(url) == self.0.origin);
        let url =
            url.ok_or_else(|| HandoffError::with_code(400, "field \"path\" leads elsewhere"))?;
        Ok(Fetch::from(FetchPlan {
            outbound: self.0.outbound.clone(),
            method,
            url,
            input,
            max,
        }))
    }
}

/// Error for an agent that does not answer.
pub(super) const NOT_THERE: &str = "the agent cannot be reached; start it beside its peer";

/// Hides from the peer where the agent is and why it does not answer.
fn not_there() -> HandoffError {
    HandoffError::away(NOT_THERE)
}
