//! Connection of a viewer: sends a snapshot, the retained events and new events, and receives the viewer's
//! commands.

use std::time::Duration;

use jackfield_core::principal::Principal;
use jackfield_kit::{
    mailbox::{MAILBOX, Mailbox},
    ws::WsError,
    ws_connection::{WsConnection, WsConnectionEnd, WsConnectionEvent},
};
use jackfield_wire::echo;
use uuid::Uuid;

use super::{
    ViewedSubject,
    commands::{CommandOutcome, CommandQueue, CommandRefusal},
    snapshot,
};
use crate::{
    DOOR, TeamDoor,
    team::{
        board::{BoardChange, BoardTask},
        event::EventBody,
        feed::{FeedEvent, FeedItem, FeedReader, MissedEvents, ReplayStart, ViewerId},
    },
    translate::{self, BoardForm},
    wire,
};

/// Bytes to read from the feed at once; about as much as a busy socket has to write.
const BATCH: usize = 128 << 10;
/// Time for a viewer to read the remaining events during a shutdown. The hub gives its connections two
/// seconds in all.
const DRAIN: Duration = Duration::from_secs(1);

/// Connection of a viewer.
pub(super) struct ViewerSession {
    door: TeamDoor,
    principal: Principal,
    subject: ViewedSubject,
    line: WsConnection,
    /// Key of the feed in the wake-ups of the [`WsConnection`].
    feed: u32,
    orders: CommandQueue,
}

impl ViewerSession {
    pub(super) fn new(
        door: TeamDoor,
        principal: Principal,
        subject: ViewedSubject,
        mut line: WsConnection,
    ) -> Self {
        line.set_authenticated(principal.grant.revoked.clone());
        Self {
            orders: CommandQueue::new(Mailbox::new(line.ready_handle(MAILBOX))),
            feed: line.new_key(),
            door,
            principal,
            subject,
            line,
        }
    }

    /// Runs the connection until it ends.
    pub(super) async fn run(&mut self, since: ReplayStart) {
        let leave = match self.begin(&since) {
            None => self.refuse_subject(),
            Some(mut viewing) => {
                let leave = self.turn_until_over(&mut viewing).await;
                if matches!(leave, WsConnectionEnd::Close(1001, _)) {
                    // Do not wait longer for a slow viewer.
                    let drained = Box::pin(self.drain(&mut viewing));
                    tokio::time::timeout(DRAIN, drained).await.ok();
                }
                leave
            }
        };
        self.line.close(leave).await;
    }

    /// Sends the hello message and the snapshot. Takes the read position before the snapshot, so no event is
    /// lost in between.
    fn begin(&mut self, since: &ReplayStart) -> Option<FeedReader> {
        let session_id = Uuid::new_v4().to_string();
        let viewing = match &self.subject {
            ViewedSubject::Team(id, _) => {
                let viewed = self.door.teams.view(&self.principal, id, since);
                let (team, viewing) = viewed.ok()?;
                self.line.queue(&wire::connected_team(id, &session_id));
                let (door, principal, line) = (&self.door, &self.principal, &mut self.line);
                snapshot::of_team(door, principal, &team, &viewing, since, &mut |frame| {
                    line.queue(frame);
                });
                viewing
            }
            ViewedSubject::Agent(id) => {
                let viewed = self.door.teams.view_agent(&self.principal, id, since);
                let viewing = viewed.ok()?;
                self.line.queue(&wire::connected_agent(id, &session_id));
                let status = snapshot::of_agent(&self.door, &self.principal, id, &viewing);
                self.line.queue(&wire::snapshot_agent_status(status));
                viewing
            }
        };
        viewing.listen(self.line.ready_handle(self.feed));
        Some(viewing)
    }

    fn refuse_subject(&mut self) -> WsConnectionEnd {
        let (code, what, id) = match &self.subject {
            ViewedSubject::Team(id, _) => ("TEAM_NOT_FOUND", "Team", id),
            ViewedSubject::Agent(id) => ("AGENT_NOT_FOUND", "Agent", id),
        };
        let id = echo(id);
        self.say_error(code, &format!("{what} '{id}' not found"));
        WsConnectionEnd::Close(wire::CLOSE_NOT_FOUND, "not found")
    }

    async fn turn_until_over(&mut self, viewing: &mut FeedReader) -> WsConnectionEnd {
        loop {
            let left = match self.line.next().await {
                WsConnectionEvent::Text(text) => {
                    self.on_text(&text, viewing.id());
                    None
                }
                WsConnectionEvent::Binary => {
                    let text =
                        "binary frames are not part of this protocol; send JSON in text frames";
                    self.refuse(wire::code::INVALID_MESSAGE, text);
                    None
                }
                WsConnectionEvent::Rang(MAILBOX) => {
                    self.send_outcomes();
                    None
                }
                WsConnectionEvent::Rang(_) => self.show(viewing),
                WsConnectionEvent::Look => None,
                WsConnectionEvent::Broken(error) => Some(self.on_error(&error)),
                WsConnectionEvent::Over(leave) => Some(leave),
            };
            if let Some(leave) = left {
                return leave;
            }
        }
    }

