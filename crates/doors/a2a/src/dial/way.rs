//! The way to a remote's card: its URL, whom the hub may talk to on that account, and what it shows there.

use std::sync::{Arc, OnceLock};

use jackfield_core::units::Size;
use jackfield_kit::outbound::{Outbound, Url, origin_of};

use super::{
    credentials::Credentials,
    find::{CardTrouble, Found, describe, find},
    line::Line,
    spec::RemoteSpec,
};

/// The way to a remote's card.
#[derive(Debug)]
pub(super) struct Way {
    outbound: Outbound,
    url: Url,
    credentials: Arc<Credentials>,
    /// The most of one answer.
    max: Size,
    own: OwnKey,
}

/// The id of the key with which this hub signs its own cards, once it is known.
pub(super) type OwnKey = Arc<OnceLock<String>>;

impl Way {
    /// The way that the operator described. What was typed there is trusted, wherever it leads.
    pub(super) fn new(
        outbound: &Outbound,
        spec: &RemoteSpec,
        max: Size,
        own: OwnKey,
    ) -> Result<Self, String> {
        let oauth = spec.auth.oauth.as_ref();
        let typed = [Some(&spec.url), oauth.map(|oauth| &oauth.token_url)];
        let outbound = outbound.trusting(typed.into_iter().flatten().map(String::as_str));
        let outbound = outbound.map_err(|error| error.to_string())?;
        let url = outbound
            .check(&spec.url)
            .map_err(|error| error.to_string())?;
        let credentials = Arc::new(Credentials::new(&spec.auth, outbound.clone())?);
        Ok(Self {
            outbound,
            url,
            credentials,
            max,
            own,
        })
    }

    /// The host, for people.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Fetches the card and finds where the remote is called.
    pub(super) async fn find(&self) -> Result<Found, CardTrouble> {
        let found = find(&self.outbound, &self.url, &self.credentials).await?;
        match self.own.get() {
            Some(own) if found.signed_with.contains(own) => {
                Err(CardTrouble::Itself { url: found.url })
            }
            _ => Ok(found),
        }
    }

    /// Says what the server is that has no card where one was looked for, and what to type instead, if that is known.
    pub(super) async fn describe(&self, trouble: &CardTrouble) -> Option<String> {
        match trouble {
            CardTrouble::Nowhere { .. }
            | CardTrouble::Status { .. }
            | CardTrouble::Useless { .. } => {
                describe(&self.outbound, &self.url, &self.credentials).await
            }
            CardTrouble::Outbound(_)
            | CardTrouble::Credentials(_)
            | CardTrouble::Denied { .. }
            | CardTrouble::Redirected { .. }
            | CardTrouble::TooLarge { .. }
            | CardTrouble::Cut { .. }
            | CardTrouble::Itself { .. } => None,
        }
    }

    /// Requests to the place that was found. What the operator gave is for the origin that the operator typed: a card may
    /// name another, and shall not get at the credentials by that.
    pub(super) fn line(&self, found: &Found) -> Line {
        let place = self.outbound.check(&found.place.url).ok();
        let is_typed = place.is_some_and(|place| origin_of(&place) == origin_of(&self.url));
        let credentials = match is_typed {
            true => self.credentials.clone(),
            false => Arc::new(Credentials::none()),
        };
        Line::new(
            self.outbound.clone(),
            found.place.clone(),
            credentials,
            self.max,
        )
    }
}
