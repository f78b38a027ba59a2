//! `jackfield show --calls`: shows which features pass when one agent calls the other.

use anyhow::{Result, bail};
use jackfield_sdk::{Hub, encode};
use serde_json::json;

use jackfield_hub::matrix::{self, Topic};
use jackfield_kit::matrix::Column;

use crate::{
    client::{self, Client},
    exit::ErrorSubject,
    output::{self, Table, text},
};

/// Prints the rows of the protocol table for two agents, chosen by their doors.
pub(super) async fn show(hub: &Hub, client: &Client, caller: &str, called: &str) -> Result<()> {
    let (by, of) = (column(hub, caller).await?, column(hub, called).await?);
    let rows = Topic::ALL
        .into_iter()
        .filter_map(|topic| Some((topic.name(), by.of(of, topic)?)));
    if client.json {
        let rows: Vec<_> = rows
            .map(|(topic, support)| {
                json!({"what": topic, "passes": support.word(), "as": support.text()})
            })
            .collect();
        output::json(&json!({
            "caller": {"id": caller, "protocol": by.protocol},
            "called": {"id": called, "protocol": of.protocol},
            "rows": rows,
        }))?;
        return Ok(());
    }
    output::print_message(&format!(
        "{caller} ({}) calls {called} ({})",
        by.protocol, of.protocol
    ));
    let mut table = Table::new(["what", "passes", "as"]);
    for (topic, support) in rows {
        let text = support.text().replace('`', "");
        table.row([topic.to_owned(), support.word().to_owned(), text]);
    }
    table.print()
}

async fn column(hub: &Hub, id: &str) -> Result<&'static Column> {
    let path = format!("/v1/agents/{}", encode(id));
    let agent = client::get(hub, &path, ErrorSubject::Agent).await?;
    let door = text(&agent, "door");
    match matrix::agent_column(door) {
        Some(column) => Ok(column),
        None => {
            bail!("the table of protocols has no column for agent {id}, whose protocol is {door:?}")
        }
    }
}
