//! An agent, a team and a workflow on one's own axum server, without a hub. Call them as the A2A protocol of Agno Go does:
//!
//! ```console
//! curl -X POST http://localhost:7777/a2a/message/send \
//!   -H 'Content-Type: application/json' \
//!   -d '{"jsonrpc": "2.0", "method": "message/send", "id": "req-1", "params": {"message": {
//!        "messageId": "msg-1", "role": "user", "agentId": "my-agent", "contextId": "session-123",
//!        "parts": [{"kind": "text", "text": "Hello!"}]}}}'
//! ```

use std::error::Error;

use axum::{Json, routing::get};
use jackfield_sdk::{Agent, Team, Workflow, a2a, stop_requested};
use serde_json::json;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = Agent::new("my-agent")
        .name("My agent")
        .on_message(|_, reply| async move { Ok(reply.text("Hello from agent!").await?) });

    let counter = Agent::new("counter").on_message(|message, reply| async move {
        let count = message.text.split_whitespace().count();
        Ok(reply.text(format!("{count} words")).await?)
    });
    let echo = Agent::new("echo").on_message(|message, reply| async move {
        for word in message.text.split_inclusive(' ') {
            reply.text(word).await?;
        }
        Ok(())
    });
    let team = Team::new("my-team").member(echo).member(counter);

    let workflow = Workflow::new("my-workflow")
        .step("trim", |text| async move { Ok(text.trim().to_owned()) })
        .step("shout", |text| async move { Ok(text.to_uppercase()) });

    let agents: [Agent; 3] = [agent, team.into(), workflow.into()];
    let health = json!({"status": "ok", "agents": agents.each_ref().map(Agent::id)});
    let router = a2a::serve(agents)
        .into_router("/a2a")?
        .route("/health", get(|| async { Json(health) }));

    let port = std::env::var("PORT").map_or(Ok(7777), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let stop = stop_requested();
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router)
        .with_graceful_shutdown(stop)
        .await?;
    Ok(())
}
