//! The translator: an HTTP agent that translates text into Morse code, with a sidecar that makes it a libp2p
//! peer. The hub keeps a connection to the peer.

use std::{convert::Infallible, fs, io::Write as _, os::unix::fs::OpenOptionsExt as _, path::Path};

use anyhow::{Context, Result};
use axum::{
    Json, Router,
    body::Body,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::stream;
use http::header::CONTENT_TYPE;
use jackfield_kit::{
    outbound::{Outbound, OutboundRules},
    tasks::Tasks,
};
use jackfield_peer::{
    address, allowed::Allowed, identity::Identity, node::NodeConfig, serve::DEADLINE,
};
use jackfield_sidecar::{Sidecar, SidecarConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{morse, pace};

/// Agent id on the hub: the name and the end of the peer id, which follows from the seed.
pub(super) const ID: &str = "translator@pXoumuwMhaza";
/// Seed of the key: constant, for a constant id. Not secret, and the peer listens on loopback only.
const SEED: [u8; 32] = *b"jackfield demo, nobody's secret.";

/// Starts the agent and its [`Sidecar`], and returns the sidecar's address.
pub(super) async fn start(folder: &Path, tasks: &Tasks) -> Result<(Sidecar, String)> {
    let agent_url = serve(tasks).await?;
    let key_file = folder.join("translator-key");
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600);
    file.open(&key_file)?.write_all(&SEED)?;
    let key = Identity::load(&key_file)?.context("the key was just written")?;
    let setting = SidecarConfig {
        tasks: Tasks::new(),
        key,
        node: NodeConfig {
            listen: vec![address::parse(super::ANY_PEER_PORT)?],
            ..NodeConfig::default()
        },
        outbound: Outbound::new(&OutboundRules::default())?,
        agent_url,
        name: None,
        allowed: Allowed::Everyone,
        relays: Vec::new(),
        deadline: DEADLINE,
        registry: None,
        // The hub connects by itself.
        hub: None,
    };
    let sidecar = Sidecar::open(setting).await;
    let sidecar = sidecar.context("cannot start the translator's sidecar")?;
    let address = sidecar.node().addresses().first().map(ToString::to_string);
    let address = address.context("the translator's sidecar listens nowhere")?;
    Ok((sidecar, address))
}

/// Serves the agent until the tasks stop, and returns its URL.
async fn serve(tasks: &Tasks) -> Result<String> {
    let listener = TcpListener::bind(super::ANY_PORT).await;
    let listener = listener.context("cannot listen for the translator")?;
    let url = format!("http://{}", listener.local_addr()?);
    let router = Router::new()
        .route("/card", get(|| async { Json(card()) }))
        .route("/morse", post(translate));
    let stop = tasks.stop_token().clone();
    tasks.spawn(async move {
        let server = axum::serve(listener, router);
        server.with_graceful_shutdown(stop.cancelled_owned()).await
    });
    Ok(url)
}

fn card() -> Value {
    let does = "Scripted. Turns words into Morse code.";
    json!({"name": "translator", "version": env!("CARGO_PKG_VERSION"), "description": does, "skills": [
        {"id": "morse", "name": "Morse code", "description": does, "path": "/morse", "method": "POST"}]})
}

/// Translates a text letter by letter. The input is JSON: a string, or an object with a text.
async fn translate(Json(input): Json<Value>) -> Response {
    let text = match &input {
        Value::String(text) => text.clone(),
        other => other["text"]
            .as_str()
            .map_or_else(|| other.to_string(), str::to_owned),
    };
    let code = morse::code(&text);
    let letters: Vec<_> = pace::words(&code).map(str::to_owned).collect();
    let keyed = stream::unfold(letters.into_iter(), |mut letters| async move {
        let letter = letters.next()?;
        tokio::time::sleep(pace::WORD / 2).await;
        Some((Ok::<_, Infallible>(letter), letters))
    });
    // Without a length, so that the body is streamed.
    let kind = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
    (kind, Body::from_stream(keyed)).into_response()
}
