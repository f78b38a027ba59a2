//! Tickets with which a web page opens a WebSocket: browsers let a page set no header there. The server redeems
//! the ticket of a handshake before any door sees the request, and removes it from the URL and the headers. Doors
//! learn the outcome through [`Ingress`](crate::auth::Ingress), so every WebSocket of every door takes tickets.

use std::{mem, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, Method, Uri, header, request::Parts, uri::PathAndQuery};
use jackfield_core::principal::{Grant, Principal};
use jackfield_model::{Failure, Owner, Reason};

use super::{TicketKind, Tickets};
use crate::{guard::is_same_origin, upgrade::tokens};

/// Query parameter with a ticket.
pub const TICKET_PARAMETER: &str = "ticket";
/// Prefix of a subprotocol with a ticket.
pub const TICKET_PROTOCOL: &str = "jackfield.ticket.";
/// Subprotocol that a page offers beside the ticket. The hub selects it, because a browser closes a connection
/// whose server selects none of the offered subprotocols. It means the protocol that the address speaks anyway.
pub const BROWSER_PROTOCOL: &str = "jackfield";

/// The right to open one WebSocket from a page of one origin, as the creator of the ticket.
#[derive(Debug)]
pub struct BrowserTicket {
    /// Creator of the ticket; the connection has the same rights.
    pub principal: Principal,
    /// Origin of the page.
    pub origin: String,
}

impl TicketKind for BrowserTicket {
    /// Long enough for a page that loads slowly, too short for a copied URL.
    const LIFETIME: Duration = Duration::from_secs(60);
    /// A site's server makes the tickets of all its visitors with one token, some 17 per second.
    const PER_OWNER: usize = 1024;
    /// Some 4 MB.
    const TOTAL: usize = 8192;
    const PREFIX: &'static str = "jt_";

    fn owner(&self) -> &Owner {
        &self.principal.owner
    }

    fn grant(&self) -> &Grant {
        &self.principal.grant
    }

    fn too_many() -> Failure {
        let text = "too many tickets are waiting to be used; try again in a minute";
        Failure::new(Reason::RateLimited, text)
    }

    fn unknown() -> Failure {
        refused(
            "this ticket was used already, has expired, or its token was revoked: a ticket works once, within a minute; make a new one with POST /v1/tickets",
        )
    }
}

/// The result of redeeming the ticket of a handshake: the principal of the connection, or why there is none.
#[derive(Debug, Clone)]
pub struct TicketOutcome(Arc<Result<Principal, Failure>>);

impl TicketOutcome {
    /// Returns the principal of the connection. Fails if the ticket was refused, or if its token was revoked
    /// since.
    pub fn principal(&self) -> Result<Principal, Failure> {
        match &*self.0 {
            Ok(principal) if principal.grant.is_over() => Err(BrowserTicket::unknown()),
            outcome => outcome.clone(),
        }
    }
}

/// Redeems the ticket of a WebSocket handshake, if there is one. Removes the ticket from the request, and adds a
/// [`TicketOutcome`] to the request's extensions.
pub(crate) fn redeem(tickets: &Tickets<BrowserTicket>, head: &mut Parts) {
    let mut upgrades = tokens(&head.headers, &header::UPGRADE);
    let is_websocket = upgrades.any(|it| it.eq_ignore_ascii_case("websocket"));
    drop(upgrades);
    if !is_websocket || head.method != Method::GET {
        return;
    }
    let mut shown = take_from_query(&mut head.uri);
    let (in_protocols, has_other) = take_from_protocols(&mut head.headers);
    let needs_other = !in_protocols.is_empty() && !has_other;
    shown.extend(in_protocols);
    let origin = head.headers.get(header::ORIGIN);
    let origin = origin.and_then(|origin| origin.to_str().ok());
    let outcome = match shown.as_slice() {
        [] => return,
        [_] if needs_other => Err(Failure::new(
            Reason::Invalid,
            "offer the subprotocol jackfield beside that of the ticket: browsers close a connection for which the server selects none",
        )),
        [ticket] => principal_of(tickets, ticket, origin),
        _ => Err(Failure::new(
            Reason::Invalid,
            "a handshake has one ticket: give it as query parameter or as subprotocol, once",
        )),
    };
    if let Err(failure) = &outcome {
        tracing::debug!(%failure, "ticket refused");
    }
    head.extensions.insert(TicketOutcome(Arc::new(outcome)));
}

