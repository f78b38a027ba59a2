//! Whoever serves cards and handoffs: the hub's reception, or the sidecar of one agent. The streams are the same.

use crate::wire::BodyLimits;

use super::{Frames, Work};
use crate::origin::Origin;

/// Which protocol a stream was opened by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// One body, unless the request asks for frames.
    Plain,
    /// Frames in any case.
    Framed,
}

/// What a peer gets.
#[derive(Debug)]
pub enum Answer<W> {
    /// One body.
    Whole(Vec<u8>),
    /// Lines, as they come.
    Frames(Box<Frames<W>>),
    /// Nothing: the stream is reset.
    Reset,
}

/// Who is behind the streams of a node. It is told who asks and where the connection comes from. Clones are the same host.
pub trait Host: Clone + Send + Sync + 'static {
    /// What a handoff becomes here.
    type Work: Work;

    /// What a request may not exceed.
    fn limits(&self) -> BodyLimits;

    /// What a peer gets on a card stream: a card, or an error.
    fn card(&self, peer: &str, origin: Origin) -> impl Future<Output = String> + Send;

    /// Takes a handoff. Dropping the future, or the frames that come of it, cancels the work.
    fn answer(
        &self,
        peer: &str,
        origin: Origin,
        request: &[u8],
        way: Way,
    ) -> impl Future<Output = Answer<Self::Work>> + Send;
}
