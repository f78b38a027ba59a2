//! Line view of a team: member and event. Text comes in full lines, a tool use in one line.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::{
    describe::{self, Tone},
    feed::TeamFeedItem,
    team_event::{
        self, MemberAction, MemberQuestion, StreamKind, TeamEvent, TeamEventKind, ToolStep,
    },
};
use crate::output::{Style, clean, items, text};

/// Maximum length of an unfinished line in bytes.
const LINE_MAX: usize = 16 << 10;
/// Number of recent lines that the user can still see.
const IN_SIGHT: usize = 10;
/// Number of shown lines from before the start, unless the user wants all.
const EARLIER: usize = 20;
/// Tool name that the hub uses for status lines without a tool.
const STATUS: &str = "status";
/// Maximum number of open segments of one member; older ones are printed as they are.
const OPEN_MAX: usize = 64;

/// Formatter of a team's events as lines.
#[derive(Debug)]
pub(super) struct TeamLines {
    style: Style,
    team: String,
    /// Flags to repeat in the commands that are shown.
    flags: String,
    /// Width of the first column, as wide as the longest member path so far.
    width: usize,
    status: String,
    /// Id of the last seen run.
    run: String,
    members: HashMap<String, MemberLines>,
    /// Open questions, by member path and id: the lines that show each, and the line count at that time.
    asked: BTreeMap<(String, String), ([String; 2], usize)>,
    /// Number of lines so far.
    count: usize,
    /// Whether the current events happened before the start.
    is_earlier: bool,
    /// Whether the heading "earlier" was printed, which comes with the first such line.
    is_marked: bool,
    /// Whether all lines from before the start are shown.
    has_history: bool,
    /// Last lines from before the start, printed at the end of the replay.
    held: VecDeque<String>,
    /// Number of replayed lines since the last print.
    past: usize,
    /// Entries that the hub sends as tools although they are none, by member path and id: answered questions
    /// and approvals, and status lines. The hub ends them with the call, which is not worth a line.
    stands: HashSet<(String, String)>,
    /// Name and status of the tasks, by team and id.
    tasks: HashMap<(String, String), (String, String)>,
    lines: Vec<String>,
}

#[derive(Debug, Default)]
struct MemberLines {
    open: Vec<StreamingSegment>,
    /// Whether the answer was streamed, so that the complete answer must not be printed again.
    has_text: bool,
}

#[derive(Debug)]
struct StreamingSegment {
    id: String,
    kind: StreamKind,
    /// Text that was received and not yet printed.
    rest: String,
}

impl TeamLines {
    pub(super) fn new(style: Style, team: &str, flags: &str) -> Self {
        Self {
            style,
            team: team.to_owned(),
            flags: flags.to_owned(),
            width: 8,
            status: String::new(),
            run: String::new(),
            members: HashMap::new(),
            asked: BTreeMap::new(),
            count: 0,
            is_earlier: false,
            is_marked: false,
            has_history: false,
            held: VecDeque::new(),
            past: 0,
            stands: HashSet::new(),
            tasks: HashMap::new(),
            lines: Vec::new(),
        }
    }

    /// Shows all events from before the start, not only the last lines.
    pub(super) fn with_history(mut self, has_history: bool) -> Self {
        self.has_history = has_history;
        self
    }

    /// Returns whether lines from before the start wait for the end of the replay.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns the waiting lines from before the start, if the end of the replay does not come.
    pub(super) fn held(&mut self) -> Vec<String> {
        self.release();
        std::mem::take(&mut self.lines)
    }

    /// Returns the lines of an item ([`TeamFeedItem`]).
    pub(super) fn of(&mut self, told: &TeamFeedItem) -> Vec<String> {
        match told {
            TeamFeedItem::Snapshot(snapshot) => {
                self.release();
                self.snapshot(snapshot);
            }
            TeamFeedItem::Envelope { envelope, is_past } => {
                text(envelope, "team_run_id").clone_into(&mut self.run);
                if let Some(news) = team_event::read(envelope)
                    && !(*is_past && news.is_standing())
                {
                    self.news(&news, *is_past);
                    self.hold();
                }
            }
            TeamFeedItem::Earlier => self.is_earlier = true,
            TeamFeedItem::Now => self.now(),
            TeamFeedItem::Gap(gap) => {
                self.flush_all();
                let (from, to) = (&gap["from_sequence"], &gap["to_sequence"]);
                let line = format!("events {from} to {to} are no longer stored");
                self.line("", Tone::Loud, &line);
                self.hold();
            }
            TeamFeedItem::Lost | TeamFeedItem::Back => self.release(),
        }
        std::mem::take(&mut self.lines)
    }

