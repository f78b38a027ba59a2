//! Download of an archive that an agent offered, with retries.

use std::path::Path;

use jackfield_connect::through_hub::{self, RelayError};
use jackfield_model::Offer;
use jackfield_sdk::{Error, FileTransfer, Hub};
use jackfield_transfer::{
    Archive, ArchiveLimits, ArchivePart, receive,
    rtc::{self, RtcOptions},
};

use super::{
    RouteChoice, TransferProgress,
    attempt::{AttemptCounter, AttemptError, no_direct_connection},
    signalling::AgentSignalling,
    upload::DIRECT,
};

/// A download of one archive.
#[derive(Debug)]
pub(super) struct ArchiveDownload<'a> {
    pub(super) hub: &'a Hub,
    pub(super) agent: &'a str,
    pub(super) offer: &'a Offer,
    pub(super) via: RouteChoice,
    /// Folder of partial archives.
    pub(super) parts: &'a Path,
    pub(super) tell: &'a TransferProgress,
}

impl ArchiveDownload<'_> {
    /// Runs the download of the [`Archive`], and resumes partial archives. If the data do not match the
    /// offer, the partial archive is removed.
    pub(super) async fn run(&self) -> Result<Archive, AttemptError> {
        let transfer = self.hub.transfer(self.agent, &self.offer.transfer_id);
        let mut via = self.via;
        let mut tries = AttemptCounter::default();
        let mut first = None;
        loop {
            let part = ArchivePart::open(self.parts, self.offer, ArchiveLimits::default()).await?;
            let before = part.received();
            let has_come = before > *first.get_or_insert(before);
            if before == self.offer.zip_size {
                return Ok(part.finish().await?);
            }
            self.tell.begin(via.tried(), before, self.offer.zip_size);
            let fetched = match via {
                RouteChoice::Hub => self.through_hub(&transfer, part).await,
                RouteChoice::Auto | RouteChoice::Direct => self.direct(&transfer, part).await,
            };
            let why = match fetched {
                Err(AttemptError::NoWay(why)) if via == RouteChoice::Auto => {
                    self.tell.no_direct_connection(&why);
                    via = RouteChoice::Hub;
                    continue;
                }
                Err(AttemptError::Cut(stop)) => stop,
                // A direct connection worked before, so it may work again.
                Err(AttemptError::NoWay(why)) if has_come => no_direct_connection(&why),
                Err(AttemptError::Bad(stop)) => {
                    self.discard().await?;
                    return Err(AttemptError::Bad(stop));
                }
                other => return other,
            };
            let now = ArchivePart::received_in(self.parts, self.offer).await?;
            let Some(wait) = tries.next(now > before) else {
                return Err(AttemptError::Cut(why));
            };
            self.tell.connection_lost(&why.text);
            tokio::time::sleep(wait).await;
        }
    }

    async fn direct(
        &self,
        transfer: &FileTransfer,
        part: ArchivePart,
    ) -> Result<Archive, AttemptError> {
        let mut line = AgentSignalling::reopen(transfer).await?;
        let offset = Some(part.received()).filter(|received| *received > 0);
        let found = line.unless_refused(async |ways, servers| {
            let options = RtcOptions {
                ice_servers: servers.to_vec(),
                offset,
                patience: DIRECT,
                ..RtcOptions::default()
            };
            Ok(rtc::call(ways, &options).await?)
        });
        let mut channel = found.await?;
        Ok(receive(&mut channel, part, self.tell.progress()).await?)
    }

    async fn through_hub(
        &self,
        transfer: &FileTransfer,
        part: ArchivePart,
    ) -> Result<Archive, AttemptError> {
        let mut line = AgentSignalling::reopen(transfer).await?;
        let asked = line.unless_refused(async |_, _| Ok(transfer.content(part.received()).await?));
        let content = asked.await?;
        let begins = content.offset();
        match through_hub::receive(content, begins, part, self.tell.progress()).await {
            // A body that ends early gives no reason; the hub may.
            Err(RelayError::Hub(Error::Broken)) => Err(line.why_cut().await),
            received => Ok(received?),
        }
    }

    async fn discard(&self) -> Result<(), AttemptError> {
        let part = ArchivePart::open(self.parts, self.offer, ArchiveLimits::default()).await?;
        Ok(part.discard().await?)
    }
}
