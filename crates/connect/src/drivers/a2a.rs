//! `a2a`: an A2A server that the hub cannot reach, connected from a machine that can reach it.
//!
//! The server is dialled with the hub's own dialling code, on an internal hub in this process. The internal
//! hub stores nothing and has no time limits; the limits of the calling hub apply. `translate.rs` converts
//! between the two.

mod translate;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use std::sync::Arc;

use jackfield_a2a::{Auth, RemoteSpec, Remotes, SecretLocation};
use jackfield_core::{
    call::Reply,
    hub::{Hub, Request},
    limits::Limits,
    principal::Principal,
    store::{Store, memory::MemoryStore},
};
use jackfield_kit::{
    outbound::{Outbound, OutboundRules},
    tasks::Tasks,
};
use jackfield_model::{AgentId, Ask, Event, SessionId};
use jackfield_sdk::AgentFailure;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::web;
use crate::{
    Driver, DriverFuture, DriverOutput, OutputItem, SelfDescription, Turn, process::CRASHED,
};

/// Agent id of the server on the internal hub, and the protocol name of calls there.
const NAME: &str = "a2a";

/// Settings of the [`A2aDriver`] driver.
#[derive(Debug, Clone, Default)]
pub struct A2aSettings {
    /// URL of the server's card, or the base URL of the card.
    pub url: String,
    /// Environment variable with a bearer token for the server, if required.
    pub key_env: Option<String>,
    /// Whether the card may lead to private addresses other than the typed one.
    pub allow_private: bool,
}

/// [`Driver`] for an A2A server.
#[derive(Debug)]
pub struct A2aDriver {
    settings: A2aSettings,
    id: AgentId,
    dialling: OnceCell<InternalHub>,
    introduction: Mutex<SelfDescription>,
}

/// The internal hub, and the server on it.
#[derive(Debug)]
struct InternalHub {
    hub: Hub,
    remotes: Remotes,
    tasks: Tasks,
}

impl Drop for InternalHub {
    fn drop(&mut self) {
        self.tasks.stop_token().cancel();
    }
}

impl A2aDriver {
    /// Creates a driver. Sends no request yet.
    pub fn new(settings: A2aSettings) -> Result<Self, AgentFailure> {
        web::parse_url(&settings.url)?;
        let id = AgentId::parse(NAME).map_err(internal)?;
        Ok(Self {
            settings,
            id,
            dialling: OnceCell::new(),
            introduction: Mutex::default(),
        })
    }

    async fn dialling(&self) -> Result<&InternalHub, AgentFailure> {
        self.dialling.get_or_try_init(|| self.start()).await
    }

    async fn start(&self) -> Result<InternalHub, AgentFailure> {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let hub = Hub::open(store.clone(), Limits::default()).await;
        let hub = hub.map_err(internal)?;
        let rules = OutboundRules {
            allow_private: self.settings.allow_private,
            trusted_origins: Vec::new(),
        };
        let outbound = Outbound::new(&rules).map_err(internal)?;
        let tasks = Tasks::new();
        let spec = RemoteSpec {
            url: self.settings.url.clone(),
            auth: Auth {
                bearer: self.settings.key_env.clone().map(SecretLocation::Env),
                ..Auth::default()
            },
            timeout: None,
            share: None,
        };
        let servers = vec![(self.id.clone(), spec)];
        let remotes = Remotes::start(hub.clone(), store, outbound, tasks.clone(), servers).await;
        let remotes =
            remotes.map_err(|error| AgentFailure::new("invalid_message", error.to_string()))?;
        Ok(InternalHub {
            hub,
            remotes,
            tasks,
        })
    }

    /// Waits for the result of dialling the server.
    async fn wait_dialled(&self) -> Result<(), AgentFailure> {
        let dialling = self.dialling().await?;
        match dialling.remotes.wait_until_tried(&self.id).await {
            Ok(profile) => {
                *self.introduction.lock() = translate::introduction(&profile);
                Ok(())
            }
            Err(failure) => {
                let text = format!(
                    "the A2A server cannot be called: {}; start it, or mend the URL",
                    failure.text
                );
                Err(AgentFailure::new(CRASHED, text))
            }
        }
    }

    async fn turn(&self, turn: Turn, voice: &DriverOutput) -> Result<(), AgentFailure> {
        self.wait_dialled().await?;
        let dialling = self.dialling().await?;
        let session = SessionId::parse(&turn.message.session).ok();
        if let (Some(session), Some(context)) = (&session, &turn.native_session) {
            let remotes = &dialling.remotes;
            remotes.set_context(&self.id, session, context.clone());
        }
        let message = translate::message(&turn.message);
        let mut request = Request::new(Principal::local(), NAME, self.id.clone(), message);
        request.session.clone_from(&session);
        let asking = dialling.hub.calls().open(request);
        let asking = asking.map_err(|failure| translate::failure(&failure))?;
        let call = asking.call().id;
        let mut replies = asking.replies();
        let mut asked = FuturesUnordered::new();
        let mut has_words = false;
        let end = loop {
            let reply = tokio::select! {
                reply = replies.next() => reply,
                Some(answered) = asked.next() => {
                    let (id, answer): (String, _) = answered?;
                    // Fails if the question was withdrawn; no answer is needed then.
                    dialling.hub.calls().answer(&Principal::local(), call, &id, answer).ok();
                    continue;
                }
            };
            match reply {
                Some(Reply::Event(Event::Chunk(chunk))) => {
                    let said = translate::said(chunk);
                    has_words |= matches!(said, OutputItem::Text(_));
                    voice.send(said).await?;
                }
                Some(Reply::Event(Event::Artifact(artifact))) => {
                    let made = voice.reply().artifact(translate::artifact(artifact));
                    made.await
                        .map_err(|error| translate::reply_failure(&error))?;
                }
                Some(Reply::Event(Event::Ask(ask))) => asked.push(ask_question(ask, voice)),
                Some(Reply::End(end)) => break end,
                None => break jackfield_model::End::Cancelled,
            }
        };
        if let Some(session) = &session
            && let Some(context) = dialling.remotes.context(&self.id, session)
        {
            voice.send(OutputItem::Session(context)).await?;
        }
        translate::finish(end, has_words, voice.reply()).await
    }
}

/// Asks a question of the server, to the caller or the owner.
async fn ask_question(
    ask: Ask,
    voice: &DriverOutput,
) -> Result<(String, jackfield_model::Answer), AgentFailure> {
    let id = ask.id.clone();
    let answer = match translate::question(ask) {
        translate::RoutedQuestion::Caller(question) => {
            let answer = voice.reply().ask(question).await;
            translate::answer(answer.map_err(|error| translate::reply_failure(&error))?)
        }
        translate::RoutedQuestion::Owner { tool, arguments } => {
            translate::decision(voice.approve(&tool, arguments).await?)
        }
    };
    Ok((id, answer))
}

fn internal(error: impl std::fmt::Display) -> AgentFailure {
    AgentFailure::new("internal_error", error.to_string())
}

impl Driver for A2aDriver {
    fn kind(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> DriverFuture<'_> {
        Box::pin(self.wait_dialled())
    }

    fn self_description(&self) -> SelfDescription {
        self.introduction.lock().clone()
    }

    fn work(&self, turn: Turn, voice: DriverOutput) -> DriverFuture<'_> {
        Box::pin(async move { self.turn(turn, &voice).await })
    }
}
