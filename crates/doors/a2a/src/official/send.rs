//! Sending a message to an agent: a new task, a further message of a waiting task, or the answer to an open
//! question of the agent.

use std::sync::Arc;

use http::HeaderMap;
use jackfield_core::{
    hub::Request,
    store::{StoreError, TaskRecord, TaskState},
    task::{Cursor, IdempotencyKey, Task, TaskItem},
};
use jackfield_kit::{api::lifetime::RequestLifetime, trace};
use jackfield_model::{AgentId, Ask, AskKind, CallId, Reason, SessionId};
use jackfield_wire::json::RawMembers;
use sha2::{Digest as _, Sha256};

use super::{
    failure::{creates_failed_task, fault_from, no_such_task, task_fault_from},
    inbound::InboundRequest,
    renderer::UpdateRenderer,
    rules,
    snapshot::{TaskDetail, TaskSnapshot},
    translate::{SendOptions, answer_from, message_from, parent_from},
    updates::{StreamUntil, UpdateStream},
};
use crate::DOOR;
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    model::{Message, Role, SendParams, StreamItem},
};

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Turn of a [`Task`], started by the message just sent.
#[derive(Debug)]
struct StartedTurn {
    task: Arc<Task>,
    /// Position in the log where the turn started. `None` if the task has no open turn, for example for a
    /// repeated request: the log is then only read again.
    start: Option<u64>,
}

impl StartedTurn {
    fn of(task: Arc<Task>) -> Self {
        let start = task.turn().map(|cursor| cursor.pos);
        Self { task, start }
    }
}

impl InboundRequest {
    /// Sends a message. Returns the task once the task is over or waits for the caller, or at once if the
    /// caller asked for an immediate return.
    pub(crate) async fn send(&self, params: SendParams) -> Result<StreamItem, A2aError> {
        let shown = TaskDetail {
            history: params.configuration.history_length,
            artifacts: true,
        };
        let is_waited_for = !params.configuration.return_immediately.unwrap_or(false);
        let turn = self.begin(params).await?;
        let mut snapshot = tokio::select! {
            biased;
            failure = RequestLifetime::for_principal(&self.principal).ended() => return Err(fault_from(failure)),
            heard = self.read_turn(&turn, is_waited_for) => heard?,
        };
        let record = turn.task.record();
        snapshot.apply_record(&record);
        Ok(match snapshot.as_message() {
            Some(message) => StreamItem::Message(Box::new(message)),
            None => StreamItem::Task(Box::new(snapshot.into_task(shown))),
        })
    }

    /// Sends a message and returns the [`UpdateStream`] of the task.
    pub(crate) async fn stream(&self, params: SendParams) -> Result<UpdateStream, A2aError> {
        let shown = TaskDetail {
            history: params.configuration.history_length,
            artifacts: true,
        };
        let turn = self.begin(params).await?;
        let (record, present) = turn.task.snapshot();
        let from = match turn.start {
            // The stream starts after the caller's own message.
            Some(start) => Cursor {
                epoch: record.epoch,
                pos: start + 1,
            },
            None => present,
        };
        let snapshot = self.snapshot_at(&turn.task, from.pos).await?;
        let renderer = UpdateRenderer::after(&snapshot);
        let first = snapshot.into_task(shown);
        let mut updates = UpdateStream::new(
            self,
            &turn.task,
            from,
            StreamItem::Task(Box::new(first)),
            renderer,
            StreamUntil::Turn,
        );
        if record.sent && turn.start.is_some() {
            updates.queue_working(record.sent_at.unwrap_or(record.updated_at));
        }
        Ok(updates)
    }

    async fn begin(&self, params: SendParams) -> Result<StartedTurn, A2aError> {
        if params.message.role == Role::Agent {
            let user = Role::User.name(self.version);
            let why = format!("must be {user}: what is sent to an agent is its caller's word");
            return Err(A2aError::field("message.role", why));
        }
        match params.message.task_id.clone() {
            Some(task) => self.continue_turn(&task, params).await,
            None => self.start(params).await,
        }
    }

