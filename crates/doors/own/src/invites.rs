//! `POST /v1/invites` and `GET /invite/{ticket}`: bringing an agent of another machine to the hub with a
//! single command. A principal that may register an agent creates a ticket. The first client that presents
//! the ticket receives a token for the agent, without any other rights of the owner.
//!
//! Address and response match the Agent Mesh platform, so its unmodified client works (`connect --setup
//! URL`). The client sends a plain GET, so the ticket is the only permission needed.

mod tickets;

use axum::{Extension, Json, extract::State};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use jackfield_core::principal::{Principal, Who};
use jackfield_kit::{
    api::{
        ApiError, ApiErrorBody, AuthenticatedCaller, CallErrorResponses, PathId, UnreadBody,
        invalid,
    },
    ticket::TicketKind as _,
    tls::Tls,
};
use jackfield_model::{AgentId, Failure, Reason};

use self::tickets::InviteTicket;
pub(crate) use self::tickets::InviteTickets;
use crate::{
    OwnState,
    translate::invite::{InviteBody, InviteView, SetupView},
};

/// Creates a ticket for bringing an agent to the hub from another machine. The ticket works once, within 15
/// minutes. Allowed for principals that may register the agent: its owner, with a token of matching scope,
/// and admins.
#[utoipa::path(
    post,
    path = "/v1/invites",
    tag = "tokens",
    request_body = InviteBody,
    responses((status = 201, description = "The ticket; it is shown this once", body = InviteView), CallErrorResponses),
)]
pub(crate) async fn create(
    State(state): State<OwnState>,
    Extension(tickets): Extension<InviteTickets>,
    tls: Option<Extension<Tls>>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    body: UnreadBody,
) -> Result<(StatusCode, Json<InviteView>), ApiError> {
    if principal.who != Who::Person {
        let failure = Failure::new(Reason::Unauthorized, "only people may invite agents");
        return Err(failure.into());
    }
    let body: InviteBody = body.read(&state).await?;
    let agent = AgentId::parse(&body.agent)
        .map_err(|error| invalid(format!("field \"agent\": {error}")))?;
    let agent_type = body.agent_type()?;
    let base = state.files.base().ok_or_else(|| {
        let text = "this hub does not know its address; set public_url";
        Failure::new(Reason::Unsupported, text)
    })?;
    let wanted = body.owner;
    let is_for_another = wanted.as_ref().is_some_and(|it| *it != principal.owner);
    if is_for_another && !principal.is_admin() {
        let text = "only an admin may invite an agent for another owner; leave out \"owner\"";
        return Err(Failure::new(Reason::Unauthorized, text).into());
    }
    let known = state
        .hub
        .agents()
        .find(&Principal::admin(principal.owner.clone()), agent.as_str());
    let owner = match (&known, &wanted) {
        (Ok(entry), _) => entry.owner().clone(),
        // A new agent will belong to the inviter.
        (Err(_), wanted) => wanted.clone().unwrap_or_else(|| principal.owner.clone()),
    };
    check(&principal, &agent, principal.owner == owner)?;
    if wanted.is_some_and(|wanted| wanted != owner) {
        let text = format!("{agent} belongs to {owner}, and stays theirs; leave out \"owner\"");
        return Err(Failure::new(Reason::Conflict, text).into());
    }
    let ticket = InviteTicket {
        agent: agent.clone(),
        agent_type,
        owner: owner.clone(),
        by: principal.grant.clone(),
    };
    let secret = tickets.issue(ticket)?;
    tracing::info!(agent = %agent, by = %principal.owner, "invite made");
    let url = format!("{base}/invite/{secret}");
    // Without own TLS, the hub does not know the certificate of the proxy in front.
    let ca = tls.filter(|_| url.starts_with("https://"));
    let ca = ca.and_then(|Extension(tls)| tls.fingerprint());
    let view = InviteView::new(agent, owner, url, ca, InviteTicket::LIFETIME);
    Ok((StatusCode::CREATED, Json(view)))
}

/// Checks that the principal may invite the agent: nobody may grant more than their own rights.
fn check(principal: &Principal, agent: &AgentId, is_owner: bool) -> Result<(), Failure> {
    let refused = |text: String| Err(Failure::new(Reason::Unauthorized, text));
    if !principal.may_register(agent) {
        return refused(format!(
            "this token may not register agent {agent}: it needs a scope like agent:{agent}"
        ));
    }
    if !is_owner && !principal.is_admin() {
        return refused(format!(
            "agent id {agent} belongs to another owner; choose another id"
        ));
    }
    Ok(())
}

/// Exchanges a ticket for a token of its agent, once. Needs no token: the ticket is the permission.
#[utoipa::path(
    get,
    path = "/invite/{ticket}",
    tag = "tokens",
    security(()),
    params(("ticket" = String, Path, description = "The ticket")),
    responses(
        (status = 200, description = "What the agent needs to attach", body = SetupView),
        (status = 404, description = "The ticket has expired, was used, or never was: not_found", body = ApiErrorBody),
        (status = 429, description = "Too many tickets that never were: rate_limited", body = ApiErrorBody),
        (status = 500, description = "The token cannot be stored: internal", body = ApiErrorBody),
    ),
)]
pub(crate) async fn redeem(
    State(state): State<OwnState>,
    Extension(tickets): Extension<InviteTickets>,
    method: Method,
    PathId(secret): PathId,
) -> Result<(HeaderMap, Json<SetupView>), ApiError> {
    if method == Method::HEAD {
        // A HEAD request must not use up the ticket.
        let failure = Failure::new(Reason::Unsupported, "an invite is taken by GET");
        return Err(ApiError::from(failure).with_status(StatusCode::METHOD_NOT_ALLOWED));
    }
    let (ticket, until) = tickets.take(&secret)?;
    let base = state.files.base().unwrap_or_default();
    let name = format!("invite of {}", ticket.agent);
    let made = state
        .hub
        .tokens()
        .create_for(ticket.agent.clone(), name, ticket.owner.clone())
        .await;
    let new = match made {
        Ok(new) => new,
        Err(error) => {
            // No token was issued for the ticket.
            tickets.restore(&secret, ticket, until);
            return Err(error.into());
        }
    };
    tracing::info!(agent = %ticket.agent, token = %new.record.id, "invite taken");
    let view = SetupView::new(&ticket.agent, ticket.agent_type, new.secret, base);
    let no_store = HeaderValue::from_static("no-store");
    Ok((
        HeaderMap::from_iter([(header::CACHE_CONTROL, no_store)]),
        Json(view),
    ))
}
