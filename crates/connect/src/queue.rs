//! Machine-wide queue: limits how many messages local agents work on at once, across all processes.
//!
//! Processes share the queue through a folder. Ownership is expressed by file locks of the operating system,
//! which end with the process in any case. No heartbeat is needed, and a dead process leaves no lock to time
//! out.
//!
//! ```text
//! lock           held while a number or a slot is taken
//! number         the last number that was assigned
//! members/N      locked while the process with member number N lives
//! members/N.line the numbers waiting in this process; written by this process only
//! places/N       locked while a message is worked on in this slot
//! ```
//!
//! The lowest number of all living members is next. Child processes do not inherit the files: the locks end
//! with this process and not with the agents that it started.

mod folder;
mod numbers;

use std::{fmt, io, path::PathBuf, sync::Arc, time::Duration};

use jackfield_sdk::AgentFailure;
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};

use self::{folder::QueueFolder, numbers::WaitingNumbers};

/// Poll interval of the next waiter for a slot freed by a different process.
const LOOK: Duration = Duration::from_millis(100);
/// Wait before retrying while a different process holds the folder's lock.
const MOMENT: Duration = Duration::from_millis(2);

/// Limits of a [`MachineQueue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Most messages in progress.
    pub active: usize,
    /// Most messages waiting.
    pub waiting: usize,
    /// Longest wait of a message.
    pub patience: Duration,
}

impl Default for QueueLimits {
    /// Returns the limits of the published bridge client. A local agent is a process with a model behind it,
    /// and more than ten at once slow each other down. Ten minutes is how long a hub waits for a queue.
    fn default() -> Self {
        Self {
            active: 10,
            waiting: 1000,
            patience: Duration::from_secs(600),
        }
    }
}

/// Why no [`QueueSlot`] is available.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// Too many messages are waiting.
    #[error("this machine is busy: {0} requests are waiting for it already; try again later")]
    Full(usize),
    /// The wait took too long.
    #[error("this machine is busy: no place became free within {} s; try again later", .0.as_secs())]
    Late(Duration),
    /// The folder cannot be used.
    #[error("the queue of this machine cannot be used: {0}")]
    Broken(#[from] io::Error),
}

impl From<QueueError> for AgentFailure {
    fn from(busy: QueueError) -> Self {
        let code = match busy {
            QueueError::Full(_) | QueueError::Late(_) => "agent_busy",
            QueueError::Broken(_) => "internal_error",
        };
        Self::new(code, busy.to_string())
    }
}

/// Handle of the machine-wide queue. Cheap to clone.
#[derive(Clone)]
pub struct MachineQueue {
    shared: Arc<QueueShared>,
}

struct QueueShared {
    limits: QueueLimits,
    folder: QueueFolder,
    /// Waiting numbers of this process. Locked before the folder, so that only processes compete for the
    /// folder's lock.
    line: Mutex<WaitingNumbers>,
    /// Notified when a number or a slot of this process is released.
    moved: Notify,
}

impl fmt::Debug for MachineQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

/// Result of [`MachineQueue::line_up`].
#[derive(Debug)]
pub enum QueueEntry {
    /// A free slot.
    Place(QueueSlot),
    /// A number in the queue.
    Waiting(QueueTicket),
}