    /// Sends the next batch of events. The feed wakes the session again if more remain.
    fn show(&mut self, viewing: &mut FeedReader) -> Option<WsConnectionEnd> {
        // Read before the batch: events from before the removal are still sent.
        let is_closed = viewing.is_closed();
        let is_all = !self.show_batch(viewing);
        if !is_closed {
            return None;
        }
        if !is_all {
            self.line.ready_handle(self.feed).notify();
            return None;
        }
        let (code, what, id) = match &self.subject {
            ViewedSubject::Team(id, _) => ("TEAM_REMOVED", "Team", id),
            ViewedSubject::Agent(id) => ("AGENT_REMOVED", "Agent", id),
        };
        let text = format!("{what} '{id}' was removed");
        self.say_error(code, &text);
        Some(WsConnectionEnd::Close(wire::CLOSE_NOT_FOUND, "removed"))
    }

    /// Queues the next batch. Returns whether the batch had any items.
    fn show_batch(&mut self, viewing: &mut FeedReader) -> bool {
        let mut batch = Vec::new();
        viewing.read_batch(BATCH, &mut batch);
        for seen in &batch {
            match seen {
                FeedItem::Event(told) => self.show_event(told),
                FeedItem::Missed(missed) => self.show_gap(missed),
            }
        }
        !batch.is_empty()
    }

    fn show_event(&mut self, told: &FeedEvent) {
        let made;
        let text = match &self.subject {
            ViewedSubject::Team(id, BoardForm::Added)
                if matches!(*told.body, EventBody::Board(_)) =>
            {
                made = translate::flat(told, id, BoardForm::Added);
                &made
            }
            ViewedSubject::Team(id, _) => {
                told.rendered(|told| translate::flat(told, id, BoardForm::All))
            }
            ViewedSubject::Agent(_) => told.rendered(translate::single),
        };
        if !text.is_empty() {
            self.line.queue(text);
        }
        if let EventBody::Board(BoardChange::Created { all, .. }) = &*told.body {
            self.show_begun(told, all);
        }
    }

    /// Sends the status of tasks that were on the board before the addition.
    fn show_begun(&mut self, told: &FeedEvent, all: &[BoardTask]) {
        let ViewedSubject::Team(id, BoardForm::All) = &self.subject else {
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

    fn show_gap(&mut self, missed: &MissedEvents) {
        let frame = wire::gap(&missed.run.id, missed.from, missed.to);
        self.line.queue(&frame);
    }

    /// Sends all remaining events at the reading speed of the viewer.
    async fn drain(&mut self, viewing: &mut FeedReader) {
        while self.show_batch(viewing) {
            // The wake-up arrives when the socket has room again.
            self.line.ready_handle(self.feed).notify();
            loop {
                match self.line.next().await {
                    WsConnectionEvent::Rang(key) if key == self.feed => break,
                    WsConnectionEvent::Over(_) | WsConnectionEvent::Broken(_) => return,
                    WsConnectionEvent::Rang(_)
                    | WsConnectionEvent::Text(_)
                    | WsConnectionEvent::Binary
                    | WsConnectionEvent::Look => {}
                }
            }
        }
    }

    fn on_text(&mut self, text: &str, viewer: ViewerId) {
        let limits = wire::EnvelopeLimits {
            max_depth: self.line.limits().json_depth,
            ..wire::EnvelopeLimits::default()
        };
        let message = match wire::read_client_message(text, &limits) {
            Ok(message) => message,
            Err(fault) => {
                self.door.teams.hub().metrics().refused(DOOR);
                return self.send_outcome(&CommandOutcome::Refused(CommandRefusal {
                    code: fault.code.to_owned(),
                    message: fault.to_string(),
                    message_id: wire::message_id(text, &limits),
                }));
            }
        };
        let given = self.orders.submit(
            message,
            &self.door,
            &self.principal,
            &self.subject,
            Some(viewer),
        );
        if let Err(refusal) = given {
            self.send_outcome(&CommandOutcome::Refused(refusal));
        }
    }

    /// Sends results of commands while the socket accepts data.
    fn send_outcomes(&mut self) {
        while !self.line.is_busy()
            && let Some((outcome, _)) = self.orders.outcomes.take()
        {
            self.send_outcome(&outcome);
        }
    }

    fn send_outcome(&mut self, outcome: &CommandOutcome) {
        let frame = match outcome {
            CommandOutcome::Accepted { message_id, task } => {
                let task = task.map(|task| task.to_string());
                wire::accepted(message_id, task.as_deref())
            }
            CommandOutcome::Refused(refusal) => {
                let id = refusal.message_id.as_deref();
                wire::error(&refusal.code, &refusal.message, id)
            }
        };
        self.line.queue(&frame);
    }

    fn on_error(&mut self, error: &WsError) -> WsConnectionEnd {
        if matches!(error, WsError::TooLarge { .. }) {
            self.refuse("TOO_LARGE", &format!("{error}; the connection is closed"));
        } else {
            self.door.teams.hub().metrics().refused(DOOR);
        }
        error.into()
    }

    /// Reports an unreadable message to the viewer, and counts the refusal.
    fn refuse(&mut self, code: &str, text: &str) {
        self.door.teams.hub().metrics().refused(DOOR);
        self.say_error(code, text);
    }

    fn say_error(&mut self, code: &str, text: &str) {
        self.line.queue(&wire::error(code, text, None));
    }
}

impl Drop for ViewerSession {
    /// Closes the mailbox: the viewer receives no more results.
    fn drop(&mut self) {
        self.orders.outcomes.shut();
    }
}
