//! The p2p door among real peers: hubs on free ports, and published libp2p programs of other authors as callers and
//! as agents. `cargo xtask test` installs the programs; without them their tests only print a notice.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod abuse;
mod called;
mod calling;
mod contacts;
mod forged;
mod hubs;
mod kinds;
mod peer;
mod raw;
mod registry;
mod relayed;
mod sample;
mod seed;
mod sidecar;

use jackfield_testkit::TestHub;

/// A hub that is a peer, on free ports.
async fn hub() -> TestHub {
    TestHub::start_with(|config| config.p2p.enabled = true).await
}

/// The address that every peer can dial.
fn tcp(hub: &TestHub) -> String {
    let addresses = hub.peer_addresses();
    let tcp = addresses.into_iter().find(|it| it.contains("/tcp/"));
    tcp.expect("it listens by TCP")
}
