//! `a2a`: an A2A server that the hub cannot reach, connected from a machine that can reach it.
//!
//! The server is dialled with the hub's own dialling code, on an internal hub in this process. The internal
//! hub stores nothing and has no time limits; the limits of the calling hub apply. `translate.rs` converts
//! between the two.

mod translate;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use std::sync::Arc;

use jackfield_a2a::{Auth, RemoteSpec, Remotes, Source};
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
use jackfield_sdk::Failure;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::web;
use crate::{Driver, Introduction, Said, Turn, Voice, Working, process::CRASHED};

/// Agent id of the server on the internal hub, and the protocol name of calls there.
const NAME: &str = "a2a";

/// Settings of the [`A2a`] driver.
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
pub struct A2a {
    settings: A2aSettings,
    id: AgentId,
    dialling: OnceCell<Dialling>,
    introduction: Mutex<Introduction>,
}

/// The internal hub, and the server on it.
#[derive(Debug)]
struct Dialling {
    hub: Hub,
    remotes: Remotes,
    tasks: Tasks,
}

impl Drop for Dialling {
    fn drop(&mut self) {
        self.tasks.stop_token().cancel();
    }
}

impl A2a {
    /// Creates a driver. Sends no request yet.
    pub fn new(settings: A2aSettings) -> Result<Self, Failure> {
        web::typed(&settings.url)?;
        let id = AgentId::parse(NAME).map_err(internal)?;
        Ok(Self {
            settings,
            id,
            dialling: OnceCell::new(),
            introduction: Mutex::default(),
        })
    }

    async fn dialling(&self) -> Result<&Dialling, Failure> {
        self.dialling.get_or_try_init(|| self.start()).await
    }

    async fn start(&self) -> Result<Dialling, Failure> {
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
                bearer: self.settings.key_env.clone().map(Source::Env),
                ..Auth::default()
            },
            timeout: None,
            share: None,
        };
        let servers = vec![(self.id.clone(), spec)];
        let remotes = Remotes::start(hub.clone(), store, outbound, tasks.clone(), servers).await;
        let remotes =
            remotes.map_err(|error| Failure::new("invalid_message", error.to_string()))?;
        Ok(Dialling {
            hub,
            remotes,
            tasks,
        })
    }

    /// Waits for the result of dialling the server.
    async fn tried(&self) -> Result<(), Failure> {
        let dialling = self.dialling().await?;
        match dialling.remotes.tried(&self.id).await {
            Ok(profile) => {
                *self.introduction.lock() = translate::introduction(&profile);
                Ok(())
            }
            Err(failure) => {
                let text = format!(
                    "the A2A server cannot be called: {}; start it, or mend the URL",
                    failure.text
                );
                Err(Failure::new(CRASHED, text))
            }
        }
    }

    async fn turn(&self, turn: Turn, voice: &Voice) -> Result<(), Failure> {
        self.tried().await?;
        let dialling = self.dialling().await?;
        let session = SessionId::parse(&turn.message.session).ok();
        if let (Some(session), Some(context)) = (&session, &turn.native_session) {
            let remotes = &dialling.remotes;
            remotes.know_context(&self.id, session, context.clone());
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
                    has_words |= matches!(said, Said::Text(_));
                    voice.say(said).await?;
                }
                Some(Reply::Event(Event::Artifact(artifact))) => {
                    let made = voice.reply().artifact(translate::artifact(artifact));
                    made.await.map_err(|error| translate::unsaid(&error))?;
                }
                Some(Reply::Event(Event::Ask(ask))) => asked.push(put(ask, voice)),
                Some(Reply::End(end)) => break end,
                None => break jackfield_model::End::Cancelled,
            }
        };
        if let Some(session) = &session
            && let Some(context) = dialling.remotes.context(&self.id, session)
        {
            voice.say(Said::Session(context)).await?;
        }
        translate::finish(end, has_words, voice.reply()).await
    }
}

/// Asks a question of the server, to the caller or the owner.
async fn put(ask: Ask, voice: &Voice) -> Result<(String, jackfield_model::Answer), Failure> {
    let id = ask.id.clone();
    let answer = match translate::question(ask) {
        translate::Asked::Caller(question) => {
            let answer = voice.reply().ask(question).await;
            translate::answer(answer.map_err(|error| translate::unsaid(&error))?)
        }
        translate::Asked::Owner { tool, arguments } => {
            translate::decision(voice.approve(&tool, arguments).await?)
        }
    };
    Ok((id, answer))
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new("internal_error", error.to_string())
}

impl Driver for A2a {
    fn kind(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Working<'_> {
        Box::pin(self.tried())
    }

    fn introduction(&self) -> Introduction {
        self.introduction.lock().clone()
    }

    fn work(&self, turn: Turn, voice: Voice) -> Working<'_> {
        Box::pin(async move { self.turn(turn, &voice).await })
    }
}
