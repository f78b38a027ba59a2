//! Transfers an archive: over a data channel that the peer opens, or through the hub with a ticket.

use jackfield_sdk::{CallerSignal, Error};
use jackfield_transfer::{
    Archive, ArchivePart, Bundle, ChannelError, ConflictPolicy, PartError, TransferError,
    UnpackError, receive,
    rtc::{self, RtcOptions, ice_server_urls},
    send,
    signal::{self, RelayDirection, RelayTicket, StatusSignal},
    unpack,
};
use tracing::{debug, warn};

use super::{
    TransferState,
    signalling::TransferSignalling,
    through_hub::{self, RelayError},
    uploads::ExpectedUpload,
};
use crate::workspace::WorkspaceError;

/// What to transfer.
pub(super) enum TransferJob {
    Send(Bundle),
    Receive(ExpectedUpload),
}

/// Route of a transfer ([`TransferJob`]).
pub(super) enum TransferRoute {
    /// Over a data channel, offered by this session description.
    Direct { sdp: String, options: RtcOptions },
    /// Through the hub.
    Hub(RelayTicket),
}

impl TransferRoute {
    /// Parses the route that a signal asks for.
    pub(super) fn of(signal: CallerSignal) -> Option<Self> {
        let payload = signal.payload?;
        if signal.signal_type == signal::RELAY {
            return serde_json::from_str(&payload).ok().map(Self::Hub);
        }
        let servers = signal.ice_servers.unwrap_or_default();
        let options = RtcOptions {
            ice_servers: ice_server_urls(&servers),
            ..RtcOptions::default()
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
    fn is_retryable(&self) -> bool {
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

impl TransferState {
    /// Transfers an archive once a permit is free.
    pub(super) async fn run_transfer(
        &self,
        job: TransferJob,
        way: TransferRoute,
        mut line: TransferSignalling,
    ) {
        let Ok(_room) = self.room.acquire().await else {
            return;
        };
        match job {
            TransferJob::Send(bundle) => {
                if let Err(error) = self.send(&bundle, way, &mut line).await {
                    // The peer notices, and asks again if it wants.
                    warn!(%error, transfer = line.transfer(), "files did not go out");
                }
            }
            TransferJob::Receive(upload) => {
                let received = self.receive(&upload, way, &mut line).await;
                self.answer(&upload, received, &line).await;
            }
        }
    }

    async fn send(
        &self,
        bundle: &Bundle,
        way: TransferRoute,
        line: &mut TransferSignalling,
    ) -> Result<(), MoveError> {
        match way {
            TransferRoute::Direct { sdp, options } => {
                let mut channel = rtc::answer(line, &sdp, &options).await?;
                let offset = rtc::offset_of(&sdp).unwrap_or(0);
                Ok(send(&mut channel, bundle, offset, |_, _| {}).await?)
            }
            TransferRoute::Hub(ticket) if ticket.direction == RelayDirection::Send => {
                let body = through_hub::body(bundle, ticket.offset, |_, _| {});
                Ok(self.hub.send_by_ticket(&ticket.ticket, body).await?)
            }
            TransferRoute::Hub(_) => Err(MoveError::Direction),
        }
    }

    /// Receives and unpacks an archive. Returns the number of files.
    async fn receive(
        &self,
        upload: &ExpectedUpload,
        way: TransferRoute,
        line: &mut TransferSignalling,
    ) -> Result<usize, MoveError> {
        let archive = self.fetch(upload, way, line).await?;
        let folder = self.workspaces.folder(Some(&upload.client_id)).await?;
        let unpacked = unpack(&archive, &folder, ConflictPolicy::Replace, self.limits).await?;
        Ok(unpacked.files.len())
    }

    async fn fetch(
        &self,
        upload: &ExpectedUpload,
        way: TransferRoute,
        line: &mut TransferSignalling,
    ) -> Result<Archive, MoveError> {
        match way {
            TransferRoute::Direct { sdp, options } => {
                let mut channel = rtc::answer(line, &sdp, &options).await?;
                let part = ArchivePart::open(&self.parts, &upload.offer, self.limits).await?;
                Ok(receive(&mut channel, part, |_, _| {}).await?)
            }
            TransferRoute::Hub(ticket) if ticket.direction == RelayDirection::Receive => {
                let part = ArchivePart::open(&self.parts, &upload.offer, self.limits).await?;
                let content = self.hub.receive_by_ticket(&ticket.ticket).await?;
                Ok(through_hub::receive(content, ticket.offset, part, |_, _| {}).await?)
            }
            TransferRoute::Hub(_) => Err(MoveError::Direction),
        }
    }

    /// Reports the result of an upload to the peer.
    async fn answer(
        &self,
        upload: &ExpectedUpload,
        received: Result<usize, MoveError>,
        line: &TransferSignalling,
    ) {
        let id = &upload.offer.transfer_id;
        match received {
            Ok(files) => {
                self.expected.lock().remove(id);
                line.report(&StatusSignal::Received(files as u64));
            }
            Err(error) if error.is_retryable() => {
                warn!(%error, transfer = id, "files did not come in");
                // The peer may believe that all bytes arrived, because it sees only the hub.
                line.report(&StatusSignal::Interrupted(error.to_string()));
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
    async fn discard(&self, upload: &ExpectedUpload) -> Result<(), PartError> {
        let part = ArchivePart::open(&self.parts, &upload.offer, self.limits).await?;
        part.discard().await
    }
}
