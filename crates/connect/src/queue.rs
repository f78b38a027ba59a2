//! The queue of this machine: how many messages its agents work on at once, whichever process brought them.
//!
//! Processes share it through a folder. What one of them holds, it holds by locks of the operating system, which end with
//! the process however it ends: nothing has to be kept alive, and nothing of a dead process has to wait for a clock.
//!
//! ```text
//! lock           held for the moment in which a number or a place is taken
//! number         the last number that was given out
//! members/N      locked as long as the process lives that is member N
//! members/N.line the numbers that wait in it; written by it alone
//! places/N       locked while somebody works there
//! ```
//!
//! Whoever has the lowest number of all living members is next. Files are never handed to children: their locks end with
//! this process and not with the agents that it started.

mod folder;
mod line;

use std::{fmt, io, path::PathBuf, sync::Arc, time::Duration};

use jackfield_sdk::Failure;
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};

use self::{folder::Folder, line::Line};

/// How often whoever is next looks for a place that another process freed.
const LOOK: Duration = Duration::from_millis(100);
/// How long to leave it to whoever is just taking a number or a place.
const MOMENT: Duration = Duration::from_millis(2);

/// How much the machine takes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many may work at once.
    pub active: usize,
    /// How many may wait.
    pub waiting: usize,
    /// How long one may wait.
    pub patience: Duration,
}

impl Default for Limits {
    /// What the published client of the bridge does: a local agent is a process with a model behind it, and more than ten
    /// at once are slower for all; ten minutes are as long as a hub waits for a queue.
    fn default() -> Self {
        Self {
            active: 10,
            waiting: 1000,
            patience: Duration::from_secs(600),
        }
    }
}

/// Why there is no place.
#[derive(Debug, thiserror::Error)]
pub enum Busy {
    /// Too many wait already.
    #[error("this machine is busy: {0} requests are waiting for it already; try again later")]
    Full(usize),
    /// It took too long.
    #[error("this machine is busy: no place became free within {} s; try again later", .0.as_secs())]
    Late(Duration),
    /// The folder cannot be used.
    #[error("the queue of this machine cannot be used: {0}")]
    Broken(#[from] io::Error),
}

impl From<Busy> for Failure {
    fn from(busy: Busy) -> Self {
        let code = match busy {
            Busy::Full(_) | Busy::Late(_) => "agent_busy",
            Busy::Broken(_) => "internal_error",
        };
        Self::new(code, busy.to_string())
    }
}

/// The queue. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    shared: Arc<Shared>,
}

