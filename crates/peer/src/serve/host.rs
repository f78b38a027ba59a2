//! The interface between streams and whoever serves them: the hub, or the sidecar of one agent. Both get the
//! same streams.

use crate::wire::BodyLimits;

use super::{Frames, Work};
use crate::origin::Origin;

/// Protocol by which a stream was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandoffProtocol {
    /// One body, unless the request asks for frames.
    Plain,
    /// Always frames.
    Framed,
}

/// Answer to a handoff.
#[derive(Debug)]
pub enum HandoffReply<W> {
    /// One body.
    Whole(Vec<u8>),
    /// Lines, as they arrive.
    Frames(Box<Frames<W>>),
    /// No answer: the stream is reset.
    Reset,
}

/// Serves the streams of a node. Every method gets the proved peer id and the origin of the connection.
/// Clones are the same host.
pub trait Host: Clone + Send + Sync + 'static {
    /// The host's [`Work`] on a handoff.
    type Work: Work;

    /// Returns the [`BodyLimits`] of a request.
    fn limits(&self) -> BodyLimits;

    /// Returns the text for a card stream: a card, or an error.
    fn card(&self, peer: &str, origin: Origin) -> impl Future<Output = String> + Send;

    /// Answers a handoff. Dropping the future, or the frames of the answer, cancels the work.
    fn answer(
        &self,
        peer: &str,
        origin: Origin,
        request: &[u8],
        way: HandoffProtocol,
    ) -> impl Future<Output = HandoffReply<Self::Work>> + Send;
}
