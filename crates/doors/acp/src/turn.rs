//! [`Turn`]: the reply of an agent to one prompt, read from the log of the hub's task and sent to the editor as updates.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use jackfield_core::{
    store::LogItem,
    task::{Subscription, Task, TaskItem},
};
use jackfield_kit::api::store_failure;
use jackfield_model::{
    Answer, Ask, AskKind, End, Event, Failure, Message, Part, Reason, SessionId,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{
    connection::Shared,
    limits::TOOL_PIECES,
    question::{Asked, Question},
    translate::{ToolPrefix, UpdateRenderer},
    wire::SessionUpdate,
};

/// Shown where a reader lags behind what the hub keeps.
pub(crate) const GAP: &str = "(some of the reply is no longer there)\n";

/// A turn that is read.
#[derive(Debug)]
pub(crate) struct Turn {
    task: Arc<Task>,
    /// Keeps the task from being cancelled for lack of readers, also while it waits for an answer.
    reader: Subscription,
    renderer: UpdateRenderer,
    /// Question that was shown as text.
    shown: Option<String>,
}

/// Why reading a turn stopped.
#[derive(Debug)]
pub(crate) enum TurnStop {
    /// The turn ended.
    Ended(End),
    /// A question was shown as text. The next prompt is the answer.
    Asked,
}

impl Turn {
    /// Reads the turn that has just begun.
    pub(crate) fn new(shared: &Shared, task: Arc<Task>) -> Self {
        let start = task.turn();
        let prefix = ToolPrefix::new(task.id, start.map_or(0, |cursor| cursor.pos));
        Self {
            reader: task.subscribe(start),
            renderer: renderer(shared, &task, prefix),
            task,
            shown: None,
        }
    }

    /// Reads a turn on, of a task that waits for an answer. The question was shown in the replay.
    pub(crate) fn waiting(shared: &Shared, task: Arc<Task>, ask: &Ask) -> Self {
        let (_, end) = task.snapshot();
        let prefix = ToolPrefix::new(task.id, end.pos);
        Self {
            reader: task.subscribe(Some(end)),
            renderer: renderer(shared, &task, prefix),
            task,
            shown: Some(ask.id.clone()),
        }
    }

    pub(crate) fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// Answers the question that was shown as text. Returns `false` if it is not open any more.
    pub(crate) fn answer_shown(
        &mut self,
        shared: &Shared,
        message: &Message,
    ) -> Result<bool, Failure> {
        let Some(id) = self.shown.take() else {
            return Ok(false);
        };
        let words = message.joined_text_and_data();
        let files = message.parts.iter();
        let files = files.filter(|part| matches!(part, Part::File(_)));
        let answer = Answer {
            content: Some(words).filter(|words| !words.is_empty()),
            parts: files.cloned().collect(),
            ..Answer::default()
        };
        match self.answer(shared, &id, answer) {
            Ok(()) => Ok(true),
            Err(failure) => match failure.reason {
                Reason::NotFound | Reason::Conflict => Ok(false),
                _ => Err(failure),
            },
        }
    }

    fn answer(&self, shared: &Shared, ask: &str, answer: Answer) -> Result<(), Failure> {
        let call = self.task.record().call;
        let calls = shared.door.hub.calls();
        calls.answer(&shared.caller.principal, call, ask, answer)
    }

    /// Sends the reply to the editor until the turn ends, or a question has to be shown as text.
    pub(crate) async fn follow(
        &mut self,
        shared: &Arc<Shared>,
        session: &SessionId,
        cancel: &CancellationToken,
    ) -> Result<TurnStop, Failure> {
        let mut questions = Questions::new(shared, session);
        let mut is_cancelling = false;
        let mut flush_at = None;
        self.find_questions(shared, &mut questions).await;
        loop {
            if questions.open.is_empty()
                && let Some(ask) = questions.texts.pop_front()
            {
                let updates = self.renderer.question(&ask);
                send(shared, session, updates).await;
                self.shown = Some(ask.id);
                return Ok(TurnStop::Asked);
            }
            flush_at = self.renderer.is_dirty().then(|| {
                let first_piece = Instant::now() + TOOL_PIECES;
                flush_at.unwrap_or(first_piece)
            });
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !is_cancelling => {
                    is_cancelling = true;
                    self.cancel(shared).await;
                }
                Some((question, asked)) = questions.open.next() => {
                    self.answered(shared, &mut questions, question, asked).await;
                }
                item = self.reader.next() => {
                    let item = item.map_err(|error| store_failure(&error))?;
                    if let Some(end) = self.read(shared, &mut questions, item).await {
                        return Ok(TurnStop::Ended(end));
                    }
                }
                () = sleep_until(flush_at.unwrap_or_else(Instant::now)), if flush_at.is_some() => {
                    let updates = self.renderer.flush();
                    send(shared, session, updates).await;
                }
            }
        }
    }

    /// Handles an item of the log. Returns the end of the turn.
    async fn read(
        &mut self,
        shared: &Arc<Shared>,
        questions: &mut Questions,
        item: Option<TaskItem>,
    ) -> Option<End> {
        let item = match item {
            Some(TaskItem::Row { item, .. }) => item,
            Some(TaskItem::Gap { .. }) => {
                let update = SessionUpdate::thought(GAP);
                shared.update(&questions.session, &update).await;
                return None;
            }
            None => LogItem::End(self.unread_end()),
        };
        match item {
            LogItem::Event(event) => {
                let may_ask = matches!(&event, Event::Ask(_))
                    || matches!(&event, Event::Chunk(chunk) if chunk.waiting_for.is_some());
                let updates = self.renderer.event(event);
                send(shared, &questions.session, updates).await;
                if may_ask {
                    self.find_questions(shared, questions).await;
                }
                None
            }
            LogItem::Answer(id, _) => {
                questions.withdraw(&id);
                None
            }
            LogItem::Message(_) => None,
            LogItem::End(end) => {
                let updates = match &end {
                    End::Done(done) => self.renderer.done(done),
                    End::Failed(_) | End::Cancelled => self.renderer.stopped(),
                };
                send(shared, &questions.session, updates).await;
                Some(end)
            }
        }
    }

    /// Returns the end of a turn whose log ended without one: the hub stops, or has the failure in the record.
    fn unread_end(&self) -> End {
        let stopping = || Failure::new(Reason::Stopping, "the hub is stopping");
        End::Failed(self.task.record().failure.unwrap_or_else(stopping))
    }

    /// Asks the editor all open questions that the user may decide and was not asked yet.
    async fn find_questions(&mut self, shared: &Arc<Shared>, questions: &mut Questions) {
        let Some(call) = self.task.call() else {
            return;
        };
        for ask in call.open_asks(&shared.caller.principal) {
            if questions.known.contains_key(&ask.id) {
                continue;
            }
            let mut tool = None;
            if ask.kind == AskKind::Approval {
                let (id, updates) = self.renderer.approval(&ask);
                send(shared, &questions.session, updates).await;
                tool = Some(id);
            }
            questions.put(ask, tool);
        }
    }

    /// Passes the answer of the user on to the agent.
    async fn answered(
        &mut self,
        shared: &Shared,
        questions: &mut Questions,
        question: Question,
        asked: Asked,
    ) {
        let ask = question.ask;
        match asked {
            Asked::Answered(answer) => {
                if let Some(is_approved) = answer.approved
                    && ask.kind == AskKind::Approval
                {
                    let updates = self.renderer.decided(&ask, is_approved);
                    send(shared, &questions.session, updates).await;
                }
                if let Err(failure) = self.answer(shared, &ask.id, answer) {
                    tracing::debug!(%failure, "an answer came too late");
                }
            }
            Asked::Withdrawn => {}
            // The owner of the agent can still approve elsewhere.
            Asked::Unable if ask.kind == AskKind::Approval => {}
            Asked::Unable => questions.texts.push_back(ask),
        }
    }

    /// Cancels the task at the agent.
    pub(crate) async fn cancel(&self, shared: &Shared) {
        let tasks = shared.door.hub.tasks();
        let cancelled = tasks.cancel(&shared.caller.principal, self.task.id).await;
        if let Err(failure) = cancelled {
            // The task may have ended by itself.
            tracing::debug!(task = %self.task.id, %failure, "not cancelled");
        }
    }
}

