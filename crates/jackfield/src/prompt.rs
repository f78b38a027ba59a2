//! Questions to the person at the terminal.

use std::io::{self, BufRead, IsTerminal};

use tokio::sync::{mpsc, oneshot};

use crate::output;

/// Whether there is a person to ask: they can read what we ask, and we can read what they type.
pub(crate) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for yes or no; anything but yes is no.
pub(crate) fn confirm(question: &str) -> bool {
    output::murmur(&format!("{question} [y/N] "));
    is_yes(&read_line().unwrap_or_default())
}

/// Whether the text means yes.
pub(crate) fn is_yes(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim_end_matches(['\n', '\r']).to_owned()),
    }
}

/// A line that is still to be typed; nothing at the end of the input. A thread of its own waits for it, since a read
/// of a terminal can be neither polled nor given up: the runtime would wait for it at the end, the process does not.
pub(crate) fn line() -> oneshot::Receiver<Option<String>> {
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || send.send(read_line()));
    receive
}

/// All lines that are typed from now on; ends with the input. For whoever asks more than once and may not want the answer
/// any more: a thread that waits for one line would take the next one, too.
pub(crate) fn lines() -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel(1);
    std::thread::spawn(move || {
        while let Some(line) = read_line() {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receive
}
