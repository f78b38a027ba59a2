//! An agent behind HTTP that the operator named: a handoff becomes one request to it, as in the seed. The request goes to
//! that origin and nowhere else, and only by a method and a path that the agent's own card declares.
//!
//! The card is looked at in the background, so that the agent may come, go and change while nothing here waits for it.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use jackfield_kit::outbound::{Outbound, OutboundError, Url, origin_of};
use jackfield_peer::{
    card,
    failure::Trouble,
    waits::Waits,
    wire::{CardError, Data, MAX_CARD, MAX_WRITTEN_CARD, Method, PeerCard, path, read_card},
};
use tokio::{
    sync::{Mutex, watch},
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    fetch::{Fetch, Plan},
    limits,
};

/// Why an agent behind HTTP shows no card.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Nobody is there.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// It has no card.
    #[error("{url} answers {status}, and not with a card")]
    Status {
        /// Where the card should be.
        url: String,
        /// What is there.
        status: StatusCode,
    },
    /// What it has there is no card.
    #[error("{url} is no card: {why}")]
    NoCard {
        /// Where the card should be.
        url: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The card of an agent behind HTTP.
#[derive(Debug)]
pub struct Shown {
    /// What it says.
    pub card: PeerCard,
    /// As peers get it from the agent's own node: at most 16 KiB, and the agent's own bytes where they fit.
    pub text: String,
}

/// What is known of an agent behind HTTP.
#[derive(Debug, Clone, Default)]
pub enum Sight {
    /// Nobody has looked yet.
    #[default]
    Unseen,
    /// It is there, and shows this card.
    Here(Arc<Shown>),
    /// It shows no card, for this reason; the last one that it showed.
    Gone(Arc<str>, Option<Arc<Shown>>),
}

impl Sight {
    /// The newest card that was seen, whether the agent is there now or not.
    pub fn last(&self) -> Option<&Arc<Shown>> {
        match self {
            Self::Here(shown) | Self::Gone(_, Some(shown)) => Some(shown),
            Self::Unseen | Self::Gone(_, None) => None,
        }
    }

    /// Whether it is there.
    pub fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }
}

/// An agent behind HTTP. Clones are the same agent.
#[derive(Debug, Clone)]
pub struct Endpoint(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Its URL, without a slash at the end.
    base: String,
    origin: String,
    /// What it is called here, whatever its card says.
    name: Option<String>,
    outbound: Outbound,
    sight: watch::Sender<Sight>,
    /// When somebody last looked.
    looked: Mutex<Option<Instant>>,
}

impl Endpoint {
    /// An agent at a URL that the operator typed, with its card at `/card`. Nobody looks there before [`Endpoint::keep`].
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

    /// What is known of it now.
    pub fn sight(&self) -> Sight {
        self.0.sight.borrow().clone()
    }

    /// What becomes known of it.
    pub fn watch(&self) -> watch::Receiver<Sight> {
        self.0.sight.subscribe()
    }

    /// Looks at its card now and then, at once for the first time, and sooner again after a failure. Never ends.
    pub async fn keep(self) {
        let mut waits = Waits::new();
        loop {
            match self.look().await {
                Sight::Here(_) => {
                    waits.start_over();
                    sleep(limits::CARD_EVERY).await;
                }
                Sight::Unseen | Sight::Gone(..) => sleep(waits.next()).await,
            }
        }
    }

    /// Looks at its card, unless somebody did a moment ago.
    pub async fn look(&self) -> Sight {
        let mut looked = self.0.looked.lock().await;
        if looked.is_none_or(|at| at.elapsed() >= limits::CARD_APART) {
            let fetched = self.fetch_card().await;
            *looked = Some(Instant::now());
            self.note(fetched);
        }
        self.sight()
    }

    /// Looks at its card for somebody who misses something there; a moment later, if somebody just looked.
    pub(crate) async fn look_anew(&self) -> Sight {
        let looked = *self.0.looked.lock().await;
        if let Some(at) = looked {
            sleep_until(at + limits::CARD_APART).await;
        }
        self.look().await
    }

    /// The card for a peer that waits for it: the agent may have come since the last look, or learnt something.
    pub async fn card(&self) -> Result<Arc<Shown>, Trouble> {
        let looked = timeout(limits::CARD_WAIT, self.look()).await;
        match looked.unwrap_or_else(|_| self.sight()) {
            Sight::Here(shown) => Ok(shown),
            Sight::Unseen | Sight::Gone(..) => Err(not_there()),
        }
    }

    fn note(&self, fetched: Result<Shown, EndpointError>) {
        self.0.sight.send_if_modified(|sight| {
            let new = match fetched {
                Ok(shown) => match &*sight {
                    Sight::Here(had) if had.text == shown.text => return false,
                    _ => Sight::Here(Arc::new(shown)),
                },
                Err(error) => {
                    let why = error.to_string();
                    match &*sight {
                        Sight::Gone(had, _) if **had == *why => return false,
                        _ => Sight::Gone(why.into(), sight.last().cloned()),
                    }
                }
            };
            match &new {
                Sight::Gone(why, _) => {
                    tracing::warn!(%why, "an agent behind HTTP shows no card; it is asked again");
                }
                Sight::Here(shown) => {
                    let (name, url) = (&shown.card.name, &self.0.base);
                    tracing::info!(name, url, "card of an agent behind HTTP");
                    for remark in shown.card.remarks() {
                        tracing::warn!(name, url, remark, "its card is not as it should be");
                    }
                }
                Sight::Unseen => {}
            }
            *sight = new;
            true
        });
    }

    async fn fetch_card(&self) -> Result<Shown, EndpointError> {
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
        Ok(Shown { card, text })
    }

    /// What a request for a path, filled in and checked, leads to; refused unless the card declares it. Up to `max`
    /// bytes of the answer are read.
    pub fn plan(
        &self,
        method: Method,
        rest: &str,
        input: Option<Data>,
        max: usize,
    ) -> Result<Fetch, Trouble> {
        let sight = self.sight();
        let shown = sight.last().ok_or_else(not_there)?;
        let skills = shown.card.skills.iter();
        let mut here = skills
            .filter(|skill| path::matches(&skill.path, rest))
            .peekable();
        if here.peek().is_none() {
            return Err(Trouble::coded(
                404,
                "the agent has nothing at this path; see its card",
            ));
        }
        if !here.any(|skill| skill.method == method.name()) {
            let text = format!("the agent does not take {method} at this path; see its card");
            return Err(Trouble::coded(405, text));
        }
        let url = Url::parse(&format!("{}{rest}", self.0.base)).ok();
        // A checked path cannot lead elsewhere; this is the place where it would do harm, so it is looked at again.
        let url = url.filter(|url| origin_of(url) == self.0.origin);
        let url = url.ok_or_else(|| Trouble::coded(400, "field \"path\" leads elsewhere"))?;
        Ok(Fetch::from(Plan {
            outbound: self.0.outbound.clone(),
            method,
            url,
            input,
            max,
        }))
    }
}

/// What a peer is told of an agent that does not answer.
pub(super) const NOT_THERE: &str = "the agent cannot be reached; start it beside its peer";

/// The peer is not told where the agent is, or why it is not.
fn not_there() -> Trouble {
    Trouble::away(NOT_THERE)
}
