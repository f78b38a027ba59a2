//! [`EditorConnection`]: the protocol's state of one editor's connection. It reads each frame and answers at once, or starts
//! a task of the connection whose answer goes through the [`Outbox`].

use std::{collections::HashMap, sync::Arc};

use http::HeaderMap;
use jackfield_core::{
    hub::{Parent, Request},
    principal::Principal,
};
use jackfield_kit::trace;
use jackfield_model::{AgentId, Failure, Message, SessionId};
use parking_lot::Mutex;
use serde_json::{Value, json, value::RawValue};
use tokio::{task::JoinSet, time::timeout};
use uuid::Uuid;

use crate::{
    DOOR,
    conversation::Conversation,
    door::AcpDoor,
    failure::refused,
    limits::{CLOSING, SESSIONS},
    outbox::Outbox,
    prompt,
    question::OpenQuestions,
    replay, translate,
    wire::{
        self, CancelRequestParams, ClientCapabilities, Incoming, Initialize, NewSession, Prompt,
        RequestId, RpcError, SessionParams, VERSION, code,
    },
};

/// Who uses which agent over a connection.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    pub(crate) agent: AgentId,
    /// The call that all prompts of the connection are made for.
    parent: Parent,
    traceparent: Option<String>,
}

impl Caller {
    /// Reads the origin of the calls from the headers of the handshake.
    pub(crate) fn new(
        principal: Principal,
        agent: AgentId,
        headers: &HeaderMap,
    ) -> Result<Self, Failure> {
        let mut request = Request::new(principal, DOOR, agent, Message::default());
        trace::set_origin(&mut request, headers)?;
        Ok(Self {
            principal: request.principal,
            agent: request.target,
            parent: request.parent,
            traceparent: request.traceparent,
        })
    }
}

/// State that the tasks of a connection share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) door: AcpDoor,
    pub(crate) caller: Caller,
    pub(crate) outbox: Outbox,
    /// Requests to the editor.
    pub(crate) questions: OpenQuestions,
    /// `None` until the editor has sent `initialize`.
    client: Mutex<Option<ClientCapabilities>>,
}

impl Shared {
    /// Returns what the editor can do.
    pub(crate) fn client(&self) -> ClientCapabilities {
        self.client.lock().clone().unwrap_or_default()
    }

    /// Builds a request to the agent, in a session. `traceparent` is the trace of a prompt, which goes before that of the
    /// connection.
    pub(crate) fn request(
        &self,
        session: SessionId,
        message: Message,
        traceparent: Option<String>,
    ) -> Request {
        let caller = &self.caller;
        let principal = caller.principal.clone();
        let mut request = Request::new(principal, DOOR, caller.agent.clone(), message);
        request.session = Some(session);
        request.parent = caller.parent.clone();
        request.traceparent = traceparent.or_else(|| caller.traceparent.clone());
        // Cancels the task if this connection ends without doing so.
        request.unread = Some(self.door.hub.limits().unread.0);
        request
    }

    /// Queues an update of a session.
    pub(crate) async fn update(&self, session: &SessionId, update: &wire::SessionUpdate) {
        self.outbox.send(update.frame(session.as_str())).await;
    }

    /// Returns the agent's name for people; fails if the agent is gone, or not for this caller any more.
    fn agent_name(&self) -> Result<String, Failure> {
        let agents = self.door.hub.agents();
        let entry = agents.find(&self.caller.principal, self.caller.agent.as_str())?;
        Ok(entry.view().profile.name.clone())
    }
}

/// One connection of an editor.
#[derive(Debug)]
pub(crate) struct EditorConnection {
    shared: Arc<Shared>,
    sessions: HashMap<SessionId, Arc<Conversation>>,
    work: JoinSet<()>,
}

/// The answer to a request: at once, or later by a task.
type Served = Result<Option<Value>, RpcError>;

impl EditorConnection {
    pub(crate) fn new(door: AcpDoor, caller: Caller, outbox: Outbox) -> Self {
        let shared = Shared {
            door,
            caller,
            outbox,
            questions: OpenQuestions::default(),
            client: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            sessions: HashMap::new(),
            work: JoinSet::new(),
        }
    }