    /// Returns all unfinished lines, at the end of the stream.
    pub(super) fn rest(&mut self) -> Vec<String> {
        self.release();
        self.flush_all();
        std::mem::take(&mut self.lines)
    }

    /// Returns the unfinished lines of an earlier run, if the snapshot after a reconnect shows a different
    /// run: they will never be finished.
    pub(super) fn broken_off(&mut self, snapshot: &Value) -> Vec<String> {
        if text(&snapshot["team"]["run"], "id") != self.run {
            for member in self.members.values_mut() {
                let open = member.open.iter_mut();
                for segment in open.filter(|segment| !segment.rest.is_empty()) {
                    segment.rest += " … (interrupted)";
                }
            }
            self.flush_all();
            self.members.clear();
        }
        std::mem::take(&mut self.lines)
    }

    /// Prints the changes in a snapshot.
    fn snapshot(&mut self, snapshot: &Value) {
        text(&snapshot["team"]["run"], "id").clone_into(&mut self.run);
        self.team_status("", text(&snapshot["team"], "status"), "");
        self.board("", items(snapshot, "tasks"));
        let open = items(snapshot, "approvals");
        self.asked.retain(|(place, id), _| {
            let mut open = open.iter();
            open.any(|it| text(it, "route_key") == place && text(it, "invocation_id") == id)
        });
        for approval in open {
            let (id, tool) = (text(approval, "invocation_id"), text(approval, "tool_name"));
            self.asks(
                text(approval, "route_key"),
                id,
                tool,
                MemberQuestion::of(approval),
            );
        }
    }

    /// Ends the replay. Open questions far above are printed again.
    fn now(&mut self) {
        self.flush_all();
        self.hold();
        self.release();
        self.is_earlier = false;
        if !std::mem::take(&mut self.is_marked) {
            return;
        }
        self.lines.push(self.style.dim("— now —"));
        for ((place, _), (lines, at)) in self.asked.clone() {
            if self.count - at <= IN_SIGHT {
                continue;
            }
            for line in lines {
                self.line(&place, Tone::Loud, &line);
            }
        }
    }

    /// Holds new lines from before the start until the end of the replay, and keeps only the last ones.
    fn hold(&mut self) {
        if !self.is_earlier {
            return;
        }
        self.past += self.lines.len();
        self.held.extend(self.lines.drain(..));
        if self.has_history {
            self.release();
        } else {
            let surplus = self.held.len().saturating_sub(EARLIER);
            self.held.drain(..surplus);
        }
    }

