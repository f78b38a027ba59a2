//! Configuration of the door and opening of the door: the section `[a2a]`.

use std::sync::Arc;

use jackfield_kit::{
    dial::RemoteProtocol,
    door::{DoorConfig, DoorContext, DoorOpenError, OpenedDoor},
    guard::{BodyRules, BrowserHeaders},
};
use jackfield_model::AgentId;
use serde::{Deserialize, Serialize};

use crate::{
    A2aDoor, CardKey, Cards, DOOR, Remotes, cards_router, dial, door::PREFIX, router,
    wire::seed::AGENT_HEADER,
};

/// The protocol of remote A2A servers.
pub const REMOTES: &dyn RemoteProtocol = &dial::A2aServers;

/// Name of the secret with the key that signs cards. The public key is at `/.well-known/jwks.json`.
pub const CARD_KEY: &str = "card-key";

/// Section `[a2a]` of the configuration file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Agent for messages to the hub's own address that name no agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<AgentId>,
}

impl DoorConfig for Config {
    type Handle = ();

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor, DoorOpenError> {
        let DoorContext {
            hub,
            gatekeeper,
            tasks,
            outbound,
            store,
            ..
        } = context.clone();
        let a2a = A2aDoor::new(hub.clone(), gatekeeper.clone())
            .with_cards(cards(context)?.with_default_agent(self.default_agent.clone()))
            .with_default_agent(self.default_agent)
            .with_outbound(outbound.clone());
        let configured = context.configured_remotes(DOOR).map(dial::configured);
        let configured = configured
            .collect::<Result<_, _>>()
            .map_err(|error| DoorOpenError::new("cannot read a remote of [[agent]]", error))?;
        let remotes = Remotes::start(hub.clone(), store, outbound, tasks, configured)
            .await
            .map_err(|error| DoorOpenError::new("cannot start the remote agents", error))?;
        remotes.set_own_door(&a2a);
        let a2a = Arc::new(a2a);
        let cards = cards_router(hub, gatekeeper, remotes.clone());
        let opened = OpenedDoor::new(()).with_routes(cards);
        Ok(OpenedDoor {
            routes: opened.routes.merge(router(a2a.clone())),
            composer: Some(a2a),
            bodies: BodyRules {
                own_paths: vec![PREFIX],
                ..BodyRules::default()
            },
            browser_headers: BrowserHeaders {
                accepted: vec![
                    "a2a-extensions",
                    "a2a-version",
                    "x-a2a-extensions",
                    AGENT_HEADER,
                ],
                exposed: vec!["a2a-extensions", "x-a2a-extensions"],
            },
            dialler: Some(Arc::new(remotes)),
            ..opened
        })
    }
}

/// Builds the cards of a hub. A hub without a known address has no cards.
fn cards(context: &DoorContext) -> Result<Cards, DoorOpenError> {
    let key = context.secrets.load_or_create(CARD_KEY).map_err(|error| {
        let text = format!("cannot read or make the secret {CARD_KEY}");
        DoorOpenError::new(text, error)
    })?;
    let Some(base) = &context.address.base_url else {
        tracing::warn!(
            "agents have no A2A cards, since this hub does not know its address; set public_url"
        );
        return Ok(Cards::default());
    };
    let key = CardKey::from_hex(&key).map_err(|error| {
        let file = context.secrets.folder().join(CARD_KEY);
        let text = format!(
            "cannot use {}; remove it, and a new one is made",
            file.display()
        );
        DoorOpenError::new(text, error)
    })?;
    let cards = Cards::at(base).signed_by(key);
    Ok(if cfg!(feature = "grpc") {
        cards.with_grpc()
    } else {
        cards
    })
}
