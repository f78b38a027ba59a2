//! The configuration of the door, and the opening of the door: secrets of the platform, rules for callbacks,
//! and rules for file transfers.

mod files;

use std::sync::Arc;

use jackfield_kit::{
    door::{DoorConfig, DoorContext, DoorOpenError, OpenedDoor, ReloadSecrets, SecretStore},
    guard::BodyRules,
};
use jackfield_transfer::hub::Transfers;

pub use self::files::{FilesConfig, IceServerConfig};
use crate::{
    Bridge, BridgeLimits, CallbackRules, PlatformSettings, SharedSecret, files_router, router,
    schemas::schemas, secret,
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
            schemas: schemas(),
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
