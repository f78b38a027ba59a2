//! The A2A door as its callers and servers meet it: one program for all tests over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use axum::Router;
use jackfield_a2a::A2aDoor;
use jackfield_kit::testing::{TestHub, TestSettings};

mod card;
mod grpc;
mod official;
mod remotes;
mod seed;

/// Starts a hub with this door. By the door's own constructor, because tests choose what no configuration says: cards
/// without a key or without gRPC, a prefix, no way to notify anybody.
async fn start(settings: TestSettings, app: impl FnOnce(A2aDoor) -> Router) -> TestHub {
    let mut builder = settings.prepare().await;
    let (hub, gatekeeper) = (&builder.context.hub, &builder.context.gatekeeper);
    let door = A2aDoor::new(hub.clone(), gatekeeper.clone());
    builder.add_routes(app(door));
    builder.start()
}
