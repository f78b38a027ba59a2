//! Agent cards: the A2A description of each agent of the hub, from any door.
//!
//! - [`compose`]: the card of an agent from the hub's knowledge, [`extra_fields`]: fields of a remote's card
//!   without a place in a profile
//! - [`key`]: the key that signs cards, [`cache`]: the cache of issued cards
//! - [`serve`]: the routes

mod cache;
mod compose;
mod extra_fields;
mod key;
mod serve;

use std::sync::Arc;

use http::Uri;
use jackfield_core::{agent::Share, hub::Wanted, principal::Principal};
use jackfield_kit::auth::Ingress;
use jackfield_model::{AgentId, Failure, Reason};

use self::cache::{CardCache, CardSubject, IssuedCard};
pub use self::key::{BadCardKey, CardKey};
pub(crate) use self::{
    compose::is_of_hub,
    extra_fields::ExtraCardFields,
    serve::{root_routes, routes},
};
use crate::A2aDoor;
use crate::wire::{
    card::{A2aCard, CardAudience, KEYS_PATH},
    official::A2aVersion,
};

/// Public address of the door. Never taken from a request.
#[derive(Debug)]
struct DoorSite {
    /// Public URL, without a trailing slash.
    url: String,
    /// Path of the door below the URL.
    prefix: String,
    /// Host and port of gRPC, if served.
    grpc: Option<String>,
    /// Agent that is meant by requests to the door that name none.
    default_agent: Option<AgentId>,
}

impl DoorSite {
    /// Returns the URL of the door.
    fn base(&self) -> String {
        format!("{}{}", self.url, self.prefix)
    }
}

/// Conditions of the door that hold for every agent.
#[derive(Debug, Clone, Copy)]
struct DoorTerms {
    /// True if callers must send a token.
    needs_token: bool,
    /// True if callers can receive push notifications.
    pushes: bool,
}

/// Cards of a door: address, signing key and cache. Without an address ([`Cards::default`]), the door has no
/// cards.
#[derive(Debug, Default)]
pub struct Cards {
    site: Option<DoorSite>,
    key: Option<CardKey>,
    shelf: CardCache,
}

impl Cards {
    /// Creates the cards of a door whose routes are below `/a2a` of `public_url`.
    pub fn at(public_url: &str) -> Self {
        let site = DoorSite {
            url: public_url.trim_end_matches('/').to_owned(),
            prefix: "/a2a".to_owned(),
            grpc: None,
            default_agent: None,
        };
        Self {
            site: Some(site),
            ..Self::default()
        }
    }

    /// Sets the prefix of the routes, without a trailing slash.
    pub fn below(self, prefix: &str) -> Self {
        self.with(|site| prefix.clone_into(&mut site.prefix))
    }