struct Shared {
    limits: Limits,
    folder: Folder,
    /// Those of this process that wait. Taken before the lock of the folder, so that only processes meet there.
    line: Mutex<Line>,
    /// Somebody of this process left the line or a place.
    moved: Notify,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

/// What somebody gets who wants in.
#[derive(Debug)]
pub enum Entry {
    /// A place, at once.
    Place(Place),
    /// A number.
    Waiting(Waiting),
}

impl Queue {
    /// The queue in this folder, which is made if it is not there.
    pub fn open(dir: impl Into<PathBuf>, limits: Limits) -> io::Result<Self> {
        let shared = Shared {
            limits,
            folder: Folder::open(dir.into())?,
            line: Mutex::default(),
            moved: Notify::new(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Waits for a place.
    pub async fn enter(&self) -> Result<Place, Busy> {
        match self.line_up().await? {
            Entry::Place(place) => Ok(place),
            Entry::Waiting(waiting) => waiting.place().await,
        }
    }

    /// Takes a place if nobody waits and one is free, and a number otherwise.
    pub async fn line_up(&self) -> Result<Entry, Busy> {
        let until = Instant::now() + self.shared.limits.patience;
        loop {
            if let Some(entry) = self.blocking(Self::try_line_up).await? {
                return Ok(entry.into_entry(until));
            }
            if Instant::now() >= until {
                return Err(Busy::Late(self.shared.limits.patience));
            }
            sleep(MOMENT).await;
        }
    }

    /// Nothing if another process is just at it.
    fn try_line_up(&self) -> Result<Option<Got>, Busy> {
        let shared = &self.shared;
        let mut line = shared.line.lock();
        let Some(locked) = shared.folder.try_lock()? else {
            return Ok(None);
        };
        locked.join(&mut line)?;
        let waiting = locked.others_waiting(&line)? + line.len();
        if waiting == 0
            && let Some(file) = locked.free_place(shared.limits.active)?
        {
            let place = Place {
                file: Some(file),
                queue: self.clone(),
            };
            return Ok(Some(Got::Place(place)));
        }
        if waiting >= shared.limits.waiting {
            return Err(Busy::Full(waiting));
        }
        let number = locked.next_number()?;
        line.add(number)?;
        Ok(Some(Got::Number(Number {
            number,
            ahead: waiting,
            queue: self.clone(),
        })))
    }

    /// A place for a number, if it is next and a place is free.
    fn try_place(&self, number: u64) -> Result<Option<Place>, Busy> {
        let shared = &self.shared;
        let mut line = shared.line.lock();
        let Some(locked) = shared.folder.try_lock()? else {
            return Ok(None);
        };
        if line.first() != Some(number) || locked.is_anyone_before(number, &line)? {
            return Ok(None);
        }
        let Some(file) = locked.free_place(shared.limits.active)? else {
            return Ok(None);
        };
        line.remove(number);
        drop(line);
        shared.moved.notify_waiters();
        Ok(Some(Place {
            file: Some(file),
            queue: self.clone(),
        }))
    }

    /// Does something with files beside the async threads. Whatever it gives to somebody who is gone is given back.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Busy> + Send + 'static,
    ) -> Result<T, Busy> {
        let queue = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&queue)).await;
        done.map_err(|error| Busy::Broken(io::Error::other(error)))?
    }
}

/// What came of lining up.
enum Got {
    Place(Place),
    Number(Number),
}

impl Got {
    fn into_entry(self, until: Instant) -> Entry {
        match self {
            Self::Place(place) => Entry::Place(place),
            Self::Number(number) => Entry::Waiting(Waiting { number, until }),
        }
    }
}

/// Somebody in the line. Dropping it leaves the line.
#[derive(Debug)]
pub struct Waiting {
    number: Number,
    until: Instant,
}

impl Waiting {
    /// How many were before it when it came.
    pub fn ahead(&self) -> usize {
        self.number.ahead
    }

    /// Waits until it is next and a place is free.
    pub async fn place(self) -> Result<Place, Busy> {
        let Number { number, queue, .. } = &self.number;
        let shared = &queue.shared;
        loop {
            // Heard from here on, so that nothing is missed while one looks.
            let moved = shared.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            let is_first = shared.line.lock().first() == Some(*number);
            if is_first {
                let number = *number;
                let taken = queue.blocking(move |queue| queue.try_place(number)).await?;
                if let Some(place) = taken {
                    return Ok(place);
                }
            }
            tokio::select! {
                () = moved => {}
                () = sleep(LOOK), if is_first => {}
                () = sleep_until(self.until) => return Err(Busy::Late(shared.limits.patience)),
            }
        }
    }
}

/// A number in the line.
#[derive(Debug)]
struct Number {
    number: u64,
    ahead: usize,
    queue: Queue,
}

impl Drop for Number {
    fn drop(&mut self) {
        let shared = &self.queue.shared;
        // Whoever got a place is not in the line any more.
        if shared.line.lock().remove(self.number) {
            shared.moved.notify_waiters();
        }
    }
}

/// A place to work in. Dropping it frees it.
pub struct Place {
    file: Option<std::fs::File>,
    queue: Queue,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Closing it ends the lock. First that, then the news of it.
        drop(self.file.take());
        self.queue.shared.moved.notify_waiters();
    }
}
