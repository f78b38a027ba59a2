//! Download of an agent's files into a folder: fetched, verified and unpacked, or left in a state that can be
//! resumed.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jackfield_sdk::Hub;
use jackfield_transfer::{Archive, ArchiveLimits, ConflictPolicy, UnpackError, Unpacked, unpack};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    RouteChoice, TransferProgress,
    attempt::{AttemptError, no_direct_connection},
    fetch::ArchiveDownload,
    unfinished::{DownloadOrder, UnfinishedDownloads},
};
use crate::{
    exit::{CliError, ExitKind},
    output, shell,
};

/// A download.
#[derive(Debug)]
pub(crate) struct FileDownload<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) order: DownloadOrder,
    pub(crate) via: RouteChoice,
    pub(crate) tell: TransferProgress,
    /// Flags to repeat in a command that the user is told to type.
    pub(crate) flags: String,
    /// Files of the answer that are already saved.
    pub(crate) saved: Unpacked,
}

impl FileDownload<'_> {
    /// Runs the download until its end or ctrl-c, and returns the exit [`ExitKind`].
    pub(crate) async fn run(&self) -> Result<ExitKind> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            done = self.deliver() => done.map(|_| ExitKind::Ok),
            _ = interrupt.recv() => {
                self.tell.clear();
                output::print_message(&format!("interrupted; resume with: {}", self.command("")));
                Ok(ExitKind::Interrupted)
            }
        }
    }

    /// Runs the download until its end, and returns the files, including those saved before. If the future is dropped, the
    /// download can be resumed.
    pub(crate) async fn deliver(&self) -> Result<Unpacked> {
        let orders = UnfinishedDownloads::open()?;
        self.tell.set_transfer(&self.order.offer.transfer_id);
        // Store the order first, so that every interruption can be resumed.
        orders
            .store(&self.order)
            .context("cannot store the record of the download")?;
        let done = self.fetch(&orders).await;
        self.tell.clear();
        let forgotten = match done {
            DownloadResult::Unpacked(_) => orders.complete(&self.order),
            DownloadResult::Never(_) => orders.remove(&self.order.offer.transfer_id),
            DownloadResult::Later(_) => Ok(()),
        };
        forgotten.context("cannot remove the record of the download")?;
        match done {
            DownloadResult::Unpacked(unpacked) => Ok(unpacked),
            DownloadResult::Later(stop) | DownloadResult::Never(stop) => {
                Err(stop.fill_in("AGENT", &self.order.agent).into())
            }
        }
    }

    async fn fetch(&self, orders: &UnfinishedDownloads) -> DownloadResult {
        let parts = orders.parts();
        let fetch = ArchiveDownload {
            hub: self.hub,
            agent: &self.order.agent,
            offer: &self.order.offer,
            via: self.via,
            parts: &parts,
            tell: &self.tell,
        };
        match fetch.run().await {
            Ok(archive) => self.unpack(archive).await,
            Err(AttemptError::Bad(stop) | AttemptError::Unknown(stop)) => {
                DownloadResult::Never(stop)
            }
            Err(AttemptError::Refused(stop)) => DownloadResult::Later(stop),
            Err(AttemptError::Cut(stop)) => self.later(&stop),
            Err(AttemptError::NoWay(why)) => self.later(&no_direct_connection(&why)),
        }
    }

    async fn unpack(&self, archive: Archive) -> DownloadResult {
        let clash = clash(self.order.overwrite);
        let out = &self.order.out;
        match unpack(&archive, out, clash, ArchiveLimits::default()).await {
            Ok(mut unpacked) => {
                let also = self.saved.files.iter();
                let also = also.filter(|name| !unpacked.files.contains(name));
                unpacked.files.extend(also.cloned().collect::<Vec<_>>());
                unpacked.bytes += self.saved.bytes;
                self.tell.done(&unpacked, out);
                DownloadResult::Unpacked(unpacked)
            }
            Err(error @ (UnpackError::InTheWay { .. } | UnpackError::Folder(_))) => {
                // Keep the archive, to avoid a second download.
                archive.keep();
                let other = match error {
                    UnpackError::InTheWay { .. } => self.command("--overwrite"),
                    _ => self.command("--out DIR"),
                };
                DownloadResult::Later(CliError::new(
                    ExitKind::Failed,
                    format!("{}: {error}", out.display()),
                    format!("the files are downloaded; unpack them with: {other}"),
                ))
            }
            Err(error) => DownloadResult::Never(CliError::new(
                ExitKind::Agent,
                format!("the files are refused: {error}"),
                "nothing was unpacked; call the agent again, or ask its owner",
            )),
        }
    }

    fn later(&self, stop: &CliError) -> DownloadResult {
        DownloadResult::Later(CliError::new(
            stop.code,
            format!(
                "the files of {} did not arrive: {}",
                self.order.agent, stop.text
            ),
            format!("resume with: {}", self.command("")),
        ))
    }

    /// Returns the command that resumes the download.
    fn command(&self, more: &str) -> String {
        let transfer = &self.order.offer.transfer_id;
        shell::command("fetch", &[transfer], more, &self.flags)
    }
}

/// Result of a download.
enum DownloadResult {
    /// The files are in the folder.
    Unpacked(Unpacked),
    /// The download can be resumed.
    Later(CliError),
    /// The download cannot be resumed.
    Never(CliError),
}

/// Returns how to treat existing files, as [`ConflictPolicy`].
pub(crate) fn clash(overwrite: bool) -> ConflictPolicy {
    match overwrite {
        true => ConflictPolicy::Replace,
        false => ConflictPolicy::Refuse,
    }
}

/// Checks that the output folder is usable, as far as possible in advance.
pub(crate) fn check_out(out: &Path) -> Result<(), CliError> {
    check_folder("--out", out)
}

/// Checks the folder of an option, as [`check_out`] does.
pub(crate) fn check_folder(option: &str, out: &Path) -> Result<(), CliError> {
    let there = out.ancestors().find(|place| place.exists());
    match there.filter(|place| !place.is_dir()) {
        Some(file) => Err(CliError::usage(format!(
            "{option} {}: {} is not a folder; name one with {option} DIR",
            out.display(),
            file.display()
        ))),
        None => Ok(()),
    }
}

/// Returns the default output folder of an agent. An agent's id is safe in a path.
pub(crate) fn default_out(agent: &str) -> PathBuf {
    format!("{agent}-files").into()
}
