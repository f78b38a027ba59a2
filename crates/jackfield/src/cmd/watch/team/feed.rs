//! What the hub tells about a team, as one endless stream: taken up again after each cut, and nothing twice.

use std::{collections::VecDeque, time::Duration};

use anyhow::Result;
use jackfield_sdk::{Backoff, Error, EventStream, Hub, encode};
use serde_json::Value;

use crate::{
    cmd::watch::is_passing,
    exit::{About, Stop, WhatAbout},
    output::text,
};

/// The first wait before the hub is looked for again, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// How many runs are remembered; an older one does not come back.
const RUNS: usize = 8;

/// What is told.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    /// How all of it stands.
    Snapshot(Value),
    /// Something happened. If it is past, the last snapshot has what it did to the team and its board.
    Envelope { envelope: Value, is_past: bool },
    /// Something that nobody has any more.
    Gap(Value),
    /// What follows happened before we came.
    Earlier,
    /// And what follows did not.
    Now,
    /// The hub is gone and looked for.
    Lost,
    /// It is back.
    Back,
}

/// A team that is watched.
#[derive(Debug)]
pub(super) struct Feed {
    hub: Hub,
    path: String,
    stream: Option<EventStream>,
    /// Where to go on.
    last: Option<String>,
    backoff: Backoff,
    gate: Gate,
    /// The run and its last event when the last snapshot was made.
    snapshot: Option<(String, u64)>,
    replay: Replay,
    /// What was read and not told yet.
    ready: VecDeque<Told>,
}

/// How far the events are told that were there before us. What is caught up with after a cut is no such thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replay {
    /// None of them was told.
    Ahead,
    /// Some were.
    Going,
    Over,
}

impl Feed {
    pub(super) async fn open(hub: &Hub, team: &str) -> Result<Self> {
        let path = format!("/v1/teams/{}/events", encode(team));
        let stream = hub.events(&path, None).await.about(About::Team)?;
        Ok(Self {
            hub: hub.clone(),
            path,
            stream: Some(stream),
            last: None,
            backoff: Backoff::new(WAITS.0, WAITS.1),
            gate: Gate::default(),
            snapshot: None,
            replay: Replay::Ahead,
            ready: VecDeque::new(),
        })
    }

    /// What comes next. Only what does not pass by itself is an error.
    pub(super) async fn next(&mut self) -> Result<Told, Stop> {
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
                        return Ok(Told::Back);
                    }
                    Err(error) if is_passing(&error) => continue,
                    Err(error) => return Err(Stop::from_hub(&error, About::Team)),
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
                    return Ok(Told::Lost);
                }
                Err(error) => return Err(Stop::from_hub(&error, About::Team)),
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
                    return Ok(Told::Snapshot(event.data));
                }
                "gap" => return Ok(Told::Gap(event.data)),
                "envelope" if self.gate.lets(&event.data) => {
                    self.take(event.data);
                }
                // Seen already, or something that a newer hub may say.
                _ => {}
            }
        }
    }

    /// Takes an envelope in, with a mark where the past begins and where it ends.
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
                self.ready.push_back(Told::Earlier);
            }
            // The last of them may be one that is not for us.
            Replay::Going if !is_past => self.end_replay(),
            Replay::Ahead | Replay::Going | Replay::Over => {}
        }
        self.ready.push_back(Told::Envelope { envelope, is_past });
        if is_last && self.replay == Replay::Going {
            self.end_replay();
        }
    }

    fn end_replay(&mut self) {
        self.replay = Replay::Over;
        self.ready.push_back(Told::Now);
    }
}

/// Lets each event of a run pass once. Numbers grow within a run and never start again.
#[derive(Debug, Default)]
struct Gate {
    /// The last number of each run, newest run last.
    seen: VecDeque<(String, u64)>,
}

impl Gate {
    fn lets(&mut self, envelope: &Value) -> bool {
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
        let mut gate = Gate::default();
        let mut lets = |run: &str, sequence: u64| {
            gate.lets(&json!({"team_run_id": run, "sequence": sequence}))
        };
        assert!(lets("a", 1) && lets("a", 2));
        assert!(!lets("a", 2) && !lets("a", 1));
        // Another run counts for itself, and the first one goes on.
        assert!(lets("b", 1) && lets("a", 5) && !lets("a", 4));
        // What has no number is not counted.
        assert!(lets("a", 0) && gate.lets(&json!({})) && gate.lets(&json!({})));
    }

    #[test]
    fn only_the_last_runs_are_remembered() {
        let mut gate = Gate::default();
        for run in 0..100 {
            assert!(gate.lets(&json!({"team_run_id": format!("r{run}"), "sequence": 1})));
        }
        assert_eq!(gate.seen.len(), RUNS);
        assert!(!gate.lets(&json!({"team_run_id": "r99", "sequence": 1})));
    }
}
