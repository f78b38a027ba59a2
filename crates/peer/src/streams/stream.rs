//! A stream with a peer. It counts as open until dropped, so that a stopping node can wait for it, and it may
//! hold one of the permits for streams to its peer.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use libp2p::futures::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// A stream with a peer. One task owns it; its halves are never split between tasks.
#[derive(Debug)]
pub struct Stream {
    inner: libp2p::Stream,
    _in_use: TaskTrackerToken,
    _place: Option<OwnedSemaphorePermit>,
}

impl Stream {
    pub(super) fn new(inner: libp2p::Stream, in_use: TaskTrackerToken) -> Self {
        Self {
            inner,
            _in_use: in_use,
            _place: None,
        }
    }

    pub(crate) fn in_place(self, place: OwnedSemaphorePermit) -> Self {
        Self {
            _place: Some(place),
            ..self
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_close(cx)
    }
}
