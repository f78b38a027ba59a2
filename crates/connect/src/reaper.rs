//! Who ends the processes that were started here, with everything that they started themselves. Each process is a group
//! of its own, watched by a task that outlives whoever started it: a turn that is dropped leaves no orphan.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::{process::Child, sync::watch, time};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::process::Exit;

/// How long a group that was asked to end may take before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often is looked whether a group is empty, which nobody tells.
const LOOK: Duration = Duration::from_millis(20);
/// How long a killed group may take to vanish, which is up to the kernel.
const LAST: Duration = Duration::from_secs(1);

/// Who ends processes. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Reaper {
    pub(crate) tasks: TaskTracker,
    /// All are to end.
    over: CancellationToken,
    /// Nobody waits any longer.
    hurry: CancellationToken,
}

impl Reaper {
    /// One that watches nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all that still run, and waits until they have. No later than some seconds.
    pub async fn finish(&self) {
        self.over.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Kills at once whatever is still running, and waits until it is gone.
    pub async fn kill(&self) {
        self.hurry.cancel();
        self.finish().await;
    }

    /// Watches a process, which is the first of its group, until it and its group are gone.
    pub(crate) fn watch(&self, child: Child, group: Pid) -> Watched {
        let (exit, exited) = watch::channel(None);
        let let_go = self.over.child_token();
        let gone = CancellationToken::new();
        let warden = Warden {
            child,
            group,
            exit,
            let_go: let_go.clone(),
            hurry: self.hurry.clone(),
        };
        let is_gone = gone.clone();
        self.tasks.spawn(async move {
            warden.watch().await;
            is_gone.cancel();
        });
        Watched {
            let_go,
            exited,
            gone,
        }
    }
}

/// What is known of a process that is watched.
#[derive(Debug)]
pub(crate) struct Watched {
    /// Ends the process and its group.
    pub(crate) let_go: CancellationToken,
    /// How the process ended.
    pub(crate) exited: watch::Receiver<Option<Exit>>,
    /// Its whole group has ended.
    pub(crate) gone: CancellationToken,
}

struct Warden {
    child: Child,
    group: Pid,
    exit: watch::Sender<Option<Exit>>,
    let_go: CancellationToken,
    hurry: CancellationToken,
}

impl Warden {
    async fn watch(mut self) {
        tokio::select! {
            status = self.child.wait() => self.ended(status.ok()),
            () = self.let_go.cancelled() => {}
        }
        // What it started must end too, even if the process itself has ended well.
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
            // Nothing is left if this fails.
            kill_process_group(self.group, Signal::KILL).ok();
            time::timeout(LAST, self.emptied()).await.ok();
        }
        // A process that cannot even be killed has an end for us all the same.
        self.ended(None);
    }

    /// Waits until the process has ended and nobody is left in its group.
    async fn emptied(&mut self) {
        if self.exit.borrow().is_none() {
            let status = self.child.wait().await.ok();
            self.ended(status);
        }
        while test_kill_process_group(self.group).is_ok() {
            time::sleep(LOOK).await;
        }
    }

    /// Tells how the process ended, once.
    fn ended(&self, status: Option<std::process::ExitStatus>) {
        let exit = status.map_or_else(Exit::unknown, Exit::from);
        self.exit.send_if_modified(|told| {
            let is_first = told.is_none();
            told.get_or_insert(exit);
            is_first
        });
    }
}
