//! Progress of a transfer: a bar on a terminal, lines elsewhere, objects with `--json`. A program that prints nothing collects
//! the lines.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use jackfield_model::Offer;
use jackfield_transfer::{OmittedEntries, Unpacked};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::upload::UploadConfirmation;
use crate::{
    output::{self, Style},
    size::format_size,
};

/// Interval for redrawing the bar.
const REDRAW: Duration = Duration::from_millis(100);
/// Width of the bar in characters.
const BAR: u64 = 24;
/// Number of progress events for programs.
const PARTS: u64 = 10;

/// Progress reporter of one transfer. Clones share their state.
#[derive(Debug, Clone)]
pub(crate) struct TransferProgress(Arc<ProgressInner>);

#[derive(Debug)]
struct ProgressInner {
    transfer: Mutex<String>,
    json: bool,
    has_bar: bool,
    /// Lines for people, if they are collected and not printed.
    notes: Option<Mutex<Vec<String>>>,
    state: Mutex<ProgressState>,
}

#[derive(Debug, Default)]
struct ProgressState {
    drawn: Option<Instant>,
    /// Number of progress events so far.
    parts: u64,
    /// Start time of this attempt, and the number of bytes at the start.
    begun: Option<(Instant, u64)>,
    /// Number of transferred bytes, including earlier attempts.
    moved: u64,
}

impl TransferProgress {
    /// Creates a reporter without a transfer.
    pub(crate) fn new(json: bool) -> Self {
        Self(Arc::new(ProgressInner {
            transfer: Mutex::default(),
            json,
            has_bar: !json && io::stderr().is_terminal(),
            notes: None,
            state: Mutex::default(),
        }))
    }

    /// Creates a reporter that prints nothing and collects the lines for [`TransferProgress::take_notes`].
    pub(crate) fn collecting() -> Self {
        Self(Arc::new(ProgressInner {
            transfer: Mutex::default(),
            json: false,
            has_bar: false,
            notes: Some(Mutex::default()),
            state: Mutex::default(),
        }))
    }

