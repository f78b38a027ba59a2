//! Prerequisites of the pages beside a hub: servers, peers and programs, each started for the pages that mention
//! it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use axum::{
    Json, Router,
    extract::Path as Gaps,
    routing::{get, post},
};
use jackfield_sdk::{Agent, HubAddress};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, task::JoinSet};

use crate::cli::{connect::stand_ins, connected::model::Model};

/// Replacements for the servers of the pages; stopped when dropped.
#[derive(Default)]
pub(super) struct Servers {
    running: JoinSet<()>,
    models: Vec<Model>,
}

impl Servers {
    /// A chat completions and A2A server.
    pub(super) async fn model(&mut self, path: &str) -> String {
        let model = Model::start().await;
        let url = model.url(path);
        self.models.push(model);
        url.trim_end_matches('/').to_owned()
    }

    /// An agent behind HTTP with a card, which knows the weather of every city.
    pub(super) async fn weather(&mut self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let routes = Router::new()
            .route("/card", get(async || Json(weather_card())))
            .route(
                "/forecast/{city}",
                post(async |Gaps(city): Gaps<String>| format!("sunny in {city}")),
            );
        self.running
            .spawn(async move { axum::serve(listener, routes).await.expect("it serves") });
        url
    }

    /// Attaches an echo agent to a hub.
    pub(super) async fn echo(&mut self, hub: &str, id: &str) {
        let (attached, is_attached) = oneshot::channel();
        let mut attached = Some(attached);
        let agent = Agent::new(id)
            .hub(HubAddress::new(hub).expect("a URL"))
            .on_message(|message, reply| async move {
                reply.text(message.text).await?;
                Ok(())
            });
        self.running.spawn(async move {
            let tell = move || {
                if let Some(attached) = attached.take() {
                    attached.send(()).expect("the test waits");
                }
            };
            agent.run_with(tell).await.expect("the hub takes the agent");
        });
        is_attached.await.expect("the agent is attached");
    }
}

fn weather_card() -> Value {
    json!({"name": "weather", "version": "1", "description": "Knows the weather.", "skills": [
        {"id": "forecast", "name": "Forecast", "description": "Tells it.", "path": "/forecast/{city}", "method": "POST"}]})
}

/// Writes stand-ins for other authors' programs to a folder.
pub(super) fn programs(folder: &Path) {
    fs::create_dir(folder).expect("a folder");
    let acp = stand_ins().join("acp_agent.py");
    for name in ["gemini", "npx"] {
        let path = folder.join(name);
        let script = format!("#!/bin/sh\nexec python3 {} told\n", acp.display());
        fs::write(&path, script).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
}
