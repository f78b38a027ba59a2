//! Task board of a team: tasks, assignees and dependencies. Pure: [`Teams`](crate::Teams) stores the board
//! and shows its changes.

mod dependencies;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, fmt::Display, sync::Arc};

use jackfield_model::{Failure, Reason, id::MAX_NAME};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::dependencies::{BoardTaskIndex, find_cycle};

/// Maximum length of a text of a task, in bytes. People and models read the board; longer texts belong into a
/// file.
const TEXT_MAX: usize = 64 << 10;
/// Maximum size of all tasks of a board, in bytes. Viewers receive the whole board in a single message, and
/// the message must fit into a frame.
const BOARD_MAX: usize = 4 << 20;
/// Assumed overhead per task, dependency and deliverable, in bytes.
const ENTRY_OVERHEAD: usize = 64;

/// Status of a [`BoardTask`]. Any status may follow any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoardStatus {
    /// Not begun.
    #[default]
    NotStarted,
    /// Waiting for its turn.
    Queued,
    /// In work.
    InProgress,
    /// Done.
    Completed,
    /// Unable to continue.
    Blocked,
    /// Given up.
    Failed,
}

impl BoardStatus {
    /// Returns the name used by the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }

    /// Parses a name returned by [`BoardStatus::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        use BoardStatus::{Blocked, Completed, Failed, InProgress, NotStarted, Queued};
        [NotStarted, Queued, InProgress, Completed, Blocked, Failed]
            .into_iter()
            .find(|status| status.name() == name)
    }
}

/// File produced by a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardDeliverable {
    /// Path of the file.
    pub file_path: String,
    /// Description of the file.
    pub summary: String,
    /// Name of the member that produced the file.
    pub author_agent_name: String,
    /// Time of the report.
    pub timestamp: Timestamp,
}

impl BoardDeliverable {
    /// Returns the approximate size in bytes.
    fn weight(&self) -> usize {
        let texts = [&self.file_path, &self.summary, &self.author_agent_name];
        ENTRY_OVERHEAD + texts.into_iter().map(String::len).sum::<usize>()
    }
}

/// Task of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardTask {
    /// Id on the board: `task_0001`, …
    pub id: String,
    /// Name. If several tasks share a name, the name refers to the first.
    pub name: String,
    /// Member assigned to the task.
    pub assignee: String,
    /// Description of the work.
    pub description: String,
    /// Ids of the tasks to complete before.
    pub dependencies: Vec<String>,
    /// Status.
    pub status: BoardStatus,
    /// Produced files.
    pub deliverables: Vec<BoardDeliverable>,
}

impl BoardTask {
    /// Returns the approximate size in bytes.
    pub fn weight(&self) -> usize {
        let texts = [&self.id, &self.name, &self.assignee, &self.description];
        let texts = texts.into_iter().map(String::len);
        let dependencies = self.dependencies.iter();
        let dependencies = dependencies.map(|id| ENTRY_OVERHEAD + id.len());
        let deliverables = self.deliverables.iter().map(BoardDeliverable::weight);
        ENTRY_OVERHEAD + texts.chain(dependencies).chain(deliverables).sum::<usize>()
    }
}

/// Task to add to a [`TaskBoard`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// Name, unique on the board.
    pub name: String,
    /// Member assigned to the task.
    pub assignee: String,
    /// Description of the work.
    pub description: String,
    /// Names or ids of the tasks to complete before: tasks on the board, or tasks added in the same request.
    pub dependencies: Vec<String>,
}

/// Change of a [`BoardTask`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskChange {
    /// New status.
    pub status: Option<BoardStatus>,
    /// Files to add to the produced files.
    pub deliverables: Vec<NewDeliverable>,
    /// Names or ids of all tasks to complete before. Replaces the old list.
    pub dependencies: Option<Vec<String>>,
    /// New assignee.
    pub assignee: Option<String>,
    /// New description.
    pub description: Option<String>,
}

/// File to add to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDeliverable {
    /// Path of the file.
    pub file_path: String,
    /// Description of the file.
    pub summary: String,
}

/// Change of a [`TaskBoard`], as shown to viewers.
#[derive(Debug, Clone, PartialEq)]
pub enum BoardChange {
    /// Tasks were added, or a task changed in other fields than status and deliverables.
    Created {
        /// Added or changed tasks.
        added: Arc<[BoardTask]>,
        /// All tasks of the board, in order.
        all: Arc<[BoardTask]>,
    },
    /// The status of a task was set, or deliverables were added.
    Status {
        /// Id of the task.
        task: String,
        /// New status.
        new: BoardStatus,
        /// Member that made the change.
        by: String,
        /// Added deliverables.
        deliverables: Vec<BoardDeliverable>,
    },
}

impl BoardChange {
    /// Returns the approximate size in bytes. Counts the whole board for each change, because each change
    /// holds a snapshot of the board.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Created { added, all } => weight(added) + weight(all),
            Self::Status {
                task,
                by,
                deliverables,
                ..
            } => {
                let given = deliverables.iter().map(BoardDeliverable::weight);
                task.len() + by.len() + given.sum::<usize>()
            }
        }
    }
}

