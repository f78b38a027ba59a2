//! Upload of a folder to an agent before a message, into the folder that the agent keeps for this client.

use std::{path::Path, time::Duration};

use jackfield_connect::through_hub;
use jackfield_sdk::Hub;
use jackfield_transfer::{
    ArchiveLimits, Bundle, PackError, Packed, pack,
    rtc::{self, RtcOptions},
    send,
};
use tokio::time::timeout;

use super::{
    RouteChoice, TransferProgress,
    attempt::{AttemptCounter, AttemptError, no_direct_connection},
    signalling::{AgentSignalling, REASON, TransferStatus},
};
use crate::exit::{CliError, ErrorSubject, ExitKind};

/// Time limit for establishing a direct connection.
pub(super) const DIRECT: Duration = Duration::from_secs(10);
/// Time limit for an agent to announce that it expects the archive; third-party agents never do.
const PREPARED: Duration = Duration::from_secs(3);
/// Time limit for an agent to verify and unpack an archive.
const UNPACKED: Duration = Duration::from_secs(120);

/// Confirmation of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UploadConfirmation {
    /// The agent verified and unpacked the archive.
    Confirmed,
    /// The archive was sent; this agent sends no confirmations.
    Unconfirmed,
}

/// An upload.
#[derive(Debug)]
pub(crate) struct FolderUpload<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) agent: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) via: RouteChoice,
    pub(crate) tell: &'a TransferProgress,
}

