//! Transfers an archive: over a data channel that the peer opens, or through the hub with a ticket.

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

/// What to transfer.
pub(super) enum Job {
    Send(Bundle),
    Receive(Upload),
}

/// Route of a transfer ([`Job`]).
pub(super) enum Way {
    /// Over a data channel, offered by this session description.
    Direct { sdp: String, options: Options },
    /// Through the hub.
    Hub(Ticket),
}

/// Payload of the signal `relay`.
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
    /// Parses the route that a signal asks for.
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

/// Why a transfer failed.
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
    /// Returns whether a new attempt can continue the transfer.
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
    /// Transfers an archive once a permit is free.
    pub(super) async fn carry(&self, job: Job, way: Way, mut line: Line) {
        let Ok(_room) = self.room.acquire().await else {
            return;
        };
        match job {
            Job::Send(bundle) => {
                if let Err(error) = self.send(&bundle, way, &mut line).await {
                    // The peer notices, and asks again if it wants.
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

    /// Receives and unpacks an archive. Returns the number of files.
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

    /// Reports the result of an upload to the peer.
    async fn answer(&self, upload: &Upload, received: Result<usize, MoveError>, line: &Line) {
        let id = &upload.offer.transfer_id;
        match received {
            Ok(files) => {
                self.expected.lock().remove(id);
                line.say("received", &json!({ "files": files }));
            }
            Err(error) if error.is_passing() => {
                warn!(%error, transfer = id, "files did not come in");
                // The peer may believe that all bytes arrived, because it sees only the hub.
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

    /// Removes the received bytes of a refused archive.
    async fn discard(&self, upload: &Upload) -> Result<(), PartError> {
        let part = Part::open(&self.parts, &upload.offer, self.limits).await?;
        part.discard().await
    }
}
