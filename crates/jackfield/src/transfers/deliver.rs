//! Download of an agent's files into a folder: fetched, verified and unpacked, or left in a state that can be
//! resumed.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jackfield_files::{Archive, Clash, Limits, UnpackError, Unpacked, unpack};
use jackfield_sdk::Hub;
use tokio::signal::unix::{SignalKind, signal};

use super::{
    Tell, Via,
    fetch::Fetch,
    trouble::{Trouble, no_way},
    unfinished::{Order, Orders},
};
use crate::{
    exit::{Code, Stop},
    output, shell,
};

/// A download.
#[derive(Debug)]
pub(crate) struct Delivery<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) order: Order,
    pub(crate) via: Via,
    pub(crate) tell: Tell,
    /// Flags to repeat in a command that the user is told to type.
    pub(crate) flags: String,
    /// Files of the answer that are already saved.
    pub(crate) saved: Unpacked,
}

impl Delivery<'_> {
    /// Runs the download until its end or ctrl-c, and returns the exit [`Code`].
    pub(crate) async fn run(&self) -> Result<Code> {
        let orders = Orders::open()?;
        self.tell.about(&self.order.offer.transfer_id);
        // Store the order first, so that every interruption can be resumed.
        orders
            .keep(&self.order)
            .context("cannot store the record of the download")?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let done = tokio::select! {
            done = self.fetch(&orders) => done,
            _ = interrupt.recv() => {
                self.tell.clear();
                output::chat(&format!("interrupted; resume with: {}", self.command("")));
                return Ok(Code::Interrupted);
            }
        };
        self.tell.clear();
        let forgotten = match done {
            Done::Unpacked => orders.fulfil(&self.order),
            Done::Never(_) => orders.remove(&self.order.offer.transfer_id),
            Done::Later(_) => Ok(()),
        };
        forgotten.context("cannot remove the record of the download")?;
        match done {
            Done::Unpacked => Ok(Code::Ok),
            Done::Later(stop) | Done::Never(stop) => {
                Err(stop.naming("AGENT", &self.order.agent).into())
            }
        }
    }

    async fn fetch(&self, orders: &Orders) -> Done {
        let parts = orders.parts();
        let fetch = Fetch {
            hub: self.hub,
            agent: &self.order.agent,
            offer: &self.order.offer,
            via: self.via,
            parts: &parts,
            tell: &self.tell,
        };
        match fetch.run().await {
            Ok(archive) => self.unpack(archive).await,
            Err(Trouble::Bad(stop) | Trouble::Unknown(stop)) => Done::Never(stop),
            Err(Trouble::Refused(stop)) => Done::Later(stop),
            Err(Trouble::Cut(stop)) => self.later(&stop),
            Err(Trouble::NoWay(why)) => self.later(&no_way(&why)),
        }
    }

    async fn unpack(&self, archive: Archive) -> Done {
        let clash = clash(self.order.overwrite);
        let out = &self.order.out;
        match unpack(&archive, out, clash, Limits::default()).await {
            Ok(mut unpacked) => {
                let also = self.saved.files.iter();
                let also = also.filter(|name| !unpacked.files.contains(name));
                unpacked.files.extend(also.cloned().collect::<Vec<_>>());
                unpacked.bytes += self.saved.bytes;
                self.tell.done(&unpacked, out);
                Done::Unpacked
            }
            Err(error @ (UnpackError::InTheWay { .. } | UnpackError::Folder(_))) => {
                // Keep the archive, to avoid a second download.
                archive.keep();
                let other = match error {
                    UnpackError::InTheWay { .. } => self.command("--overwrite"),
                    _ => self.command("--out DIR"),
                };
                Done::Later(Stop::new(
                    Code::Failed,
                    format!("{}: {error}", out.display()),
                    format!("the files are downloaded; unpack them with: {other}"),
                ))
            }
            Err(error) => Done::Never(Stop::new(
                Code::Agent,
                format!("the files are refused: {error}"),
                "nothing was unpacked; call the agent again, or ask its owner",
            )),
        }
    }

    fn later(&self, stop: &Stop) -> Done {
        Done::Later(Stop::new(
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
enum Done {
    Unpacked,
    /// The download can be resumed.
    Later(Stop),
    /// The download cannot be resumed.
    Never(Stop),
}

/// Returns how to treat existing files, as [`Clash`].
pub(crate) fn clash(overwrite: bool) -> Clash {
    match overwrite {
        true => Clash::Replace,
        false => Clash::Refuse,
    }
}

/// Checks that the output folder is usable, as far as possible in advance.
pub(crate) fn check_out(out: &Path) -> Result<(), Stop> {
    let there = out.ancestors().find(|place| place.exists());
    match there.filter(|place| !place.is_dir()) {
        Some(file) => Err(Stop::usage(format!(
            "--out {}: {} is not a folder; name one with --out DIR",
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
