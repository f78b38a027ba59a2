//! Access to a remote's card: the URL, the allowed connections and the credentials.

use std::sync::{Arc, OnceLock};

use jackfield_core::units::Size;
use jackfield_kit::outbound::{Outbound, Url, origin_of};

use super::{
    client::RemoteClient,
    credentials::Credentials,
    find::{CardFetchError, FoundCard, describe, find},
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

    /// Describes a server without a card at the expected place, and the command to use instead, if the server
    /// is known.
    pub(super) async fn describe(&self, trouble: &CardFetchError) -> Option<String> {
        match trouble {
            CardFetchError::Nowhere { .. }
            | CardFetchError::Status { .. }
            | CardFetchError::Useless { .. } => {
                describe(&self.outbound, &self.url, &self.credentials).await
            }
            CardFetchError::Outbound(_)
            | CardFetchError::Credentials(_)
            | CardFetchError::Denied { .. }
            | CardFetchError::Redirected { .. }
            | CardFetchError::TooLarge { .. }
            | CardFetchError::Cut { .. }
            | CardFetchError::Itself { .. } => None,
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
