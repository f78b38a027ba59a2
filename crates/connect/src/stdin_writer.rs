//! Standard input of a process, written while its output is read, so that neither side waits for the other.

use std::future::pending;

use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

/// Buffered writer for the standard input of a process. Dropping it closes the input.
#[derive(Debug)]
pub(crate) struct StdinWriter {
    /// `None` if the process has closed its input, which is allowed.
    stdin: Option<ChildStdin>,
    waiting: Vec<u8>,
}

impl StdinWriter {
    pub(crate) fn new(stdin: ChildStdin) -> Self {
        Self {
            stdin: Some(stdin),
            waiting: Vec::new(),
        }
    }

    /// Queues a line for [`write`](Self::write).
    pub(crate) fn put(&mut self, line: &impl ToString) {
        if self.stdin.is_some() {
            self.waiting.extend_from_slice(line.to_string().as_bytes());
            self.waiting.push(b'\n');
        }
    }

    /// Writes a piece of the queued bytes. Never returns while the queue is empty. Cancel-safe.
    pub(crate) async fn write(&mut self) {
        let Some(stdin) = self.stdin.as_mut().filter(|_| !self.waiting.is_empty()) else {
            return pending().await;
        };
        match stdin.write(&self.waiting).await {
            Ok(count @ 1..) => drop(self.waiting.drain(..count)),
            Ok(0) | Err(_) => {
                self.stdin = None;
                self.waiting = Vec::new();
            }
        }
    }
}