/// Task board of a team. A refused change leaves the board as before. Dependencies never form a cycle.
#[derive(Debug)]
pub struct TaskBoard {
    tasks: Arc<[BoardTask]>,
    /// Maximum number of tasks.
    max: usize,
    /// Number of the last assigned id. Ids are never reused.
    last: u64,
}

impl TaskBoard {
    /// Creates a board with stored tasks.
    pub(crate) fn new(tasks: Vec<BoardTask>, max: usize) -> Self {
        let number = |task: &BoardTask| task.id.strip_prefix("task_")?.parse::<u32>().ok();
        let last = tasks.iter().filter_map(number).max().unwrap_or(0);
        Self {
            tasks: tasks.into(),
            max,
            last: last.into(),
        }
    }

    /// Returns all [`BoardTask`]s in the order of addition.
    pub fn tasks(&self) -> Arc<[BoardTask]> {
        self.tasks.clone()
    }

    /// Adds all tasks or none. `members` tests whether a name or route key may be an assignee. A failure
    /// names the field of the request: `tasks[2].dependencies[0]`.
    pub fn add(
        &mut self,
        new: Vec<NewTask>,
        members: &dyn Fn(&str) -> bool,
    ) -> Result<BoardChange, Failure> {
        self.check(&new, members)?;
        let first = self.tasks.len();
        let mut all = self.tasks.to_vec();
        let mut wanted = Vec::with_capacity(new.len());
        let mut last = self.last;
        for task in new {
            last += 1;
            wanted.push(task.dependencies);
            all.push(BoardTask {
                id: format!("task_{last:04}"),
                name: task.name,
                assignee: task.assignee,
                description: task.description,
                dependencies: Vec::new(),
                status: BoardStatus::default(),
                deliverables: Vec::new(),
            });
        }

        let field = |place: usize| format!("tasks[{}].dependencies", place - first);
        let places = BoardTaskIndex::of(&all);
        let mut waits = places.waits(&all);
        for (place, wanted) in (first..).zip(&wanted) {
            waits[place] = resolve(&places, wanted, &field(place))?;
        }
        refuse_cycle(&all, &waits, |place| (place >= first).then(|| field(place)))?;
        for place in first..all.len() {
            all[place].dependencies = ids(&all, &waits[place]);
        }
        check_room(weight(&self.tasks), weight(&all))?;

        self.last = last;
        self.tasks = all.into();
        Ok(BoardChange::Created {
            added: self.tasks[first..].into(),
            all: self.tasks.clone(),
        })
    }

    /// Checks all properties of new tasks except dependencies.
    fn check(&self, new: &[NewTask], members: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
        if new.is_empty() {
            return Err(invalid("tasks", "is empty: what is to do?"));
        }
        if self.tasks.len() + new.len() > self.max {
            let text = format!("the board has no room for more than {} tasks", self.max);
            return Err(Failure::new(Reason::Busy, text));
        }
        let places = BoardTaskIndex::of(&self.tasks);
        let mut names = HashSet::new();
        for (index, task) in new.iter().enumerate() {
            let field = |name: &str| format!("tasks[{index}].{name}");
            check_filled(&field("task_name"), &task.name)?;
            if places.has_name(&task.name) || !names.insert(task.name.as_str()) {
                let why = format!("is the name of another task: {}", shown(&task.name));
                return Err(invalid(&field("task_name"), why));
            }
            check_assignee(&field("assignee_name"), &task.assignee, members)?;
            check_text(&field("description"), &task.description)?;
        }
        Ok(())
    }

    /// Changes the task with the id or name `which`. `by` is the member making the change. Returns the
    /// changed task and the changes to show: [`BoardChange::Created`] if assignee, description or
    /// dependencies changed, and [`BoardChange::Status`] if the status changed or deliverables were added.
    pub fn change(
        &mut self,
        which: &str,
        change: TaskChange,
        by: &str,
        now: Timestamp,
        members: &dyn Fn(&str) -> bool,
    ) -> Result<(BoardTask, Vec<BoardChange>), Failure> {
        let places = BoardTaskIndex::of(&self.tasks);
        let Some(place) = places.find(which) else {
            let text = format!("no task {} on the board of this team", shown(which));
            return Err(Failure::new(Reason::NotFound, text));
        };
        let old = &self.tasks[place];
        let mut task = old.clone();
        if let Some(assignee) = change.assignee {
            check_assignee("assignee_name", &assignee, members)?;
            task.assignee = assignee;
        }
        if let Some(description) = change.description {
            check_text("description", &description)?;
            task.description = description;
        }
        if let Some(wanted) = change.dependencies {
            let mut waits = places.waits(&self.tasks);
            waits[place] = resolve(&places, &wanted, "dependencies")?;
            let field = |at| (at == place).then(|| "dependencies".to_owned());
            refuse_cycle(&self.tasks, &waits, field)?;
            task.dependencies = ids(&self.tasks, &waits[place]);
        }
        let is_described_anew = task != *old;

        for (index, given) in change.deliverables.iter().enumerate() {
            let field = |name: &str| format!("deliverables[{index}].{name}");
            check_filled(&field("file_path"), &given.file_path)?;
            check_text(&field("summary"), &given.summary)?;
        }
        let given = change
            .deliverables
            .into_iter()
            .map(|given| BoardDeliverable {
                file_path: given.file_path,
                summary: given.summary,
                author_agent_name: by.to_owned(),
                timestamp: now,
            });
        task.deliverables.extend(given);
        task.status = change.status.unwrap_or(old.status);
        let given = &task.deliverables[old.deliverables.len()..];
        let has_moved = task.status != old.status || !given.is_empty();
        if !has_moved && !is_described_anew {
            return Ok((task, Vec::new()));
        }

        let before = weight(&self.tasks);
        check_room(before, before - old.weight() + task.weight())?;
        let moved = has_moved.then(|| BoardChange::Status {
            task: task.id.clone(),
            new: task.status,
            by: by.to_owned(),
            deliverables: given.to_vec(),
        });
        Arc::make_mut(&mut self.tasks)[place] = task.clone();
        let described = is_described_anew.then(|| BoardChange::Created {
            added: Arc::new([task.clone()]),
            all: self.tasks.clone(),
        });
        Ok((task, described.into_iter().chain(moved).collect()))
    }