impl MachineQueue {
    /// Opens the queue in a folder with these [`QueueLimits`]. The folder is created if missing.
    pub fn open(dir: impl Into<PathBuf>, limits: QueueLimits) -> io::Result<Self> {
        let shared = QueueShared {
            limits,
            folder: QueueFolder::open(dir.into())?,
            line: Mutex::default(),
            moved: Notify::new(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Waits for a [`QueueSlot`].
    pub async fn enter(&self) -> Result<QueueSlot, QueueError> {
        match self.line_up().await? {
            QueueEntry::Place(place) => Ok(place),
            QueueEntry::Waiting(waiting) => waiting.slot().await,
        }
    }

    /// Takes a slot if one is free and no message waits; takes a number otherwise.
    pub async fn line_up(&self) -> Result<QueueEntry, QueueError> {
        let until = Instant::now() + self.shared.limits.patience;
        loop {
            if let Some(entry) = self.blocking(Self::try_line_up).await? {
                return Ok(entry.into_entry(until));
            }
            if Instant::now() >= until {
                return Err(QueueError::Late(self.shared.limits.patience));
            }
            sleep(MOMENT).await;
        }
    }

    /// Returns `None` if a different process holds the folder's lock.
    fn try_line_up(&self) -> Result<Option<LineUpOutcome>, QueueError> {
        let shared = &self.shared;
        let mut line = shared.line.lock();
        let Some(locked) = shared.folder.try_lock()? else {
            return Ok(None);
        };
        locked.join(&mut line)?;
        let waiting = locked.others_waiting(&line)? + line.len();
        if waiting == 0
            && let Some(file) = locked.free_slot(shared.limits.active)?
        {
            let place = QueueSlot {
                file: Some(file),
                queue: self.clone(),
            };
            return Ok(Some(LineUpOutcome::Place(place)));
        }
        if waiting >= shared.limits.waiting {
            return Err(QueueError::Full(waiting));
        }
        let number = locked.next_number()?;
        line.add(number)?;
        Ok(Some(LineUpOutcome::Number(QueueNumber {
            number,
            ahead: waiting,
            queue: self.clone(),
        })))
    }

    /// Takes a slot for a number, if the number is next and a slot is free.
    fn try_slot(&self, number: u64) -> Result<Option<QueueSlot>, QueueError> {
        let shared = &self.shared;
        let mut line = shared.line.lock();
        let Some(locked) = shared.folder.try_lock()? else {
            return Ok(None);
        };
        if line.first() != Some(number) || locked.has_lower_number(number, &line)? {
            return Ok(None);
        }
        let Some(file) = locked.free_slot(shared.limits.active)? else {
            return Ok(None);
        };
        line.remove(number);
        drop(line);
        shared.moved.notify_waiters();
        Ok(Some(QueueSlot {
            file: Some(file),
            queue: self.clone(),
        }))
    }

    /// Runs file operations on a blocking thread. If the caller is dropped meanwhile, dropping the result
    /// releases it.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, QueueError> + Send + 'static,
    ) -> Result<T, QueueError> {
        let queue = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&queue)).await;
        done.map_err(|error| QueueError::Broken(io::Error::other(error)))?
    }
}

/// Result of an attempt to line up.
enum LineUpOutcome {
    Place(QueueSlot),
    Number(QueueNumber),
}

impl LineUpOutcome {
    fn into_entry(self, until: Instant) -> QueueEntry {
        match self {
            Self::Place(place) => QueueEntry::Place(place),
            Self::Number(number) => QueueEntry::Waiting(QueueTicket { number, until }),
        }
    }
}

/// A waiting message, obtained from [`MachineQueue::line_up`]. Dropping it leaves the queue.
#[derive(Debug)]
pub struct QueueTicket {
    number: QueueNumber,
    until: Instant,
}

impl QueueTicket {
    /// Returns how many messages were ahead when this one joined.
    pub fn ahead(&self) -> usize {
        self.number.ahead
    }

    /// Waits until the number is next and a slot is free.
    pub async fn slot(self) -> Result<QueueSlot, QueueError> {
        let QueueNumber { number, queue, .. } = &self.number;
        let shared = &queue.shared;
        loop {
            // Enabled before the check, so that no notification is missed.
            let moved = shared.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            let is_first = shared.line.lock().first() == Some(*number);
            if is_first {
                let number = *number;
                let taken = queue.blocking(move |queue| queue.try_slot(number)).await?;
                if let Some(place) = taken {
                    return Ok(place);
                }
            }
            tokio::select! {
                () = moved => {}
                () = sleep(LOOK), if is_first => {}
                () = sleep_until(self.until) => return Err(QueueError::Late(shared.limits.patience)),
            }
        }
    }
}

/// A number in the queue.
#[derive(Debug)]
struct QueueNumber {
    number: u64,
    ahead: usize,
    queue: MachineQueue,
}

impl Drop for QueueNumber {
    fn drop(&mut self) {
        let shared = &self.queue.shared;
        // A number that got a slot has been removed already.
        if shared.line.lock().remove(self.number) {
            shared.moved.notify_waiters();
        }
    }
}

/// A slot to work in. Dropping it frees the slot.
pub struct QueueSlot {
    file: Option<std::fs::File>,
    queue: MachineQueue,
}

impl fmt::Debug for QueueSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        // Closing the file releases the lock; notify only afterwards.
        drop(self.file.take());
        self.queue.shared.moved.notify_waiters();
    }
}
