//! The tasks of a server: its connections, what they were upgraded to, and HTTP/2 streams. All of them
//! are counted, told to stop by one token, and dropped by another when their time is up, so that none
//! outlives the server.

use std::{future::Future, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A set of tasks that stop together; clones are the same set.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    kill: CancellationToken,
}

impl Tasks {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty set that is told to stop when `parent` is cancelled.
    pub fn below(parent: &CancellationToken) -> Self {
        Self {
            stop: parent.child_token(),
            ..Self::default()
        }
    }

    /// The token that tells a task to come to its end.
    pub fn stop_token(&self) -> &CancellationToken {
        &self.stop
    }

    /// How many tasks are running.
    pub fn len(&self) -> usize {
        self.tracker.len()
    }

    /// Whether no task is running.
    pub fn is_empty(&self) -> bool {
        self.tracker.is_empty()
    }

    /// Runs a task until it ends, or until the set's time is up.
    pub fn spawn<F>(&self, task: F)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // In a box: what runs it until the kill holds it three times over.
        let task = Box::pin(task);
        let kill = self.kill.clone();
        self.tracker.spawn(kill.run_until_cancelled_owned(task));
    }

    /// Tells all tasks to stop, waits up to `limit`, then drops those that are left. Returns how many
    /// had to be dropped.
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

/// HTTP/2 runs each of its streams as a task of its own.
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
