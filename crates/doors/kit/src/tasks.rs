//! The tasks of a server: connections, upgraded connections and HTTP/2 streams. [`Tasks`] counts them, asks
//! them to stop with one token, and drops them with a second token after a time limit, so that no task
//! outlives the server.

use std::{future::Future, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument as _;

/// A set of tasks that stop together. Clones share one set.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    kill: CancellationToken,
}

impl Tasks {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty set that stops when `parent` is cancelled.
    pub fn below(parent: &CancellationToken) -> Self {
        Self {
            stop: parent.child_token(),
            ..Self::default()
        }
    }

    /// Returns the token that asks the tasks to stop.
    pub fn stop_token(&self) -> &CancellationToken {
        &self.stop
    }

    /// Returns the number of running tasks.
    pub fn len(&self) -> usize {
        self.tracker.len()
    }

    /// Returns whether no task is running.
    pub fn is_empty(&self) -> bool {
        self.tracker.is_empty()
    }

    /// Runs a task until its end, or until [`stop`](Self::stop) drops the remaining tasks.
    pub fn spawn<F>(&self, task: F)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // Boxed: `run_until_cancelled_owned` would hold the future three times.
        let task = Box::pin(task.in_current_span());
        let kill = self.kill.clone();
        self.tracker.spawn(kill.run_until_cancelled_owned(task));
    }

    /// Asks all tasks to stop, waits up to `limit`, then drops the remaining ones. Returns the number of
    /// dropped tasks.
    pub async fn stop(&self, limit: Duration) -> usize {
        self.stop.cancel();
        self.tracker.close();
        if tokio::time::timeout(limit, self.tracker.wait())
            .await
            .is_ok()
        {
            return 0;
        }
        let left = self.tracker.len();
        self.kill.cancel();
        self.tracker.wait().await;
        left
    }
}

/// Executor of HTTP/2 connections: each HTTP/2 stream runs as a separate task.
impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, task: F) {
        self.spawn(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tasks_that_stop_in_time_are_not_dropped() {
        let tasks = Tasks::new();
        let stop = tasks.stop_token().clone();
        tasks.spawn(async move { stop.cancelled().await });
        assert_eq!(tasks.stop(Duration::from_secs(1)).await, 0);
        assert!(tasks.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_that_do_not_stop_are_dropped_after_the_limit() {
        let tasks = Tasks::new();
        let (guard, dropped) = tokio::sync::oneshot::channel::<()>();
        tasks.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        assert_eq!(tasks.stop(Duration::from_secs(1)).await, 1);
        assert!(dropped.await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn cancelling_the_parent_tells_the_tasks_below() {
        let parent = CancellationToken::new();
        let tasks = Tasks::below(&parent);
        let stop = tasks.stop_token().clone();
        tasks.spawn(async move { stop.cancelled().await });
        parent.cancel();
        assert_eq!(tasks.stop(Duration::from_secs(1)).await, 0);
    }
}
