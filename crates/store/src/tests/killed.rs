//! A hub that is killed at every store write: just before and just after each commit of a scenario with durable
//! tasks. The next hub starts from the files that the killed one left, agents and callers go on as they would, and
//! the promises about durable tasks are checked (docs/promises.md: The log, Restarts, Callbacks).
//!
//! A kill is simulated in this process. At the chosen commit the writer copies the database files, as `kill -9` would
//! leave them, and stops: nothing that the hub does afterwards is written, and nobody is told of anything any more.

mod agent;
mod caller;
mod checks;
mod observed;

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use jackfield_core::{hub::Hub, limits::Limits};
use parking_lot::{Condvar, Mutex};
use tokio::{runtime::Runtime, sync::Notify, time::timeout};

use self::{agent::Agents, caller::Caller, observed::Observations};
use crate::{SqliteStore, commit_hook::CommitPoint};

/// Long enough for any machine.
const AT_MOST: Duration = Duration::from_secs(60);

/// Kills the hub at one commit.
struct KillSwitch {
    /// Number of the commit, from 1 on.
    commit: usize,
    point: CommitPoint,
    /// Number of commits that were begun.
    begun: AtomicUsize,
    killed: Notify,
    /// Whether the stopped writer may end.
    released: Mutex<bool>,
    release: Condvar,
}

impl KillSwitch {
    fn new(commit: usize, point: CommitPoint) -> Arc<Self> {
        Arc::new(Self {
            commit,
            point,
            begun: AtomicUsize::new(0),
            killed: Notify::new(),
            released: Mutex::new(false),
            release: Condvar::new(),
        })
    }

    /// Kills `store` when it comes to the commit, and leaves its files in `left`.
    fn arm(self: &Arc<Self>, store: &SqliteStore, left: &Path) {
        let (switch, from, left) = (self.clone(), store.data_dir.clone(), left.to_owned());
        store.queue.commit_hook.set(move |point| {
            let begun = match point {
                CommitPoint::Before => switch.begun.fetch_add(1, Ordering::Relaxed) + 1,
                CommitPoint::After | CommitPoint::Checkpoint => {
                    switch.begun.load(Ordering::Relaxed)
                }
            };
            if (begun, point) == (switch.commit, switch.point) {
                switch.kill(&from, &left);
            }
        });
    }

    /// Runs in the writer.
    fn kill(&self, from: &Path, left: &Path) {
        for file in ["jackfield.db", "jackfield.db-wal"] {
            fs::copy(from.join(file), left.join(file)).unwrap();
        }
        self.killed.notify_one();
        let mut released = self.released.lock();
        self.release
            .wait_while(&mut released, |released| !*released);
        // Ends the thread, without the message of a panic.
        std::panic::resume_unwind(Box::new("killed"));
    }

    fn release(&self) {
        *self.released.lock() = true;
        self.release.notify_one();
    }
}

/// Runs the scenario from wherever it was left to its end, on the database in `dir`.
async fn run_scenario(dir: &Path, observed: &Arc<Observations>, store: Arc<SqliteStore>) {
    let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
    let agents = Agents::new(&hub, &store, observed);
    let caller = Caller::new(&hub, &agents, observed);
    tokio::select! {
        () = caller.run() => {}
        never = agents.watch() => never,
    }
    checks::check_end(&hub, &store, observed).await;
    assert_eq!(crate::check(dir).unwrap().problems, Vec::<String>::new());
}

fn runtime() -> Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap()
}

/// Runs the scenario, kills its hub at a commit, and goes on with another. Returns false if there were fewer commits.
fn kill_at(commit: usize, point: CommitPoint, resumes: bool) -> bool {
    let (dir, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let observed = Observations::new(resumes);
    let switch = KillSwitch::new(commit, point);
    let store = Arc::new(SqliteStore::open(dir.path()).unwrap());
    switch.arm(&store, left.path());
    let first = runtime();
    let is_killed = first.block_on(async {
        let scenario = run_scenario(dir.path(), &observed, store.clone());
        tokio::select! {
            biased;
            () = switch.killed.notified() => true,
            ended = timeout(AT_MOST, scenario) => {
                ended.expect("the scenario ends");
                false
            }
        }
    });
    // What the first hub does from here on reaches nobody.
    observed.cut_connections();
    switch.release();
    drop((first, store));
    if is_killed {
        checks::check_left(left.path(), &observed);
        runtime().block_on(async {
            let store = Arc::new(SqliteStore::open(left.path()).unwrap());
            let ended = timeout(AT_MOST, run_scenario(left.path(), &observed, store)).await;
            ended.expect("the scenario goes on after the restart");
        });
    }
    is_killed
}

/// Kills the hub at every commit, one after the other. How many there are differs from run to run: writes that come
/// at once share a commit.
fn kill_at_every_commit(point: CommitPoint, resumes: bool) {
    let is_told = |commit: usize| {
        let kill = || kill_at(commit, point, resumes);
        std::panic::catch_unwind(kill).unwrap_or_else(|panic| {
            eprintln!("killed {point:?} commit {commit}; agents that resume: {resumes}");
            std::panic::resume_unwind(panic)
        })
    };
    let commits = (1..).take_while(|commit| is_told(*commit)).count();
    assert!(commits > 10, "only {commits} commits");
    println!("killed {point:?} each of {commits} commits; agents that resume: {resumes}");
}

#[test]
fn a_hub_that_is_killed_at_any_store_write_keeps_its_promises() {
    thread::scope(|scope| {
        for point in [CommitPoint::Before, CommitPoint::After] {
            for resumes in [true, false] {
                scope.spawn(move || kill_at_every_commit(point, resumes));
            }
        }
    });
}