    /// Handles a frame of the editor. Returns the response, unless there is none, or a task sends it later.
    pub(crate) fn receive(&mut self, text: &str) -> Option<String> {
        while self.work.try_join_next().is_some() {}
        let max_depth = self.shared.door.hub.limits().json_depth;
        match wire::read(text, max_depth) {
            Ok(Incoming::Request { id, method, params }) => {
                let served = match self.is_open(&id) {
                    false => self.serve(&id, &method, params),
                    true => Err(RpcError::field(
                        code::INVALID_REQUEST,
                        "id",
                        "field \"id\" is that of a request that still runs; give each request an id of its own",
                    )),
                };
                match served {
                    Ok(Some(result)) => Some(wire::response(&id, &result)),
                    Ok(None) => None,
                    Err(error) => Some(self.refuse(Some(&id), &error)),
                }
            }
            Ok(Incoming::Notification { method, params }) => {
                if let Err(error) = self.notice(&method, params) {
                    self.shared.door.hub.metrics().refused(DOOR);
                    tracing::debug!(%method, error = error.message, "a notification is ignored");
                }
                None
            }
            Ok(Incoming::Response { id, result }) => {
                self.shared.questions.answered(&id, result);
                None
            }
            Ok(Incoming::Stray) => None,
            Err(unreadable) => Some(self.refuse(unreadable.id.as_ref(), &unreadable.error)),
        }
    }

    fn refuse(&self, id: Option<&RequestId>, error: &RpcError) -> String {
        self.shared.door.hub.metrics().refused(DOOR);
        wire::refusal(id, error)
    }

    /// Whether a request with this id has no answer yet. Only prompts and loads take time.
    fn is_open(&self, id: &RequestId) -> bool {
        self.sessions.values().any(|session| session.serves(id))
    }

    fn serve(&mut self, id: &RequestId, method: &str, given: Option<&RawValue>) -> Served {
        let is_initialized = self.shared.client.lock().is_some();
        match (method, is_initialized) {
            ("initialize", false) => self.initialize(wire::params(given)?).map(Some),
            ("initialize", true) => {
                let text = "this connection is initialized already; open another one";
                Err(RpcError::new(code::INVALID_REQUEST, text))
            }
            (_, false) => {
                let text = format!("send initialize before {}", jackfield_wire::echo(method));
                Err(RpcError::new(code::INVALID_REQUEST, text))
            }
            ("authenticate", _) => Err(RpcError::field(
                code::INVALID_PARAMS,
                "methodId",
                "the hub offers no authMethods: a token comes with the connection (jackfield acp --token-file, or the header Authorization)",
            )),
            ("session/new", _) => self.new_session(&wire::params(given)?).map(Some),
            ("session/load", _) => self.load(id, given, true),
            ("session/resume", _) => self.load(id, given, false),
            ("session/prompt", _) => self.prompt(id, wire::params(given)?),
            ("session/close", _) => self.close_session(&wire::params(given)?).map(Some),
            _ => {
                let text = format!(
                    "method {:?} is not offered: see the capabilities in the answer to initialize",
                    jackfield_wire::echo(method)
                );
                Err(RpcError::field(code::METHOD_NOT_FOUND, "method", text))
            }
        }
    }

    fn initialize(&self, given: Initialize) -> Result<Value, RpcError> {
        if given.protocol_version == 0 {
            let text = format!(
                "field \"protocolVersion\" must be {VERSION} or higher: this hub speaks version {VERSION}"
            );
            return Err(RpcError::field(
                code::INVALID_PARAMS,
                "protocolVersion",
                text,
            ));
        }
        let name = self.shared.agent_name().map_err(|error| refused(&error))?;
        *self.shared.client.lock() = Some(given.client_capabilities);
        let title = Some(&*name).filter(|name| !name.is_empty());
        let agent = self.shared.caller.agent.as_str();
        Ok(wire::initialized(agent, title, self.shared.door.version))
    }

    fn new_session(&mut self, _: &NewSession) -> Result<Value, RpcError> {
        self.shared.agent_name().map_err(|error| refused(&error))?;
        self.check_room()?;
        let id = Uuid::new_v4().to_string();
        let session = SessionId::parse(&id).map_err(|_| unknown_session(&id))?;
        self.sessions
            .insert(session.clone(), Arc::new(Conversation::new(session, true)));
        Ok(json!({"sessionId": id}))
    }

