//! State of the screen, changed by events and keys. Pure: envelopes and keys go in, a [`UserAction`] comes out.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

use super::{
    super::{
        describe,
        feed::TeamFeedItem,
        team_event::{self, MemberAction, MemberQuestion, TeamEvent, TeamEventKind, ToolStep},
    },
    lane::MemberLane,
};
use crate::output::{clean, items, text};

/// Maximum number of lanes: a screen has no room for more, and teams rarely have as many members.
const LANES_MAX: usize = 512;
/// Maximum number of tasks for the board.
const TASKS_MAX: usize = 1000;
/// Number of lines per page.
const PAGE: usize = 10;

/// State of the screen.
#[derive(Debug, Default)]
pub(super) struct ScreenState {
    pub(super) team: String,
    /// Flags to repeat in the commands that are shown.
    pub(super) flags: String,
    pub(super) name: String,
    pub(super) status: String,
    /// Run, and the number of the last event.
    pub(super) run: Option<(String, u64)>,
    pub(super) is_lost: bool,
    pub(super) lanes: Vec<MemberLane>,
    pub(super) tasks: Vec<ScreenTask>,
    pub(super) approvals: Vec<OpenApproval>,
    /// Last message for the user.
    pub(super) notice: String,
    pub(super) selected: usize,
    /// Whether the selected lane fills the screen.
    pub(super) is_alone: bool,
    pub(super) is_unfolded: bool,
    /// Number of lines scrolled up from the end, for a lane that fills the screen.
    pub(super) scroll: usize,
}

/// A task on a board.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScreenTask {
    /// Sub-team of the task; empty for the team itself.
    pub(super) team: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) assignee: String,
    pub(super) status: String,
}

/// An open approval or question of a member.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OpenApproval {
    /// Route key of the member.
    pub(super) key: String,
    pub(super) invocation: String,
    pub(super) tool: String,
    /// The question on one line.
    pub(super) what: String,
    /// Whether the answer was sent to the hub.
    pub(super) is_answered: bool,
}

/// Action that the user requested by a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum UserAction {
    Quit,
    Interrupt,
    Decide {
        key: String,
        invocation: String,
        approve: bool,
    },
}

impl ScreenState {
    pub(super) fn new(team: &str, flags: &str) -> Self {
        Self {
            team: team.to_owned(),
            flags: flags.to_owned(),
            ..Self::default()
        }
    }

    /// Applies an item of the feed ([`TeamFeedItem`]).
    pub(super) fn apply(&mut self, told: &TeamFeedItem) {
        match told {
            TeamFeedItem::Snapshot(snapshot) => self.snapshot(snapshot),
            TeamFeedItem::Envelope { envelope, is_past } => {
                self.count(envelope);
                if let Some(news) = team_event::read(envelope)
                    && !(*is_past && news.is_standing())
                {
                    self.news(&news, *is_past);
                }
            }
            TeamFeedItem::Gap(gap) => {
                let (from, to) = (&gap["from_sequence"], &gap["to_sequence"]);
                self.notice = format!("events {from} to {to} are no longer stored");
                self.lanes.iter_mut().for_each(MemberLane::gap);
            }
            // The lanes show past and new events alike.
            TeamFeedItem::Earlier | TeamFeedItem::Now => {}
            TeamFeedItem::Lost => {
                self.is_lost = true;
                "lost the connection to the hub; reconnecting".clone_into(&mut self.notice);
            }
            TeamFeedItem::Back => {
                self.is_lost = false;
                "reconnected to the hub".clone_into(&mut self.notice);
            }
        }
    }

