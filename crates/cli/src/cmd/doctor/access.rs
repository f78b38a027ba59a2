//! Check of the need for tokens: asks the running hub, else reads the configuration.

use http::Method;
use jackfield_kit::auth::TokenlessAccess;
use jackfield_sdk::{Hub, HubAddress};

use super::Finding;
use jackfield_hub::{config::HubConfig, exposure};

use crate::client::{self, Client};

const CHECK: &str = "access";

/// Checks that no client gets access without a token by mistake. `is_here`: a hub is ready on this machine.
pub(super) async fn look(client: &Client, config: &HubConfig, is_here: bool) -> Finding {
    let is_open = match is_here {
        true => is_open(client, config).await,
        false => None,
    };
    // Flags of `serve` may require tokens even if the file does not.
    if is_open == Some(false) {
        return Finding::ok(CHECK, "every request needs a token");
    }
    if let Some(exposure) = exposure::check(config, config.listen) {
        return Finding::warn(CHECK, exposure.found, exposure.remedy);
    }
    match config.trust() {
        TokenlessAccess::Nobody => Finding::ok(CHECK, "every request needs a token"),
        TokenlessAccess::ThisMachine => Finding::ok(
            CHECK,
            "programs of the hub's user on this machine need no token, all others do",
        ),
        TokenlessAccess::Everybody => Finding::warn(
            CHECK,
            "insecure is set: every client that reaches the hub may do everything",
            "remove insecure, and create tokens with: jackfield token create",
        ),
    }
}

/// Returns whether the local hub accepts a request without a token; `None` if unknown.
async fn is_open(client: &Client, config: &HubConfig) -> Option<bool> {
    let hub = client.connect_or_local(config).await.ok()?;
    let at = HubAddress::new(hub.address().base()).ok()?;
    let stranger = Hub::new(at.with_trust(hub.address().trust().clone())).ok()?;
    match client::request(&stranger, Method::GET, "/v1/whoami", None).await {
        Ok(_) => Some(true),
        Err(error) => (error.code() == Some("unauthorized")).then_some(false),
    }
}
