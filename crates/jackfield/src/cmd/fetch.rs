//! `jackfield fetch`: goes on with files whose fetching was cut, or lists them.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use clap::Args;
use jackfield_files::{Part, Unpacked};
use serde_json::json;

use super::call::files::absolute;
use crate::{
    client::Client,
    exit::{Code, Stop},
    output::{self, Table},
    transfers::{
        Tell, Via,
        deliver::{Delivery, check_out},
        tell::bytes,
        unfinished::{Order, Orders},
    },
};

/// Go on with files that did not come whole, or list them.
#[derive(Debug, Args)]
#[command(
    after_long_help = "An agent keeps what it offered for an hour, and so does the hub know of it; then call it again: what came \
                       is not fetched twice.\n\nExamples:\n  jackfield fetch\n  jackfield fetch 3f0c… --out results\n  \
                       jackfield fetch --forget --all"
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
    /// Forget the transfer, and what has come of it
    #[arg(long, conflicts_with_all = ["out", "overwrite"])]
    forget: bool,
    /// All that wait here
    #[arg(long, requires = "forget", conflicts_with = "transfer")]
    all: bool,
    #[command(flatten)]
    client: Client,
}

impl Fetch {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let orders = Orders::open()?;
        let code = match &self.transfer {
            Some(transfer) if self.forget => {
                self.forget(&orders, &[find(&orders, transfer)?]).await?
            }
            Some(transfer) => self.go_on(find(&orders, transfer)?).await?,
            None if self.all => self.forget(&orders, &all(&orders)?).await?,
            None if self.forget => {
                let text = "name the transfer to forget, or all of them with --all";
                return Err(Stop::usage(text).into());
            }
            None => self.list(&orders).await?,
        };
        Ok(code.into())
    }

    async fn forget(&self, orders: &Orders, which: &[Order]) -> Result<Code> {
        for order in which {
            let forgotten = orders.forget(order).await;
            forgotten.context("cannot remove what has come")?;
        }
        let ids: Vec<_> = which.iter().map(|it| &it.offer.transfer_id).collect();
        match self.client.json {
            true => output::json(&json!({ "forgotten": ids }))?,
            false => output::chat(&format!("forgotten: {}", ids.len())),
        }
        Ok(Code::Ok)
    }

    async fn go_on(&self, mut order: Order) -> Result<Code> {
        if let Some(out) = &self.out {
            order.out = absolute(out)?;
        }
        check_out(&order.out)?;
        order.overwrite |= self.overwrite;
        let delivery = Delivery {
            hub: &self.client.connect_to(&order.hub).await?,
            order,
            via: self.via,
            tell: Tell::new(self.client.json),
            flags: self.client.flags(),
            saved: Unpacked::default(),
        };
        delivery.run().await
    }

    async fn list(&self, orders: &Orders) -> Result<Code> {
        let all = all(orders)?;
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

fn all(orders: &Orders) -> Result<Vec<Order>> {
    orders.all().context("cannot read what is kept")
}

fn find(orders: &Orders, transfer: &str) -> Result<Order> {
    let found = orders.find(transfer).context("cannot read what is kept")?;
    let missing = || {
        Stop::new(
            Code::Missing,
            format!("no transfer {transfer} waits here"),
            "jackfield fetch lists those that do; jackfield call AGENT TEXT --with-files fetches new ones",
        )
    };
    Ok(found.ok_or_else(missing)?)
}
