//! JSON of tickets for web pages.

use std::fmt;

use jackfield_kit::ticket::{
    BROWSER_PROTOCOL, BrowserTicket, TICKET_PARAMETER, TICKET_PROTOCOL, TicketKind as _,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Ticket to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTicket)]
pub struct TicketBody {
    /// Origin of the page that will connect, such as `https://console.example.com`. A page leaves it out: its
    /// browser sends the origin.
    #[schema(nullable = false)]
    pub origin: Option<String>,
}

/// Ticket, with the two ways to use it.
#[derive(Serialize, ToSchema)]
#[schema(as = Ticket)]
pub struct TicketView {
    /// The ticket.
    #[schema(pattern = "^jt_[0-9a-f]{64}$")]
    ticket: String,
    /// Origin of the pages that may use the ticket.
    origin: String,
    /// Expiry time.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// Query parameter for the address of the WebSocket.
    query: String,
    /// Subprotocols for the WebSocket, instead of the query parameter.
    protocols: Vec<String>,
}

impl TicketView {
    /// Creates the view of a ticket that was created now.
    pub fn new(ticket: String, origin: String) -> Self {
        let now = Timestamp::now();
        Self {
            origin,
            expires_at: now.checked_add(BrowserTicket::LIFETIME).unwrap_or(now),
            query: format!("{TICKET_PARAMETER}={ticket}"),
            protocols: vec![
                BROWSER_PROTOCOL.to_owned(),
                format!("{TICKET_PROTOCOL}{ticket}"),
            ],
            ticket,
        }
    }
}

impl fmt::Debug for TicketView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketView")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
