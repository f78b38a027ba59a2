//! `http`: an agent behind HTTP, of one of two kinds.
//!
//! If `URL/card` returns a card, as agents of the peer-to-peer protocol have it, each message goes to a skill
//! of the card: the skill in the caller's `metadata.skill`, else the first. The path's `{places}` are filled
//! with `metadata.params`, and a single remaining place with the text. Data in the message is the body;
//! without data, the text goes into the field that the skill's input schema expects.
//!
//! Otherwise the URL itself receives each message as `POST {"message", "session_id", "request_id", "caller",
//! "parts", "metadata"}`.
//!
//! The response may be text, which is streamed; JSON; lines of JSON or server-sent events, which are
//! streamed; or any other file. `answer.rs` defines the meaning of JSON.

mod answer;
mod skill;

use jackfield_sdk::{AgentFailure, File, Skill};
use jackfield_wire::p2p::{self, PeerCard};
use parking_lot::Mutex;
use reqwest::{Method, StatusCode, Url, header::ACCEPT};
use serde_json::{Value, json};

use self::answer::AnswerPart;
use super::web::{self, BearerKey, ServerClient, ServerResponse, SseParser};
use crate::{
    Driver, DriverFuture, DriverOutput, OutputItem, SelfDescription, Turn, process::CRASHED,
};

/// `Accept` header, streaming types first.
const UNDERSTOOD: &str =
    "text/event-stream, application/x-ndjson, application/json;q=0.9, text/plain;q=0.8, */*;q=0.1";
/// Largest whole JSON response and largest file, in bytes: the hub's frame limit less frame and base64
/// overhead.
const LARGEST: usize = 5 << 20;
/// Longest error body that is read, in bytes.
const LONGEST_COMPLAINT: usize = 64 << 10;

/// Settings of the [`Http`] driver.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// URL of the agent.
    pub url: String,
    /// Environment variable with a bearer token for the agent, if required.
    pub key_env: Option<String>,
}

/// [`Driver`] for an agent behind HTTP.
#[derive(Debug)]
pub struct Http {
    web: ServerClient,
    url: Url,
    key_env: Option<String>,
    /// The agent's card: outer `None` before the lookup, inner `None` if the agent has no card.
    card: Mutex<Option<Option<PeerCard>>>,
}

impl Http {
    /// Creates a driver. Sends no request yet.
    pub fn new(settings: HttpSettings) -> Result<Self, AgentFailure> {
        let url = web::parse_url(&settings.url)?;
        let key = settings.key_env.as_deref().map(BearerKey::from_env);
        // Users may type the URL of the card.
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/card").unwrap_or(url.path());
        Ok(Self {
            web: ServerClient::new(&url, key.unwrap_or_default())?,
            url: web::at(&url, path),
            key_env: settings.key_env,
            card: Mutex::default(),
        })
    }

    /// Returns the agent's card, if any; looks it up on first use.
    async fn card(&self) -> Result<Option<PeerCard>, AgentFailure> {
        let known = self.card.lock().clone();
        match known {
            Some(card) => Ok(card),
            None => self.fetch_card().await,
        }
    }

