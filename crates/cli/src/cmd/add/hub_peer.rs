//! The libp2p address of another hub, for an operator who typed the hub's URL.

use std::time::Duration;

use http::Method;
use jackfield_sdk::{Hub, HubAddress};
use serde_json::Value;

use crate::{
    client,
    output::{self, items},
};

/// Time limit for asking a hub for its libp2p address, which only improves a hint.
const KINDNESS: Duration = Duration::from_secs(3);

/// Returns the libp2p address of the hub at a URL, if the hub reveals the address without a token.
pub(super) async fn address_of_hub(url: &str) -> Option<String> {
    let hub = Hub::new(HubAddress::new(url).ok()?).ok()?;
    let listed = client::request_within(KINDNESS, &hub, Method::GET, "/peers?format=list", None);
    let listed = listed.await.ok()?;
    // Only the hub's own entry has no time of registration.
    let own = listed
        .as_array()?
        .iter()
        .find(|it| it["registered_at"].is_null())?;
    let mut addresses = items(own, "addresses").iter().filter_map(Value::as_str);
    addresses.next().map(output::clean)
}
