//! Prompts for the user at the terminal.

use std::io::{self, BufRead, IsTerminal};

use tokio::sync::{mpsc, oneshot};

use crate::output;

/// Returns whether a user can be prompted: standard input and standard error are a terminal.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes-or-no question; every answer but yes means no.
pub(crate) fn confirm(question: &str) -> bool {
    output::print_message_part(&format!("{question} [y/N] "));
    is_yes(&read_line().unwrap_or_default())
}

/// Returns whether the text means yes.
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

/// Reads the next line; `None` at the end of the input. A separate thread waits for the line, because a read
/// of a terminal can be neither polled nor cancelled: at exit the runtime would wait for a blocking task, the
/// process does not wait for a thread.
pub(crate) fn line() -> oneshot::Receiver<Option<String>> {
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || send.send(read_line()));
    receive
}

/// Reads all further lines, unlike [`line`]; the channel closes at the end of the input. For callers that
/// prompt several times and may drop a prompt: a thread waiting for a single line would swallow the next
/// answer.
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
