//! Access to a remote's card: the URL, the allowed connections and the credentials.

use std::sync::{Arc, OnceLock};

use jackfield_core::units::Size;
use jackfield_kit::{
    api::invalid,
    outbound::{Outbound, Url, origin_of},
};
use jackfield_model::{Cause, Failure, Reason};

use super::{
    client::RemoteClient,
    credentials::Credentials,
    discover::{DiscoveredAgents, NothingFound, ask_for_lists, discover},
    find::{CardFetchError, FoundCard, ReadCard, find},
    spec::RemoteSpec,
};

/// Access to a remote's card.
#[derive(Debug)]
pub(super) struct CardAccess {
    outbound: Outbound,
    url: Url,
    credentials: Arc<Credentials>,
    /// Largest answer of the remote.
    max: Size,
    own: OwnKeyId,
}

/// Id of the key that signs the hub's own cards, set once known.
pub(super) type OwnKeyId = Arc<OnceLock<String>>;

impl CardAccess {
    /// Builds the access from the operator's description. A URL that the operator typed is trusted, for any
    /// address.
    pub(super) fn new(
        outbound: &Outbound,
        spec: &RemoteSpec,
        max: Size,
        own: OwnKeyId,
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

    /// Returns the host, for display.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Fetches the card and chooses the endpoint. A card signed by the hub's own key gives
    /// [`CardFetchError::Itself`].
    pub(super) async fn find(&self) -> Result<FoundCard, CardFetchError> {
        let found = find(&self.outbound, &self.url, &self.credentials).await?;
        match self.own.get() {
            Some(own) if found.signed_with.contains(own) => {
                Err(CardFetchError::Itself { url: found.url })
            }
            _ => Ok(found),
        }
    }

    /// Finds the agents at the address: the agent that it names, or those that the server lists.
    pub(super) async fn discover(&self) -> Result<DiscoveredAgents, NothingFound> {
        let own = self.own.get();
        let is_own = |card: &ReadCard| own.is_some_and(|own| card.is_signed_with(own));
        discover(&self.outbound, &self.url, &self.credentials, is_own).await
    }

    /// Returns the failure of adding a remote without a usable card. If the server lists its agents, the failure says
    /// so; else the failure names everything that was tried.
    pub(super) async fn refusal(&self, trouble: CardFetchError) -> Failure {
        let found = ask_for_lists(&self.outbound, &self.url, &self.credentials, trouble).await;
        match found {
            Ok(found) => {
                let server = found.server.unwrap_or("a server");
                let count = match found.agents.len() {
                    1 => "one agent, which has an address of its own".to_owned(),
                    _ if found.is_cut => {
                        "many agents, which have addresses of their own".to_owned()
                    }
                    count => format!("{count} agents, which have addresses of their own"),
                };
                let text = format!(
                    "this is {server} with {count}: POST /v1/discover lists them; nothing was added"
                );
                invalid(text).because(Cause::OtherAddress)
            }
            Err(nothing) => nothing_added(&nothing),
        }
    }

    /// Creates the [`RemoteClient`] to the endpoint. The operator's credentials are for the typed origin only: a card
    /// that names a different origin must not obtain the credentials.
    pub(super) fn line(&self, found: &FoundCard) -> RemoteClient {
        let place = self.outbound.check(&found.place.url).ok();
        let is_typed = place.is_some_and(|place| origin_of(&place) == origin_of(&self.url));
        let credentials = match is_typed {
            true => self.credentials.clone(),
            false => Arc::new(Credentials::none()),
        };
        RemoteClient::new(
            self.outbound.clone(),
            found.place.clone(),
            credentials,
            self.max,
        )
    }
}

/// Returns the failure for an address without any agent.
fn nothing_added(nothing: &NothingFound) -> Failure {
    Failure::new(Reason::Offline, format!("{nothing}; nothing was added"))
}
