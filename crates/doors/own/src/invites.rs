//! `POST /v1/invites` and `GET /invite/{ticket}`: an agent of another machine is brought to the hub by one line. Whoever may
//! register an agent makes a ticket; whoever shows it first gets a token with which it is that agent, and
//! nothing else of its owner's.
//!
//! The ticket's address and what it answers are those of the Agent Mesh platform, so that its unmodified client can use it
//! (`connect --setup URL`). That client fetches it by a plain GET, so the ticket is all the right that is needed.

mod tickets;

use axum::{Extension, Json, extract::State};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use jackfield_core::principal::{Principal, Who};
use jackfield_kit::{
    api::{CallRefused, Caller, ErrorView, Id, Problem, Unread, invalid},
    tls::Tls,
};
use jackfield_model::{AgentId, Failure, Reason};

pub(crate) use self::tickets::Tickets;
use self::tickets::{LIFETIME, Ticket};
use crate::{
    OwnState,
    translate::invite::{InviteBody, InviteView, SetupView},
};

/// Makes a ticket with which an agent can be brought to this hub from another machine, once and within 15 minutes. Only who
/// may register the agent may: its owner, with a token that has the scope for it, and admins.
#[utoipa::path(
    post,
    path = "/v1/invites",
    tag = "tokens",
    request_body = InviteBody,
    responses((status = 201, description = "The ticket; it is shown this once", body = InviteView), CallRefused),
)]
pub(crate) async fn create(
    State(state): State<OwnState>,
    Extension(tickets): Extension<Tickets>,
    tls: Option<Extension<Tls>>,
    Caller(principal): Caller,
    body: Unread,
) -> Result<(StatusCode, Json<InviteView>), Problem> {
    if principal.who != Who::Person {
        let failure = Failure::new(Reason::Unauthorized, "only people may invite agents");
        return Err(failure.into());
    }
    let body: InviteBody = body.read(&state).await?;
    let agent = AgentId::parse(&body.agent)
        .map_err(|error| invalid(format!("field \"agent\": {error}")))?;
    let agent_type = body.agent_type()?;
    let base = state.hub.files().base().ok_or_else(|| {
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
        // Nobody's yet; it will be the inviter's.
        (Err(_), wanted) => wanted.clone().unwrap_or_else(|| principal.owner.clone()),
    };
    check(&principal, &agent, principal.owner == owner)?;
    if wanted.is_some_and(|wanted| wanted != owner) {
        let text = format!("{agent} belongs to {owner}, and stays theirs; leave out \"owner\"");
        return Err(Failure::new(Reason::Conflict, text).into());
    }
    let ticket = Ticket {
        agent: agent.clone(),
        agent_type,
        owner: owner.clone(),
        by: principal.grant.clone(),
    };
    let secret = tickets.issue(ticket)?;
    tracing::info!(agent = %agent, by = %principal.owner, "invite made");
    let url = format!("{base}/invite/{secret}");
    // Without TLS of its own the hub does not know what those in front of it show.
    let ca = tls.filter(|_| url.starts_with("https://"));
    let ca = ca.and_then(|Extension(tls)| tls.fingerprint());
    let view = InviteView::new(agent, owner, url, ca, LIFETIME);
    Ok((StatusCode::CREATED, Json(view)))
}

/// Whether one may let somebody else register the agent: only what one may do oneself.
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

/// Takes a ticket and gives a token for the agent that it was made for, once. Needs no token: the ticket is the right.
#[utoipa::path(
    get,
    path = "/invite/{ticket}",
    tag = "tokens",
    security(()),
    params(("ticket" = String, Path, description = "The ticket")),
    responses(
        (status = 200, description = "What the agent needs to attach", body = SetupView),
        (status = 404, description = "The ticket has expired, was used, or never was: not_found", body = ErrorView),
        (status = 429, description = "Too many tickets that never were: rate_limited", body = ErrorView),
        (status = 500, description = "The token cannot be stored: internal", body = ErrorView),
    ),
)]
pub(crate) async fn redeem(
    State(state): State<OwnState>,
    Extension(tickets): Extension<Tickets>,
    method: Method,
    Id(secret): Id,
) -> Result<(HeaderMap, Json<SetupView>), Problem> {
    if method == Method::HEAD {
        // Whoever only looks does not use it up.
        let failure = Failure::new(Reason::Unsupported, "an invite is taken by GET");
        return Err(Problem::from(failure).with_status(StatusCode::METHOD_NOT_ALLOWED));
    }
    let ticket = tickets.take(&secret)?;
    let base = state.hub.files().base().unwrap_or_default();
    let name = format!("invite of {}", ticket.agent);
    let made = state
        .hub
        .tokens()
        .create_for(ticket.agent.clone(), name, ticket.owner.clone())
        .await;
    let new = match made {
        Ok(new) => new,
        Err(error) => {
            // Nothing was given for it.
            tickets.give_back(&secret, ticket);
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