    fn snapshot(&mut self, snapshot: &Value) {
        let team = &snapshot["team"];
        self.name = clean(text(team, "name"));
        self.status = clean(text(team, "status"));
        let run = &team["run"];
        if run.is_object() {
            let last = run["sequence"].as_u64().unwrap_or_default();
            self.run = Some((text(run, "id").to_owned(), last));
        }
        for agent in items(team, "agents") {
            if let Some(lane) = self.lane(text(agent, "route_key")) {
                lane.agent = clean(text(agent, "agent"));
                lane.is_online = agent["online"] == true;
                lane.status = clean(text(agent, "status"));
            }
        }
        // The snapshot does not contain the boards of sub-teams.
        self.tasks.retain(|task| !task.team.is_empty());
        self.put("", items(snapshot, "tasks"));
        let open = items(snapshot, "approvals");
        let is_open = |known: &OpenApproval| {
            let mut open = open.iter();
            open.any(|it| {
                text(it, "route_key") == known.key && text(it, "invocation_id") == known.invocation
            })
        };
        self.approvals.retain(is_open);
        for approval in open {
            let (id, tool) = (text(approval, "invocation_id"), text(approval, "tool_name"));
            self.ask(
                text(approval, "route_key"),
                id,
                tool,
                MemberQuestion::of(approval),
            );
        }
    }

    fn count(&mut self, envelope: &Value) {
        let Some(sequence) = envelope["sequence"].as_u64() else {
            return;
        };
        let id = text(envelope, "team_run_id");
        match &mut self.run {
            Some((run, last)) if run == id => *last = sequence.max(*last),
            run => *run = Some((id.to_owned(), sequence)),
        }
    }

    fn news(&mut self, news: &TeamEvent<'_>, is_past: bool) {
        let place = news.place();
        match &news.what {
            TeamEventKind::Team { status, error } => {
                if place.is_empty() {
                    self.status = clean(status);
                }
                if !error.is_empty() {
                    let team = if place.is_empty() { &self.team } else { &place };
                    self.notice = format!("{}: {}", clean(team), clean(error));
                }
            }
            TeamEventKind::Tasks(tasks) => self.put(&place, tasks),
            TeamEventKind::Task { id, status, .. } => {
                let is_it = |task: &&mut ScreenTask| task.team == place && task.id == *id;
                match self.tasks.iter_mut().find(is_it) {
                    Some(task) => task.status = clean(status),
                    None => self.tasks.push(ScreenTask {
                        team: place,
                        id: (*id).to_owned(),
                        name: clean(id),
                        assignee: String::new(),
                        status: clean(status),
                    }),
                }
                self.forget_tasks();
            }
            TeamEventKind::Member { deed, .. } => {
                // The snapshot contains the past questions that are still open.
                if !is_past {
                    self.approve(&place, deed);
                }
                if let Some(lane) = self.lane(&place) {
                    lane.apply(deed);
                }
            }
        }
    }

    fn put(&mut self, team: &str, tasks: &[Value]) {
        for task in tasks {
            let task = ScreenTask {
                team: team.to_owned(),
                id: describe::task_id(task).to_owned(),
                name: clean(describe::task_name(task)),
                assignee: clean(text(task, "assignee_name")),
                status: clean(describe::task_status(task)),
            };
            let is_it = |known: &&mut ScreenTask| known.team == task.team && known.id == task.id;
            match self.tasks.iter_mut().find(is_it) {
                Some(known) => *known = task,
                None => self.tasks.push(task),
            }
        }
        self.forget_tasks();
    }

    fn forget_tasks(&mut self) {
        let extra = self.tasks.len().saturating_sub(TASKS_MAX);
        self.tasks.drain(..extra);
    }

    /// Updates the list of open approvals.
    fn approve(&mut self, place: &str, deed: &MemberAction<'_>) {
        match deed {
            MemberAction::Tool {
                step: ToolStep::Logs(_),
                ..
            } => {}
            MemberAction::Tool {
                id,
                tool,
                step: ToolStep::Asks(ask),
            } => self.ask(place, id, tool, *ask),
            MemberAction::Tool { id, .. } => {
                self.approvals
                    .retain(|it| it.key != place || it.invocation != *id);
            }
            // An idle member waits for no answer.
            MemberAction::Status { status: "idle", .. } => {
                self.approvals.retain(|it| it.key != place)
            }
            _ => {}
        }
    }

