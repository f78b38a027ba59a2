//! The caller: starts, follows, answers, continues and cancels tasks, and receives their callbacks. After a restart it
//! begins again, repeats what was not acknowledged under the same idempotency key, and looks up what was.

use std::{sync::Arc, time::Duration};

use jackfield_core::{
    hub::{Hub, Request},
    outbox::{Callback, Settled},
    principal::Principal,
    store::{LogItem, StoreError},
    task::{IdempotencyKey, Task, TaskItem},
};
use jackfield_model::{AgentId, Answer, Event, Failure, Message, Reason};
use jiff::Timestamp;

use super::{
    agent::Agents,
    observed::{Observations, ReceivedCallback, lines},
};

/// How long a message may wait for its agent.
const PATIENCE: Duration = Duration::from_secs(3600);

pub(super) struct Caller<'a> {
    hub: &'a Hub,
    agents: &'a Agents,
    observed: &'a Observations,
}

impl<'a> Caller<'a> {
    pub(super) fn new(hub: &'a Hub, agents: &'a Agents, observed: &'a Observations) -> Self {
        Self {
            hub,
            agents,
            observed,
        }
    }

    /// Each step waits until the one before is acknowledged.
    pub(super) async fn run(&self) {
        self.agents.connect("busy").await;
        self.agents.register("late").await;
        self.two_turns().await.unwrap();
        self.cancelled("cancel me", 1).await.unwrap();
        self.cancelled("stop me", 0).await.unwrap();
        self.waits_for_its_agent().await.unwrap();
    }

    /// A task whose agent asks a question, and then waits for a second message.
    async fn two_turns(&self) -> Result<(), StoreError> {
        let task = self.start("busy", "one").await;
        self.follow(&task).await?;
        self.receive_callbacks().await?;
        let task = match self.accepted("two").await {
            Some(task) => task,
            None => {
                let request = self.request("busy", "two");
                match self.hub.tasks().continue_task(request, &task).await {
                    Ok(next) => {
                        assert_eq!(next.id, task.id);
                        self.note("two", &next);
                        next
                    }
                    Err(failure) => {
                        // The first turn was lost with the hub.
                        assert_eq!(failure.reason, Reason::Conflict, "{failure}");
                        assert!(!self.observed.resumes);
                        return Ok(());
                    }
                }
            }
        };
        self.follow(&task).await?;
        self.receive_callbacks().await
    }

    /// A task that is cancelled after `frames` of its agent are acknowledged.
    async fn cancelled(&self, message: &'static str, frames: u64) -> Result<(), StoreError> {
        let task = self.start("busy", message).await;
        let request = task.record().request;
        let is_answered = self.observed.until(|it| {
            let open = it.open.get(&request);
            open.is_some_and(|open| open.acked >= frames)
        });
        tokio::select! {
            () = is_answered => {}
            () = task.over() => {}
        }
        match self.hub.tasks().cancel(&Principal::local(), task.id).await {
            Ok(()) => {}
            Err(failure) => assert_eq!(failure.reason, Reason::Conflict, "{failure}"),
        }
        self.follow(&task).await?;
        self.receive_callbacks().await
    }

    async fn waits_for_its_agent(&self) -> Result<(), StoreError> {
        let task = self.start("late", "wait for me").await;
        self.agents.connect("late").await;
        self.follow(&task).await?;
        self.receive_callbacks().await
    }

    fn request(&self, agent: &str, message: &'static str) -> Request {
        let target = AgentId::parse(agent).unwrap();
        Request {
            callback: Some(Callback {
                url: "https://example.com/done".into(),
                kind: "bridge".into(),
                data: None,
                token: None,
            }),
            once: Some(IdempotencyKey {
                key: message.into(),
                digest: [1; 32],
            }),
            wait_online: Some(PATIENCE),
            ..Request::new(Principal::local(), "own", target, Message::text(message))
        }
    }

    /// The task that was accepted with this message.
    async fn accepted(&self, message: &str) -> Option<Arc<Task>> {
        let id = self.observed.get(|it| it.accepted.get(message).copied())?;
        let found = self.hub.tasks().find(&Principal::local(), id).await;
        Some(found.expect("an accepted task is kept"))
    }

    fn note(&self, message: &'static str, task: &Task) {
        self.observed.change(|it| {
            it.accepted.insert(message, task.id);
        });
    }

    /// Starts a task, unless it was accepted before.
    async fn start(&self, agent: &str, message: &'static str) -> Arc<Task> {
        if let Some(task) = self.accepted(message).await {
            return task;
        }
        let request = self.request(agent, message);
        let task = self.hub.tasks().start(request).await.unwrap();
        self.note(message, &task);
        task
    }

    /// Reads the log until the turn is over, and answers its question.
    async fn follow(&self, task: &Arc<Task>) -> Result<(), StoreError> {
        let mut reader = task.subscribe(None);
        let mut items = Vec::new();
        while let Some(item) = reader.next().await? {
            let TaskItem::Row { item, .. } = item else {
                panic!("{item:?} from the start of the log");
            };
            if let LogItem::Event(Event::Ask(ask)) = &item {
                self.answer(task, &ask.id);
            }
            items.push(item);
        }
        let read = lines(&items);
        self.observed
            .change(|it| drop(it.logs.insert(task.id, read)));
        Ok(())
    }

    fn answer(&self, task: &Task, ask: &str) {
        let answer = Answer {
            content: Some("this one".into()),
            ..Answer::default()
        };
        let call = task.record().call;
        let answered = self
            .hub
            .calls()
            .answer(&Principal::local(), call, ask, answer);
        // The question of an earlier turn, or one that was answered before the restart.
        let is_over =
            |failure: &Failure| matches!(failure.reason, Reason::NotFound | Reason::Conflict);
        assert!(answered.as_ref().err().is_none_or(is_over), "{answered:?}");
    }

    /// Accepts the callbacks that are due, each at the second attempt.
    async fn receive_callbacks(&self) -> Result<(), StoreError> {
        let callbacks = self.hub.callbacks();
        loop {
            let due = callbacks.due(9).await?;
            if due.is_empty() {
                return Ok(());
            }
            for row in due {
                let mut attempts = 0;
                self.observed.change(|it| {
                    let received = it.callbacks.entry(row.id).or_insert(ReceivedCallback {
                        task: row.task,
                        attempts: 0,
                        is_settled: false,
                    });
                    assert!(!received.is_settled, "{row:?} was settled");
                    assert_eq!(received.task, row.task);
                    received.attempts += 1;
                    attempts = received.attempts;
                });
                let is_accepted = attempts > 1;
                let how = if is_accepted {
                    Settled::Delivered
                } else {
                    let (at, error) = (Timestamp::now(), "503".to_owned());
                    Settled::Retry { at, error }
                };
                callbacks.settle(row.id, how).await?;
                self.observed.change(|it| {
                    if let Some(received) = it.callbacks.get_mut(&row.id) {
                        received.is_settled = is_accepted;
                    }
                });
            }
        }
    }
}
