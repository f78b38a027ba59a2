//! `jackfield fetch`: goes on with files whose fetching was cut, or lists them.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use clap::Args;
use jackfield_files::Part;
use serde_json::json;

use super::call::files::absolute;
use crate::{
    client::Client,
    exit::{Code, Stop},
    output::{self, Table},
    transfers::{
        Tell, Via,
        deliver::Delivery,
        tell::bytes,
        unfinished::{Order, Orders},
    },
};

/// Go on with files that did not come whole, or list them.
#[derive(Debug, Args)]
#[command(
    after_long_help = "An agent keeps what it offered for an hour, and so does the hub know of it; then call it again: what came \
                       is not fetched twice.\n\nExamples:\n  jackfield fetch\n  jackfield fetch 3f0c… --out results"
)]
pub(crate) struct Fetch {
    /// The transfer, as the list and the error have it; nothing lists them
    transfer: Option<String>,
    /// Where the files go, if not where they were to go
    #[arg(long, value_name = "DIR", requires = "transfer")]
    out: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(long, requires = "transfer")]
    overwrite: bool,
    /// Which way files go
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    via: Via,
    #[command(flatten)]
    client: Client,
}

impl Fetch {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let orders = Orders::open()?;
        let code = match &self.transfer {
            Some(transfer) => self.go_on(&orders, transfer).await?,
            None => self.list(&orders).await?,
        };
        Ok(code.into())
    }

    async fn go_on(&self, orders: &Orders, transfer: &str) -> Result<Code> {
        let found = orders.find(transfer).context("cannot read what is kept")?;
        let mut order = found.ok_or_else(|| {
            Stop::new(
                Code::Missing,
                format!("no transfer {transfer} waits here"),
                "jackfield fetch lists those that do; jackfield call AGENT TEXT --with-files fetches new ones",
            )
        })?;
        if let Some(out) = &self.out {
            order.out = absolute(out)?;
        }
        order.overwrite |= self.overwrite;
        let delivery = Delivery {
            hub: &self.client.connect_to(&order.hub)?,
            order,
            via: self.via,
            tell: Tell::new(self.client.json),
            flags: self.client.flags(),
        };
        delivery.run().await
    }

    async fn list(&self, orders: &Orders) -> Result<Code> {
        let all = orders.all().context("cannot read what is kept")?;
        let mut listed = Vec::new();
        let mut table = Table::new(["transfer", "agent", "here", "size", "into"]);
        for Order {
            hub,
            agent,
            offer,
            out,
            ..
        } in all
        {
            let received = Part::received_in(&orders.parts(), &offer).await;
            let received = received.context("cannot read what has come")?;
            let out = out.display().to_string();
            listed.push(json!({
                "transfer": offer.transfer_id, "hub": hub, "agent": agent, "received": received,
                "size": offer.zip_size, "out": out,
            }));
            table.row([
                offer.transfer_id,
                agent,
                bytes(received),
                bytes(offer.zip_size),
                out,
            ]);
        }
        if self.client.json {
            output::json(&json!({ "transfers": listed }))?;
            return Ok(Code::Ok);
        }
        if listed.is_empty() {
            output::chat("nothing waits to be fetched");
        }
        table.print()?;
        Ok(Code::Ok)
    }
}
