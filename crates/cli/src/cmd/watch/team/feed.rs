//! [`TeamFeed`], the endless event stream of a team: resumed after each lost connection, without duplicates.

use std::{collections::VecDeque, time::Duration};

use anyhow::Result;
use jackfield_sdk::{Backoff, Error, EventStream, Hub, encode};
use serde_json::Value;

use crate::{
    cmd::watch::is_passing,
    exit::{CliError, ErrorSubject, WithErrorSubject},
    output::text,
};

/// Shortest and longest wait before a reconnect.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// Number of remembered runs; events of older runs do not return.
const RUNS: usize = 8;

/// An item of the stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TeamFeedItem {
    /// State of the whole team.
    Snapshot(Value),
    /// An event of the team. The last snapshot already includes the effect of past events on the team and its
    /// board.
    Envelope { envelope: Value, is_past: bool },
    /// A range of events that the hub no longer has.
    Gap(Value),
    /// Start of the replay: the following events are older than this connection.
    Earlier,
    /// End of the replay: the following events are new.
    Now,
    /// The connection was lost; the feed reconnects.
    Lost,
    /// The connection is back.
    Back,
}

/// Subscription to the events of a team.
#[derive(Debug)]
pub(super) struct TeamFeed {
    hub: Hub,
    path: String,
    stream: Option<EventStream>,
    /// Id of the last event, from which the stream is resumed.
    last: Option<String>,
    backoff: Backoff,
    gate: DuplicateFilter,
    /// Run and its last sequence number in the last snapshot.
    snapshot: Option<(String, u64)>,
    replay: Replay,
    /// Items that were read and not yet returned.
    ready: VecDeque<TeamFeedItem>,
}

/// Progress of the initial replay. Events that are caught up after a reconnect do not count as replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replay {
    /// No event of the replay was returned.
    Ahead,
    /// Some events of the replay were returned.
    Going,
    Over,
}

impl TeamFeed {
    pub(super) async fn open(hub: &Hub, team: &str) -> Result<Self> {
        let path = format!("/v1/teams/{}/events", encode(team));
        let stream = hub.events(&path, None).await.about(ErrorSubject::Team)?;
        Ok(Self {
            hub: hub.clone(),
            path,
            stream: Some(stream),
            last: None,
            backoff: Backoff::new(WAITS.0, WAITS.1),
            gate: DuplicateFilter::default(),
            snapshot: None,
            replay: Replay::Ahead,
            ready: VecDeque::new(),
        })
    }

    /// Returns the next item ([`TeamFeedItem`]). Only permanent problems are errors.
    pub(super) async fn next(&mut self) -> Result<TeamFeedItem, CliError> {
        loop {
            if let Some(told) = self.ready.pop_front() {
                return Ok(told);
            }
            let Some(stream) = &mut self.stream else {
                tokio::time::sleep(self.backoff.next_wait()).await;
                let last = self.last.as_deref();
                match self.hub.events(&self.path, last).await {
                    Ok(stream) => {
                        self.stream = Some(stream);
                        return Ok(TeamFeedItem::Back);
                    }
                    Err(error) if is_passing(&error) => continue,
                    Err(error) => return Err(CliError::from_hub(&error, ErrorSubject::Team)),
                }
            };
            let event = match stream.next().await {
                Ok(Some(event)) if event.name == "failed" => {
                    Err(event.read().err().unwrap_or(Error::Broken))
                }
                Ok(Some(event)) => Ok(event),
                Ok(None) => Err(Error::Broken),
                Err(error) => Err(error),
            };
            let event = match event {
                Ok(event) => event,
                Err(error) if is_passing(&error) => {
                    self.stream = None;
                    self.replay = Replay::Over;
                    return Ok(TeamFeedItem::Lost);
                }
                Err(error) => return Err(CliError::from_hub(&error, ErrorSubject::Team)),
            };
            self.backoff.reset();
            if event.id.is_some() {
                self.last = event.id;
            }
            match event.name.as_str() {
                "snapshot" => {
                    let run = &event.data["team"]["run"];
                    let last = run["sequence"].as_u64();
                    self.snapshot = last.map(|last| (text(run, "id").to_owned(), last));
                    return Ok(TeamFeedItem::Snapshot(event.data));
                }
                "gap" => return Ok(TeamFeedItem::Gap(event.data)),
                "envelope" if self.gate.is_new(&event.data) => {
                    self.take(event.data);
                }
                // A duplicate, or an unknown event of a newer hub.
                _ => {}
            }
        }
    }

    /// Queues an envelope, with a mark at the start and at the end of the replay.
    fn take(&mut self, envelope: Value) {
        let run = text(&envelope, "team_run_id");
        let sequence = envelope["sequence"].as_u64().unwrap_or(u64::MAX);
        let same = self.snapshot.as_ref().filter(|(id, _)| id == run);
        let (is_past, is_last) = match same {
            Some((_, last)) => (sequence <= *last, sequence == *last),
            None => (false, false),
        };
        match self.replay {
            Replay::Ahead if is_past => {
                self.replay = Replay::Going;
                self.ready.push_back(TeamFeedItem::Earlier);
            }
            // The last event of the replay may be hidden from this user.
            Replay::Going if !is_past => self.end_replay(),
            Replay::Ahead | Replay::Going | Replay::Over => {}
        }
        self.ready
            .push_back(TeamFeedItem::Envelope { envelope, is_past });
        if is_last && self.replay == Replay::Going {
            self.end_replay();
        }
    }

    fn end_replay(&mut self) {
        self.replay = Replay::Over;
        self.ready.push_back(TeamFeedItem::Now);
    }
}

/// Filter that passes each event of a run once, for the last [`RUNS`] runs. Sequence numbers grow within a
/// run and never restart.
#[derive(Debug, Default)]
struct DuplicateFilter {
    /// Last sequence number of each run, newest run last.
    seen: VecDeque<(String, u64)>,
}

impl DuplicateFilter {
    fn is_new(&mut self, envelope: &Value) -> bool {
        let run = text(envelope, "team_run_id");
        let Some(sequence) = envelope["sequence"].as_u64().filter(|number| *number > 0) else {
            return true;
        };
        if let Some((_, last)) = self.seen.iter_mut().find(|(id, _)| id == run) {
            let is_new = sequence > *last;
            *last = sequence.max(*last);
            return is_new;
        }
        if self.seen.len() == RUNS {
            self.seen.pop_front();
        }
        self.seen.push_back((run.to_owned(), sequence));
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_number_of_a_run_passes_once() {
        let mut gate = DuplicateFilter::default();
        let mut lets = |run: &str, sequence: u64| {
            gate.is_new(&json!({"team_run_id": run, "sequence": sequence}))
        };
        assert!(lets("a", 1) && lets("a", 2));
        assert!(!lets("a", 2) && !lets("a", 1));
        // A second run counts separately, and the first one continues.
        assert!(lets("b", 1) && lets("a", 5) && !lets("a", 4));
        // Events without a number are not counted.
        assert!(lets("a", 0) && gate.is_new(&json!({})) && gate.is_new(&json!({})));
    }

    #[test]
    fn only_the_last_runs_are_remembered() {
        let mut gate = DuplicateFilter::default();
        for run in 0..100 {
            assert!(gate.is_new(&json!({"team_run_id": format!("r{run}"), "sequence": 1})));
        }
        assert_eq!(gate.seen.len(), RUNS);
        assert!(!gate.is_new(&json!({"team_run_id": "r99", "sequence": 1})));
    }
}