    async fn start(&self, params: SendParams) -> Result<StartedTurn, A2aError> {
        let target = self.target(params.tenant.as_deref())?;
        let session = params.message.context_id.as_deref();
        let session = session.map(SessionId::parse).transpose();
        let session =
            session.map_err(|error| A2aError::field("message.contextId", error.to_string()))?;
        let request = self.request(target, session, params).await?;
        let task = match self.a2a.hub.tasks().start(request.clone()).await {
            Ok(task) => task,
            Err(failure) if creates_failed_task(&failure.reason) => {
                let noted = self.a2a.hub.tasks().record_refused(request, failure).await;
                noted.map_err(fault_from)?
            }
            Err(failure) => return Err(fault_from(failure)),
        };
        tracing::debug!(task = %task.id, "kept call");
        Ok(StartedTurn::of(task))
    }

    async fn continue_turn(&self, id: &str, params: SendParams) -> Result<StartedTurn, A2aError> {
        let task = self.task(id, params.tenant.as_deref()).await?;
        let record = task.record();
        let context = params.message.context_id.as_deref();
        if context.is_some_and(|context| context != record.session.as_str()) {
            let why = "the task is in another conversation; leave this out";
            return Err(A2aError::field("message.contextId", why));
        }
        if let Some((call, ask)) = self.open_question(&task, &params.message) {
            let target = record.agent.clone();
            self.check(&target, &params)?;
            let asked = self.asked(&params);
            let answer = answer_from(&ask, params.message, asked);
            // The log will hold the answer at this position or later.
            let start = Some(task.snapshot().1.pos);
            let answered = self
                .a2a
                .hub
                .calls()
                .answer(&self.principal, call, &ask.id, answer);
            answered.map_err(task_fault_from)?;
            return Ok(StartedTurn { task, start });
        }
        if record.state != TaskState::InputRequired {
            let text = match record.state.is_final() {
                true => {
                    "is over and takes no further message; leave out the task's id to begin a new one"
                }
                false => "is being worked on and takes no message now; wait for it, or cancel it",
            };
            let text = format!("task {id} {text}");
            return Err(A2aError::new(A2aErrorKind::Unsupported, text));
        }
        let request = self
            .request(record.agent.clone(), Some(record.session.clone()), params)
            .await?;
        let task = self.a2a.hub.tasks().continue_task(request, &task).await;
        let task = task.map_err(|failure| match failure.reason {
            Reason::NotFound => no_such_task(),
            Reason::Conflict => A2aError::new(A2aErrorKind::Unsupported, failure.text),
            _ => fault_from(failure),
        })?;
        Ok(StartedTurn::of(task))
    }

    /// Returns the question that the task's agent asked the caller and that is still open. If several are
    /// open, the message's metadata may name one by `askId`.
    fn open_question(&self, task: &Task, message: &Message) -> Option<(CallId, Ask)> {
        let call = task.call()?;
        let to_caller = self.asks_caller(&call.target);
        let mut asks = call.open_asks(&self.principal);
        asks.retain(|ask| ask.kind == AskKind::Input || to_caller);
        let members = message
            .metadata
            .as_ref()
            .and_then(|raw| RawMembers::of(raw));
        let named = members.as_ref().and_then(|members| members.text("askId"));
        if let Some(named) = named {
            asks.retain(|ask| ask.id == *named);
        }
        let ask = asks.into_iter().next()?;
        Some((call.id, ask))
    }

    /// Builds the core's [`Request`] for a message.
    async fn request(
        &self,
        target: AgentId,
        session: Option<SessionId>,
        params: SendParams,
    ) -> Result<Request, A2aError> {
        self.check(&target, &params)?;
        let once = self.once(&params)?;
        let followers = match &params.configuration.push {
            Some(push) => vec![self.follower(push).await?],
            None => Vec::new(),
        };
        let parent = parent_from(params.message.metadata.as_ref())?;
        let asked = self.asked(&params);
        let message = message_from(params.message, asked);
        let mut request = Request::new(self.principal.clone(), DOOR, target, message);
        request.session = session;
        request.parent = parent;
        request.followers = followers;
        request.once = once;
        trace::set_origin(&mut request, &self.headers).map_err(fault_from)?;
        Ok(request)
    }

    /// Collects the request options ([`SendOptions`]) that accompany the message.
    fn asked(&self, params: &SendParams) -> SendOptions {
        SendOptions {
            metadata: params.metadata.clone(),
            accepted_output_modes: params.configuration.accepted_output_modes.clone(),
            extensions: rules::declared_extensions(&self.headers),
        }
    }

