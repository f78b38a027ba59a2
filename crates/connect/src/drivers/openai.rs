//! `openai`: any server with OpenAI's chat completions API: Ollama, vLLM, llama.cpp, and OpenAI itself.
//!
//! Such servers are stateless, so conversations are stored here, on disk, where a restarted `connect` finds
//! them. No tools are offered; tool calls that a model produces anyway are shown and not executed.
//!
//! - `stream.rs` parses responses, `request.rs` builds requests, `history.rs` stores conversations
//! - `base_url.rs` finds the API below the URL that was typed

mod base_url;
mod history;
mod request;
mod stream;

use std::path::PathBuf;

use jackfield_sdk::AgentFailure;
use parking_lot::Mutex;
use reqwest::{Method, StatusCode};

use self::{
    base_url::BaseUrlCandidates,
    history::{Histories, HistoryMessage},
    stream::CompletionReader,
};
use super::web::{self, BearerKey, ServerClient, ServerResponse, SseParser};
use crate::{
    Driver, DriverFuture, DriverOutput, OutputItem, SelfDescription, Turn, process::CRASHED,
};

/// Longest list of models, and longest error body, in bytes.
const LONGEST_LIST: usize = 4 << 20;
/// Longest response that is not streamed, in bytes.
const LONGEST_WHOLE: usize = 16 << 20;
/// Header with the id of the conversation.
const SESSION: &str = "jackfield-session";
/// Default environment variable of the key.
const KEY: &str = "OPENAI_API_KEY";

/// Settings of the [`OpenAi`] driver.
#[derive(Debug, Clone, Default)]
pub struct OpenAiSettings {
    /// Base URL of the API, with or without `/v1`.
    pub url: String,
    /// Name of the model; default: the first that the server lists.
    pub model: Option<String>,
    /// System prompt.
    pub system: Option<String>,
    /// Environment variable with the key; default `OPENAI_API_KEY`.
    pub key_env: Option<String>,
    /// Folder for stored conversations.
    pub histories: PathBuf,
}

/// [`Driver`] for a server with chat completions.
#[derive(Debug)]
pub struct OpenAi {
    web: ServerClient,
    place: BaseUrlCandidates,
    key_env: String,
    system: Option<String>,
    histories: Histories,
    wanted: Option<String>,
    /// Base URL and model, once looked up.
    found: Mutex<Option<ModelEndpoint>>,
}

#[derive(Debug, Clone)]
struct ModelEndpoint {
    base: reqwest::Url,
    model: String,
}

impl OpenAi {
    /// Creates a driver. Sends no request yet.
    pub fn new(settings: OpenAiSettings) -> Result<Self, AgentFailure> {
        let url = web::parse_url(&settings.url)?;
        let key_env = settings.key_env.unwrap_or_else(|| KEY.to_owned());
        Ok(Self {
            web: ServerClient::new(&url, BearerKey::from_env(&key_env))?,
            place: BaseUrlCandidates::new(&url),
            key_env,
            system: settings.system.filter(|system| !system.trim().is_empty()),
            histories: Histories::new(settings.histories),
            wanted: settings.model,
            found: Mutex::default(),
        })
    }

    /// Returns base URL and model; looks them up on first use.
    async fn endpoint(&self) -> Result<ModelEndpoint, AgentFailure> {
        let found = self.found.lock().clone();
        match found {
            Some(found) => Ok(found),
            None => self.discover().await,
        }
    }

    /// Finds the list of models, and thereby the base URL.
    async fn discover(&self) -> Result<ModelEndpoint, AgentFailure> {
        let (mut complaint, mut missing) = (None, StatusCode::NOT_FOUND);
        for base in self.place.bases() {
            let request = self
                .web
                .request(Method::GET, base_url::below(base, "models"));
            let body = self.web.send(request.timeout(web::LOOKING)).await?;
            let status = body.status();
            let bytes = body.whole(LONGEST_LIST).await?;
            let text = String::from_utf8_lossy(&bytes);
            if !status.is_success() {
                let failure = self.refused(status, &text);
                if status != StatusCode::NOT_FOUND && status != StatusCode::METHOD_NOT_ALLOWED {
                    return Err(failure);
                }
                missing = status;
                continue;
            }
            let Some(models) = stream::models(&text) else {
                complaint = Some("what is there is no list of models");
                continue;
            };
            let found = ModelEndpoint {
                base: base.clone(),
                model: self.choose(&models)?,
            };
            *self.found.lock() = Some(found.clone());
            return Ok(found);
        }
        // Some servers have no list of models. A configured model needs no list.
        if let (None, Some(model), Some(base)) =
            (complaint, &self.wanted, self.place.bases().first())
        {
            let found = ModelEndpoint {
                base: base.clone(),
                model: model.clone(),
            };
            *self.found.lock() = Some(found.clone());
            return Ok(found);
        }
        let text = format!(
            "{} has no list of models ({}); is it the base URL of an OpenAI-compatible API?",
            self.web.origin(),
            complaint.map_or_else(|| web::status_text(missing), str::to_owned)
        );
        Err(AgentFailure::new(CRASHED, text))
    }