    async fn fetch_card(&self) -> Result<Option<PeerCard>, AgentFailure> {
        let request = self.web.request(Method::GET, self.below("/card"));
        let body = self.web.send(request.timeout(web::LOOKING)).await?;
        let status = body.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(self.refused(status, ""));
        }
        let card = match status.is_success() {
            // A response that is not a card comes from an agent without one.
            true => {
                let bytes = body.whole(p2p::MAX_CARD).await.unwrap_or_default();
                let card = p2p::read_card(&bytes).ok();
                card.filter(|card| !card.skills.is_empty())
            }
            false => None,
        };
        *self.card.lock() = Some(card.clone());
        Ok(card)
    }

    /// Returns the URL of a path below the agent's own. A query in `path` is appended to the query of the
    /// agent's URL.
    fn below(&self, path: &str) -> Url {
        let base = self.url.path().trim_end_matches('/');
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let mut url = web::at(&self.url, &format!("{base}{path}"));
        if let Some(query) = query {
            let own = url.query().map(|own| format!("{own}&{query}"));
            url.set_query(Some(own.as_deref().unwrap_or(query)));
        }
        url
    }

    async fn turn(&self, turn: Turn, voice: &DriverOutput) -> Result<(), AgentFailure> {
        let request = match self.card().await? {
            Some(card) => {
                let call = skill::call(&card, &turn.message)?;
                let method = Method::from_bytes(call.method.as_bytes());
                let method = method.map_err(|_| {
                    let text = format!("the card names a method that is none: {}", call.method);
                    AgentFailure::new(CRASHED, text)
                })?;
                let request = self.web.request(method, self.below(&call.path));
                match call.body {
                    Some(body) => request.json(&body),
                    None => request,
                }
            }
            None => {
                let request = self.web.request(Method::POST, self.url.clone());
                request.json(&message(&turn))
            }
        };
        let body = self.web.send(request.header(ACCEPT, UNDERSTOOD)).await?;
        if !body.status().is_success() {
            let status = body.status();
            let bytes = body.whole(LONGEST_COMPLAINT).await.unwrap_or_default();
            return Err(self.refused(status, &String::from_utf8_lossy(&bytes)));
        }
        self.listen(body, voice).await
    }

    async fn listen(&self, body: ServerResponse, voice: &DriverOutput) -> Result<(), AgentFailure> {
        let media = body.media().to_owned();
        match media.as_str() {
            "text/event-stream" => self.events(body, voice).await,
            "application/x-ndjson" | "application/jsonl" | "application/x-jsonlines" => {
                self.json_lines(body, voice).await
            }
            media if media == "application/json" || media.ends_with("+json") => {
                let bytes = body.whole(LARGEST).await?;
                let value = serde_json::from_slice(&bytes).map_err(|_| {
                    let text = format!(
                        "{} says that it answers in JSON, and does not",
                        self.web.origin()
                    );
                    AgentFailure::new(CRASHED, text)
                })?;
                self.say(answer::whole(&value), voice).await
            }
            media if media.is_empty() || media.starts_with("text/") => {
                let mut pieces = body.pieces();
                while let Some(piece) = pieces.next().await? {
                    voice.send(OutputItem::Text(piece)).await?;
                }
                Ok(())
            }
            media => {
                let file = File::bytes(body.whole(LARGEST).await?).mime(media);
                let file = file.name(format!(
                    "answer.{}",
                    media.rsplit('/').next().unwrap_or("bin")
                ));
                let attached = voice.reply().attach(file).await;
                attached.map_err(|error| AgentFailure::new("internal_error", error.to_string()))
            }
        }
    }

    async fn events(&self, body: ServerResponse, voice: &DriverOutput) -> Result<(), AgentFailure> {
        let mut lines = body.lines();
        let mut events = SseParser::default();
        while let Some(line) = lines.next().await? {
            if let Some(event) = events.line(&line) {
                if event.data.trim() == "[DONE]" {
                    return Ok(());
                }
                self.say(answer::event(&event.name, &event.data), voice)
                    .await?;
            }
        }
        match events.last() {
            Some(event) if event.data.trim() != "[DONE]" => {
                self.say(answer::event(&event.name, &event.data), voice)
                    .await
            }
            _ => Ok(()),
        }
    }

    async fn json_lines(
        &self,
        body: ServerResponse,
        voice: &DriverOutput,
    ) -> Result<(), AgentFailure> {
        let mut lines = body.lines();
        while let Some(line) = lines.next().await? {
            if !line.trim().is_empty() {
                self.say(answer::event("", &line), voice).await?;
            }
        }
        Ok(())
    }

    async fn say(&self, meaning: AnswerPart, voice: &DriverOutput) -> Result<(), AgentFailure> {
        match meaning {
            AnswerPart::Said(said) => voice.send(said).await,
            AnswerPart::Nothing => Ok(()),
            AnswerPart::Failed(failure) => {
                let text = self.web.complaint(&failure.message);
                Err(AgentFailure::new(failure.code, text))
            }
        }
    }

    fn refused(&self, status: StatusCode, text: &str) -> AgentFailure {
        let origin = self.web.origin();
        let said = self.web.complaint(&answer::complaint(text));
        let shown = web::status_text(status);
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let next = match &self.key_env {
                    Some(name) => format!("mend the token in {name}"),
                    None => "name the variable with its token by --key-env".to_owned(),
                };
                let text = format!("{origin} does not let us in ({shown}); {next}");
                AgentFailure::new("agent_unauthorized", text)
            }
            StatusCode::TOO_MANY_REQUESTS => {
                let text = format!("{origin} has too much to do: {said}; try again later");
                AgentFailure::new("agent_busy", text)
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
                let text = format!(
                    "{origin} answers {shown}; give the URL that takes messages by POST, or one with a card below it"
                );
                AgentFailure::new(CRASHED, text)
            }
            StatusCode::GATEWAY_TIMEOUT => {
                AgentFailure::new("timeout", format!("{origin} answers {shown}: {said}"))
            }
            status if status.is_redirection() => {
                let text = format!(
                    "{origin} answers {shown} and leads elsewhere, which is not followed; give the URL where the agent is"
                );
                AgentFailure::new(CRASHED, text)
            }
            _ => AgentFailure::new("agent_error", format!("{origin} answers {shown}: {said}")),
        }
    }
}

/// Builds the request body for an agent without a card.
fn message(turn: &Turn) -> Value {
    let message = &turn.message;
    let mut body = json!({
        "message": message.text,
        "session_id": message.session,
        "request_id": message.request_id,
    });
    if let Some(caller) = &message.caller {
        body["caller"] = caller.as_str().into();
    }
    if !message.parts.is_empty() {
        body["parts"] = message.parts.iter().cloned().map(Value::from).collect();
    }
    if let Some(metadata) = &message.metadata {
        body["metadata"] = metadata.clone();
    }
    body
}

fn introduction(card: &PeerCard) -> SelfDescription {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let skill = |skill: &p2p::PeerSkill| {
        let announced = Skill::new(&skill.id).name(&skill.name);
        match text(&skill.description) {
            Some(description) => announced.description(description),
            None => announced,
        }
    };
    SelfDescription {
        name: text(&card.name),
        description: text(&card.description),
        version: text(&card.version),
        skills: card.skills.iter().map(skill).collect(),
    }
}

impl Driver for Http {
    fn kind(&self) -> &'static str {
        "http"
    }

    fn check(&self) -> DriverFuture<'_> {
        Box::pin(async { self.fetch_card().await.map(drop) })
    }

    fn self_description(&self) -> SelfDescription {
        let card = self.card.lock().clone().flatten();
        card.as_ref().map(introduction).unwrap_or_default()
    }

    fn work(&self, turn: Turn, voice: DriverOutput) -> DriverFuture<'_> {
        Box::pin(async move { self.turn(turn, &voice).await })
    }
}
