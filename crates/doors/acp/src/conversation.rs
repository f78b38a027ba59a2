//! [`Conversation`]: a session of an editor's connection. It serves one request at a time, and remembers what the agent waits
//! for.

use std::sync::Arc;

use jackfield_core::task::Task;
use jackfield_model::SessionId;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{
    connection::Shared,
    turn::Turn,
    wire::{RequestId, RpcError, code},
};

/// A session.
#[derive(Debug)]
pub(crate) struct Conversation {
    id: SessionId,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the session exists: it is new, or was loaded.
    is_open: bool,
    /// The prompt or load in progress.
    running: Option<Running>,
    waiting: Waiting,
}

#[derive(Debug)]
struct Running {
    id: RequestId,
    cancel: CancellationToken,
}

/// What the agent waits for between two prompts.
#[derive(Debug, Default)]
pub(crate) enum Waiting {
    /// Nothing: the next prompt is a new task.
    #[default]
    Nothing,
    /// The agent has ended its turn with a question: the next prompt continues the task.
    Message(Arc<Task>),
    /// The agent works and waits for an answer: the next prompt is the answer.
    Answer(Box<Turn>),
}

impl Conversation {
    /// Creates a session, new or about to be loaded.
    pub(crate) fn new(id: SessionId, is_new: bool) -> Self {
        let state = State {
            is_open: is_new,
            ..State::default()
        };
        Self {
            id,
            state: Mutex::new(state),
        }
    }

    /// Whether the session exists.
    pub(crate) fn is_open(&self) -> bool {
        self.state.lock().is_open
    }

    /// Whether the session exists or is being loaded.
    pub(crate) fn is_needed(&self) -> bool {
        let state = self.state.lock();
        state.is_open || state.running.is_some()
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Begins a request. Returns the token that `session/cancel` cancels. Fails if a request is in progress.
    pub(crate) fn begin(&self, id: &RequestId) -> Result<CancellationToken, RpcError> {
        let mut state = self.state.lock();
        if state.running.is_some() {
            let text =
                "a request of this session still runs; wait for its answer, or send session/cancel";
            return Err(RpcError::field(code::INVALID_REQUEST, "sessionId", text));
        }
        let cancel = CancellationToken::new();
        state.running = Some(Running {
            id: id.clone(),
            cancel: cancel.clone(),
        });
        Ok(cancel)
    }

    /// Ends the request in progress, before its answer is sent.
    pub(crate) fn end(&self, waiting: Waiting) {
        let mut state = self.state.lock();
        state.running = None;
        state.waiting = waiting;
    }

    /// Ends a load that found the session.
    pub(crate) fn open(&self, waiting: Waiting) {
        self.state.lock().is_open = true;
        self.end(waiting);
    }

    /// Takes what the agent waits for.
    pub(crate) fn take_waiting(&self) -> Waiting {
        std::mem::take(&mut self.state.lock().waiting)
    }

    /// Whether the request with this id is in progress.
    pub(crate) fn serves(&self, id: &RequestId) -> bool {
        let state = self.state.lock();
        state.running.as_ref().is_some_and(|it| it.id == *id)
    }

    /// Cancels the prompt in progress. Without one, nothing happens.
    pub(crate) fn cancel(&self) {
        if let Some(running) = &self.state.lock().running {
            running.cancel.cancel();
        }
    }

    /// Cancels the work that waits for an answer which will not come. A task that waits for a message only ends with its
    /// retention, because the session may be loaded again.
    pub(crate) async fn give_up(&self, shared: &Shared) {
        let waiting = self.take_waiting();
        match waiting {
            Waiting::Answer(turn) => turn.cancel(shared).await,
            Waiting::Nothing | Waiting::Message(_) => {}
        }
    }
}