    fn choose(&self, models: &[String]) -> Result<String, AgentFailure> {
        let Some(wanted) = &self.wanted else {
            return models.first().cloned().ok_or_else(|| {
                let text = format!(
                    "{} has no model; load one there, or name it with --model",
                    self.web.origin()
                );
                AgentFailure::new("model_not_found", text)
            });
        };
        // Ollama accepts a model's name without the tag `latest`.
        let is_it = |model: &&String| *model == wanted || **model == format!("{wanted}:latest");
        // The list may be incomplete, so the server judges unlisted models.
        Ok(models.iter().find(is_it).unwrap_or(wanted).clone())
    }

    async fn turn(&self, turn: Turn, voice: &DriverOutput) -> Result<(), AgentFailure> {
        let found = self.endpoint().await?;
        let id = match turn.native_session.clone() {
            Some(id) if Histories::is_id(&id) => id,
            _ => Histories::new_id(),
        };
        let mut history = self.histories.load(&id).await;
        let prompt = request::prompt(&turn).await;
        let body = request::body(&found.model, self.system.as_deref(), &history, &prompt);
        let url = base_url::below(&found.base, "chat/completions");
        // Another hub keeps the session of its agent by this name; other servers ignore the header.
        let request = self.web.request(Method::POST, url).header(SESSION, &id);
        let request = request.json(&body);
        let answer = self.web.send(request).await?;
        if !answer.status().is_success() {
            let status = answer.status();
            let bytes = answer.whole(LONGEST_LIST).await?;
            return Err(self.refused(status, &String::from_utf8_lossy(&bytes)));
        }
        let (said, words) = self.listen(answer, voice).await?;
        for said in said {
            voice.send(said).await?;
        }
        if !words.is_empty() {
            history.push(HistoryMessage::user(request::words(&turn)));
            history.push(HistoryMessage::assistant(words));
            match self.histories.save(&id, history).await {
                Ok(()) => voice.send(OutputItem::Session(id)).await?,
                Err(error) => {
                    let text = format!("the conversation cannot be kept: {error}");
                    voice.send(OutputItem::Status(text)).await?;
                }
            }
        }
        Ok(())
    }

    /// Streams the response to the caller. Returns the final items and the whole text.
    async fn listen(
        &self,
        body: ServerResponse,
        voice: &DriverOutput,
    ) -> Result<(Vec<OutputItem>, String), AgentFailure> {
        let mut hearing = CompletionReader::default();
        if body.media() == "application/json" {
            // The server does not stream, although requested.
            let bytes = body.whole(LONGEST_WHOLE).await?;
            for said in self.read_event(&mut hearing, &String::from_utf8_lossy(&bytes))? {
                voice.send(said).await?;
            }
            return hearing.end(self.web.origin());
        }
        let mut lines = body.lines();
        let mut events = SseParser::default();
        while let Some(line) = lines.next().await? {
            let Some(event) = events.line(&line) else {
                continue;
            };
            for said in self.read_event(&mut hearing, &event.data)? {
                voice.send(said).await?;
            }
            if hearing.is_over() {
                return hearing.end(self.web.origin());
            }
        }
        if let Some(event) = events.last() {
            for said in self.read_event(&mut hearing, &event.data)? {
                voice.send(said).await?;
            }
        }
        hearing.end(self.web.origin())
    }

    fn read_event(
        &self,
        hearing: &mut CompletionReader,
        data: &str,
    ) -> Result<Vec<OutputItem>, AgentFailure> {
        hearing.read_event(data).map_err(|failure| {
            let text = self.web.complaint(&failure.message);
            AgentFailure::new(failure.code, text)
        })
    }

    /// Converts an error response into a failure.
    fn refused(&self, status: StatusCode, text: &str) -> AgentFailure {
        let origin = self.web.origin();
        let said = self.web.complaint(&stream::complaint(text));
        match status {
            // Servers may repeat the key here, so their message is not shown.
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let text = format!(
                    "{origin} does not accept the key in {} ({}); set it, or name another variable with --key-env",
                    self.key_env,
                    web::status_text(status)
                );
                AgentFailure::new("model_unauthorized", text)
            }
            StatusCode::NOT_FOUND => {
                let text = format!(
                    "{origin} answers 404: {said}; name another model with --model, or mend the URL"
                );
                AgentFailure::new("model_not_found", text)
            }
            StatusCode::TOO_MANY_REQUESTS => {
                let text = format!("{origin} has too much to do: {said}; try again later");
                AgentFailure::new("agent_busy", text)
            }
            status if status.is_redirection() => {
                let text = format!(
                    "{origin} answers {} and leads elsewhere, which is not followed; give the URL where the API is",
                    web::status_text(status)
                );
                AgentFailure::new(CRASHED, text)
            }
            status => {
                let text = format!("{origin} answers {}: {said}", web::status_text(status));
                AgentFailure::new("agent_error", text)
            }
        }
    }

    /// Describes model and server, for people.
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

    fn check(&self) -> DriverFuture<'_> {
        Box::pin(async { self.discover().await.map(drop) })
    }

    fn self_description(&self) -> SelfDescription {
        SelfDescription {
            description: self.described(),
            ..SelfDescription::default()
        }
    }

    fn work(&self, turn: Turn, voice: DriverOutput) -> DriverFuture<'_> {
        Box::pin(async move { self.turn(turn, &voice).await })
    }
}