    /// Takes the collected lines.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        let notes = self.0.notes.as_ref();
        notes.map_or_else(Vec::new, |notes| std::mem::take(&mut *notes.lock()))
    }

    /// Sets the transfer.
    pub(super) fn set_transfer(&self, transfer: &str) {
        transfer.clone_into(&mut self.0.transfer.lock());
    }

    /// Reports the start of an attempt.
    pub(super) fn begin(&self, via: &str, received: u64, size: u64) {
        *self.0.state.lock() = ProgressState {
            begun: Some((Instant::now(), received)),
            moved: received,
            ..ProgressState::default()
        };
        self.step(
            "begin",
            json!({"via": via, "received": received, "size": size}),
        );
        self.note_if(received > 0, || {
            format!(
                "resuming after {} of {}",
                format_size(received),
                format_size(size)
            )
        });
    }

    /// Returns a callback for progress.
    pub(super) fn progress(&self) -> impl Fn(u64, u64) + Send + 'static {
        let tell = self.clone();
        move |done, size| tell.moved(done, size)
    }

    fn moved(&self, done: u64, size: u64) {
        let mut state = self.0.state.lock();
        state.moved = done;
        if self.0.json {
            let parts = done * PARTS / size.max(1);
            if parts > state.parts {
                state.parts = parts;
                let ms = state.begun.map_or(0, |(at, _)| at.elapsed().as_millis());
                drop(state);
                let ms = u64::try_from(ms).unwrap_or(u64::MAX);
                self.step(
                    "progress",
                    json!({"received": done, "size": size, "ms": ms}),
                );
            }
            return;
        }
        let is_due = state.drawn.is_none_or(|at| at.elapsed() >= REDRAW) || done == size;
        if self.0.has_bar && is_due {
            state.drawn = Some(Instant::now());
            let line = bar(done, size, state.begun);
            output::print_message_part(&format!("\r\u{1b}[K{}", Style::stderr().dim(&line)));
        }
    }

    /// Reports that no direct connection is possible and the hub is used instead.
    pub(super) fn no_direct_connection(&self, why: &str) {
        self.step("no_direct_way", json!({ "why": why }));
        self.note_if(true, || {
            format!(
                "no direct connection to the agent ({}); using the hub",
                output::clean(why)
            )
        });
    }

    /// Reports a lost connection.
    pub(super) fn connection_lost(&self, why: &str) {
        let moved = self.0.state.lock().moved;
        self.step("cut", json!({"why": why, "received": moved}));
        self.note_if(true, || {
            format!(
                "connection lost after {}: {}; retrying",
                format_size(moved),
                output::clean(why)
            )
        });
    }

    /// Reports files of a folder that are not sent ([`OmittedEntries`]).
    pub(super) fn left_out(&self, omitted: &OmittedEntries) {
        self.step_left_out(&omitted.to_string());
        self.note_if(true, || format!("not sent: {omitted}"));
    }

    /// Reports to programs alone which files the agent does not send.
    pub(super) fn step_left_out(&self, why: &str) {
        self.step("left_out", json!({ "why": why }));
    }

    /// Reports a file of an answer that was not saved.
    pub(super) fn elsewhere(&self, name: &str, why: &str) {
        self.step("left_out", json!({"name": name, "why": why}));
        self.note_if(true, || {
            format!("not saved: {}: {}", output::clean(name), output::clean(why))
        });
    }

    /// Reports a finished upload ([`Offer`]).
    pub(super) fn sent(&self, offer: &Offer, sent: UploadConfirmation) {
        let is_confirmed = sent == UploadConfirmation::Confirmed;
        self.step(
            "sent",
            json!({"files": offer.file_count, "size": offer.zip_size, "confirmed": is_confirmed}),
        );
        self.note_if(true, || sentence(offer.file_count, sent));
    }

    /// Reports a finished download ([`Unpacked`]).
    pub(crate) fn done(&self, unpacked: &Unpacked, out: &Path) {
        let out = out.display();
        self.step(
            "done",
            json!({"out": out.to_string(), "files": unpacked.files, "bytes": unpacked.bytes}),
        );
        self.note_if(true, || {
            let files = count(unpacked.files.len() as u64);
            format!("{files} ({}) in {out}", format_size(unpacked.bytes))
        });
    }

    fn step(&self, step: &str, mut about: Value) {
        if !self.0.json {
            return;
        }
        about["type"] = "transfer".into();
        about["transfer"] = self.0.transfer.lock().as_str().into();
        about["step"] = step.into();
        // A closed standard output is no error.
        output::json(&about).ok();
    }

    /// Prints a line for people, in place of the bar.
    fn note_if(&self, is_so: bool, text: impl FnOnce() -> String) {
        if !is_so || self.0.json {
            return;
        }
        if let Some(notes) = &self.0.notes {
            notes.lock().push(text());
            return;
        }
        self.clear();
        output::print_message(&text());
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        if self.0.state.lock().drawn.take().is_some() {
            output::print_message_part("\r\u{1b}[K");
        }
    }
}

fn bar(done: u64, size: u64, begun: Option<(Instant, u64)>) -> String {
    let size = size.max(1);
    let full = usize::try_from(done * BAR / size).unwrap_or(0);
    let width = usize::try_from(BAR).unwrap_or(0);
    let mut line = format!(
        "[{:.<width$}] {:3} % of {}",
        "#".repeat(full),
        done * 100 / size,
        format_size(size)
    );
    if let Some((at, from)) = begun
        && let Some(pace) = u128::from(done - from.min(done))
            .saturating_mul(1000)
            .checked_div(at.elapsed().as_millis())
    {
        line += &format!(
            ", {}/s",
            format_size(u64::try_from(pace).unwrap_or(u64::MAX))
        );
    }
    line
}

fn count(files: u64) -> String {
    match files {
        1 => "1 file".to_owned(),
        files => format!("{files} files"),
    }
}

/// Returns the message for a finished upload.
fn sentence(files: u64, sent: UploadConfirmation) -> String {
    let files = count(files);
    match sent {
        UploadConfirmation::Confirmed => format!("sent {files}"),
        UploadConfirmation::Unconfirmed => {
            format!("sent {files}; the agent does not confirm that it has them")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_how_far_it_is() {
        assert_eq!(
            bar(5_000_000, 10_000_000, None),
            "[############............]  50 % of 9.5 MiB"
        );
        assert_eq!(
            bar(0, 0, None),
            "[........................]   0 % of 1 byte"
        );
    }

    #[test]
    fn what_no_agent_confirmed_is_not_told_as_if_it_had_arrived() {
        assert_eq!(sentence(1, UploadConfirmation::Confirmed), "sent 1 file");
        let unsure = "sent 2 files; the agent does not confirm that it has them";
        assert_eq!(sentence(2, UploadConfirmation::Unconfirmed), unsure);
    }
}
