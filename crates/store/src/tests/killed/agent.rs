//! The agents: what they do with each message, and how they go on after the hub was killed. They follow the rules of
//! [`Attached::adopted`]. Each frame is numbered, and most are acknowledged before the next one is sent, so that each
//! has a commit of its own.

use std::{sync::Arc, task::Poll};

use jackfield_core::{
    agent::{Closing, Link, Profile},
    call::{AgentHandle, Call},
    hub::{Attached, Hub},
    principal::Principal,
    ready::ReadySet,
    store::Store,
};
use jackfield_model::{AgentId, Ask, AskKind, Done, DoneState, End, Event, Input, RequestId};
use parking_lot::Mutex;
use tokio::{
    sync::mpsc::{Receiver, Sender, channel, error::TrySendError},
    task::JoinSet,
};

use super::observed::{Observations, OpenRequest};
use crate::SqliteStore;

/// More calls than an agent has open at once.
const OPEN: usize = 8;

/// The agents that are connected to one hub.
pub(super) struct Agents {
    hub: Hub,
    store: Arc<SqliteStore>,
    observed: Arc<Observations>,
    connections: Mutex<JoinSet<()>>,
}

impl Agents {
    pub(super) fn new(hub: &Hub, store: &Arc<SqliteStore>, observed: &Arc<Observations>) -> Self {
        Self {
            hub: hub.clone(),
            store: store.clone(),
            observed: observed.clone(),
            connections: Mutex::new(JoinSet::new()),
        }
    }

    /// Registers an agent that goes away again, unless the hub knows it already.
    pub(super) async fn register(&self, name: &'static str) {
        if !self.observed.get(|it| it.registered.contains(name)) {
            drop(self.attach(name).await);
        }
    }

    /// Connects an agent, which works on its calls from now on.
    pub(super) async fn connect(&self, name: &'static str) {
        let (mut attached, calls) = self.attach(name).await;
        let mut jobs = JoinSet::new();
        let adopted = std::mem::take(&mut attached.adopted);
        self.observed.change(|it| {
            // The other requests of the agent are over.
            let is_adopted =
                |request: &RequestId| adopted.iter().any(|call| call.call().request == *request);
            it.open
                .retain(|request, open| open.agent.as_str() != name || is_adopted(request));
        });
        for call in adopted {
            if let Some(job) = self.resume(call) {
                jobs.spawn(job.run());
            }
        }
        let (observed, store) = (self.observed.clone(), self.store.clone());
        let serve = async move {
            let _attached = attached;
            serve(calls, jobs, |call| Job::new(call, &observed, &store)).await;
        };
        self.connections.lock().spawn(serve);
    }

    async fn attach(&self, name: &'static str) -> (Attached, Receiver<AgentHandle>) {
        let (calls, delivered) = channel(OPEN);
        let connection = Connection {
            calls,
            observed: self.observed.clone(),
            hub: self.observed.hub(),
        };
        let (principal, id) = (Principal::local(), AgentId::parse(name).unwrap());
        let resumes = self.observed.resumes;
        let attached = self.hub.agents().attach(
            &principal,
            &id,
            Profile::default(),
            Arc::new(connection),
            resumes,
        );
        let mut attached = attached.unwrap();
        attached.set_resumable(resumes);
        if let Some(saved) = attached.saved.take() {
            saved.await.unwrap();
        }
        self.observed.change(|it| {
            it.registered.insert(name);
        });
        (attached, delivered)
    }

    /// Goes on with a call of before the restart, if the agent knows it or never got it.
    fn resume(&self, call: AgentHandle) -> Option<Job> {
        let request = &call.call().request;
        let known = self.observed.get(|it| it.open.get(request).cloned());
        let job = |call| Job::new(call, &self.observed, &self.store);
        match known {
            Some(known) => {
                let acked = call.call().acked();
                assert!(acked >= known.acked, "{acked} of {} frames", known.acked);
                self.observed.acked(request, acked);
                Some(job(call))
            }
            None if !call.call().has_reply() => Some(job(call).begin()),
            // Dropping the call fails it: its agent has stopped.
            None => None,
        }
    }

    /// Never returns; panics if a connection did.
    pub(super) async fn watch(&self) -> ! {
        let ended = std::future::poll_fn(|cx| match self.connections.lock().poll_join_next(cx) {
            // The caller is polled, too, and connects an agent.
            Poll::Ready(None) => Poll::Pending,
            ended => ended,
        });
        panic!("a connection has ended: {:?}", ended.await);
    }
}

/// Works on calls, those of `jobs` and new ones.
async fn serve(
    mut calls: Receiver<AgentHandle>,
    mut jobs: JoinSet<()>,
    job: impl Fn(AgentHandle) -> Job,
) {
    loop {
        tokio::select! {
            call = calls.recv() => drop(jobs.spawn(job(call.unwrap()).begin().run())),
            Some(ended) = jobs.join_next() => ended.unwrap(),
        }
    }
}

/// A connection of an agent to a hub.
#[derive(Debug)]
struct Connection {
    calls: Sender<AgentHandle>,
    observed: Arc<Observations>,
    /// Number of the hub.
    hub: usize,
}

impl Connection {
    fn is_cut(&self) -> bool {
        self.observed.hub() != self.hub
    }
}

