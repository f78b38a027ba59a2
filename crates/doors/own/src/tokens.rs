//! `/v1/tokens` and `/v1/whoami`: tokens and identities. Only admins create, list and revoke tokens. A secret
//! is shown once.

use axum::{Json, extract::State};
use http::StatusCode;
use jackfield_core::principal::{Principal, Scopes};
use jackfield_kit::api::{
    ApiError, ApiErrorBody, AuthenticatedCaller, CallErrorResponses, ErrorResponses, PathId,
    UnreadBody, invalid,
};
use jackfield_model::{Failure, Reason, TokenId};

use crate::{
    OwnState,
    translate::{NewTokenView, TokenList, TokenView, Whoami, body::NewTokenBody},
};

/// Maximum length of a token's name, in characters: a line of a table.
const NAME_MAX: usize = 128;

fn needs_admin(principal: &Principal) -> Result<(), Failure> {
    if principal.is_admin() {
        return Ok(());
    }
    let text = "only an admin may do this; use a token with the scope admin";
    Err(Failure::new(Reason::Unauthorized, text))
}

/// Shows your identity at the hub.
#[utoipa::path(
    get,
    path = "/v1/whoami",
    tag = "tokens",
    responses((status = 200, description = "Who you are", body = Whoami), ErrorResponses),
)]
pub(crate) async fn whoami(AuthenticatedCaller(principal): AuthenticatedCaller) -> Json<Whoami> {
    Json(Whoami::from(&principal))
}

/// Lists all tokens, oldest first, without their secrets. Only for admins.
#[utoipa::path(
    get,
    path = "/v1/tokens",
    tag = "tokens",
    responses((status = 200, description = "The tokens", body = TokenList), ErrorResponses),
)]
pub(crate) async fn list(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
) -> Result<Json<TokenList>, ApiError> {
    needs_admin(&principal)?;
    let tokens = state.hub.tokens().list().into_iter();
    Ok(Json(TokenList {
        tokens: tokens.map(TokenView::from).collect(),
    }))
}

/// Creates a token and shows its secret once. Only for admins.
#[utoipa::path(
    post,
    path = "/v1/tokens",
    tag = "tokens",
    request_body = NewTokenBody,
    responses((status = 201, description = "The token", body = NewTokenView), CallErrorResponses),
)]
pub(crate) async fn create(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    body: UnreadBody,
) -> Result<(StatusCode, Json<NewTokenView>), ApiError> {
    needs_admin(&principal)?;
    let body: NewTokenBody = body.read(&state).await?;
    if body.name.is_empty() || body.name.chars().count() > NAME_MAX {
        return Err(invalid(format!(
            "field \"name\" must have 1 to {NAME_MAX} characters"
        ))
        .into());
    }
    let scopes = Scopes::parse(body.scopes.iter().map(String::as_str))
        .map_err(|error| invalid(format!("field \"scopes\": {error}")))?;
    let valid_for = body.expires.map(|span| span.0);
    let new = state
        .hub
        .tokens()
        .create(body.name, body.owner, &scopes, valid_for)
        .await?;
    tracing::info!(token = %new.record.id, owner = %new.record.owner, by = %principal.owner, "token made");
    Ok((StatusCode::CREATED, Json(new.into())))
}

/// Revokes a token and closes its connections and streams. Only for admins.
#[utoipa::path(
    delete,
    path = "/v1/tokens/{id}",
    tag = "tokens",
    params(("id" = String, Path, description = "The token's id")),
    responses(
        (status = 204, description = "It is revoked"),
        ErrorResponses,
        (status = 404, description = "No such token: not_found", body = ApiErrorBody),
    ),
)]
pub(crate) async fn revoke(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
) -> Result<StatusCode, ApiError> {
    needs_admin(&principal)?;
    let unknown = || Failure::new(Reason::NotFound, "no such token; see GET /v1/tokens");
    let id = TokenId::parse(&id).ok_or_else(unknown)?;
    if !state.hub.tokens().revoke(id).await? {
        return Err(unknown().into());
    }
    tracing::info!(token = %id, by = %principal.owner, "token revoked");
    Ok(StatusCode::NO_CONTENT)
}
