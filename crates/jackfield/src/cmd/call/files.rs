//! The files of a call: a folder that is sent ahead, and what the agent made, fetched afterwards.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{ArgGroup, Args};
use jackfield_files::Offer;
use jackfield_sdk::{CallBuilder, Done, Hub};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    client::Client,
    exit::{Code, Stop},
    output,
    transfers::{
        Tell, Via, client_id,
        deliver::{Delivery, check_out, clash, default_out},
        handed::Handed,
        unfinished::Order,
        upload::Upload,
    },
};

/// What to do about files.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Files",
    group = ArgGroup::new("moves").args(["with_files", "upload"]).multiple(true)
)]
pub(super) struct Files {
    /// Fetch the files that the agent keeps for you, and those that it hands over
    #[arg(long, conflicts_with = "detach")]
    with_files: bool,
    /// Where they go [default: AGENT-files]
    #[arg(long, value_name = "DIR", requires = "with_files")]
    out: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(long, requires = "with_files")]
    overwrite: bool,
    /// Send the files of this folder ahead, to where the agent works for you
    #[arg(long, value_name = "DIR", conflicts_with = "wait_online")]
    upload: Option<PathBuf>,
    /// Which way files go
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WAY",
        requires = "moves"
    )]
    via: Via,
    /// For whom the agent keeps files apart [default: a name of this user and machine]
    #[arg(long, value_name = "ID", value_parser = client_id::parse)]
    client: Option<String>,
    #[arg(skip)]
    handed: Handed,
}

impl Files {
    /// Whether files can go where they should, before anything is done.
    pub(super) fn check(&self, agent: &str) -> Result<(), Stop> {
        if !self.with_files {
            return Ok(());
        }
        // Who reads the answer is not who waits for the files.
        output::outlive_reader();
        check_out(&self.out(agent))
    }

    fn out(&self, agent: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| default_out(agent))
    }

    /// Who takes the files of the answer itself, if they are wanted.
    pub(super) fn handed(&self) -> Option<&Handed> {
        self.with_files.then_some(&self.handed)
    }

    /// Says in the call whose files it is about.
    pub(super) fn name(&self, call: CallBuilder) -> Result<CallBuilder> {
        Ok(
            match (self.with_files, self.upload.is_some(), &self.client) {
                (true, _, _) => call.with_files(self.client_id()?),
                (false, true, _) | (false, _, Some(_)) => call.client_id(self.client_id()?),
                (false, false, None) => call,
            },
        )
    }

    fn client_id(&self) -> Result<String> {
        match &self.client {
            Some(id) => Ok(id.clone()),
            None => client_id::own(),
        }
    }

    /// Sends the folder ahead, if there is one, unless somebody interrupts it.
    pub(super) async fn send(&self, hub: &Hub, agent: &str, json: bool) -> Result<Code> {
        let Some(folder) = &self.upload else {
            return Ok(Code::Ok);
        };
        let client_id = self.client_id()?;
        let tell = Tell::new(json);
        let upload = Upload {
            hub,
            agent,
            client_id: &client_id,
            via: self.via,
            tell: &tell,
        };
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            sent = upload.run(folder) => sent?,
            _ = interrupt.recv() => {
                tell.clear();
                output::chat("interrupted; the same command goes on where it was");
                return Ok(Code::Interrupted);
            }
        }
        Ok(Code::Ok)
    }

    /// Fetches what the agent offers, if that was asked for.
    pub(super) async fn fetch(
        &self,
        hub: &Hub,
        agent: &str,
        done: &Done,
        client: &Client,
    ) -> Result<Code> {
        if !self.with_files {
            return Ok(Code::Ok);
        }
        let tell = Tell::new(client.json);
        self.handed.tell(&tell);
        let out = absolute(&self.out(agent))?;
        let saved = self
            .handed
            .save(hub, &out, clash(self.overwrite), &tell)
            .await?;
        let Some(offer) = done.offer() else {
            if !saved.files.is_empty() {
                tell.done(&saved, &out);
            } else if self.handed.refusal().is_none() {
                output::chat("the agent offers no files");
            }
            return match self.handed.refusal() {
                Some(_) => Err(withheld().into()),
                None => Ok(Code::Ok),
            };
        };
        let order = Order {
            hub: hub.address().base().to_owned(),
            agent: agent.to_owned(),
            offer: Offer {
                transfer_id: offer.transfer_id,
                zip_size: offer.zip_size,
                zip_sha256: offer.zip_sha256,
                file_count: offer.file_count,
            },
            out,
            overwrite: self.overwrite,
        };
        let delivery = Delivery {
            hub,
            order,
            via: self.via,
            tell,
            flags: client.flags(),
            saved,
        };
        delivery.run().await
    }
}

/// The agent has files and offers none; why, it has said.
fn withheld() -> Stop {
    Stop::new(
        Code::Agent,
        "the agent's files were not sent",
        "have it remove what you do not need, or ask for less, and call again",
    )
}

/// A place that means the same wherever somebody goes on.
pub(in crate::cmd) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot tell where {} is", path.display()))
}
