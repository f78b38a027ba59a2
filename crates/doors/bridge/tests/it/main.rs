//! The bridge door as platforms and agents meet it: one program for all tests over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use jackfield_bridge::{Bridge, PlatformSettings, files_router, router};
use jackfield_kit::{
    door::{DoorContext, OpenedDoor},
    testing::{TestHub, TestSettings},
};

mod http;
mod ws;

/// The platform's secret.
const SECRET: &str = "hunter2";

/// Starts a hub with this door. By the door's own constructor, because tests choose what no configuration says: host
/// resolvers, timeouts of transfers, a platform without callbacks.
async fn start(settings: TestSettings, platform: PlatformSettings) -> (TestHub, Arc<Bridge>) {
    let settings = TestSettings {
        has_clocks: true,
        ..settings
    };
    let mut builder = settings.prepare().await;
    let outbound = platform.callbacks.as_ref().map(|it| it.outbound.clone());
    let calls_back = outbound.is_some();
    if let Some(outbound) = outbound {
        builder.context.outbound = outbound;
    }
    let DoorContext {
        hub,
        gatekeeper,
        tasks,
        ..
    } = builder.context.clone();
    let bridge = Bridge::with_platform(hub, gatekeeper, tasks, platform).unwrap();
    let opened = OpenedDoor::new(())
        .with_routes(router(bridge.clone()))
        .with_routes(files_router(bridge.clone()));
    builder.add(OpenedDoor {
        socket: Some(bridge.clone()),
        composer: calls_back.then(|| bridge.clone() as _),
        ..opened
    });
    (builder.start(), bridge)
}
