//! Transfer of an archive over a [`Channel`]: a text header, the bytes in binary messages, and a text that
//! marks the end. These are the messages of the published bridge client. The header's `offset` is an
//! extension, present only if a transfer resumes.

use std::{future::Future, io, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::endpoint::{
    archive::Archive,
    bundle::Bundle,
    channel::{Channel, ChannelError, ChannelFrame},
    part::{ArchivePart, PartError},
};

/// How long the peer may stay silent.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most unknown messages that are skipped.
const MAX_SKIPPED: usize = 1_000;

/// Why a transfer failed.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The channel is lost. A further attempt can resume.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The peer is silent. A further attempt can resume.
    #[error("the other side did nothing for {} seconds", PATIENCE.as_secs())]
    Silent,
    /// The received bytes cannot be stored.
    #[error(transparent)]
    Part(#[from] PartError),
    /// The archive to send cannot be read.
    #[error("cannot read the archive: {0}")]
    Archive(#[from] io::Error),
    /// The peer violates the protocol.
    #[error("the other side {0}")]
    Protocol(&'static str),
}

/// Text messages of the protocol.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TransferText<'a> {
    Header {
        #[serde(borrow)]
        transfer_id: std::borrow::Cow<'a, str>,
        zip_size: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        offset: u64,
    },
    Complete,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(offset: &u64) -> bool {
    *offset == 0
}

/// Sends a [`Bundle`] from `offset` on, the bytes that the peer already has. `progress` receives the bytes sent
/// and the total. An offset beyond the end counts as 0.
pub async fn send(
    channel: &mut impl Channel,
    bundle: &Bundle,
    offset: u64,
    progress: impl Fn(u64, u64) + Send,
) -> Result<(), TransferError> {
    let total = bundle.size();
    let offset = if offset > total { 0 } else { offset };
    let header = TransferText::Header {
        transfer_id: bundle.offer().transfer_id.as_str().into(),
        zip_size: total,
        offset,
    };
    with_timeout(channel.send(text(&header)?)).await?;
    let mut pieces = bundle.pieces(offset);
    let mut done = offset;
    progress(done, total);
    while let Some(piece) = pieces.next().await? {
        done += piece.len() as u64;
        with_timeout(channel.send(ChannelFrame::Binary(piece))).await?;
        progress(done, total);
    }
    with_timeout(channel.send(text(&TransferText::Complete)?)).await?;
    with_timeout(channel.finish()).await
}

/// Receives a [`ArchivePart`], or the rest of it, and returns the verified [`Archive`]. `progress` receives the
/// bytes stored and the total.
///
/// Bytes received before an interruption stay for the next attempt. Content that differs from the offer is
/// removed.
pub async fn receive(
    channel: &mut impl Channel,
    mut part: ArchivePart,
    progress: impl Fn(u64, u64) + Send,
) -> Result<Archive, TransferError> {
    match receive_messages(channel, &mut part, progress).await {
        Ok(()) => Ok(part.finish().await?),
        Err(error) => {
            // The next attempt continues from the flushed bytes.
            part.flush().await?;
            Err(error)
        }
    }
}

/// Receives messages up to the end marker.
async fn receive_messages(
    channel: &mut impl Channel,
    part: &mut ArchivePart,
    progress: impl Fn(u64, u64) + Send,
) -> Result<(), TransferError> {
    let total = part.offer().zip_size;
    let mut has_begun = false;
    let mut skipped = 0;
    loop {
        let Some(frame) = with_timeout(channel.recv()).await? else {
            return Err(ChannelError::Cut("it was closed before the end".to_owned()).into());
        };
        let known = match &frame {
            ChannelFrame::Binary(bytes) if !has_begun && !bytes.is_empty() => {
                return Err(TransferError::Protocol("sent bytes before their header"));
            }
            ChannelFrame::Binary(bytes) if bytes.is_empty() => None,
            ChannelFrame::Binary(bytes) => {
                part.append(bytes).await?;
                progress(part.received(), total);
                continue;
            }
            ChannelFrame::Text(text) => read(text)?,
        };
        match known {
            Some(TransferText::Header { .. }) if has_begun => {
                return Err(TransferError::Protocol("sent two headers"));
            }
            Some(TransferText::Header {
                transfer_id,
                zip_size,
                offset,
            }) => {
                if transfer_id != part.offer().transfer_id {
                    return Err(TransferError::Protocol("sends another transfer"));
                }
                if zip_size != total {
                    return Err(TransferError::Protocol(
                        "sends an archive of another size than it offered",
                    ));
                }
                begin(part, offset).await?;
                has_begun = true;
                progress(part.received(), total);
            }
            Some(TransferText::Complete) if has_begun => return Ok(()),
            Some(TransferText::Complete) => {
                return Err(TransferError::Protocol("ended before it began"));
            }
            None if skipped == MAX_SKIPPED => {
                return Err(TransferError::Protocol("sends much, and no archive"));
            }
            None => skipped += 1,
        }
    }
}

/// Starts at the header's offset.
async fn begin(part: &mut ArchivePart, offset: u64) -> Result<(), TransferError> {
    match offset {
        0 if part.received() > 0 => Ok(part.restart().await?),
        offset if offset == part.received() => Ok(()),
        _ => Err(TransferError::Protocol("begins where nobody asked it to")),
    }
}

/// Parses a text message; `None` if unknown.
fn read(text: &str) -> Result<Option<TransferText<'_>>, TransferError> {
    #[derive(Deserialize)]
    struct TextKind<'a> {
        #[serde(borrow, rename = "type")]
        kind: std::borrow::Cow<'a, str>,
    }
    let kind = serde_json::from_str::<TextKind<'_>>(text);
    if !kind.is_ok_and(|it| it.kind == "header" || it.kind == "complete") {
        return Ok(None);
    }
    serde_json::from_str(text)
        .map(Some)
        .map_err(|_| TransferError::Protocol("sent a header that cannot be read"))
}

fn text(text: &TransferText<'_>) -> io::Result<ChannelFrame> {
    Ok(ChannelFrame::Text(serde_json::to_string(text)?))
}

async fn with_timeout<T>(
    step: impl Future<Output = Result<T, ChannelError>>,
) -> Result<T, TransferError> {
    match timeout(PATIENCE, step).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(TransferError::Silent),
    }
}
