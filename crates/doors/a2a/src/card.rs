//! The cards of agents: how each agent of the hub, whatever its door, introduces itself to readers of A2A.
//!
//! - `compose.rs` what the hub knows of an agent becomes its card
//! - `key.rs` the key that signs cards, `shelf.rs` those that were given out
//! - `serve.rs` the routes

mod besides;
mod compose;
mod key;
mod serve;
mod shelf;

use std::sync::Arc;

use http::Uri;
use jackfield_core::{agent::Share, hub::Wanted, principal::Principal};
use jackfield_kit::auth::Came;
use jackfield_model::{AgentId, Failure, Reason};

pub use self::key::{BadCardKey, CardKey};
use self::shelf::{Issued, Shelf, Subject};
pub(crate) use self::{
    besides::Besides,
    compose::is_of_hub,
    serve::{root_routes, routes},
};
use crate::A2a;
use crate::wire::{
    card::{Card, KEYS_PATH, Reader},
    official::Version,
};

/// Where the door is, as its callers see it. Never taken from what a request says.
#[derive(Debug)]
struct Site {
    /// The public URL, without a slash at its end.
    url: String,
    /// The path of the door below it.
    prefix: String,
    /// Host and port of gRPC, if it is served.
    grpc: Option<String>,
}

impl Site {
    /// The URL of the door.
    fn base(&self) -> String {
        format!("{}{}", self.url, self.prefix)
    }
}

/// What holds for every agent of the door.
#[derive(Debug, Clone, Copy)]
struct Terms {
    /// Callers must show a token.
    needs_token: bool,
    /// Callers are told of changes by requests to their own servers, if they want.
    pushes: bool,
}

/// What the door needs to write cards. One that does not know its address ([`Cards::default`]) has none to show.
#[derive(Debug, Default)]
pub struct Cards {
    site: Option<Site>,
    key: Option<CardKey>,
    shelf: Shelf,
}

impl Cards {
    /// Cards of a door whose routes are below `/a2a` at this URL.
    pub fn at(public_url: &str) -> Self {
        let site = Site {
            url: public_url.trim_end_matches('/').to_owned(),
            prefix: "/a2a".to_owned(),
            grpc: None,
        };
        Self {
            site: Some(site),
            ..Self::default()
        }
    }

    /// The routes are below this prefix, which has no slash at its end.
    pub fn below(self, prefix: &str) -> Self {
        self.with(|site| prefix.clone_into(&mut site.prefix))
    }

    /// The cards are signed with this key.
    pub fn signed_by(mut self, key: CardKey) -> Self {
        self.key = Some(key);
        self
    }

    /// The id of the key that signs them.
    pub(crate) fn key_id(&self) -> Option<&str> {
        self.key.as_ref().map(CardKey::id)
    }

    /// gRPC is served at the host and the port of the public URL.
    pub fn with_grpc(self) -> Self {
        self.with(|site| site.grpc = grpc_target(&site.url))
    }

    fn with(mut self, change: impl FnOnce(&mut Site)) -> Self {
        if let Some(site) = &mut self.site {
            change(site);
        }
        self
    }

    fn site(&self) -> Result<&Site, Failure> {
        self.site.as_ref().ok_or_else(|| {
            let text = "there are no cards here, since this server was not told its public URL";
            Failure::new(Reason::NotFound, text)
        })
    }

    /// The card as it is given out: signed, or as it was signed before.
    fn issue(&self, site: &Site, subject: Subject, reader: Reader, card: Card) -> Arc<Issued> {
        self.shelf.issue(subject, reader, card, |card| {
            if let Some(key) = &self.key {
                key.sign(card, reader, &format!("{}{KEYS_PATH}", site.url));
            }
        })
    }
}

/// Host and port of a URL, as gRPC clients want them.
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

impl A2a {
    /// The card of an agent that the principal may call. Foreign and unknown ones look the same.
    fn card_of(
        &self,
        principal: &Principal,
        agent: &str,
        reader: Reader,
        came: &Came,
    ) -> Result<Arc<Issued>, Failure> {
        let id = AgentId::parse(agent).map_err(|_| Failure::no_such_agent(agent))?;
        let view = self.hub.agents().find(principal, id.as_str())?.view();
        let site = self.cards.site()?;
        let card = compose::agent_card(site, &view, self.terms(came));
        Ok(self.cards.issue(site, Subject::Agent(id), reader, card))
    }

    /// The card of an agent that is shared with everyone, for those who have not shown who they are. Nothing tells apart
    /// agents that are not shared so and those that do not exist.
    fn public_card_of(&self, agent: &str, reader: Reader, came: &Came) -> Option<Arc<Issued>> {
        let principal = Principal::local();
        let id = AgentId::parse(agent).ok()?;
        let entry = self.hub.agents().find(&principal, id.as_str()).ok()?;
        if entry.share() != Share::Everyone {
            return None;
        }
        self.card_of(&principal, agent, reader, came).ok()
    }

    /// The hub's own card, with the agents that the principal may call.
    fn hub_card(
        &self,
        principal: &Principal,
        reader: Reader,
        came: &Came,
    ) -> Result<Arc<Issued>, Failure> {
        let site = self.cards.site()?;
        let mut agents = self.hub.agents().discover(principal, &Wanted::default());
        agents.retain(|view| self.hub.agents().find(principal, view.id.as_str()).is_ok());
        let card = compose::hub_card(site, &agents, self.terms(came));
        let subject = Subject::hub(principal);
        Ok(self.cards.issue(site, subject, reader, card))
    }

    /// The extended card of an agent as JSON of this version: the public one, and where the agent is and whose it is.
    pub fn extended_card_json(
        &self,
        principal: &Principal,
        agent: &AgentId,
        version: Version,
        came: &Came,
    ) -> Result<String, Failure> {
        let view = self.hub.agents().find(principal, agent.as_str())?.view();
        let site = self.cards.site()?;
        let card = compose::extended_card(site, &view, self.terms(came));
        let subject = Subject::Extended(agent.clone());
        let issued = self.cards.issue(site, subject, Reader::Of(version), card);
        Ok(issued.body.to_string())
    }

    /// What holds for callers who come the way that the card's reader came: one who reads it through a proxy needs a token,
    /// where the hub's own user needs none.
    fn terms(&self, came: &Came) -> Terms {
        Terms {
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
