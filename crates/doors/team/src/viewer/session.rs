//! The loop of one viewer: how everything stands, the retained tail, then what comes; and what the viewer says.

use std::time::Duration;

use jackfield_core::principal::Principal;
use jackfield_kit::{
    line::{Leave, Line, Step},
    mailbox::{MAILBOX, Mailbox},
    ws::WsError,
};
use jackfield_wire::echo;
use uuid::Uuid;

use super::{
    Subject,
    orders::{Orders, Outcome, Refusal},
    snapshot,
};
use crate::{
    DOOR, TeamDoor,
    team::{
        board::{BoardChange, BoardTask},
        event::Body,
        stage::{Missed, Seen, Since, Told, ViewerId, Viewing},
    },
    translate::{self, BoardForm},
    wire,
};

/// How much is taken off the stage at once; about as much as a busy socket has to write.
const BATCH: usize = 128 << 10;
/// How long a viewer may take to read what is left when the hub stops, which gives its connections two seconds in all.
const DRAIN: Duration = Duration::from_secs(1);

/// One viewer.
pub(super) struct Session {
    door: TeamDoor,
    principal: Principal,
    subject: Subject,
    line: Line,
    /// The key with which the stage rings.
    stage: u32,
    orders: Orders,
}

impl Session {
    pub(super) fn new(
        door: TeamDoor,
        principal: Principal,
        subject: Subject,
        mut line: Line,
    ) -> Self {
        line.known(principal.grant.revoked.clone());
        Self {
            orders: Orders::new(Mailbox::new(line.rope(MAILBOX))),
            stage: line.new_key(),
            door,
            principal,
            subject,
            line,
        }
    }

    /// Runs the connection until it ends.
    pub(super) async fn run(&mut self, since: Since) {
        let leave = match self.begin(&since) {
            None => self.refuse_subject(),
            Some(mut viewing) => {
                let leave = self.turn_until_over(&mut viewing).await;
                if matches!(leave, Leave::Close(1001, _)) {
                    // Whoever does not read it now is not waited for.
                    let drained = Box::pin(self.drain(&mut viewing));
                    tokio::time::timeout(DRAIN, drained).await.ok();
                }
                leave
            }
        };
        self.line.part(leave).await;
    }

    /// Says hello and how everything stands. The place from which events are read is taken first, so that none falls
    /// between.
    fn begin(&mut self, since: &Since) -> Option<Viewing> {
        let session_id = Uuid::new_v4().to_string();
        let viewing = match &self.subject {
            Subject::Team(id, _) => {
                let viewed = self.door.teams.view(&self.principal, id, since);
                let (team, viewing) = viewed.ok()?;
                self.line.queue(&wire::connected_team(id, &session_id));
                let (door, principal, line) = (&self.door, &self.principal, &mut self.line);
                snapshot::of_team(door, principal, &team, &viewing, since, &mut |frame| {
                    line.queue(frame);
                });
                viewing
            }
            Subject::Agent(id) => {
                let viewed = self.door.teams.view_agent(&self.principal, id, since);
                let viewing = viewed.ok()?;
                self.line.queue(&wire::connected_agent(id, &session_id));
                let status = snapshot::of_agent(&self.door, &self.principal, id, &viewing);
                self.line.queue(&wire::snapshot_agent_status(status));
                viewing
            }
        };
        viewing.listen(self.line.rope(self.stage));
        Some(viewing)
    }

    fn refuse_subject(&mut self) -> Leave {
        let (code, what, id) = match &self.subject {
            Subject::Team(id, _) => ("TEAM_NOT_FOUND", "Team", id),
            Subject::Agent(id) => ("AGENT_NOT_FOUND", "Agent", id),
        };
        let id = echo(id);
        self.say_error(code, &format!("{what} '{id}' not found"));
        Leave::Close(wire::CLOSE_NOT_FOUND, "not found")
    }

    async fn turn_until_over(&mut self, viewing: &mut Viewing) -> Leave {
        loop {
            let left = match self.line.next().await {
                Step::Text(text) => {
                    self.on_text(&text, viewing.id());
                    None
                }
                Step::Binary => {
                    let text =
                        "binary frames are not part of this protocol; send JSON in text frames";
                    self.refuse(wire::code::INVALID_MESSAGE, text);
                    None
                }
                Step::Rang(MAILBOX) => {
                    self.tell_outcomes();
                    None
                }
                Step::Rang(_) => self.show(viewing),
                Step::Look => None,
                Step::Broken(error) => Some(self.on_error(&error)),
                Step::Over(leave) => Some(leave),
            };
            if let Some(leave) = left {
                return leave;
            }
        }
    }