fn renderer(shared: &Shared, task: &Task, prefix: ToolPrefix) -> UpdateRenderer {
    let files = shared.door.files.of_task(&task.record());
    UpdateRenderer::new(prefix, files, shared.client().has_notices())
}

pub(crate) async fn send(shared: &Shared, session: &SessionId, updates: Vec<SessionUpdate>) {
    for update in updates {
        shared.update(session, &update).await;
    }
}

/// The questions of a turn, while it is followed.
struct Questions {
    shared: Arc<Shared>,
    session: SessionId,
    has_forms: bool,
    /// Questions that the editor was asked, or will be.
    known: HashMap<String, CancellationToken>,
    /// Requests to the editor.
    open: FuturesUnordered<futures_util::future::BoxFuture<'static, (Question, Asked)>>,
    /// Questions to show as text, one after another.
    texts: VecDeque<Ask>,
}

impl Questions {
    fn new(shared: &Arc<Shared>, session: &SessionId) -> Self {
        Self {
            has_forms: shared.client().has_forms(),
            shared: shared.clone(),
            session: session.clone(),
            known: HashMap::new(),
            open: FuturesUnordered::new(),
            texts: VecDeque::new(),
        }
    }

    fn put(&mut self, ask: Ask, tool: Option<String>) {
        let withdrawn = CancellationToken::new();
        self.known.insert(ask.id.clone(), withdrawn.clone());
        if ask.kind == AskKind::Input && !self.has_forms {
            self.texts.push_back(ask);
            return;
        }
        let question = Question {
            ask,
            tool,
            withdrawn,
        };
        let asked = question.ask(self.shared.clone(), self.session.clone());
        self.open.push(Box::pin(asked));
    }

    /// Withdraws a question that somebody has answered.
    fn withdraw(&mut self, id: &str) {
        self.texts.retain(|ask| ask.id != id);
        if let Some(withdrawn) = self.known.get(id) {
            withdrawn.cancel();
        }
    }
}
