//! `openai`: any server that speaks the chat completions of OpenAI: Ollama, vLLM, llama.cpp, and the original.
//!
//! Such servers remember nothing, so the conversation is kept here: on disk, where a restarted `connect` finds it. Tools
//! are not offered; calls of tools that a model makes up all the same are shown and not carried out.
//!
//! - `stream.rs` what the server says; `request.rs` what it is told; `history.rs` the conversations
//! - `place.rs` where the server is, below the URL that was typed

mod history;
mod place;
mod request;
mod stream;

use std::path::PathBuf;

use jackfield_sdk::Failure;
use parking_lot::Mutex;
use reqwest::{Method, StatusCode};

use self::{
    history::{Histories, Saying},
    place::Place,
    stream::Hearing,
};
use super::web::{self, Body, Events, Key, Web};
use crate::{Driver, Introduction, Said, Turn, Voice, Working, process::CRASHED};

/// The longest list of models, and the longest complaint, that is read.
const LONGEST_LIST: usize = 4 << 20;
/// The longest answer that comes whole.
const LONGEST_WHOLE: usize = 16 << 20;
/// Where the key is, unless something else is said.
const KEY: &str = "OPENAI_API_KEY";

/// Which server, and how it is spoken to.
#[derive(Debug, Clone, Default)]
pub struct OpenAiSettings {
    /// The base of its API, with or without `/v1`.
    pub url: String,
    /// The model; the first that the server lists if there is none.
    pub model: Option<String>,
    /// What the model is told before everything else.
    pub system: Option<String>,
    /// The variable of the environment that holds the key; `OPENAI_API_KEY` if there is none.
    pub key_env: Option<String>,
    /// The folder in which conversations are kept.
    pub histories: PathBuf,
}

/// A server that speaks chat completions.
#[derive(Debug)]
pub struct OpenAi {
    web: Web,
    place: Place,
    key_env: String,
    system: Option<String>,
    histories: Histories,
    wanted: Option<String>,
    /// Where the API is and which model is spoken to, once that was looked up.
    found: Mutex<Option<Found>>,
}

#[derive(Debug, Clone)]
struct Found {
    base: reqwest::Url,
    model: String,
}

impl OpenAi {
    /// This server. Nobody is asked for anything yet.
    pub fn new(settings: OpenAiSettings) -> Result<Self, Failure> {
        let url = web::typed(&settings.url)?;
        let key_env = settings.key_env.unwrap_or_else(|| KEY.to_owned());
        Ok(Self {
            web: Web::new(&url, Key::from_env(&key_env))?,
            place: Place::new(&url),
            key_env,
            system: settings.system.filter(|system| !system.trim().is_empty()),
            histories: Histories::new(settings.histories),
            wanted: settings.model,
            found: Mutex::default(),
        })
    }

    /// Where the API is, and the model.
    async fn found(&self) -> Result<Found, Failure> {
        let found = self.found.lock().clone();
        match found {
            Some(found) => Ok(found),
            None => self.look().await,
        }
    }

    /// Looks where the list of models is, which tells where everything else is.
    async fn look(&self) -> Result<Found, Failure> {
        let mut complaint = None;
        for base in self.place.bases() {
            let request = self.web.request(Method::GET, place::below(base, "models"));
            let body = self.web.send(request.timeout(web::LOOKING)).await?;
            let status = body.status();
            let bytes = body.whole(LONGEST_LIST).await?;
            let text = String::from_utf8_lossy(&bytes);
            if !status.is_success() {
                let failure = self.refused(status, &text);
                if status != StatusCode::NOT_FOUND && status != StatusCode::METHOD_NOT_ALLOWED {
                    return Err(failure);
                }
                continue;
            }
            let Some(models) = stream::models(&text) else {
                complaint = Some("what is there is no list of models");
                continue;
            };
            let found = Found {
                base: base.clone(),
                model: self.choose(&models)?,
            };
            *self.found.lock() = Some(found.clone());
            return Ok(found);
        }
        // Some servers have no list. Whoever names a model needs none.
        if let (None, Some(model), Some(base)) =
            (complaint, &self.wanted, self.place.bases().first())
        {
            return Ok(Found {
                base: base.clone(),
                model: model.clone(),
            });
        }
        let text = format!(
            "{} has no list of models ({}); is it the base URL of an OpenAI-compatible API?",
            self.web.origin(),
            complaint.unwrap_or("404 Not Found")
        );
        Err(Failure::new(CRASHED, text))
    }

    fn choose(&self, models: &[String]) -> Result<String, Failure> {
        let Some(wanted) = &self.wanted else {
            return models.first().cloned().ok_or_else(|| {
                let text = format!(
                    "{} has no model; load one there, or name it with --model",
                    self.web.origin()
                );
                Failure::new("model_not_found", text)
            });
        };
        // Ollama calls the latest of a model by its name alone.
        let is_it = |model: &&String| *model == wanted || **model == format!("{wanted}:latest");
        // A list may be shorter than what the server takes: what is not in it is for the server to judge.
        Ok(models.iter().find(is_it).unwrap_or(wanted).clone())
    }

