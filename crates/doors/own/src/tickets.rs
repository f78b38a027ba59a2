//! `POST /v1/tickets`: a ticket with which a web page opens one WebSocket. Browsers let a page set no header on a
//! WebSocket, and a token in a URL would stay in logs and histories. The page itself makes the ticket, or its own
//! server does, which then need not give the page a token.

use axum::{Json, extract::State};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use jackfield_core::principal::Principal;
use jackfield_kit::{
    api::{ApiError, AuthenticatedCaller, CallErrorResponses, JsonBody, invalid},
    guard::is_same_origin,
    ticket::BrowserTicket,
};
use jackfield_model::Failure;

use crate::{
    OwnState,
    translate::ticket::{TicketBody, TicketView},
};

/// Longest origin: a scheme, a domain name, and a port.
const ORIGIN_MAX: usize = 300;

/// Creates a ticket with which a web page opens one WebSocket, of any protocol, within a minute.
///
/// The connection has the rights of the token that created the ticket, and ends with the token. The page's origin
/// must be one of the hub's `allowed_origins`. A page needs no body: its browser sends the origin.
#[utoipa::path(
    post,
    path = "/v1/tickets",
    tag = "tokens",
    request_body = Option<TicketBody>,
    responses((status = 201, description = "The ticket; it is shown this once", body = TicketView), CallErrorResponses),
)]
pub(crate) async fn create(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    url: Uri,
    headers: HeaderMap,
    body: Option<JsonBody<TicketBody>>,
) -> Result<(StatusCode, HeaderMap, Json<TicketView>), ApiError> {
    let wanted = body.and_then(|JsonBody(body)| body.origin);
    let origin = page_origin(&state, &url, &headers, wanted.as_deref())
        .map_err(|failure| ApiError::from(failure).with_field(Some("origin".to_owned())))?;
    let view = issue(&state, principal, origin)?;
    let no_store = HeaderValue::from_static("no-store");
    let headers = HeaderMap::from_iter([(header::CACHE_CONTROL, no_store)]);
    Ok((StatusCode::CREATED, headers, Json(view)))
}

fn issue(state: &OwnState, principal: Principal, origin: String) -> Result<TicketView, Failure> {
    let by = principal.owner.clone();
    let ticket = BrowserTicket {
        principal,
        origin: origin.clone(),
    };
    let secret = state.gatekeeper.tickets().issue(ticket)?;
    tracing::info!(%origin, %by, "ticket made");
    Ok(TicketView::new(secret, origin))
}

/// Returns the origin of the page for which a ticket is made: that of the page which asks, else the wanted one.
fn page_origin(
    state: &OwnState,
    url: &Uri,
    headers: &HeaderMap,
    wanted: Option<&str>,
) -> Result<String, Failure> {
    let asking = headers.get(header::ORIGIN).map(HeaderValue::to_str);
    let asking = asking.and_then(Result::ok);
    let origin = match (asking, wanted) {
        (Some(asking), Some(wanted)) if !is_same_origin(asking, wanted) => {
            let text = "a page makes tickets for its own origin only; leave out \"origin\"";
            return Err(invalid(text));
        }
        (Some(asking), _) => asking,
        (None, Some(wanted)) => wanted,
        (None, None) => {
            let text = "field \"origin\" is missing: the origin of the page that will connect, such as \"https://console.example.com\"";
            return Err(invalid(text));
        }
    };
    let host = url.authority().map(http::uri::Authority::as_str);
    let host = host.or_else(|| headers.get(header::HOST)?.to_str().ok());
    let is_allowed = state.hosts.allows_origin(origin, host.unwrap_or_default());
    if origin.len() > ORIGIN_MAX || !is_allowed {
        let shown: String = origin.chars().take(ORIGIN_MAX).collect();
        let text =
            format!("pages of {shown:?} may not use this hub; add the origin to allowed_origins");
        return Err(invalid(text));
    }
    Ok(origin.trim_end_matches('/').to_ascii_lowercase())
}
