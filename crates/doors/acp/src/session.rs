//! The loop of one editor's WebSocket: frames of the editor to the [`EditorConnection`], and frames of the
//! [`outbox`] to the editor.

use jackfield_kit::{
    ws::WsError,
    ws_connection::{WsConnection, WsConnectionEnd, WsConnectionEvent},
};

use crate::{
    DOOR,
    connection::{Caller, EditorConnection},
    door::AcpDoor,
    outbox::{OutboxReader, outbox},
    wire::{self, RpcError, code},
};

/// Runs a connection until it ends.
pub(crate) async fn run(door: AcpDoor, caller: Caller, mut line: WsConnection) {
    line.set_authenticated(caller.principal.grant.revoked.clone());
    let key = line.new_key();
    let (outbox, reader) = outbox(line.ready_handle(key));
    let mut session = Session {
        editor: EditorConnection::new(door.clone(), caller, outbox),
        frames: reader,
        key,
        door,
        line,
    };
    let leave = session.turn_until_over().await;
    let Session {
        editor,
        frames,
        mut line,
        ..
    } = session;
    // Prompts must not wait for a socket that nobody reads.
    drop(frames);
    // A hub that stops leaves the work to its next process, which cancels it unless somebody reads it.
    if matches!(leave, WsConnectionEnd::Close(1001, _)) {
        drop(editor);
        line.close(leave).await;
    } else {
        tokio::join!(editor.close(), line.close(leave));
    }
}

struct Session {
    door: AcpDoor,
    editor: EditorConnection,
    frames: OutboxReader,
    /// Key of the outbox in the wake-ups of the [`WsConnection`].
    key: u32,
    line: WsConnection,
}

impl Session {
    async fn turn_until_over(&mut self) -> WsConnectionEnd {
        loop {
            match self.line.next().await {
                WsConnectionEvent::Text(text) => {
                    if let Some(answer) = self.editor.receive(&text) {
                        self.line.queue(&answer);
                    }
                }
                WsConnectionEvent::Binary => {
                    let text =
                        "binary frames are not part of this protocol; send JSON in text frames";
                    self.refuse(&RpcError::new(code::INVALID_REQUEST, text));
                }
                WsConnectionEvent::Rang(_) => self.write_frames(),
                WsConnectionEvent::Look => {}
                WsConnectionEvent::Broken(error) => return self.on_error(&error),
                WsConnectionEvent::Over(leave) => return leave,
            }
        }
    }

    /// Writes waiting frames while the socket accepts data.
    fn write_frames(&mut self) {
        while !self.line.is_busy() {
            match self.frames.next() {
                Some(frame) => self.line.queue(&frame),
                None => return,
            }
        }
        // The wake-up comes when the socket has room again.
        self.line.ready_handle(self.key).notify();
    }

    fn on_error(&mut self, error: &WsError) -> WsConnectionEnd {
        let text = format!("{error}; the connection is closed");
        self.refuse(&RpcError::new(code::INVALID_REQUEST, text));
        error.into()
    }

    /// Refuses a frame that cannot be read.
    fn refuse(&mut self, error: &RpcError) {
        self.door.hub.metrics().refused(DOOR);
        self.line.queue(&wire::refusal(None, error));
    }
}
