//! The list of doors of a hub. A new door is added here.

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use jackfield_kit::{
    dial::{self, Dialler, RemoteProtocol},
    door::{DoorConfig as _, DoorContext, OpenedDoor, ReloadSecrets, SocketProtocol},
    guard::{BodyRules, BrowserHeaders},
    outbox::Composer,
    schemas::{self, MessageSchemas},
};
use jackfield_own::proof::ProofKey;
#[cfg(feature = "p2p")]
use jackfield_p2p::P2p;
use jackfield_team::Teams;
use utoipa::openapi::OpenApi;

use crate::{
    config::{HubConfig, TeamConfig},
    ws::{self, SharedWebSocket},
};

/// Protocols by which the hub dials, in the order in which they are asked whether an address is theirs.
pub(crate) const REMOTE_PROTOCOLS: &[&dyn RemoteProtocol] = &[
    jackfield_a2a::REMOTES,
    #[cfg(feature = "p2p")]
    jackfield_p2p::REMOTES,
];

/// Routes and services of all open doors.
pub(crate) struct Doors {
    /// Routes of all doors.
    pub(crate) router: Router,
    /// Exceptions of the routes from the check of content types.
    pub(crate) bodies: BodyRules,
    /// Headers of the protocols that web pages send and read.
    pub(crate) browser_headers: BrowserHeaders,
    /// Composers of callback messages.
    pub(crate) composers: Vec<Arc<dyn Composer>>,
    /// Schemas of the messages of all doors.
    pub(crate) schemas: Vec<MessageSchemas>,
    /// Doors that read their secrets again on reload.
    pub(crate) reload: Vec<Arc<dyn ReloadSecrets>>,
    /// libp2p node of the hub, if the hub is a peer.
    #[cfg(feature = "p2p")]
    pub(crate) p2p: Option<P2p>,
}

impl Doors {
    /// Opens all doors.
    pub(crate) async fn open(
        config: &HubConfig,
        proof_key: Option<ProofKey>,
        teams: Teams,
        context: &DoorContext,
    ) -> Result<Self> {
        let own = jackfield_own::Config {
            proof_key,
            public_url: config.public_url.clone(),
        };
        let own = own.open(context).await?;
        let declared = config.teams.iter().map(TeamConfig::to_spec);
        let team = jackfield_team::Config {
            teams,
            declared: declared.collect::<Result<_>>()?,
        };
        let mut joined = MergedDoors::new(own);
        // Connections at /ws are offered to the doors in this order; Agora accepts all connections that no
        // other door claims.
        joined.add(config.bridge().open(context).await?);
        joined.add(jackfield_agora::Config.open(context).await?);
        joined.add(config.a2a.clone().open(context).await?);
        joined.add(team.open(context).await?);
        joined.add(config.openai.clone().open(context).await?);
        joined.add(jackfield_acp::Config.open(context).await?);
        #[cfg(feature = "mcp")]
        joined.add(jackfield_mcp::Config.open(context).await?);
        #[cfg(feature = "p2p")]
        let p2p = joined.add(config.p2p.clone().open(context).await?);
        Ok(Self {
            router: joined.router(context),
            bodies: joined.bodies,
            browser_headers: joined.browser_headers,
            schemas: joined.schemas,
            composers: joined.composers,
            reload: joined.reload,
            #[cfg(feature = "p2p")]
            p2p,
        })
    }
}

/// Merged parts of several [`OpenedDoor`] doors.
struct MergedDoors {
    routes: Router,
    api: OpenApi,
    sockets: Vec<Arc<dyn SocketProtocol>>,
    composers: Vec<Arc<dyn Composer>>,
    bodies: BodyRules,
    browser_headers: BrowserHeaders,
    reload: Vec<Arc<dyn ReloadSecrets>>,
    diallers: Vec<Arc<dyn Dialler>>,
    schemas: Vec<MessageSchemas>,
}

impl MergedDoors {
    /// Starts with the door whose API description becomes the head of the merged description.
    fn new(first: OpenedDoor) -> Self {
        Self {
            routes: first.routes,
            api: first.api,
            sockets: first.socket.into_iter().collect(),
            composers: first.composer.into_iter().collect(),
            bodies: first.bodies,
            browser_headers: first.browser_headers,
            reload: first.reload.into_iter().collect(),
            diallers: first.dialler.into_iter().collect(),
            schemas: first.schemas,
        }
    }

    /// Adds a door, and returns its handle.
    fn add<H>(&mut self, door: OpenedDoor<H>) -> H {
        self.routes = std::mem::take(&mut self.routes).merge(door.routes);
        self.api.merge(door.api);
        self.sockets.extend(door.socket);
        self.composers.extend(door.composer);
        self.bodies.merge(door.bodies);
        self.browser_headers.merge(door.browser_headers);
        self.reload.extend(door.reload);
        self.diallers.extend(door.dialler);
        self.schemas.extend(door.schemas);
        door.handle
    }

    /// Returns the merged routes, with those of remotes and schemas, the shared WebSocket address `/ws` and the description
    /// of the API.
    fn router(&mut self, context: &DoorContext) -> Router {
        let sockets = SharedWebSocket {
            hub: context.hub.clone(),
            tasks: context.tasks.clone(),
            protocols: std::mem::take(&mut self.sockets).into(),
        };
        let (remotes, remotes_api) = dial::routes::router(
            context.hub.clone(),
            context.gatekeeper.clone(),
            std::mem::take(&mut self.diallers),
        );
        self.api.merge(remotes_api);
        let base = context.address.base_url.as_deref();
        let (schemas, schemas_api) =
            schemas::routes::router(context.gatekeeper.clone(), &self.schemas, base);
        self.api.merge(schemas_api);
        schemas::routes::link(&self.schemas, &mut self.api);
        let api = jackfield_own::openapi_route(context.gatekeeper.clone(), self.api.clone());
        let routes = std::mem::take(&mut self.routes);
        let routes = routes.merge(remotes).merge(schemas);
        routes.merge(ws::router(sockets)).merge(api)
    }
}
