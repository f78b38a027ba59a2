//! A line and servers that say exact bytes: good ones in all versions and bindings, and bad ones of all kinds.

mod bad;
mod good;
mod streams;

use jackfield_kit::outbound::OutboundRules;
use tokio::sync::Notify;

use super::*;
use crate::dial::{
    endpoint::Dialect,
    scripted::{
        ScriptStep, ScriptedRequest, ScriptedServer, answer, chunked_head, json, stream_head,
    },
    spec::{Auth, OAuth, SecretLocation},
};
use crate::wire::{
    card::Binding,
    official::{
        error::A2aErrorKind,
        model::{A2aState, Configuration, Message, Part, Role},
    },
};

const TASK_03: &str = r#"{"jsonrpc":"2.0","id":$ID,"result":{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}}"#;
const TASK_10: &str = r#"{"jsonrpc":"2.0","id":$ID,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}"#;

fn place(url: &str, binding: Binding, version: A2aVersion) -> RemoteEndpoint {
    RemoteEndpoint {
        url: url.to_owned(),
        binding,
        dialect: Dialect::Official,
        version,
        tenant: None,
        streams: true,
    }
}

fn rpc(url: &str, version: A2aVersion) -> RemoteEndpoint {
    place(url, Binding::JsonRpc, version)
}

fn rest(url: &str, version: A2aVersion) -> RemoteEndpoint {
    place(url, Binding::HttpJson, version)
}

fn private() -> OutboundRules {
    OutboundRules {
        allow_private: true,
        ..OutboundRules::default()
    }
}

fn line(place: RemoteEndpoint) -> RemoteClient {
    line_by(&private(), place, &Auth::default())
}

fn line_by(rules: &OutboundRules, place: RemoteEndpoint, auth: &Auth) -> RemoteClient {
    let outbound = Outbound::new(rules).unwrap();
    let credentials = Credentials::new(auth, outbound.clone()).unwrap();
    let max = jackfield_core::limits::Limits::default().message;
    RemoteClient::new(outbound, place, Arc::new(credentials), max)
}

fn params() -> SendParams {
    SendParams {
        tenant: None,
        message: Message::new("m", Role::User, vec![Part::text("hi")]),
        configuration: Configuration::default(),
        metadata: None,
    }
}

/// What a server that follows this script makes of a plain send.
async fn sent(script: Vec<ScriptStep>) -> Result<StreamItem, RemoteCallError> {
    let server = ScriptedServer::start(vec![script]).await;
    line(rpc(&server.url, A2aVersion::V10))
        .send(&params(), &HeaderMap::new())
        .await
}

/// What a server that follows this script makes of a stream, up to its end.
async fn streamed(script: Vec<ScriptStep>) -> (Vec<String>, Result<(), RemoteCallError>) {
    let server = ScriptedServer::start(vec![script]).await;
    let line = line(rpc(&server.url, A2aVersion::V10));
    match line.stream(&params(), &HeaderMap::new()).await {
        Ok(incoming) => all(incoming).await,
        Err(trouble) => (Vec::new(), Err(trouble)),
    }
}

/// What arrives, and how it ends.
async fn all(mut incoming: AnswerStream) -> (Vec<String>, Result<(), RemoteCallError>) {
    let mut arrived = Vec::new();
    let end = loop {
        match incoming.next().await {
            Ok(Some(next)) => arrived.push(told(&next)),
            Ok(None) => break Ok(()),
            Err(trouble) => break Err(trouble),
        }
    };
    assert!(
        matches!(incoming.next().await, Ok(None)),
        "nothing comes after the end"
    );
    (arrived, end)
}

/// Something that arrived, in short.
fn told(arrived: &AnswerElement) -> String {
    match arrived {
        AnswerElement::Pulse => "pulse".to_owned(),
        AnswerElement::Item { id, item } => {
            let id = id
                .as_deref()
                .map(|id| format!("{id}: "))
                .unwrap_or_default();
            format!("{id}{}", what(item))
        }
    }
}

fn what(item: &StreamItem) -> String {
    match item {
        StreamItem::Task(task) => format!(
            "task {} {}",
            task.id,
            task.status.state.name(A2aVersion::V03)
        ),
        StreamItem::Message(message) => format!("message {}", message.id),
        StreamItem::Status(update) => {
            format!("status {}", update.status.state.name(A2aVersion::V03))
        }
        StreamItem::Artifact(update) => format!("artifact {}", update.artifact.id),
    }
}

/// Some bytes as chunks of this size, and their end.
fn chunks(text: &str, size: usize) -> Vec<ScriptStep> {
    let mut steps = vec![chunked_head()];
    let bytes = text.as_bytes().chunks(size);
    steps.extend(bytes.map(|chunk| ScriptStep::Bytes(chunk_of(chunk))));
    steps.push(ScriptStep::Say("0\r\n\r\n".to_owned()));
    steps
}

fn chunk_of(bytes: &[u8]) -> Vec<u8> {
    let size = format!("{:x}\r\n", bytes.len());
    [size.as_bytes(), bytes, b"\r\n"].concat()
}

fn refused(trouble: &RemoteCallError) -> Option<A2aErrorKind> {
    match trouble {
        RemoteCallError::Refused(fault) => Some(fault.kind),
        _ => None,
    }
}