    /// Fails if there is no room for one more session.
    fn check_room(&mut self) -> Result<(), RpcError> {
        self.sessions.retain(|_, session| session.is_needed());
        if self.sessions.len() < SESSIONS {
            return Ok(());
        }
        let text =
            format!("a connection has at most {SESSIONS} sessions; close some with session/close");
        Err(RpcError::new(code::INVALID_REQUEST, text))
    }

    /// Opens a session that the hub has: with its transcript, or without.
    fn load(&mut self, id: &RequestId, given: Option<&RawValue>, has_replay: bool) -> Served {
        let SessionParams { session_id } = wire::params(given)?;
        wire::params::<NewSession>(given)?;
        let session = SessionId::parse(&session_id).map_err(|_| unknown_session(&session_id))?;
        let conversation = match self.sessions.get(&session) {
            Some(conversation) => conversation.clone(),
            None => {
                self.check_room()?;
                let conversation = Arc::new(Conversation::new(session.clone(), false));
                self.sessions.insert(session, conversation.clone());
                conversation
            }
        };
        let cancel = conversation.begin(id)?;
        let loading = replay::run(
            self.shared.clone(),
            conversation,
            cancel,
            id.clone(),
            has_replay,
        );
        self.work.spawn(loading);
        Ok(None)
    }

    fn prompt(&mut self, id: &RequestId, mut given: Prompt) -> Served {
        let blocks = wire::blocks(&mut given)?;
        let conversation = self.session(&given.session_id)?;
        let trace = given.traceparent().filter(|it| trace::is_traceparent(it));
        let trace = trace.map(str::to_owned);
        let message = translate::message(blocks);
        let cancel = conversation.begin(id)?;
        let prompt = prompt::run(
            self.shared.clone(),
            conversation,
            cancel,
            id.clone(),
            message,
            trace,
        );
        self.work.spawn(prompt);
        Ok(None)
    }

    fn close_session(&mut self, given: &SessionParams) -> Result<Value, RpcError> {
        let conversation = self.session(&given.session_id)?;
        conversation.cancel();
        self.sessions.remove(conversation.id());
        let shared = self.shared.clone();
        self.work
            .spawn(async move { conversation.give_up(&shared).await });
        Ok(json!({}))
    }

    fn notice(&self, method: &str, given: Option<&RawValue>) -> Result<(), RpcError> {
        match method {
            "session/cancel" => {
                let SessionParams { session_id } = wire::params(given)?;
                self.session(&session_id)?.cancel();
            }
            "$/cancel_request" => {
                let CancelRequestParams { request_id } = wire::params(given)?;
                let id = RequestId::read(request_id);
                let open = id.and_then(|id| self.sessions.values().find(|it| it.serves(&id)));
                if let Some(session) = open {
                    session.cancel();
                }
            }
            // Other notifications are extensions.
            _ => tracing::debug!(
                method = jackfield_wire::echo(method),
                "a notification is not known"
            ),
        }
        Ok(())
    }

    fn session(&self, id: &str) -> Result<Arc<Conversation>, RpcError> {
        let parsed = SessionId::parse(id).ok();
        let found = parsed.and_then(|id| self.sessions.get(&id).cloned());
        let found = found.filter(|session| session.is_open());
        found.ok_or_else(|| unknown_session(id))
    }

    /// Cancels all work of the connection at the agent.
    pub(crate) async fn close(mut self) {
        for conversation in self.sessions.values() {
            conversation.cancel();
        }
        let ended = async {
            while self.work.join_next().await.is_some() {}
            for conversation in self.sessions.values() {
                conversation.give_up(&self.shared).await;
            }
        };
        if timeout(CLOSING, ended).await.is_err() {
            tracing::debug!("prompts of a lost connection could not be cancelled in time");
        }
    }
}

/// Returns the error for a session that is not open on the connection, or that the hub does not have.
pub(crate) fn unknown_session(id: &str) -> RpcError {
    let id = jackfield_wire::echo(id);
    let text = format!(
        "field \"sessionId\" is {id:?}, which is no open session; session/new begins one, and session/load opens one whose last prompt is less than a day old"
    );
    RpcError::field(code::NOT_FOUND, "sessionId", text)
}