    /// Checks the message against the agent's profile: media types and required extensions.
    fn check(&self, target: &AgentId, params: &SendParams) -> Result<(), A2aError> {
        let entry = self.a2a.hub.agents().find(&self.principal, target.as_str());
        let profile = entry.map_err(fault_from)?.view().profile;
        rules::check_modes(&profile.input_modes, &params.message.parts)?;
        rules::check_extensions(&profile.extensions, &self.headers)
    }

    /// Returns the idempotency key of the request, if the header is present. The digest covers the message in
    /// the JSON of 1.0.
    fn once(&self, params: &SendParams) -> Result<Option<IdempotencyKey>, A2aError> {
        let Some(key) = idempotency_key(&self.headers)? else {
            return Ok(None);
        };
        let mut written = String::new();
        A2aVersion::V10.write_message(&params.message, &mut written);
        Ok(Some(IdempotencyKey {
            key,
            digest: Sha256::digest(written.as_bytes()).into(),
        }))
    }

    /// Reads the task's log, until the turn ends or waits for the caller if `is_waited_for`, otherwise up to
    /// the present.
    async fn read_turn(
        &self,
        turn: &StartedTurn,
        is_waited_for: bool,
    ) -> Result<TaskSnapshot, A2aError> {
        let (record, present) = turn.task.snapshot();
        if !is_waited_for {
            return self.snapshot_at(&turn.task, present.pos).await;
        }
        let mut snapshot = self.snapshot(&record);
        let mut subscription = turn.task.subscribe(None);
        while let Some(item) = subscription
            .next()
            .await
            .map_err(|error| store_failed(&error))?
        {
            let next = snapshot.take(item);
            let is_new = turn.start.is_some_and(|start| next.pos > start);
            if is_new && snapshot.is_interrupted() {
                break;
            }
        }
        Ok(snapshot)
    }

    /// Reads the task's log up to position `end`.
    pub(super) async fn snapshot_at(
        &self,
        task: &Arc<Task>,
        end: u64,
    ) -> Result<TaskSnapshot, A2aError> {
        self.snapshot_at_counted(task, end, |_| Ok(())).await
    }

    /// Reads like [`InboundRequest::snapshot_at`]. `count` receives the weight of each log item before the item is stored,
    /// and may refuse.
    pub(super) async fn snapshot_at_counted(
        &self,
        task: &Arc<Task>,
        end: u64,
        count: impl Fn(usize) -> Result<(), A2aError>,
    ) -> Result<TaskSnapshot, A2aError> {
        let mut snapshot = self.snapshot(&task.record());
        let mut subscription = task.subscribe(None);
        let mut pos = 0;
        while pos < end
            && let Some(item) = subscription
                .next()
                .await
                .map_err(|error| store_failed(&error))?
        {
            if let TaskItem::Row { item, .. } = &item
                && snapshot.has_room_for(item)
            {
                count(item.weight())?;
            }
            pos = snapshot.take(item).pos;
        }
        Ok(snapshot)
    }

    fn snapshot(&self, record: &TaskRecord) -> TaskSnapshot {
        let to_caller = self.asks_caller(&record.agent);
        TaskSnapshot::new(record, to_caller, self.a2a.hub.limits().message.0)
    }

    /// Returns true if the agent also sends its approval questions to its callers.
    fn asks_caller(&self, agent: &AgentId) -> bool {
        let entry = self.a2a.hub.agents().find(&self.principal, agent.as_str());
        entry.is_ok_and(|entry| entry.settings().approvals_to_caller)
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, A2aError> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    let key = value.to_str().ok().map(str::trim);
    let key = key.filter(|key| (1..=256).contains(&key.len()));
    let key = key.ok_or_else(|| {
        let why = "use 1 to 256 visible characters of ASCII";
        A2aError::field("Idempotency-Key", why)
    })?;
    Ok(Some(key.to_owned()))
}

/// Logs a failure of the store and returns the error for the caller.
pub(super) fn store_failed(error: &StoreError) -> A2aError {
    tracing::error!(%error, "a task could not be read");
    A2aError::new(A2aErrorKind::Internal, "the hub's store failed")
}
