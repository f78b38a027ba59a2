//! Ends child processes together with their own children. Each process leads a process group, watched by a
//! task that outlives the code that started the process. A dropped turn therefore leaves no orphans.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::{process::Child, sync::watch, time};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::process::ProcessExit;

/// Time between SIGTERM and SIGKILL for a process group.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval for polling whether a group is empty; the kernel sends no event for that.
const LOOK: Duration = Duration::from_millis(20);
/// Time for a killed group to vanish, which is up to the kernel.
const LAST: Duration = Duration::from_secs(1);

/// Ends processes. Clones share the same state.
#[derive(Debug, Clone, Default)]
pub struct Reaper {
    pub(crate) tasks: TaskTracker,
    /// Set to end all processes.
    stop_all: CancellationToken,
    /// Set to kill all processes at once.
    kill_all: CancellationToken,
}

impl Reaper {
    /// Creates a reaper without processes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all running processes and waits for their end, at most a few seconds.
    pub async fn finish(&self) {
        self.stop_all.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Kills all running processes at once and waits for their end.
    pub async fn kill(&self) {
        self.kill_all.cancel();
        self.finish().await;
    }

    /// Watches a process, the leader of `group`, until the process and its group are gone.
    pub(crate) fn watch(&self, child: Child, group: Pid) -> WatchedProcess {
        let (exit, exited) = watch::channel(None);
        let let_go = self.stop_all.child_token();
        let gone = CancellationToken::new();
        let warden = GroupWatcher {
            child,
            group,
            exit,
            let_go: let_go.clone(),
            hurry: self.kill_all.clone(),
        };
        let is_gone = gone.clone();
        self.tasks.spawn(async move {
            warden.watch().await;
            is_gone.cancel();
        });
        WatchedProcess {
            let_go,
            exited,
            gone,
        }
    }
}

/// State of a process watched by a [`Reaper`].
#[derive(Debug)]
pub(crate) struct WatchedProcess {
    /// Cancelled to end the process and its group.
    pub(crate) let_go: CancellationToken,
    /// Exit of the process.
    pub(crate) exited: watch::Receiver<Option<ProcessExit>>,
    /// Cancelled when the whole group has ended.
    pub(crate) gone: CancellationToken,
}

struct GroupWatcher {
    child: Child,
    group: Pid,
    exit: watch::Sender<Option<ProcessExit>>,
    let_go: CancellationToken,
    hurry: CancellationToken,
}

impl GroupWatcher {
    async fn watch(mut self) {
        tokio::select! {
            status = self.child.wait() => self.ended(status.ok()),
            () = self.let_go.cancelled() => {}
        }
        // Children of the process must end too, even if the process itself succeeded.
        let is_empty = kill_process_group(self.group, Signal::TERM).is_err();
        if is_empty && self.exit.borrow().is_some() {
            return;
        }
        let hurry = self.hurry.clone();
        let ended_by_itself = tokio::select! {
            ended = time::timeout(PATIENCE, self.emptied()) => ended.is_ok(),
            () = hurry.cancelled() => false,
        };
        if !ended_by_itself {
            // An error means that the group is already empty.
            kill_process_group(self.group, Signal::KILL).ok();
            time::timeout(LAST, self.emptied()).await.ok();
        }
        // Report an exit even for a process that cannot be killed.
        self.ended(None);
    }

    /// Waits until the process has ended and its group is empty.
    async fn emptied(&mut self) {
        if self.exit.borrow().is_none() {
            let status = self.child.wait().await.ok();
            self.ended(status);
        }
        while test_kill_process_group(self.group).is_ok() {
            time::sleep(LOOK).await;
        }
    }

    /// Reports the exit of the process, once.
    fn ended(&self, status: Option<std::process::ExitStatus>) {
        let exit = status.map_or_else(ProcessExit::unknown, ProcessExit::from);
        self.exit.send_if_modified(|told| {
            let is_first = told.is_none();
            told.get_or_insert(exit);
            is_first
        });
    }
}