impl Link for Connection {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
        if self.is_cut() {
            return Err(call);
        }
        self.calls.try_send(call).map_err(|error| match error {
            TrySendError::Full(call) | TrySendError::Closed(call) => call,
        })
    }

    fn cancel(&self, call: &Arc<Call>) {
        if !self.is_cut() {
            self.observed
                .change(|it| drop(it.open.remove(&call.request)));
        }
    }

    fn close(&self, _: Closing) {}

    fn alive(&self, _: &Call) -> bool {
        true
    }

    fn acked(&self, call: &Arc<Call>, seq: u64) {
        if !self.is_cut() {
            self.observed.acked(&call.request, seq);
        }
    }

    fn door(&self) -> &'static str {
        "agora"
    }
}

/// The work of an agent on one call.
struct Job {
    call: AgentHandle,
    observed: Arc<Observations>,
    store: Arc<SqliteStore>,
    /// Number of the last frame.
    seq: u64,
}

impl Job {
    fn new(call: AgentHandle, observed: &Arc<Observations>, store: &Arc<SqliteStore>) -> Self {
        Self {
            call,
            observed: observed.clone(),
            store: store.clone(),
            seq: 0,
        }
    }

    fn request(&self) -> RequestId {
        self.call.call().request.clone()
    }

    fn message(&self) -> String {
        self.call.call().message.joined_text()
    }

    fn open<T>(&self, get: impl FnOnce(&OpenRequest) -> T) -> Option<T> {
        let request = self.request();
        self.observed.get(|it| it.open.get(&request).map(get))
    }

    /// Gets the message.
    fn begin(self) -> Self {
        let (request, message) = (self.request(), self.message());
        let open = OpenRequest {
            agent: self.call.call().target.clone(),
            acked: 0,
            answer: None,
        };
        self.observed.change(|it| {
            it.open.insert(request, open);
            *it.messages.entry(message).or_default() += 1;
        });
        self
    }

    async fn run(mut self) {
        match self.message().as_str() {
            "one" => {
                self.say("alpha ");
                self.acked().await;
                self.say("beta");
                self.acked().await;
                self.ask().await;
                self.say("gamma");
                self.acked().await;
                self.finish(DoneState::InputRequired).await;
            }
            "two" => {
                self.say("delta");
                self.finish(DoneState::Completed).await;
            }
            "cancel me" => {
                self.say("epsilon");
                self.acked().await;
                self.input_ends().await;
            }
            "stop me" => self.input_ends().await,
            "wait for me" => {
                self.say("zeta");
                self.acked().await;
                self.finish(DoneState::Completed).await;
            }
            message => panic!("an unknown message: {message}"),
        }
    }

    /// Returns whether the next frame has to be sent, and counts it.
    fn next_frame(&mut self) -> bool {
        self.seq += 1;
        self.open(|open| open.acked < self.seq).unwrap_or(false)
    }

    /// Sends a piece of the answer.
    fn say(&mut self, text: &str) {
        if self.next_frame() {
            self.call.push_numbered(Event::text(text), self.seq);
        }
    }

    /// Waits until the hub has acknowledged the last frame.
    async fn acked(&self) {
        let task = self.call.call().task.unwrap();
        while self.open(|open| open.acked < self.seq).unwrap_or(false) {
            // A read makes the store commit what waits for more.
            drop(self.store.find_task(task).await.unwrap());
        }
    }

    /// Asks a question, and waits for the answer.
    async fn ask(&mut self) {
        let is_new = self.next_frame();
        // After a restart the agent may have the answer already, or get it with the call.
        let mut answer = self.open(|open| open.answer.clone()).flatten();
        if answer.is_none() {
            answer = self.call.answers().pop().map(|(_, answer)| answer);
        }
        if answer.is_none() || is_new {
            let ask = Ask {
                id: "q".into(),
                kind: AskKind::Input,
                text: "which one?".into(),
                tool_name: None,
                tool_call_id: None,
                arguments: None,
                schema: None,
            };
            self.call.ask_numbered(ask, self.seq);
            self.acked().await;
        }
        let ready_set = ReadySet::new();
        self.call.input().listen(ready_set.handle(0));
        while answer.is_none() {
            ready_set.wait(&mut Vec::new()).await;
            let mut inputs = Vec::new();
            self.call.input().take(&mut inputs, usize::MAX);
            answer = inputs.into_iter().find_map(|input| match input {
                Input::Answer(_, answer) => Some(answer),
                Input::Chunk(_) | Input::EndOfMessage => None,
            });
        }
        let request = self.request();
        self.observed
            .change_open(&request, |open| open.answer = answer);
    }

    /// Waits until the hub has cancelled the call.
    async fn input_ends(self) {
        let ready_set = ReadySet::new();
        self.call.input().listen(ready_set.handle(0));
        while self
            .call
            .input()
            .take(&mut Vec::new(), usize::MAX)
            .is_none()
        {
            ready_set.wait(&mut Vec::new()).await;
        }
    }

    /// Ends the call, and forgets it when the hub has acknowledged that.
    async fn finish(mut self, state: DoneState) {
        assert!(self.next_frame(), "what is acknowledged is not open again");
        let (request, seq, observed) = (self.request(), self.seq, self.observed.clone());
        let end = End::Done(Box::new(Done {
            state,
            ..Done::default()
        }));
        assert_eq!(self.call.finish_numbered(end, seq).ok(), Some(true));
        observed
            .until(|it| it.open.get(&request).is_none_or(|open| open.acked >= seq))
            .await;
        observed.change(|it| drop(it.open.remove(&request)));
    }
}