    async fn turn(&self, turn: Turn, voice: &Voice) -> Result<(), Failure> {
        let found = self.found().await?;
        let id = match turn.native_session.clone() {
            Some(id) if Histories::is_id(&id) => id,
            _ => Histories::new_id(),
        };
        let mut history = self.histories.load(&id).await;
        let prompt = request::prompt(&turn).await;
        let body = request::body(&found.model, self.system.as_deref(), &history, &prompt);
        let url = place::below(&found.base, "chat/completions");
        let request = self.web.request(Method::POST, url).json(&body);
        let answer = self.web.send(request).await?;
        if !answer.status().is_success() {
            let status = answer.status();
            let bytes = answer.whole(LONGEST_LIST).await?;
            return Err(self.refused(status, &String::from_utf8_lossy(&bytes)));
        }
        let (said, words) = self.listen(answer, voice).await?;
        for said in said {
            voice.say(said).await?;
        }
        if !words.is_empty() {
            history.push(Saying::user(request::words(&turn)));
            history.push(Saying::assistant(words));
            match self.histories.save(&id, history).await {
                Ok(()) => voice.say(Said::Session(id)).await?,
                Err(error) => {
                    let text = format!("the conversation cannot be kept: {error}");
                    voice.say(Said::Status(text)).await?;
                }
            }
        }
        Ok(())
    }

    /// Passes on what the model says. Gives what is said at the end, and all of its words.
    async fn listen(&self, body: Body, voice: &Voice) -> Result<(Vec<Said>, String), Failure> {
        let mut hearing = Hearing::default();
        if body.media() == "application/json" {
            // It does not stream, though it was asked to.
            let bytes = body.whole(LONGEST_WHOLE).await?;
            for said in self.hear(&mut hearing, &String::from_utf8_lossy(&bytes))? {
                voice.say(said).await?;
            }
            return hearing.end(self.web.origin());
        }
        let mut lines = body.lines();
        let mut events = Events::default();
        while let Some(line) = lines.next().await? {
            let Some(event) = events.line(&line) else {
                continue;
            };
            for said in self.hear(&mut hearing, &event.data)? {
                voice.say(said).await?;
            }
            if hearing.is_over() {
                return hearing.end(self.web.origin());
            }
        }
        if let Some(event) = events.last() {
            for said in self.hear(&mut hearing, &event.data)? {
                voice.say(said).await?;
            }
        }
        hearing.end(self.web.origin())
    }

    fn hear(&self, hearing: &mut Hearing, data: &str) -> Result<Vec<Said>, Failure> {
        hearing.hear(data).map_err(|failure| {
            let text = self.web.complaint(&failure.message);
            Failure::new(failure.code, text)
        })
    }

    /// What is told of a server that says no.
    fn refused(&self, status: StatusCode, text: &str) -> Failure {
        let origin = self.web.origin();
        let said = self.web.complaint(&stream::complaint(text));
        match status {
            // Servers repeat keys here.
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let text = format!(
                    "{origin} does not accept the key in {} ({}); set it, or name another variable with --key-env",
                    self.key_env,
                    web::status_text(status)
                );
                Failure::new("model_unauthorized", text)
            }
            StatusCode::NOT_FOUND => {
                let text = format!(
                    "{origin} answers 404: {said}; name another model with --model, or mend the URL"
                );
                Failure::new("model_not_found", text)
            }
            StatusCode::TOO_MANY_REQUESTS => {
                let text = format!("{origin} has too much to do: {said}; try again later");
                Failure::new("agent_busy", text)
            }
            status if status.is_redirection() => {
                let text = format!(
                    "{origin} answers {} and leads elsewhere, which is not followed; give the URL where the API is",
                    web::status_text(status)
                );
                Failure::new(CRASHED, text)
            }
            status => {
                let text = format!("{origin} answers {}: {said}", web::status_text(status));
                Failure::new("agent_error", text)
            }
        }
    }

    /// The models that the server has, for people.
    fn described(&self) -> Option<String> {
        let found = self.found.lock();
        let model = &found.as_ref()?.model;
        Some(format!("{model} at {}", self.web.origin()))
    }
}

impl Driver for OpenAi {
    fn kind(&self) -> &'static str {
        "openai"
    }

    fn check(&self) -> Working<'_> {
        Box::pin(async { self.look().await.map(drop) })
    }

    fn introduction(&self) -> Introduction {
        Introduction {
            description: self.described(),
            ..Introduction::default()
        }
    }

    fn work(&self, turn: Turn, voice: Voice) -> Working<'_> {
        Box::pin(async move { self.turn(turn, &voice).await })
    }
}
