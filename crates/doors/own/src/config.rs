//! Opens the door: the hub's own API.

use axum::Extension;
use jackfield_kit::door::{Context, Open, OpenError, Opened};

use crate::{
    OwnState,
    proof::{ProofKey, Prover, proof_router},
    router,
};

/// The configuration of the door.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// What the hub proves itself with; nothing if it has no administrator's token.
    pub proof_key: Option<ProofKey>,
    /// The URL that the operator gave the hub.
    pub public_url: Option<String>,
}

impl Open for Config {
    type Handle = ();

    async fn open(self, context: &Context) -> Result<Opened, OpenError> {
        let hub = context.hub.clone();
        let (routes, api) = router(OwnState {
            hub: hub.clone(),
            gatekeeper: context.gatekeeper.clone(),
            version: context.version,
            stop: context.tasks.stop_token().clone(),
        });
        let prover = Prover {
            hub,
            key: self.proof_key,
            public_url: self.public_url,
        };
        let opened = Opened {
            routes,
            // The description of the hub's whole API; other doors add theirs.
            api,
            ..Opened::new(())
        };
        let mut opened = opened.with_routes(proof_router(prover));
        // Invites tell the fingerprint of a certificate that no public CA signed.
        if let Some(tls) = &context.address.tls {
            opened.routes = opened.routes.layer(Extension(tls.clone()));
        }
        Ok(opened)
    }
}