    fn ask(&mut self, place: &str, id: &str, tool: &str, ask: MemberQuestion<'_>) {
        let is_known = |it: &OpenApproval| it.key == place && it.invocation == id;
        if self.approvals.iter().any(is_known) || self.lane(place).is_none() {
            return;
        }
        self.approvals.push(OpenApproval {
            key: place.to_owned(),
            invocation: id.to_owned(),
            tool: tool.to_owned(),
            what: describe::asked(tool, ask),
            is_answered: false,
        });
    }

    /// Returns the [`MemberLane`] of a member; `None` above [`LANES_MAX`].
    fn lane(&mut self, key: &str) -> Option<&mut MemberLane> {
        let at = self.lanes.iter().position(|lane| lane.key == key);
        let at = match at {
            Some(at) => at,
            None if self.lanes.len() < LANES_MAX => {
                self.lanes.push(MemberLane::new(key));
                self.lanes.len() - 1
            }
            None => return None,
        };
        self.lanes.get_mut(at)
    }

    /// Returns the open [`OpenApproval`]s of a lane, oldest first.
    pub(super) fn asked<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a OpenApproval> {
        self.approvals.iter().filter(move |it| it.key == key)
    }

    /// Handles a key ([`KeyEvent`]).
    pub(super) fn press(&mut self, key: KeyEvent) -> Option<UserAction> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Some(UserAction::Interrupt),
            KeyCode::Char('q') => return Some(UserAction::Quit),
            KeyCode::Char('t') => self.is_unfolded = !self.is_unfolded,
            KeyCode::Char('a') => return self.decide(true),
            KeyCode::Char('d') => return self.decide(false),
            KeyCode::Enter => self.alone(!self.is_alone),
            KeyCode::Esc => self.alone(false),
            KeyCode::Tab | KeyCode::Right => self.select(1),
            KeyCode::BackTab | KeyCode::Left => self.select(-1),
            KeyCode::Up if self.is_alone => self.scroll = self.scroll.saturating_add(1),
            KeyCode::Down if self.is_alone => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Up => self.select(-1),
            KeyCode::Down => self.select(1),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_add(PAGE),
            KeyCode::PageDown => self.scroll = self.scroll.saturating_sub(PAGE),
            KeyCode::End => self.scroll = 0,
            _ => {}
        }
        None
    }

    fn alone(&mut self, is_alone: bool) {
        self.is_alone = is_alone;
        self.scroll = 0;
    }

    fn select(&mut self, by: isize) {
        let count = self.lanes.len().cast_signed();
        if count > 0 {
            let next = self.selected.cast_signed() + by;
            self.selected = next.rem_euclid(count).cast_unsigned();
            self.scroll = 0;
        }
    }

    fn decide(&mut self, approve: bool) -> Option<UserAction> {
        let key = self.lanes.get(self.selected)?.key.clone();
        let is_open = |it: &&mut OpenApproval| it.key == key && !it.is_answered;
        let Some(approval) = self.approvals.iter_mut().find(is_open) else {
            self.notice = format!("{} has no open question", clean(&key));
            return None;
        };
        if approve && describe::is_question(&approval.tool) {
            let (tool, invocation) = (&approval.tool, &approval.invocation);
            let how = describe::how_to_answer(&self.team, &key, tool, invocation, &self.flags);
            self.notice = format!("the question needs a text: {how}");
            return None;
        }
        approval.is_answered = true;
        Some(UserAction::Decide {
            invocation: approval.invocation.clone(),
            key,
            approve,
        })
    }

    /// Handles the hub's response to a decision.
    pub(super) fn decided(&mut self, key: &str, invocation: &str, refused: Option<&str>) {
        let is_it = |it: &OpenApproval| it.key == key && it.invocation == invocation;
        match refused {
            // Usually the hub's event has removed the approval already; if no event comes, the hub did not
            // know the approval.
            None => self.approvals.retain(|it| !is_it(it)),
            Some(why) => {
                self.notice = clean(why);
                for approval in self.approvals.iter_mut().filter(|it| is_it(it)) {
                    approval.is_answered = false;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