impl FolderUpload<'_> {
    /// Runs the upload. Data that the agent already has are not sent again.
    pub(crate) async fn run(&self, folder: &Path) -> Result<(), CliError> {
        let bundle = self.packed(folder).await?;
        let sent = self.send(&bundle).await.map_err(|trouble| match trouble {
            AttemptError::Refused(stop) | AttemptError::Unknown(stop) | AttemptError::Bad(stop) => {
                stop.fill_in("AGENT", self.agent)
            }
            AttemptError::Cut(stop) => self.given_up(&stop),
            AttemptError::NoWay(why) => self.given_up(&no_direct_connection(&why)),
        })?;
        self.tell.sent(bundle.offer(), sent);
        Ok(())
    }

    async fn packed(&self, folder: &Path) -> Result<Bundle, CliError> {
        let shown = folder.display();
        let Packed { bundle, omitted } = match pack(folder, ArchiveLimits::default(), &[]).await {
            Ok(packed) => packed,
            Err(error @ PackError::Folder(_)) => {
                let text = format!("{shown}: {error}; name one with --upload DIR");
                return Err(CliError::usage(text));
            }
            Err(error) => {
                let next = "send a folder inside it, or remove files that are not needed";
                return Err(CliError::new(
                    ExitKind::Failed,
                    format!("{shown}: {error}"),
                    next,
                ));
            }
        };
        if let Some(bundle) = &bundle {
            self.tell.set_transfer(&bundle.offer().transfer_id);
        }
        if !omitted.is_empty() {
            self.tell.left_out(&omitted);
        }
        bundle.ok_or_else(|| {
            let text = match omitted.is_empty() {
                true => format!("there are no files in {shown}"),
                false => format!("there are no files to send in {shown}, only excluded ones"),
            };
            CliError::new(
                ExitKind::Usage,
                text,
                "name another folder with --upload DIR",
            )
        })
    }

    fn given_up(&self, stop: &CliError) -> CliError {
        CliError::new(
            stop.code,
            format!("the files did not reach {}: {}", self.agent, stop.text),
            "run the same command to resume",
        )
    }

    async fn send(&self, bundle: &Bundle) -> Result<UploadConfirmation, AttemptError> {
        let mut via = self.via;
        let mut tries = AttemptCounter::default();
        let (mut most, mut is_first) = (0, true);
        loop {
            let tried = self.attempt(bundle, via, is_first).await;
            is_first = false;
            let (trouble, had) = match tried {
                Ok(sent) => return Ok(sent),
                Err(failed) => failed,
            };
            let why = match trouble {
                AttemptError::NoWay(why) if via == RouteChoice::Auto => {
                    self.tell.no_direct_connection(&why);
                    via = RouteChoice::Hub;
                    continue;
                }
                AttemptError::Cut(stop) => stop,
                // A direct connection worked before, so it may work again.
                AttemptError::NoWay(why) if had > 0 => no_direct_connection(&why),
                trouble => return Err(trouble),
            };
            let Some(wait) = tries.next(had > most) else {
                return Err(AttemptError::Cut(why));
            };
            most = most.max(had);
            self.tell.connection_lost(&why.text);
            tokio::time::sleep(wait).await;
        }
    }

    /// Tries once. The error ([`AttemptError`]) includes the number of bytes that the agent had before.
    async fn attempt(
        &self,
        bundle: &Bundle,
        via: RouteChoice,
        is_first: bool,
    ) -> Result<UploadConfirmation, (AttemptError, u64)> {
        let offer = bundle.offer();
        let announced = self.hub.announce(self.agent, offer, Some(self.client_id));
        let announced = announced.await.map_err(|error| {
            let trouble = match is_first {
                // On the first attempt no connection was lost; the agent is simply not there.
                true => AttemptError::Refused(CliError::from_hub(&error, ErrorSubject::Agent)),
                false => error.into(),
            };
            (trouble, 0)
        })?;
        let transfer = self.hub.transfer(self.agent, &offer.transfer_id);
        let mut line = AgentSignalling::open(&transfer, announced.ice_servers.as_ref());
        let (offset, answers) = match timeout(PREPARED, line.prepared()).await {
            Ok(Ok(received)) => (received, true),
            Ok(Err(why)) => return Err((why, 0)),
            Err(_) => (0, false),
        };
        self.tell.begin(via.tried(), offset, offer.zip_size);
        let moved = match via {
            RouteChoice::Hub => {
                // The agent already had everything when the connection was lost; the hub forwards no empty
                // body, so send all again.
                let from = if offset < offer.zip_size { offset } else { 0 };
                let body = through_hub::body(bundle, from, self.tell.progress());
                transfer
                    .upload(from, body)
                    .await
                    .map_err(AttemptError::from)
            }
            RouteChoice::Auto | RouteChoice::Direct => self.direct(&mut line, bundle, offset).await,
        };
        match moved {
            Ok(()) if answers => self
                .unpacked(&mut line)
                .await
                .map(|()| UploadConfirmation::Confirmed),
            Ok(()) => Ok(UploadConfirmation::Unconfirmed),
            // The agent may have sent a reason.
            Err(AttemptError::Cut(stop)) => match timeout(REASON, line.next_status()).await {
                Ok(TransferStatus::Failed(reason)) => Err(reason),
                _ => Err(AttemptError::Cut(stop)),
            },
            Err(trouble) => Err(trouble),
        }
        .map_err(|trouble| (trouble, offset))
    }

    async fn direct(
        &self,
        line: &mut AgentSignalling,
        bundle: &Bundle,
        offset: u64,
    ) -> Result<(), AttemptError> {
        let found = line.unless_refused(async |ways, servers| {
            let options = RtcOptions {
                ice_servers: servers.to_vec(),
                patience: DIRECT,
                ..RtcOptions::default()
            };
            Ok(rtc::call(ways, &options).await?)
        });
        let mut channel = found.await?;
        Ok(send(&mut channel, bundle, offset, self.tell.progress()).await?)
    }

    /// Waits until the agent has verified and unpacked the archive ([`TransferStatus::Received`]).
    async fn unpacked(&self, line: &mut AgentSignalling) -> Result<(), AttemptError> {
        let answer = async {
            loop {
                match line.next_status().await {
                    TransferStatus::Received => return Ok(()),
                    TransferStatus::Failed(why) => return Err(why),
                    TransferStatus::Interrupted(why) => return Err(AttemptError::cut(why)),
                    TransferStatus::Prepared(_) => {}
                }
            }
        };
        match timeout(UNPACKED, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(AttemptError::cut("the agent did not confirm the upload")),
        }
    }
}
