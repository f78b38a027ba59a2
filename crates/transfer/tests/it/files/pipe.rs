//! A data channel in memory.

use bytes::Bytes;
use jackfield_transfer::{Channel, ChannelError, ChannelFrame};
use tokio::sync::mpsc;

pub(crate) struct Pipe {
    out: Option<mpsc::Sender<ChannelFrame>>,
    inlet: mpsc::Receiver<ChannelFrame>,
}

/// Creates both ends of a channel with room for few messages.
pub(crate) fn pipe() -> (Pipe, Pipe) {
    let (to_right, right) = mpsc::channel(2);
    let (to_left, left) = mpsc::channel(2);
    let end = |out, inlet| Pipe {
        out: Some(out),
        inlet,
    };
    (end(to_right, left), end(to_left, right))
}

impl Pipe {
    pub(crate) async fn text(&mut self, text: &str) {
        self.send(ChannelFrame::Text(text.to_owned()))
            .await
            .unwrap();
    }

    pub(crate) async fn binary(&mut self, bytes: &[u8]) {
        let bytes = Bytes::copy_from_slice(bytes);
        self.send(ChannelFrame::Binary(bytes)).await.unwrap();
    }
}

impl Channel for Pipe {
    async fn send(&mut self, frame: ChannelFrame) -> Result<(), ChannelError> {
        let cut = || ChannelError::Cut("nobody listens".to_owned());
        let out = self.out.as_ref().ok_or_else(cut)?;
        out.send(frame).await.map_err(|_| cut())
    }

    async fn recv(&mut self) -> Result<Option<ChannelFrame>, ChannelError> {
        Ok(self.inlet.recv().await)
    }

    async fn finish(&mut self) -> Result<(), ChannelError> {
        self.out = None;
        Ok(())
    }
}
