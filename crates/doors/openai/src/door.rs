//! The routes of the door, and the state that its requests share. What is known of OpenAI's API and not served here
//! is answered in its own format, too: a client that asks for embeddings reads why it gets none.

use std::sync::Arc;

use axum::{
    Router, middleware,
    routing::{any, get, post},
};
use http::{Method, StatusCode, Uri};
use jackfield_core::hub::Hub;
use jackfield_kit::{api::count_refused, auth::Gatekeeper, files::Files};
use tokio_util::sync::CancellationToken;

use crate::{
    DOOR, chat, failure::OpenAiError, models, parked::ParkedCalls, responses,
    session::Conversations,
};

/// Paths at and below which the door refuses wrong bodies itself.
pub(crate) const PATHS: &[&str] = &["/v1/chat", "/v1/responses"];

/// Paths of OpenAI's API that the hub does not serve. Only `/v1/files` has another meaning below it: links to
/// files of the hub.
const NOT_SERVED: [&str; 29] = [
    "/v1/embeddings",
    "/v1/completions",
    "/v1/moderations",
    "/v1/audio/{*rest}",
    "/v1/images/{*rest}",
    "/v1/videos",
    "/v1/videos/{*rest}",
    "/v1/files",
    "/v1/files/{id}",
    "/v1/uploads",
    "/v1/uploads/{*rest}",
    "/v1/batches",
    "/v1/batches/{*rest}",
    "/v1/fine_tuning/{*rest}",
    "/v1/assistants",
    "/v1/assistants/{*rest}",
    "/v1/threads",
    "/v1/threads/{*rest}",
    "/v1/vector_stores",
    "/v1/vector_stores/{*rest}",
    "/v1/conversations",
    "/v1/conversations/{*rest}",
    "/v1/containers",
    "/v1/containers/{*rest}",
    "/v1/realtime",
    "/v1/realtime/{*rest}",
    "/v1/engines",
    "/v1/rerank",
    "/v1/chat/{*rest}",
];

/// State of the door.
#[derive(Debug, Clone)]
pub(crate) struct OpenAiDoor {
    pub(crate) hub: Hub,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) files: Arc<Files>,
    /// Cancelled when the server begins to stop.
    pub(crate) stop: CancellationToken,
    pub(crate) parked: Arc<ParkedCalls>,
    pub(crate) conversations: Arc<Conversations>,
    /// Whether helper prompts are answered here.
    pub(crate) answers_helpers: bool,
}

/// Builds the routes of the door.
pub(crate) fn router(door: OpenAiDoor) -> Router {
    let refused = middleware::map_response_with_state((door.hub.clone(), DOOR), count_refused);
    let mut router = Router::new()
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::show))
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/responses", post(responses::create))
        .route("/v1/responses/{id}", get(responses::show))
        .route("/v1/responses/{id}/cancel", post(responses::cancel))
        .route(
            "/v1/responses/{id}/input_items",
            get(responses::input_items),
        );
    for path in NOT_SERVED {
        router = router.route(path, any(not_served));
    }
    router
        .method_not_allowed_fallback(wrong_method)
        .layer(refused)
        .with_state(door)
}

/// What the hub serves of the API, for clients that ask for something else.
const SERVED: &str =
    "agents are models here: there are /v1/models, /v1/chat/completions and /v1/responses";

async fn not_served(uri: Uri) -> OpenAiError {
    let text = format!("{} is not served; {SERVED}", uri.path());
    OpenAiError::nothing_here(StatusCode::NOT_FOUND, text)
}

async fn wrong_method(method: Method, uri: Uri) -> OpenAiError {
    let path = uri.path();
    let text = match method {
        Method::DELETE if path.starts_with("/v1/responses/") => format!(
            "{path} does not take DELETE: the hub drops responses by itself; \"store\": false stores none"
        ),
        method => format!("{path} does not take {method}; {SERVED}"),
    };
    OpenAiError::nothing_here(StatusCode::METHOD_NOT_ALLOWED, text)
}
