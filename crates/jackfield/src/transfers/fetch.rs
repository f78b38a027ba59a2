//! Download of an archive that an agent offered, with retries.

use std::path::Path;

use jackfield_connect::through_hub::{self, RelayError};
use jackfield_files::{
    Archive, Limits, Offer, Part, receive,
    rtc::{self, Options},
};
use jackfield_sdk::{Error, Hub, Transfer};

use super::{
    Tell, Via,
    line::Line,
    trouble::{Tries, Trouble, no_way},
    upload::DIRECT,
};

/// A download of one archive.
#[derive(Debug)]
pub(super) struct Fetch<'a> {
    pub(super) hub: &'a Hub,
    pub(super) agent: &'a str,
    pub(super) offer: &'a Offer,
    pub(super) via: Via,
    /// Folder of partial archives.
    pub(super) parts: &'a Path,
    pub(super) tell: &'a Tell,
}

impl Fetch<'_> {
    /// Runs the download of the [`Archive`], and resumes partial archives. If the data do not match the
    /// offer, the partial archive is removed.
    pub(super) async fn run(&self) -> Result<Archive, Trouble> {
        let transfer = self.hub.transfer(self.agent, &self.offer.transfer_id);
        let mut via = self.via;
        let mut tries = Tries::default();
        let mut first = None;
        loop {
            let part = Part::open(self.parts, self.offer, Limits::default()).await?;
            let before = part.received();
            let has_come = before > *first.get_or_insert(before);
            if before == self.offer.zip_size {
                return Ok(part.finish().await?);
            }
            self.tell.begin(via.tried(), before, self.offer.zip_size);
            let fetched = match via {
                Via::Hub => self.through_hub(&transfer, part).await,
                Via::Auto | Via::Direct => self.direct(&transfer, part).await,
            };
            let why = match fetched {
                Err(Trouble::NoWay(why)) if via == Via::Auto => {
                    self.tell.no_way(&why);
                    via = Via::Hub;
                    continue;
                }
                Err(Trouble::Cut(stop)) => stop,
                // A direct connection worked before, so it may work again.
                Err(Trouble::NoWay(why)) if has_come => no_way(&why),
                Err(Trouble::Bad(stop)) => {
                    self.discard().await?;
                    return Err(Trouble::Bad(stop));
                }
                other => return other,
            };
            let now = Part::received_in(self.parts, self.offer).await?;
            let Some(wait) = tries.next(now > before) else {
                return Err(Trouble::Cut(why));
            };
            self.tell.cut(&why.text);
            tokio::time::sleep(wait).await;
        }
    }

    async fn direct(&self, transfer: &Transfer, part: Part) -> Result<Archive, Trouble> {
        let mut line = Line::anew(transfer).await?;
        let offset = Some(part.received()).filter(|received| *received > 0);
        let found = line.unless_refused(async |ways, servers| {
            let options = Options {
                ice_servers: servers.to_vec(),
                offset,
                patience: DIRECT,
                ..Options::default()
            };
            Ok(rtc::call(ways, &options).await?)
        });
        let mut channel = found.await?;
        Ok(receive(&mut channel, part, self.tell.progress()).await?)
    }

    async fn through_hub(&self, transfer: &Transfer, part: Part) -> Result<Archive, Trouble> {
        let mut line = Line::anew(transfer).await?;
        let asked = line.unless_refused(async |_, _| Ok(transfer.content(part.received()).await?));
        let content = asked.await?;
        let begins = content.begins();
        match through_hub::receive(content, begins, part, self.tell.progress()).await {
            // A body that ends early gives no reason; the hub may.
            Err(RelayError::Hub(Error::Broken)) => Err(line.why_cut().await),
            received => Ok(received?),
        }
    }

    async fn discard(&self) -> Result<(), Trouble> {
        let part = Part::open(self.parts, self.offer, Limits::default()).await?;
        Ok(part.discard().await?)
    }
}