    /// Signs the cards with a [`CardKey`].
    pub fn signed_by(mut self, key: CardKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Returns the id of the signing key.
    pub(crate) fn key_id(&self) -> Option<&str> {
        self.key.as_ref().map(CardKey::id)
    }

    /// Offers gRPC at host and port of the public URL.
    pub fn with_grpc(self) -> Self {
        self.with(|site| site.grpc = grpc_target(&site.url))
    }

    /// Sets the agent that is meant by requests to the door that name none.
    pub fn with_default_agent(self, agent: Option<AgentId>) -> Self {
        self.with(|site| site.default_agent = agent)
    }

    fn with(mut self, change: impl FnOnce(&mut DoorSite)) -> Self {
        if let Some(site) = &mut self.site {
            change(site);
        }
        self
    }

    fn site(&self) -> Result<&DoorSite, Failure> {
        self.site.as_ref().ok_or_else(|| {
            let text = "there are no cards here, since this server was not told its public URL";
            Failure::new(Reason::NotFound, text)
        })
    }

    /// Returns the [`IssuedCard`] card to send: signed, or the cached card with its earlier signature.
    fn issue(
        &self,
        site: &DoorSite,
        subject: CardSubject,
        reader: CardAudience,
        card: A2aCard,
    ) -> Arc<IssuedCard> {
        self.shelf.issue(subject, reader, card, |card| {
            if let Some(key) = &self.key {
                key.sign(card, reader, &format!("{}{KEYS_PATH}", site.url));
            }
        })
    }
}

/// Returns host and port of a URL, the target for gRPC clients.
fn grpc_target(url: &str) -> Option<String> {
    let url: Uri = url.parse().ok()?;
    let port = match url.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    Some(format!(
        "{}:{}",
        url.host()?,
        url.port_u16().unwrap_or(port)
    ))
}

impl A2aDoor {
    /// Returns the card of an agent that the principal may call. Agents of other owners and unknown agents
    /// give the same error.
    fn card_of(
        &self,
        principal: &Principal,
        agent: &str,
        reader: CardAudience,
        came: &Ingress,
    ) -> Result<Arc<IssuedCard>, Failure> {
        let id = AgentId::parse(agent).map_err(|_| Failure::no_such_agent(agent))?;
        let view = self.hub.agents().find(principal, id.as_str())?.view();
        let site = self.cards.site()?;
        let card = compose::agent_card(site, &view, self.terms(came));
        Ok(self.cards.issue(site, CardSubject::Agent(id), reader, card))
    }

    /// Returns the card of an agent that is shared with everyone, for unauthenticated readers. Other agents
    /// and unknown agents both give `None`.
    fn public_card_of(
        &self,
        agent: &str,
        reader: CardAudience,
        came: &Ingress,
    ) -> Option<Arc<IssuedCard>> {
        let principal = Principal::local();
        let id = AgentId::parse(agent).ok()?;
        let entry = self.hub.agents().find(&principal, id.as_str()).ok()?;
        if entry.share() != Share::Everyone {
            return None;
        }
        self.card_of(&principal, agent, reader, came).ok()
    }

    /// Returns the hub's own card, with the agents that the principal may call.
    fn hub_card(
        &self,
        principal: &Principal,
        reader: CardAudience,
        came: &Ingress,
    ) -> Result<Arc<IssuedCard>, Failure> {
        let site = self.cards.site()?;
        let mut agents = self.hub.agents().discover(principal, &Wanted::default());
        agents.retain(|view| self.hub.agents().find(principal, view.id.as_str()).is_ok());
        let card = compose::hub_card(site, &agents, self.terms(came));
        let subject = CardSubject::hub(principal);
        Ok(self.cards.issue(site, subject, reader, card))
    }

    /// Returns the extended card of an agent as JSON of `version`: the public card with the agent's presence
    /// and owner.
    pub fn extended_card_json(
        &self,
        principal: &Principal,
        agent: &AgentId,
        version: A2aVersion,
        came: &Ingress,
    ) -> Result<String, Failure> {
        let view = self.hub.agents().find(principal, agent.as_str())?.view();
        let site = self.cards.site()?;
        let card = compose::extended_card(site, &view, self.terms(came));
        let subject = CardSubject::Extended(agent.clone());
        let issued = self
            .cards
            .issue(site, subject, CardAudience::Of(version), card);
        Ok(issued.body.to_string())
    }

    /// Returns the conditions for callers that arrive by the same route as the reader. A reader behind a
    /// proxy needs a token, whereas the hub's own user may need none.
    fn terms(&self, came: &Ingress) -> DoorTerms {
        DoorTerms {
            needs_token: !self.gatekeeper.trusts(came),
            pushes: self.outbound.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_is_reached_at_host_and_port() {
        for (url, target) in [
            ("https://hub.example.com", Some("hub.example.com:443")),
            ("http://hub.example.com/base", Some("hub.example.com:80")),
            ("http://127.0.0.1:7411", Some("127.0.0.1:7411")),
            ("http://[::1]:7411", Some("[::1]:7411")),
            ("/nowhere", None),
        ] {
            assert_eq!(grpc_target(url).as_deref(), target, "{url}");
        }
    }
}