/// Uses a ticket up, and returns its principal if the ticket was made for `origin`.
fn principal_of(
    tickets: &Tickets<BrowserTicket>,
    secret: &str,
    origin: Option<&str>,
) -> Result<Principal, Failure> {
    let (ticket, _) = tickets.take(secret)?;
    match origin {
        Some(origin) if is_same_origin(origin, &ticket.origin) => Ok(ticket.principal),
        Some(_) => Err(refused(
            "this ticket was made for pages of another origin; make one for yours with POST /v1/tickets",
        )),
        None => Err(refused(
            "a ticket is for web pages, whose browser sends the header Origin; programs send Authorization: Bearer TOKEN",
        )),
    }
}

fn refused(text: &'static str) -> Failure {
    Failure::new(Reason::Unauthorized, text)
}

/// Removes all tickets from the query of a URI.
fn take_from_query(uri: &mut Uri) -> Vec<String> {
    let value_of = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name == TICKET_PARAMETER).then(|| value.to_owned())
    };
    let query = uri.query().unwrap_or_default();
    let taken: Vec<_> = query.split('&').filter_map(value_of).collect();
    if taken.is_empty() {
        return taken;
    }
    let rest = query.split('&').filter(|pair| value_of(pair).is_none());
    let rest = rest.collect::<Vec<_>>().join("&");
    let path = uri.path();
    let path_and_query = match rest.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{rest}"),
    };
    let mut parts = mem::take(uri).into_parts();
    // Pieces of a valid URI are valid.
    parts.path_and_query = PathAndQuery::try_from(path_and_query).ok();
    *uri = Uri::from_parts(parts).unwrap_or_default();
    taken
}

