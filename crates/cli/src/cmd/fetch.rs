//! `jackfield fetch`: resumes unfinished downloads, or lists them.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use clap::Args;
use jackfield_transfer::{ArchivePart, Unpacked};
use serde_json::json;

use super::call::files::absolute;
use crate::{
    client::Client,
    exit::{CliError, ExitKind},
    output::{self, Table},
    size::format_size,
    transfers::{
        RouteChoice, TransferProgress,
        deliver::{FileDownload, check_out},
        unfinished::{DownloadOrder, UnfinishedDownloads},
    },
};

/// Resume unfinished downloads, or list them.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Agent and hub keep an offer for one hour. After that, call the agent again: data that arrived \
                       before are not downloaded twice.\n\nExamples:\n  jackfield fetch\n  jackfield fetch 3f0c… --out results\n  \
                       jackfield fetch --forget --all"
)]
pub(crate) struct Fetch {
    /// Resume this transfer, by its id in the list or in the error; without an id, list all
    transfer: Option<String>,
    /// Write the files to this folder instead of the original one
    #[arg(long, value_name = "DIR", requires = "transfer")]
    out: Option<PathBuf>,
    /// Replace existing files
    #[arg(long, requires = "transfer")]
    overwrite: bool,
    /// Transfer by this route
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    via: RouteChoice,
    /// Delete the transfer and its partial data
    #[arg(long, conflicts_with_all = ["out", "overwrite"])]
    forget: bool,
    /// Delete all unfinished transfers
    #[arg(long, requires = "forget", conflicts_with = "transfer")]
    all: bool,
    #[command(flatten)]
    client: Client,
}

impl Fetch {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let orders = UnfinishedDownloads::open()?;
        let code = match &self.transfer {
            Some(transfer) if self.forget => {
                self.forget(&orders, &[find(&orders, transfer)?]).await?
            }
            Some(transfer) => self.go_on(find(&orders, transfer)?).await?,
            None if self.all => self.forget(&orders, &all(&orders)?).await?,
            None if self.forget => {
                let text = "name the transfer to forget, or all of them with --all";
                return Err(CliError::usage(text).into());
            }
            None => self.list(&orders).await?,
        };
        Ok(code.into())
    }

    async fn forget(
        &self,
        orders: &UnfinishedDownloads,
        which: &[DownloadOrder],
    ) -> Result<ExitKind> {
        for order in which {
            let forgotten = orders.discard(order).await;
            forgotten.context("cannot remove the partial download")?;
        }
        let ids: Vec<_> = which.iter().map(|it| &it.offer.transfer_id).collect();
        match self.client.json {
            true => output::json(&json!({ "forgotten": ids }))?,
            false => output::print_message(&format!("forgotten: {}", ids.len())),
        }
        Ok(ExitKind::Ok)
    }

    async fn go_on(&self, mut order: DownloadOrder) -> Result<ExitKind> {
        if let Some(out) = &self.out {
            order.out = absolute(out)?;
        }
        check_out(&order.out)?;
        order.overwrite |= self.overwrite;
        let delivery = FileDownload {
            hub: &self.client.connect_to(&order.hub).await?,
            order,
            via: self.via,
            tell: TransferProgress::new(self.client.json),
            flags: self.client.flags(),
            saved: Unpacked::default(),
        };
        delivery.run().await
    }

    async fn list(&self, orders: &UnfinishedDownloads) -> Result<ExitKind> {
        let all = all(orders)?;
        let mut listed = Vec::new();
        let mut table = Table::new(["transfer", "agent", "here", "size", "into"]);
        for DownloadOrder {
            hub,
            agent,
            offer,
            out,
            ..
        } in all
        {
            let received = ArchivePart::received_in(&orders.parts(), &offer).await;
            let received = received.context("cannot read the partial download")?;
            let out = out.display().to_string();
            listed.push(json!({
                "transfer": offer.transfer_id, "hub": hub, "agent": agent, "received": received,
                "size": offer.zip_size, "out": out,
            }));
            table.row([
                offer.transfer_id,
                agent,
                format_size(received),
                format_size(offer.zip_size),
                out,
            ]);
        }
        if self.client.json {
            output::json(&json!({ "transfers": listed }))?;
            return Ok(ExitKind::Ok);
        }
        if listed.is_empty() {
            output::print_message("there are no unfinished downloads");
        }
        table.print()?;
        Ok(ExitKind::Ok)
    }
}

fn all(orders: &UnfinishedDownloads) -> Result<Vec<DownloadOrder>> {
    orders
        .all()
        .context("cannot read the list of unfinished downloads")
}

fn find(orders: &UnfinishedDownloads, transfer: &str) -> Result<DownloadOrder> {
    let found = orders
        .find(transfer)
        .context("cannot read the list of unfinished downloads")?;
    let missing = || {
        CliError::new(
            ExitKind::Missing,
            format!("there is no unfinished transfer {transfer}"),
            "jackfield fetch lists the unfinished ones; jackfield call AGENT TEXT --with-files starts a new one",
        )
    };
    Ok(found.ok_or_else(missing)?)
}