    /// Shows what happened, a batch at a time; if there is more, the stage rings again.
    fn show(&mut self, viewing: &mut Viewing) -> Option<Leave> {
        // Asked first: what was told before the end is still shown.
        let is_closed = viewing.is_closed();
        let is_all = !self.show_batch(viewing);
        if !is_closed {
            return None;
        }
        if !is_all {
            self.line.rope(self.stage).notify();
            return None;
        }
        let (code, what, id) = match &self.subject {
            Subject::Team(id, _) => ("TEAM_REMOVED", "Team", id),
            Subject::Agent(id) => ("AGENT_REMOVED", "Agent", id),
        };
        let text = format!("{what} '{id}' was removed");
        self.say_error(code, &text);
        Some(Leave::Close(wire::CLOSE_NOT_FOUND, "removed"))
    }

    /// Queues the next batch. Says whether there was anything.
    fn show_batch(&mut self, viewing: &mut Viewing) -> bool {
        let mut batch = Vec::new();
        viewing.take(BATCH, &mut batch);
        for seen in &batch {
            match seen {
                Seen::Event(told) => self.show_event(told),
                Seen::Missed(missed) => self.show_gap(missed),
            }
        }
        !batch.is_empty()
    }

    fn show_event(&mut self, told: &Told) {
        let made;
        let text = match &self.subject {
            Subject::Team(id, BoardForm::Added) if matches!(*told.body, Body::Board(_)) => {
                made = translate::flat(told, id, BoardForm::Added);
                &made
            }
            Subject::Team(id, _) => told.rendered(|told| translate::flat(told, id, BoardForm::All)),
            Subject::Agent(_) => told.rendered(translate::single),
        };
        if !text.is_empty() {
            self.line.queue(text);
        }
        if let Body::Board(BoardChange::Created { all, .. }) = &*told.body {
            self.show_begun(told, all);
        }
    }

    /// Shows how far the tasks are that were there before others were added.
    fn show_begun(&mut self, told: &Told, all: &[BoardTask]) {
        let Subject::Team(id, BoardForm::All) = &self.subject else {
            return;
        };
        let team = told
            .path
            .last()
            .map_or(id.as_str(), |node| node.team.as_str());
        let now = self.door.teams.board(&self.principal, team);
        let now = now.as_deref().unwrap_or(all);
        let line = &mut self.line;
        translate::begun(told, id, now, &mut |frame| line.queue(frame));
    }

    fn show_gap(&mut self, missed: &Missed) {
        let frame = wire::gap(&missed.run.id, missed.from, missed.to);
        self.line.queue(&frame);
    }

    /// Shows all that is left, as fast as the viewer reads it.
    async fn drain(&mut self, viewing: &mut Viewing) {
        while self.show_batch(viewing) {
            // Heard when the socket has room again.
            self.line.rope(self.stage).notify();
            loop {
                match self.line.next().await {
                    Step::Rang(key) if key == self.stage => break,
                    Step::Over(_) | Step::Broken(_) => return,
                    Step::Rang(_) | Step::Text(_) | Step::Binary | Step::Look => {}
                }
            }
        }
    }

    fn on_text(&mut self, text: &str, viewer: ViewerId) {
        let limits = wire::Limits {
            max_depth: self.line.limits().json_depth,
            ..wire::Limits::default()
        };
        let message = match wire::read_client_message(text, &limits) {
            Ok(message) => message,
            Err(fault) => {
                self.door.teams.hub().metrics().refused(DOOR);
                return self.say_outcome(&Outcome::Refused(Refusal {
                    code: fault.code.to_owned(),
                    message: fault.to_string(),
                    message_id: wire::message_id(text, &limits),
                }));
            }
        };
        let given = self.orders.give(
            message,
            &self.door,
            &self.principal,
            &self.subject,
            Some(viewer),
        );
        if let Err(refusal) = given {
            self.say_outcome(&Outcome::Refused(refusal));
        }
    }

    /// Tells what became of what the viewer said, as long as the socket takes it.
    fn tell_outcomes(&mut self) {
        while !self.line.is_busy()
            && let Some((outcome, _)) = self.orders.outcomes.take()
        {
            self.say_outcome(&outcome);
        }
    }

    fn say_outcome(&mut self, outcome: &Outcome) {
        let frame = match outcome {
            Outcome::Accepted { message_id, task } => {
                let task = task.map(|task| task.to_string());
                wire::accepted(message_id, task.as_deref())
            }
            Outcome::Refused(refusal) => {
                let id = refusal.message_id.as_deref();
                wire::error(&refusal.code, &refusal.message, id)
            }
        };
        self.line.queue(&frame);
    }

    fn on_error(&mut self, error: &WsError) -> Leave {
        if matches!(error, WsError::TooLarge { .. }) {
            self.refuse("TOO_LARGE", &format!("{error}; the connection is closed"));
        } else {
            self.door.teams.hub().metrics().refused(DOOR);
        }
        error.into()
    }

    /// What the viewer said is not understood.
    fn refuse(&mut self, code: &str, text: &str) {
        self.door.teams.hub().metrics().refused(DOOR);
        self.say_error(code, text);
    }

    fn say_error(&mut self, code: &str, text: &str) {
        self.line.queue(&wire::error(code, text, None));
    }
}

impl Drop for Session {
    /// What became of what it said has nobody to hear it any more.
    fn drop(&mut self) {
        self.orders.outcomes.shut();
    }
}
