//! How an archive moves: over a data channel that the other side calls for, or through the hub with a ticket.

use jackfield_files::{
    Archive, Bundle, ChannelError, Clash, Part, PartError, TransferError, UnpackError, receive,
    rtc::{self, Options, ice_server_urls},
    send, unpack,
};
use jackfield_sdk::{Error, Signal};
use serde::Deserialize;
use serde_json::json;
use tracing::{debug, warn};

use super::{
    Shared,
    line::Line,
    through_hub::{self, RelayError},
    uploads::Upload,
};
use crate::workspace::WorkspaceError;

/// What is to be done.
pub(super) enum Job {
    Send(Bundle),
    Receive(Upload),
}

/// Which way an archive goes.
pub(super) enum Way {
    /// Over a data channel, which this description offers.
    Direct { sdp: String, options: Options },
    /// Through the hub.
    Hub(Ticket),
}

/// What the hub says in a signal `relay`.
#[derive(Deserialize)]
pub(super) struct Ticket {
    ticket: String,
    offset: u64,
    direction: Direction,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Send,
    Receive,
}

impl Way {
    /// The way that a signal asks for, if it can be read.
    pub(super) fn of(signal: Signal) -> Option<Self> {
        let payload = signal.payload?;
        if signal.signal_type == "relay" {
            return serde_json::from_str(&payload).ok().map(Self::Hub);
        }
        let servers = signal.ice_servers.unwrap_or_default();
        let options = Options {
            ice_servers: ice_server_urls(&servers),
            ..Options::default()
        };
        Some(Self::Direct {
            sdp: payload,
            options,
        })
    }
}

/// Why an archive did not move.
#[derive(Debug, thiserror::Error)]
enum MoveError {
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error(transparent)]
    Transfer(#[from] TransferError),
    #[error(transparent)]
    Hub(#[from] Error),
    #[error(transparent)]
    Part(#[from] PartError),
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("the ticket is for the other direction")]
    Direction,
}

impl From<RelayError> for MoveError {
    fn from(error: RelayError) -> Self {
        match error {
            RelayError::Hub(error) => Self::Hub(error),
            RelayError::Part(error) => Self::Part(error),
        }
    }
}

impl MoveError {
    /// Whether another try may go on from here.
    fn is_passing(&self) -> bool {
        match self {
            Self::Channel(_) | Self::Hub(_) | Self::Direction => true,
            Self::Transfer(error) => {
                matches!(error, TransferError::Channel(_) | TransferError::Silent)
            }
            Self::Part(error) => matches!(error, PartError::InUse),
            Self::Unpack(_) | Self::Workspace(_) => false,
        }
    }
}

impl Shared {
    /// Moves an archive, as soon as there is room.
    pub(super) async fn carry(&self, job: Job, way: Way, mut line: Line) {
        let Ok(_room) = self.room.acquire().await else {
            return;
        };
        match job {
            Job::Send(bundle) => {
                if let Err(error) = self.send(&bundle, way, &mut line).await {
                    // The other side knows, and asks again if it wants.
                    warn!(%error, transfer = line.transfer(), "files did not go out");
                }
            }
            Job::Receive(upload) => {
                let received = self.receive(&upload, way, &mut line).await;
                self.answer(&upload, received, &line).await;
            }
        }
    }

    async fn send(&self, bundle: &Bundle, way: Way, line: &mut Line) -> Result<(), MoveError> {
        match way {
            Way::Direct { sdp, options } => {
                let mut channel = rtc::answer(line, &sdp, &options).await?;
                let offset = rtc::offset_of(&sdp).unwrap_or(0);
                Ok(send(&mut channel, bundle, offset, |_, _| {}).await?)
            }
            Way::Hub(ticket) if ticket.direction == Direction::Send => {
                let body = through_hub::body(bundle, ticket.offset, |_, _| {});
                Ok(self.hub.send_by_ticket(&ticket.ticket, body).await?)
            }
            Way::Hub(_) => Err(MoveError::Direction),
        }
    }

    /// How many files were unpacked.
    async fn receive(
        &self,
        upload: &Upload,
        way: Way,
        line: &mut Line,
    ) -> Result<usize, MoveError> {
        let archive = self.fetch(upload, way, line).await?;
        let folder = self.workspaces.folder(Some(&upload.client_id)).await?;
        let unpacked = unpack(&archive, &folder, Clash::Replace, self.limits).await?;
        Ok(unpacked.files.len())
    }

    async fn fetch(
        &self,
        upload: &Upload,
        way: Way,
        line: &mut Line,
    ) -> Result<Archive, MoveError> {
        match way {
            Way::Direct { sdp, options } => {
                let mut channel = rtc::answer(line, &sdp, &options).await?;
                let part = Part::open(&self.parts, &upload.offer, self.limits).await?;
                Ok(receive(&mut channel, part, |_, _| {}).await?)
            }
            Way::Hub(ticket) if ticket.direction == Direction::Receive => {
                let part = Part::open(&self.parts, &upload.offer, self.limits).await?;
                let content = self.hub.receive_by_ticket(&ticket.ticket).await?;
                Ok(through_hub::receive(content, ticket.offset, part, |_, _| {}).await?)
            }
            Way::Hub(_) => Err(MoveError::Direction),
        }
    }

    /// Tells the other side what came of it.
    async fn answer(&self, upload: &Upload, received: Result<usize, MoveError>, line: &Line) {
        let id = &upload.offer.transfer_id;
        match received {
            Ok(files) => {
                self.expected.lock().remove(id);
                line.say("received", &json!({ "files": files }));
            }
            Err(error) if error.is_passing() => {
                warn!(%error, transfer = id, "files did not come in");
                // The other side may believe that all of it arrived: it does not see beyond the hub.
                line.say("interrupted", &json!({ "reason": error.to_string() }));
            }
            Err(error) => {
                warn!(%error, transfer = id, "files are refused");
                self.expected.lock().remove(id);
                if let Err(error) = self.discard(upload).await {
                    debug!(%error, "nothing is left to remove");
                }
                line.failed(&error.to_string());
            }
        }
    }

    /// Removes what came of an archive that is refused.
    async fn discard(&self, upload: &Upload) -> Result<(), PartError> {
        let part = Part::open(&self.parts, &upload.offer, self.limits).await?;
        part.discard().await
    }
}
