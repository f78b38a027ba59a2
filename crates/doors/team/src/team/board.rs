//! The task board of a team: what is to do, who does it, what it waits for. Pure; the hub keeps it and shows its changes.

#[cfg(test)]
mod tests;
mod waits;

use std::{collections::HashSet, fmt::Display, sync::Arc};

use jackfield_model::{Failure, Reason, id::MAX_NAME};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::waits::{Places, ring};

/// The longest text of a task. A board is read by people and models; what is longer belongs into a file.
const TEXT_MAX: usize = 64 << 10;
/// All tasks of a board together. Viewers get the whole board in one message, which has to fit into a frame.
const BOARD_MAX: usize = 4 << 20;
/// What each task, dependency and deliverable weighs besides its text.
const ENTRY_OVERHEAD: usize = 64;

/// Where a task of a board stands. Any may follow any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoardStatus {
    /// Nobody has begun.
    #[default]
    NotStarted,
    /// It waits for its turn.
    Queued,
    /// Somebody works on it.
    InProgress,
    /// It is done.
    Completed,
    /// It cannot go on.
    Blocked,
    /// It was given up.
    Failed,
}

impl BoardStatus {
    /// Its name.
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

    /// Reads the name back.
    pub fn from_name(name: &str) -> Option<Self> {
        use BoardStatus::{Blocked, Completed, Failed, InProgress, NotStarted, Queued};
        [NotStarted, Queued, InProgress, Completed, Blocked, Failed]
            .into_iter()
            .find(|status| status.name() == name)
    }
}

/// A file that a task gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deliverable {
    /// Where it is.
    pub file_path: String,
    /// What it is.
    pub summary: String,
    /// Which member made it.
    pub author_agent_name: String,
    /// When.
    pub timestamp: Timestamp,
}

impl Deliverable {
    /// About how many bytes it takes.
    fn weight(&self) -> usize {
        let texts = [&self.file_path, &self.summary, &self.author_agent_name];
        ENTRY_OVERHEAD + texts.into_iter().map(String::len).sum::<usize>()
    }
}

/// A task of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardTask {
    /// Its id on this board: `task_0001`, …
    pub id: String,
    /// Its name; the first of a name is meant by it.
    pub name: String,
    /// The member that does it.
    pub assignee: String,
    /// What is to do.
    pub description: String,
    /// The ids of the tasks that come before it.
    pub dependencies: Vec<String>,
    /// Where it stands.
    pub status: BoardStatus,
    /// What it gave.
    pub deliverables: Vec<Deliverable>,
}

impl BoardTask {
    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        let texts = [&self.id, &self.name, &self.assignee, &self.description];
        let texts = texts.into_iter().map(String::len);
        let dependencies = self.dependencies.iter();
        let dependencies = dependencies.map(|id| ENTRY_OVERHEAD + id.len());
        let deliverables = self.deliverables.iter().map(Deliverable::weight);
        ENTRY_OVERHEAD + texts.chain(dependencies).chain(deliverables).sum::<usize>()
    }
}

/// A task that is to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// Its name, which no other task of the board has.
    pub name: String,
    /// The member that does it.
    pub assignee: String,
    /// What is to do.
    pub description: String,
    /// The names or ids of the tasks that come before it: those on the board, and those added with it.
    pub dependencies: Vec<String>,
}

/// What is to be changed of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskChange {
    /// Where it stands now.
    pub status: Option<BoardStatus>,
    /// What it gave, besides what it gave before.
    pub deliverables: Vec<NewDeliverable>,
    /// The names or ids of all tasks that come before it.
    pub dependencies: Option<Vec<String>>,
    /// The member that does it.
    pub assignee: Option<String>,
    /// What is to do.
    pub description: Option<String>,
}

/// A file that a task just gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDeliverable {
    /// Where it is.
    pub file_path: String,
    /// What it is.
    pub summary: String,
}

/// How a board changed.
#[derive(Debug, Clone, PartialEq)]
pub enum BoardChange {
    /// Tasks were added, or one was changed in something else than its status and what it gave.
    Created {
        /// These.
        added: Arc<[BoardTask]>,
        /// With all that were there before, in order.
        all: Arc<[BoardTask]>,
    },
    /// A task's status was set.
    Status {
        /// Which.
        task: String,
        /// To what.
        new: BoardStatus,
        /// Which member did it.
        by: String,
        /// What it gave, if anything new.
        deliverables: Vec<Deliverable>,
    },
}

