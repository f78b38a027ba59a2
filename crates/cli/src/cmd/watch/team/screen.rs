//! Full-screen view of a team: events and keys change the [`ScreenState`], and the state is drawn.

mod draw;
mod lane;
mod state;
mod wrap;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::Duration,
};

use anyhow::Result;
use http::Method;
use jackfield_sdk::{Error, Hub, encode};
use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event, KeyEventKind},
};
use serde_json::json;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use self::state::{ScreenState, UserAction};
use super::feed::{TeamFeed, TeamFeedItem};
use crate::{
    client,
    exit::{CliError, ExitKind},
};

/// Minimum time between two frames; a burst of events is drawn once.
const FRAME: Duration = Duration::from_millis(40);
/// Capacity of the queue of items. With a full queue the hub waits, and after a long wait reports the missed
/// events.
const AHEAD: usize = 1024;
/// Capacity of the queue of keys.
const KEYS: usize = 64;

/// Returns whether standard input and output are a capable terminal.
pub(super) fn is_possible() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    io::stdout().is_terminal() && io::stdin().is_terminal() && !is_dumb
}

/// Shows a team on a [`Screen`] until the user quits or the stream ends.
pub(super) async fn run(feed: TeamFeed, hub: &Hub, team: &str, flags: &str) -> Result<ExitCode> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut screen = Screen::open()?;
    let mut state = ScreenState::new(team, flags);
    let (sender, mut told) = mpsc::channel(AHEAD);
    let mut reader = JoinSet::new();
    reader.spawn(read(feed, sender));
    let mut keys = keys();
    let mut decisions = JoinSet::new();
    let mut is_stale = true;
    let mut next_frame = Instant::now();
    loop {
        if is_stale && Instant::now() >= next_frame {
            screen
                .terminal
                .draw(|frame| draw::draw(frame, &mut state))?;
            is_stale = false;
            next_frame = Instant::now() + FRAME;
        }
        tokio::select! {
            next = told.recv() => match next {
                Some(told) => state.apply(&told?),
                None => return Err(broken(reader).await),
            },
            key = keys.recv() => match key {
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => match state.press(key) {
                    Some(UserAction::Quit) => return Ok(ExitKind::Ok.into()),
                    Some(UserAction::Interrupt) => return Ok(ExitKind::Interrupted.into()),
                    Some(UserAction::Decide { key, invocation, approve }) => {
                        decisions.spawn(decide(hub.clone(), team.to_owned(), key, invocation, approve));
                    }
                    None => {}
                },
                Some(_) => {}
                // The terminal is gone.
                None => return Ok(ExitKind::Interrupted.into()),
            },
            Some(Ok((key, invocation, refused))) = decisions.join_next(), if !decisions.is_empty() => {
                state.decided(&key, &invocation, refused.as_deref());
            }
            () = sleep_until(next_frame), if is_stale => {}
            _ = terminate.recv() => return Ok(ExitKind::Interrupted.into()),
            _ = hangup.recv() => return Ok(ExitKind::Interrupted.into()),
        }
        is_stale = true;
    }
}

/// The terminal in full-screen mode. Dropping restores the terminal; a panic hook restores it before the
/// panic message.
#[derive(Debug)]
struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    fn open() -> Result<Self> {
        let terminal = ratatui::try_init()?;
        Ok(Self { terminal })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            ratatui::restore();
        }
    }
}

async fn read(mut feed: TeamFeed, told: mpsc::Sender<Result<TeamFeedItem, CliError>>) {
    loop {
        let next = feed.next().await;
        let is_last = next.is_err();
        if told.send(next).await.is_err() || is_last {
            return;
        }
    }
}

/// Returns why the reader task ended without an error.
async fn broken(mut reader: JoinSet<()>) -> anyhow::Error {
    if let Some(Err(error)) = reader.join_next().await
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
    Error::Broken.into()
}

/// Returns the events of keyboard and terminal size. A separate thread waits for them, because a read of a
/// terminal cannot be cancelled; the thread ends with the process.
fn keys() -> mpsc::Receiver<Event> {
    let (sender, keys) = mpsc::channel(KEYS);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    keys
}

/// Sends a decision to the hub, and returns the refusal, if any.
async fn decide(
    hub: Hub,
    team: String,
    key: String,
    invocation: String,
    approve: bool,
) -> (String, String, Option<String>) {
    let path = format!("/v1/teams/{}/decisions", encode(&team));
    let body = json!({"invocation_id": invocation, "target": key, "approve": approve});
    let told = client::request(&hub, Method::POST, &path, Some(&body)).await;
    let refused = told.err().map(|error| error.to_string());
    (key, invocation, refused)
}
