//! What a process is told on its standard input, written while its output is read: neither side waits for the other.

use std::future::pending;

use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

/// The way to the standard input of a process. Dropping it ends that input.
#[derive(Debug)]
pub(crate) struct Inlet {
    /// Nothing if the process does not read any more, which it is free to.
    stdin: Option<ChildStdin>,
    waiting: Vec<u8>,
}

impl Inlet {
    pub(crate) fn new(stdin: ChildStdin) -> Self {
        Self {
            stdin: Some(stdin),
            waiting: Vec::new(),
        }
    }

    /// One more line, to be written by [`write`](Self::write).
    pub(crate) fn put(&mut self, line: &impl ToString) {
        if self.stdin.is_some() {
            self.waiting.extend_from_slice(line.to_string().as_bytes());
            self.waiting.push(b'\n');
        }
    }

    /// Writes a piece of what waits. Never returns while nothing does. Nothing is lost if the future is dropped.
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