/// Removes all tickets from the offered subprotocols. Returns also whether other subprotocols are left.
fn take_from_protocols(headers: &mut HeaderMap) -> (Vec<String>, bool) {
    let name = header::SEC_WEBSOCKET_PROTOCOL;
    let ticket_in = |protocol: &str| protocol.strip_prefix(TICKET_PROTOCOL).map(str::to_owned);
    let taken: Vec<_> = tokens(headers, &name).filter_map(ticket_in).collect();
    if taken.is_empty() {
        return (taken, headers.contains_key(name));
    }
    let rest = tokens(headers, &name).filter(|protocol| ticket_in(protocol).is_none());
    let rest = rest.collect::<Vec<_>>().join(", ");
    let has_other = !rest.is_empty();
    headers.remove(&name);
    if has_other {
        headers.extend(HeaderValue::try_from(rest).ok().map(|rest| (name, rest)));
    }
    (taken, has_other)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const PAGE: &str = "https://page.example";

    fn handshake(path: &str, headers: &[(&str, &str)]) -> Parts {
        let request = Request::get(path).header("upgrade", "WebSocket");
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        request.body(()).unwrap().into_parts().0
    }

    fn ticket(tickets: &Tickets<BrowserTicket>) -> String {
        let ticket = BrowserTicket {
            principal: Principal::person(Owner::parse("ann").unwrap()),
            origin: PAGE.to_owned(),
        };
        tickets.issue(ticket).unwrap()
    }

    fn outcome(
        tickets: &Tickets<BrowserTicket>,
        head: &mut Parts,
    ) -> Option<Result<Owner, Failure>> {
        redeem(tickets, head);
        let outcome = head.extensions.get::<TicketOutcome>()?;
        Some(outcome.principal().map(|principal| principal.owner))
    }

    #[test]
    fn a_ticket_is_taken_from_the_query_and_leaves_the_rest() {
        let tickets = Tickets::default();
        for (before, after, left) in [
            ("", "", "/ws"),
            ("agent_id=a&", "", "/ws?agent_id=a"),
            ("", "&b=%20c", "/ws?b=%20c"),
            ("a=1&", "&tickets=2", "/ws?a=1&tickets=2"),
        ] {
            let secret = ticket(&tickets);
            let path = format!("/ws?{before}ticket={secret}{after}");
            let mut head = handshake(&path, &[("origin", "https://PAGE.example")]);
            assert_eq!(
                outcome(&tickets, &mut head).unwrap().unwrap().as_str(),
                "ann"
            );
            assert_eq!(head.uri.to_string(), left);
        }
    }

    #[test]
    fn a_ticket_is_taken_from_the_subprotocols_and_leaves_the_others() {
        let tickets = Tickets::default();
        let secret = ticket(&tickets);
        let offered = format!("acp.v1, jackfield.ticket.{secret},jackfield");
        let mut head = handshake(
            "/ws",
            &[("origin", PAGE), ("sec-websocket-protocol", &offered)],
        );
        assert!(outcome(&tickets, &mut head).unwrap().is_ok());
        let left = head.headers.get_all("sec-websocket-protocol").iter();
        assert_eq!(left.collect::<Vec<_>>(), ["acp.v1, jackfield"]);
    }

    #[test]
    fn what_is_no_ticket_for_this_page_is_refused_with_the_reason() {
        let tickets = Tickets::default();
        let secrets: Vec<_> = (0..5).map(|_| ticket(&tickets)).collect();
        let query = |at: usize| format!("/ws?ticket={}", secrets[at]);
        let protocol = |at: usize| format!("jackfield.ticket.{}", secrets[at]);
        let page = ("origin", PAGE);
        let alone = protocol(2);
        let beside = format!("jackfield, {}", protocol(3));
        for (path, headers, why) in [
            (
                query(0),
                vec![("origin", "https://evil.example")],
                "another origin",
            ),
            // Used up, even though by a page that it was not made for.
            (query(0), vec![page], "used already"),
            (query(1), vec![], "header Origin"),
            ("/ws?ticket=jt_guess".to_owned(), vec![page], "used already"),
            ("/ws?ticket=".to_owned(), vec![page], "used already"),
            (
                "/ws".to_owned(),
                vec![page, ("sec-websocket-protocol", &alone)],
                "beside",
            ),
            (
                query(4),
                vec![page, ("sec-websocket-protocol", &beside)],
                "once",
            ),
        ] {
            let mut head = handshake(&path, &headers);
            let failure = outcome(&tickets, &mut head).unwrap().unwrap_err();
            assert!(failure.text.contains(why), "{path}: {failure}");
            let left = format!("{} {:?}", head.uri, head.headers);
            assert!(!left.contains("jt_"), "{left}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticket_is_good_for_a_minute_and_no_longer_than_its_token() {
        let tickets = Tickets::default();
        let late = format!("/ws?ticket={}", ticket(&tickets));
        tokio::time::advance(BrowserTicket::LIFETIME).await;
        let mut head = handshake(&late, &[("origin", PAGE)]);
        assert!(outcome(&tickets, &mut head).unwrap().is_err());

        let principal = Principal::person(Owner::parse("ann").unwrap());
        let revoked = principal.grant.revoked.clone();
        let origin = PAGE.to_owned();
        let secret = tickets.issue(BrowserTicket { principal, origin }).unwrap();
        let mut head = handshake(&format!("/ws?ticket={secret}"), &[("origin", PAGE)]);
        assert!(outcome(&tickets, &mut head).unwrap().is_ok());
        revoked.cancel();
        let outcome = head.extensions.get::<TicketOutcome>().unwrap();
        assert_eq!(
            outcome.principal().unwrap_err().reason,
            Reason::Unauthorized
        );
    }

    #[test]
    fn requests_that_open_no_websocket_are_left_alone() {
        let tickets = Tickets::default();
        let secret = ticket(&tickets);
        let path = format!("/v1/events?ticket={secret}");
        let request = Request::get(&path).header("origin", PAGE);
        let mut head = request.body(()).unwrap().into_parts().0;
        assert!(outcome(&tickets, &mut head).is_none());
        assert_eq!(head.uri.to_string(), path);
        assert!(outcome(&tickets, &mut handshake("/ws?agent_id=a", &[])).is_none());
        tickets.take(&secret).unwrap();
    }
}