    /// Prints the lines of [`TeamLines::hold`]. A heading above the first line marks them as earlier, with the
    /// flag to see more.
    fn release(&mut self) {
        if self.held.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.is_marked, true) {
            let (shown, past) = (self.held.len(), self.past);
            let mark = match past > shown {
                true => {
                    format!("— earlier: the last {shown} of {past} lines (--history shows all) —")
                }
                false => "— earlier —".to_owned(),
            };
            self.lines.push(self.style.dim(&mark));
        }
        self.lines.extend(self.held.drain(..));
        self.past = 0;
    }

    fn news(&mut self, news: &TeamEvent<'_>, is_past: bool) {
        let place = news.place();
        match &news.what {
            TeamEventKind::Team { status, error } => self.team_status(&place, status, error),
            TeamEventKind::Tasks(tasks) => self.board(&place, tasks),
            TeamEventKind::Task {
                id,
                status,
                by,
                gave,
            } => self.task(&place, id, status, by, gave),
            TeamEventKind::Member { deed, .. } => self.member_event(&place, deed, is_past),
        }
    }

    fn team_status(&mut self, place: &str, status: &str, error: &str) {
        if place.is_empty() && error.is_empty() && self.status == status {
            return;
        }
        if place.is_empty() {
            status.clone_into(&mut self.status);
        }
        let tone = if status.eq_ignore_ascii_case("error") {
            Tone::Bad
        } else {
            Tone::Quiet
        };
        let mut line = format!("· {}", clean(status));
        if !error.is_empty() {
            line += &format!(": {}", clean(error));
        }
        self.line(place, tone, &line);
    }

    fn board(&mut self, place: &str, tasks: &[Value]) {
        for task in tasks {
            let key = (place.to_owned(), describe::task_id(task).to_owned());
            let (name, status) = (describe::task_name(task), describe::task_status(task));
            let now = (name.to_owned(), status.to_owned());
            if self.tasks.get(&key) == Some(&now) {
                continue;
            }
            let who = text(task, "assignee_name");
            let line = format!("task {} ({}): {}", clean(name), clean(who), clean(status));
            self.tasks.insert(key, now);
            self.line(place, Tone::Plain, &line);
        }
    }

    fn task(&mut self, place: &str, id: &str, status: &str, by: &str, gave: &[Value]) {
        let key = (place.to_owned(), id.to_owned());
        let known = self.tasks.entry(key);
        let task = known.or_insert_with(|| (id.to_owned(), String::new()));
        status.clone_into(&mut task.1);
        let mut line = format!("task {}: {}", clean(&task.0), clean(status));
        if !by.is_empty() {
            line += &format!(", by {}", clean(by));
        }
        let files: Vec<_> = gave.iter().map(|file| text(file, "file_path")).collect();
        if !files.is_empty() {
            line += &format!(", files: {}", clean(&files.join(", ")));
        }
        self.line(place, Tone::Plain, &line);
    }

    fn member_event(&mut self, place: &str, deed: &MemberAction<'_>, is_past: bool) {
        match deed {
            MemberAction::Begins { id, kind, .. } => self.begin(place, id, *kind),
            MemberAction::Says { id, kind, delta } => self.say(place, id, *kind, delta),
            MemberAction::Ends { id, .. } => self.end(place, id),
            MemberAction::Answers(content) => self.answer(place, content),
            MemberAction::Tool { id, tool, step } => self.tool(place, id, tool, step, is_past),
            MemberAction::Status { status, .. } => {
                if *status == "idle" {
                    self.flush(place);
                    self.member(place).has_text = false;
                    self.stands.retain(|(at, _)| at != place);
                }
                self.plainly(place, deed);
            }
            MemberAction::Hears { .. }
            | MemberAction::Told(_)
            | MemberAction::Todos(_)
            | MemberAction::Made(_)
            | MemberAction::Fails { .. } => self.plainly(place, deed),
        }
    }

    fn plainly(&mut self, place: &str, deed: &MemberAction<'_>) {
        if let Some((tone, line)) = describe::event_line(deed) {
            self.line(place, tone, &line);
        }
    }

    fn begin(&mut self, place: &str, id: &str, kind: StreamKind) {
        let open = &mut self.member(place).open;
        if open.iter().any(|segment| segment.id == id) {
            return;
        }
        open.push(StreamingSegment {
            id: id.to_owned(),
            kind,
            rest: String::new(),
        });
        if open.len() > OPEN_MAX {
            let oldest = open[0].id.clone();
            self.end(place, &oldest);
        }
    }

    fn say(&mut self, place: &str, id: &str, kind: StreamKind, delta: &str) {
        // A viewer who missed the start of a segment uses the kind in the chunk.
        self.begin(place, id, kind);
        let member = self.member(place);
        let Some(segment) = member.open.iter_mut().find(|segment| segment.id == id) else {
            return;
        };
        let kind = segment.kind;
        // A tool's input is shown with the tool's line, if at all.
        if kind == StreamKind::Tool {
            return;
        }
        segment.rest += delta;
        let mut whole = Vec::new();
        while let Some(end) = segment.rest.find('\n') {
            let rest = segment.rest.split_off(end + 1);
            whole.push(std::mem::replace(&mut segment.rest, rest));
        }
        if segment.rest.len() > LINE_MAX {
            whole.push(std::mem::take(&mut segment.rest));
        }
        member.has_text |= kind == StreamKind::Text;
        for line in whole {
            self.said(place, kind, line.trim_end_matches(['\n', '\r']));
        }
    }

    fn end(&mut self, place: &str, id: &str) {
        let open = &mut self.member(place).open;
        if let Some(at) = open.iter().position(|segment| segment.id == id) {
            let segment = open.remove(at);
            if !segment.rest.is_empty() {
                self.said(place, segment.kind, &segment.rest);
            }
        }
    }

    fn answer(&mut self, place: &str, content: &str) {
        self.flush(place);
        if !std::mem::take(&mut self.member(place).has_text) {
            for line in content.lines() {
                self.said(place, StreamKind::Text, line);
            }
        }
    }

    fn tool(&mut self, place: &str, id: &str, tool: &str, step: &ToolStep<'_>, is_past: bool) {
        let tool_name = clean(tool);
        // The snapshot already contains past questions that are still open.
        if !is_past && !matches!(step, ToolStep::Asks(_) | ToolStep::Logs(_)) {
            self.asked.remove(&(place.to_owned(), id.to_owned()));
        }
        if self.is_end_of_stand(place, id, tool, step) {
            return;
        }
        match step {
            ToolStep::Asks(ask) if !is_past => self.asks(place, id, tool, *ask),
            ToolStep::Asks(_) if self.is_asked(place, id) => {}
            ToolStep::Asks(ask) => self.line(place, Tone::Quiet, &describe::asked(tool, *ask)),
            ToolStep::Approved if describe::is_question(tool) => {
                self.line(place, Tone::Quiet, &format!("▸ {tool_name} answered"));
            }
            ToolStep::Approved => self.line(place, Tone::Quiet, &format!("▸ {tool_name} approved")),
            ToolStep::Runs(_) => {}
            ToolStep::Denied(why) => {
                let line = format!("▸ {tool_name} ✗ denied: {}", clean(why));
                self.line(place, Tone::Bad, &line);
            }
            ToolStep::Succeeded(_) => self.line(place, Tone::Quiet, &format!("▸ {tool_name} ✓")),
            ToolStep::Failed(why) => {
                let line = format!("▸ {tool_name} ✗ {}", clean(why));
                self.line(place, Tone::Bad, &line);
            }
            ToolStep::Logs(entry) => self.line(place, Tone::Quiet, &format!("· {}", clean(entry))),
        }
    }

    /// Returns whether the step only ends an entry that is no real tool. Records such entries on the way.
    fn is_end_of_stand(&mut self, place: &str, id: &str, tool: &str, step: &ToolStep<'_>) -> bool {
        let key = (place.to_owned(), id.to_owned());
        let is_stand = match step {
            ToolStep::Approved => true,
            ToolStep::Logs(_) if tool == STATUS => true,
            ToolStep::Succeeded(Value::Null) | ToolStep::Failed(_) => {
                return self.stands.remove(&key);
            }
            // A step that runs after an approval is a real tool; the other steps are an end.
            ToolStep::Runs(_) | ToolStep::Succeeded(_) | ToolStep::Denied(_) => false,
            ToolStep::Asks(_) | ToolStep::Logs(_) => return false,
        };
        if is_stand {
            self.stands.insert(key);
        } else {
            self.stands.remove(&key);
        }
        false
    }

    fn is_asked(&self, place: &str, id: &str) -> bool {
        let key = (place.to_owned(), id.to_owned());
        self.asked.contains_key(&key)
    }

    fn asks(&mut self, place: &str, id: &str, tool: &str, ask: MemberQuestion<'_>) {
        if self.is_asked(place, id) {
            return;
        }
        self.flush(place);
        let how = describe::how_to_answer(&self.team, place, tool, id, &self.flags);
        let or = if describe::is_question(tool) {
            ""
        } else {
            " (or deny)"
        };
        let lines = [describe::asked(tool, ask), format!("  {how}{or}")];
        for line in &lines {
            self.line(place, Tone::Loud, line);
        }
        let key = (place.to_owned(), id.to_owned());
        self.asked.insert(key, (lines, self.count));
    }

    fn said(&mut self, place: &str, kind: StreamKind, line: &str) {
        match kind {
            StreamKind::Text => self.line(place, Tone::Plain, &clean(line)),
            StreamKind::Thinking | StreamKind::Tool => {
                self.line(place, Tone::Quiet, &format!("({})", clean(line)));
            }
        }
    }

    fn member(&mut self, place: &str) -> &mut MemberLines {
        self.members.entry(place.to_owned()).or_default()
    }

    /// Prints the unfinished text of a member; its segments stay open.
    fn flush(&mut self, place: &str) {
        let member = self.member(place);
        let mut rests = Vec::new();
        for segment in &mut member.open {
            if !segment.rest.is_empty() {
                rests.push((segment.kind, std::mem::take(&mut segment.rest)));
            }
        }
        for (kind, rest) in rests {
            self.said(place, kind, &rest);
        }
    }

    fn flush_all(&mut self) {
        let mut places: Vec<_> = self.members.keys().cloned().collect();
        places.sort();
        for place in places {
            self.flush(&place);
        }
    }

    /// Adds a line with a [`Tone`] for a member path; the team itself is shown by its id.
    fn line(&mut self, place: &str, tone: Tone, line: &str) {
        let place = clean(if place.is_empty() { &self.team } else { place });
        self.width = self.width.max(place.chars().count()).min(32);
        let (style, width) = (self.style, self.width);
        let who = style.agent(&place, &format!("{place:width$}"));
        let line = match tone {
            Tone::Plain => line.to_owned(),
            Tone::Quiet => style.dim(line),
            Tone::Loud => style.yellow(line),
            Tone::Bad => style.red(line),
        };
        self.count += 1;
        self.lines.push(format!("{who} │ {line}"));
    }
}

#[cfg(test)]
mod tests;
