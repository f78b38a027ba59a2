//! `jackfield show --calls`: what passes when one agent calls another, and as what.

use anyhow::{Result, bail};
use jackfield_sdk::{Hub, encode};
use serde_json::json;

use jackfield_hub::carried::{Matter, Protocol, passage};

use crate::{
    client::{self, Client},
    exit::About,
    output::{self, Table, text},
};

/// Prints the rows for two agents, by the doors that they came through.
pub(super) async fn show(hub: &Hub, client: &Client, caller: &str, called: &str) -> Result<()> {
    let (by, of) = (protocol(hub, caller).await?, protocol(hub, called).await?);
    let rows = Matter::ALL.map(|matter| (matter.name(), passage(by, of, matter)));
    if client.json {
        let rows = rows.map(
            |(matter, passage)| json!({"what": matter, "passes": passage.word(), "as": passage.text()}),
        );
        output::json(&json!({
            "caller": {"id": caller, "protocol": by.name()},
            "called": {"id": called, "protocol": of.name()},
            "rows": rows,
        }))?;
        return Ok(());
    }
    output::chat(&format!(
        "{caller} ({}) calls {called} ({})",
        by.name(),
        of.name()
    ));
    let mut table = Table::new(["what", "passes", "as"]);
    for (matter, passage) in rows {
        let text = passage.text().replace('`', "");
        table.row([matter.to_owned(), passage.word().to_owned(), text]);
    }
    table.print()
}

async fn protocol(hub: &Hub, id: &str) -> Result<Protocol> {
    let path = format!("/v1/agents/{}", encode(id));
    let agent = client::get(hub, &path, About::Agent).await?;
    let door = text(&agent, "door");
    match Protocol::of_door(door) {
        Some(protocol) => Ok(protocol),
        None => bail!("agent {id} came through the door {door:?}, of which the table says nothing"),
    }
}
