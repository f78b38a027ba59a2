//! Answer for unknown paths: lists the useful ones.

use http::Uri;
use jackfield_kit::api::ApiError;
use jackfield_model::{Failure, Reason};

/// Answers a request for which no route exists.
pub(crate) async fn answer_not_found(uri: Uri) -> ApiError {
    let path = uri.path();
    let way = if path.starts_with("/ws") {
        "agents connect at /ws; teams are watched at /ws/agent-team/TEAM, agents at /ws/agent/AGENT"
    } else if path == "/acp" || path.starts_with("/acp/") {
        "editors connect to an agent by WebSocket at /acp/AGENT, or start `jackfield acp AGENT`"
    } else {
        "this is a Jackfield hub: agents connect by WebSocket at /ws, its API is at /v1 and described by /openapi.json, \
         A2A agents are at /a2a/agents/AGENT, clients of OpenAI's API use /v1 as their base URL"
    };
    Failure::new(
        Reason::NotFound,
        format!("there is nothing at {path:?}; {way}"),
    )
    .into()
}