    /// Returns the tasks ready to start: not started, with all dependencies completed.
    #[cfg(test)]
    fn runnable(&self) -> Vec<&BoardTask> {
        let statuses = self.tasks.iter().map(|task| (&task.id, task.status));
        let statuses: std::collections::HashMap<_, _> = statuses.collect();
        let is_completed = |id| statuses.get(id) == Some(&BoardStatus::Completed);
        let tasks = self.tasks.iter();
        let tasks = tasks.filter(|task| {
            task.status == BoardStatus::NotStarted && task.dependencies.iter().all(is_completed)
        });
        tasks.collect()
    }
}

fn weight(tasks: &[BoardTask]) -> usize {
    tasks.iter().map(BoardTask::weight).sum()
}

/// Finds the tasks named in `wanted`. Returns an index per name.
fn resolve(
    places: &BoardTaskIndex<'_>,
    wanted: &[String],
    field: &str,
) -> Result<Vec<usize>, Failure> {
    let found = wanted.iter().enumerate().map(|(index, which)| {
        places.find(which).ok_or_else(|| {
            let why = format!("is no task of this board: {}", shown(which));
            invalid(&format!("{field}[{index}]"), why)
        })
    });
    found.collect()
}

/// Returns the ids of the tasks at `places`, without duplicates.
fn ids(tasks: &[BoardTask], places: &[usize]) -> Vec<String> {
    let mut seen = HashSet::new();
    let places = places.iter().filter(|place| seen.insert(**place));
    places.map(|place| tasks[*place].id.clone()).collect()
}

/// Refuses a cycle of dependencies. `field` returns the request's field with the dependencies of a task, if
/// the request sets them.
fn refuse_cycle(
    tasks: &[BoardTask],
    waits: &[Vec<usize>],
    field: impl Fn(usize) -> Option<String>,
) -> Result<(), Failure> {
    let ring = find_cycle(waits).unwrap_or_default();
    let pairs = ring.iter().zip(ring.iter().cycle().skip(1));
    for (&place, &next) in pairs {
        let index = waits[place].iter().position(|on| *on == next);
        let (Some(field), Some(index)) = (field(place), index) else {
            continue;
        };
        let why = if place == next {
            "is the task itself".to_owned()
        } else {
            let (next, task) = (shown(&tasks[next].name), shown(&tasks[place].name));
            format!("closes a circle: {next} waits for {task}, which would wait for it")
        };
        return Err(invalid(&format!("{field}[{index}]"), why));
    }
    Ok(())
}

/// Refuses a change that makes the board too large. A board beyond the limit may still shrink.
fn check_room(before: usize, after: usize) -> Result<(), Failure> {
    if after > BOARD_MAX && after > before {
        let text = format!(
            "the board has no room for more: its tasks may take {} MiB together",
            BOARD_MAX >> 20
        );
        return Err(Failure::new(Reason::Busy, text));
    }
    Ok(())
}

fn check_text(field: &str, text: &str) -> Result<(), Failure> {
    if text.len() > TEXT_MAX {
        let why = format!("may have at most {} KiB", TEXT_MAX >> 10);
        return Err(invalid(field, why));
    }
    Ok(())
}

fn check_filled(field: &str, text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Err(invalid(field, "is empty"));
    }
    check_text(field, text)
}

fn check_assignee(field: &str, name: &str, members: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
    if !members(name) {
        let why = format!("is no member of this team: {}", shown(name));
        return Err(invalid(field, why));
    }
    check_text(field, name)
}

fn invalid(field: &str, why: impl Display) -> Failure {
    Failure::new(Reason::Invalid, format!("field {field:?} {why}"))
}

/// Quotes a text of a peer, cut to the length of a name.
fn shown(text: &str) -> String {
    let text: String = text.chars().take(MAX_NAME).collect();
    format!("{text:?}")
}
