//! The configuration of the door, and the opening of the door: secrets of the platform, rules for callbacks,
//! and rules for file transfers.

mod files;

use std::{borrow::Cow, sync::Arc};

use axum::extract::Query;
use futures_util::future::BoxFuture;
use http::Uri;
use jackfield_kit::{
    door::{
        DoorConfig, DoorContext, DoorOpenError, OpenedDoor, ReloadSecrets, SecretStore,
        SocketProtocol,
    },
    guard::BodyRules,
    ws_connection::{WsConnection, WsConnectionEvent},
};
use jackfield_model::{Failure, Reason};
use jackfield_transfer::hub::Transfers;
use serde::{Deserialize, de::IgnoredAny};

pub use self::files::{FilesConfig, IceServerConfig};
use crate::{
    Bridge, BridgeLimits, CallbackRules, DOOR, PlatformSettings, SharedSecret, files_router,
    router, secret,
};

/// Name of the platform's current secret.
pub const PLATFORM_SECRET: &str = "platform-secret";
/// Name of the platform's previous secret, valid until removed.
pub const OLD_PLATFORM_SECRET: &str = "platform-secret-old";

/// The configuration of the door.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Secrets that authenticate the platform, newest first. They replace the stored secrets of the hub.
    pub platform_secrets: Vec<SharedSecret>,
    /// Base URL for a `callback_url` without a host.
    pub callback_base: Option<String>,
    /// Origins that receive the platform's secret with a callback.
    pub callback_trusted_origins: Vec<String>,
    /// Settings for file transfers.
    pub files: FilesConfig,
    /// Limits of sessions and of the HTTP API.
    pub limits: BridgeLimits,
}

impl DoorConfig for Config {
    type Handle = ();

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor, DoorOpenError> {
        let DoorContext {
            hub,
            gatekeeper,
            tasks,
            outbound,
            secrets,
            store,
            files,
            ..
        } = context.clone();
        let transfers = Transfers::open(&store).await;
        let transfers = transfers
            .map_err(|error| DoorOpenError::new("cannot read the transfers of files", error))?;
        let source = SecretSource {
            given: self.platform_secrets,
            kept: secrets,
        };
        let platform = PlatformSettings {
            secrets: source.read()?,
            callbacks: Some(CallbackRules {
                outbound,
                base: self.callback_base,
                trusted_origins: self.callback_trusted_origins,
            }),
            files: self.files.rules(),
            limits: self.limits,
            transfers: Arc::new(transfers),
            links: Some(files),
        };
        let bridge = Bridge::with_platform(hub, gatekeeper, tasks, platform)
            .map_err(|error| DoorOpenError::new("cannot call the platform back", error))?;
        let opened = OpenedDoor::new(())
            .with_routes(router(bridge.clone()))
            .with_routes(files_router(bridge.clone()));
        Ok(OpenedDoor {
            socket: Some(bridge.clone()),
            composer: Some(bridge.clone()),
            bodies: BodyRules {
                program_headers: vec![secret::HEADER],
                ..BodyRules::default()
            },
            reload: Some(Arc::new(SecretReload { bridge, source })),
            ..opened
        })
    }
}

/// Source of the platform's secrets.
#[derive(Debug)]
struct SecretSource {
    given: Vec<SharedSecret>,
    kept: Arc<dyn SecretStore>,
}

impl SecretSource {
    /// Reads the secrets, newest first. Creates the first secret at the first start, so that it exists when a
    /// platform needs it.
    fn read(&self) -> Result<Vec<SharedSecret>, DoorOpenError> {
        if !self.given.is_empty() {
            return Ok(self.given.clone());
        }
        let newest = self.kept.load_or_create(PLATFORM_SECRET).map_err(|error| {
            let text = format!("cannot read or make the secret {PLATFORM_SECRET}");
            DoorOpenError::new(text, error)
        })?;
        let old = self.kept.load(OLD_PLATFORM_SECRET).map_err(|error| {
            let text = format!("cannot read the secret {OLD_PLATFORM_SECRET}");
            DoorOpenError::new(text, error)
        })?;
        let secrets = [Some(newest), old].into_iter().flatten();
        Ok(secrets
            .filter_map(|text| SharedSecret::new(&text))
            .collect())
    }
}

/// Reloads the platform's secrets.
#[derive(Debug)]
struct SecretReload {
    bridge: Arc<Bridge>,
    source: SecretSource,
}

impl ReloadSecrets for SecretReload {
    fn reload(&self) -> Result<(), DoorOpenError> {
        self.bridge.set_secrets(self.source.read()?);
        Ok(())
    }
}

/// The query of a connection's URL.
#[derive(Debug, Deserialize)]
struct UrlQuery {
    agent_id: Option<String>,
}

fn agent_id(url: &Uri) -> Result<Option<String>, Failure> {
    let query = Query::<UrlQuery>::try_from_uri(url);
    let Query(query) = query.map_err(|error| Failure::new(Reason::Invalid, error.body_text()))?;
    Ok(query.agent_id)
}

impl SocketProtocol for Bridge {
    fn door(&self) -> &'static str {
        DOOR
    }

    fn claims_url(&self, url: &Uri) -> Result<bool, Failure> {
        agent_id(url).map(|id| id.is_some())
    }

    fn claims_first(&self, first: &WsConnectionEvent) -> bool {
        /// The fields of a first frame that identify the protocol.
        #[derive(Deserialize)]
        struct First<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
            agent_id: Option<IgnoredAny>,
            id: Option<IgnoredAny>,
        }
        let WsConnectionEvent::Text(text) = first else {
            return false;
        };
        let first = serde_json::from_str::<First<'_>>(text);
        first.is_ok_and(|first| {
            first.kind == "register" && first.agent_id.is_some() && first.id.is_none()
        })
    }

    fn run(self: Arc<Self>, line: WsConnection, url: &Uri) -> BoxFuture<'static, ()> {
        // An unreadable URL was refused before the connection was opened.
        let agent_id = agent_id(url).unwrap_or_default();
        Box::pin(Self::run(&self, line, agent_id))
    }
}