impl BoardChange {
    /// About how many bytes it takes. The whole board counts each time, since each change holds it as it was.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Created { added, all } => weight(added) + weight(all),
            Self::Status {
                task,
                by,
                deliverables,
                ..
            } => {
                let given = deliverables.iter().map(Deliverable::weight);
                task.len() + by.len() + given.sum::<usize>()
            }
        }
    }
}

/// The board of a team. Whatever is refused leaves it as it was. No task on it waits for itself, not by way of others either.
#[derive(Debug)]
pub struct Board {
    tasks: Arc<[BoardTask]>,
    /// How many tasks there may be.
    max: usize,
    /// The number of the last id. Ids are not given twice.
    last: u64,
}

impl Board {
    /// A board with the tasks that are on it already.
    pub(crate) fn new(tasks: Vec<BoardTask>, max: usize) -> Self {
        let number = |task: &BoardTask| task.id.strip_prefix("task_")?.parse::<u32>().ok();
        let last = tasks.iter().filter_map(number).max().unwrap_or(0);
        Self {
            tasks: tasks.into(),
            max,
            last: last.into(),
        }
    }

    /// All tasks, in the order in which they were added.
    pub fn tasks(&self) -> Arc<[BoardTask]> {
        self.tasks.clone()
    }

    /// Adds tasks, all or none. `members` says whose names, or route keys, they may be given to. A failure names the field as
    /// the request has it: `tasks[2].dependencies[0]`.
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
        let places = Places::of(&all);
        let mut waits = places.waits(&all);
        for (place, wanted) in (first..).zip(&wanted) {
            waits[place] = resolve(&places, wanted, &field(place))?;
        }
        refuse_ring(&all, &waits, |place| (place >= first).then(|| field(place)))?;
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

    /// What can be said of new tasks one by one.
    fn check(&self, new: &[NewTask], members: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
        if new.is_empty() {
            return Err(invalid("tasks", "is empty: what is to do?"));
        }
        if self.tasks.len() + new.len() > self.max {
            let text = format!("the board has no room for more than {} tasks", self.max);
            return Err(Failure::new(Reason::Busy, text));
        }
        let places = Places::of(&self.tasks);
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

    /// Changes a task, given by its id or its name. `by` is the member that does it. Returns the task as it is now and what
    /// there is to show: the task, if it is described anew; its status, if that changed or it gave something.
    pub fn change(
        &mut self,
        which: &str,
        change: TaskChange,
        by: &str,
        now: Timestamp,
        members: &dyn Fn(&str) -> bool,
    ) -> Result<(BoardTask, Vec<BoardChange>), Failure> {
        let places = Places::of(&self.tasks);
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
            refuse_ring(&self.tasks, &waits, field)?;
            task.dependencies = ids(&self.tasks, &waits[place]);
        }
        let is_described_anew = task != *old;

        for (index, given) in change.deliverables.iter().enumerate() {
            let field = |name: &str| format!("deliverables[{index}].{name}");
            check_filled(&field("file_path"), &given.file_path)?;
            check_text(&field("summary"), &given.summary)?;
        }
        let given = change.deliverables.into_iter().map(|given| Deliverable {
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

    /// Tasks that could begin: nobody has, and all that they wait for is completed.
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

/// The places of the tasks that are waited for, as many as were named.
fn resolve(places: &Places<'_>, wanted: &[String], field: &str) -> Result<Vec<usize>, Failure> {
    let found = wanted.iter().enumerate().map(|(index, which)| {
        places.find(which).ok_or_else(|| {
            let why = format!("is no task of this board: {}", shown(which));
            invalid(&format!("{field}[{index}]"), why)
        })
    });
    found.collect()
}

/// The ids of the tasks at these places, each once.
fn ids(tasks: &[BoardTask], places: &[usize]) -> Vec<String> {
    let mut seen = HashSet::new();
    let places = places.iter().filter(|place| seen.insert(**place));
    places.map(|place| tasks[*place].id.clone()).collect()
}

/// Refuses tasks that wait for themselves. `field` is where the request says what a task waits for, if it says so.
fn refuse_ring(
    tasks: &[BoardTask],
    waits: &[Vec<usize>],
    field: impl Fn(usize) -> Option<String>,
) -> Result<(), Failure> {
    let ring = ring(waits).unwrap_or_default();
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

/// Refuses what makes a board too heavy. One that is so already may still be made lighter.
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

/// What a peer wrote, in quotes and not longer than a name.
fn shown(text: &str) -> String {
    let text: String = text.chars().take(MAX_NAME).collect();
    format!("{text:?}")
}
