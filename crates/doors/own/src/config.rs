//! Configuration of the hub's own API, and how the hub opens the API.

use axum::Extension;
use jackfield_kit::door::{DoorConfig, DoorContext, DoorOpenError, OpenedDoor};

use crate::{
    OwnState,
    proof::{ProofKey, Prover, proof_router},
    router,
    schemas::schemas,
};

/// Configuration of the hub's own API.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Key for proving the hub's identity. `None` if the hub has no administrator token.
    pub proof_key: Option<ProofKey>,
    /// Public URL configured by the operator.
    pub public_url: Option<String>,
}

impl DoorConfig for Config {
    type Handle = ();

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor, DoorOpenError> {
        let hub = context.hub.clone();
        let (routes, api) = router(OwnState {
            hub: hub.clone(),
            gatekeeper: context.gatekeeper.clone(),
            hosts: context.hosts.clone(),
            files: context.files.clone(),
            version: context.version,
            stop: context.tasks.stop_token().clone(),
        });
        let prover = Prover {
            hub,
            key: self.proof_key,
            public_url: self.public_url,
        };
        let opened = OpenedDoor {
            routes,
            // The description of the whole API; other doors add their parts.
            api,
            schemas: schemas(),
            ..OpenedDoor::new(())
        };
        let mut opened = opened.with_routes(proof_router(prover));
        // Invites include the fingerprint of a certificate not signed by a public CA.
        if let Some(tls) = &context.address.tls {
            opened.routes = opened.routes.layer(Extension(tls.clone()));
        }
        Ok(opened)
    }
}
