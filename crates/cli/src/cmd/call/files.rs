//! Files of a call: a folder sent before the call, and files of the agent fetched after the call.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{ArgGroup, Args};
use jackfield_sdk::{CallBuilder, Done, Hub};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    client::Client,
    exit::{CliError, ExitKind},
    output,
    transfers::{
        RouteChoice, TransferProgress,
        answer_files::AnswerFiles,
        client_id,
        deliver::{FileDownload, check_out, clash, default_out},
        unfinished::DownloadOrder,
        upload::FolderUpload,
    },
};

/// Options for files.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Files",
    group = ArgGroup::new("moves").args(["with_files", "upload"]).multiple(true)
)]
pub(super) struct FileArgs {
    /// Download the files that the agent keeps for you, and those in its answer
    #[arg(long, conflicts_with = "detach")]
    with_files: bool,
    /// Write downloads to this folder [default: AGENT-files]
    #[arg(long, value_name = "DIR", requires = "with_files")]
    out: Option<PathBuf>,
    /// Replace existing files
    #[arg(long, requires = "with_files")]
    overwrite: bool,
    /// Upload this folder to the agent before the call
    #[arg(long, value_name = "DIR", conflicts_with = "wait_online")]
    upload: Option<PathBuf>,
    /// Transfer by this route
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WAY",
        requires = "moves"
    )]
    via: RouteChoice,
    /// Keep files on the agent's side separate under this id [default: a name of this user and machine]
    #[arg(long, value_name = "ID", value_parser = client_id::parse)]
    client: Option<String>,
    #[arg(skip)]
    handed: AnswerFiles,
}

impl FileArgs {
    /// Checks the output folder before any work is done.
    pub(super) fn check(&self, agent: &str) -> Result<(), CliError> {
        if !self.with_files {
            return Ok(());
        }
        // The reader of the answer may close standard output; the download must continue.
        output::ignore_closed_stdout();
        check_out(&self.out(agent))
    }

    fn out(&self, agent: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| default_out(agent))
    }

    /// Returns [`AnswerFiles`], the receiver of files in the answer, if files are wanted.
    pub(super) fn handed(&self) -> Option<&AnswerFiles> {
        self.with_files.then_some(&self.handed)
    }

    /// Adds the client id to the [`CallBuilder`], by which the agent finds the files.
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

    /// Uploads the folder ([`FolderUpload`]), if one was given, unless interrupted.
    pub(super) async fn send(&self, hub: &Hub, agent: &str, json: bool) -> Result<ExitKind> {
        let Some(folder) = &self.upload else {
            return Ok(ExitKind::Ok);
        };
        let client_id = self.client_id()?;
        let tell = TransferProgress::new(json);
        let upload = FolderUpload {
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
                output::print_message("interrupted; run the same command to resume");
                return Ok(ExitKind::Interrupted);
            }
        }
        Ok(ExitKind::Ok)
    }

    /// Downloads the files that the agent offers ([`FileDownload`]), if requested.
    pub(super) async fn fetch(
        &self,
        hub: &Hub,
        agent: &str,
        done: &Done,
        client: &Client,
    ) -> Result<ExitKind> {
        if !self.with_files {
            return Ok(ExitKind::Ok);
        }
        let tell = TransferProgress::new(client.json);
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
                output::print_message("the agent offers no files");
            }
            return match self.handed.refusal() {
                Some(_) => Err(withheld().into()),
                None => Ok(ExitKind::Ok),
            };
        };
        let order = DownloadOrder {
            hub: hub.address().base().to_owned(),
            agent: agent.to_owned(),
            offer,
            out,
            overwrite: self.overwrite,
        };
        let delivery = FileDownload {
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

/// Builds the [`CliError`] for an agent that has files and offers none; the agent's reason was printed before.
fn withheld() -> CliError {
    CliError::new(
        ExitKind::Agent,
        "the agent's files were not sent",
        "have the agent remove files that you do not need, or ask for fewer, and call again",
    )
}

/// Returns an absolute path, valid in every working directory of a later resume.
pub(in crate::cmd) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot resolve the path {}", path.display()))
}
