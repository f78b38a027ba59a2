//! A hub with the OpenAI door, requests of its two APIs, and a reader of its streams.

use std::ops::Deref;

use jackfield_core::limits::Limits;
pub(crate) use jackfield_kit::testing::{Scripted, answer_text, soon};
use jackfield_kit::testing::{SseReader, TestHub, TestSettings};
use jackfield_model::{Chunk, ChunkKind, Event};
use jackfield_openai::Config;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

/// A hub with the OpenAI door.
pub(crate) struct OpenAiHub(TestHub);

impl Deref for OpenAiHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.0
    }
}

impl OpenAiHub {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(Config::default(), true, Limits::default()).await
    }

    pub(crate) async fn start_with(config: Config, trusts_everyone: bool, limits: Limits) -> Self {
        let settings = TestSettings {
            limits,
            trusts_everyone,
            has_file_links: true,
            has_clocks: true,
            ..TestSettings::default()
        };
        Self::start_on(settings, config).await
    }

    pub(crate) async fn start_on(settings: TestSettings, config: Config) -> Self {
        let mut builder = settings.prepare().await;
        builder.open(config).await;
        Self(builder.start())
    }

    /// A request for a chat completion.
    pub(crate) fn chat(&self, body: &Value) -> RequestBuilder {
        self.ask(Method::POST, "/v1/chat/completions").json(body)
    }

    /// Starts a streamed chat.
    pub(crate) async fn chat_stream(&self, body: Value) -> ChatEvents {
        let mut body = body;
        body["stream"] = true.into();
        ChatEvents::of(self.chat(&body)).await
    }

    /// Starts a streamed response.
    pub(crate) async fn response_stream(&self, body: Value) -> SseReader {
        let mut body = body;
        body["stream"] = true.into();
        self.stream("/v1/responses", body).await
    }

    /// Resumes the stream of a response after an event.
    pub(crate) async fn resumed(&self, id: &str, after: u64) -> Vec<Value> {
        let path = format!("/v1/responses/{id}?stream=true&starting_after={after}");
        let mut reader = SseReader::open(self.ask(Method::GET, &path)).await;
        reader.rest().await
    }

    /// Shows a response.
    pub(crate) async fn response(&self, id: &str) -> Value {
        let (status, body) = self.get(&format!("/v1/responses/{id}")).await;
        assert_eq!(status, 200, "{body}");
        body
    }
}

/// The body of a chat with one message.
pub(crate) fn says(model: &str, text: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": text}]})
}

/// A chunk of this kind.
pub(crate) fn chunk(kind: ChunkKind, text: &str, tool: Option<(&str, &str)>) -> Event {
    Event::Chunk(Chunk {
        kind,
        tool_name: tool.map(|(name, _)| name.to_owned()),
        tool_call_id: tool.map(|(_, id)| id.to_owned()),
        ..Chunk::text(text)
    })
}

/// The text of the content, or of the reasoning, of a streamed chat's chunks.
pub(crate) fn joined(chunks: &[Value], field: &str) -> String {
    let deltas = chunks
        .iter()
        .map(|chunk| &chunk["choices"][0]["delta"][field]);
    deltas.filter_map(Value::as_str).collect()
}

/// The chunks of a streamed chat.
#[derive(Debug)]
pub(crate) struct ChatEvents {
    reader: SseReader,
    /// Whether `[DONE]` has come.
    pub(crate) is_done: bool,
}

impl ChatEvents {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        Self {
            reader: SseReader::open(request).await,
            is_done: false,
        }
    }

    /// The next block as it is.
    pub(crate) async fn block(&mut self) -> Option<String> {
        self.reader.block().await
    }

    /// The next chunk; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let block = self.reader.block().await?;
            let Some(data) = block.strip_prefix("data: ") else {
                continue;
            };
            assert!(!self.is_done, "something came after [DONE]");
            if data.trim() == "[DONE]" {
                self.is_done = true;
                continue;
            }
            return Some(serde_json::from_str(data).unwrap());
        }
    }

    /// Reads until this content has come.
    pub(crate) async fn expect(&mut self, content: &str) {
        let mut said = String::new();
        while said != content {
            let chunk = self.next().await.expect("the stream goes on");
            said += joined(&[chunk], "content").as_str();
            assert!(content.starts_with(&said), "{said:?}");
        }
    }

    /// All chunks to the end.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(chunk) = self.next().await {
            all.push(chunk);
        }
        all
    }
}
