//! Choice of the interface of a card to call: the newest version, JSON-RPC before REST. Cards are often
//! written on a different machine than the server's. An address in a card that cannot be right is therefore
//! corrected.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use jackfield_kit::outbound::{Outbound, Url, origin_of};

use super::{Dialect, RemoteEndpoint};
use crate::wire::{
    card::{Binding, ForeignCard, Generation},
    official::A2aVersion,
};

/// Endings of the URLs in Agno's cards, and paths of REST in 0.3.
const METHODS: [&str; 2] = ["/v1/message:stream", "/v1/message:send"];

/// Chosen endpoint.
#[derive(Debug)]
pub(super) struct ChosenEndpoint {
    pub(super) place: RemoteEndpoint,
    /// Generation of the card's fields that named the endpoint.
    pub(super) generation: Generation,
    /// Warnings for the operator.
    pub(super) warnings: Vec<String>,
}

/// Location of a card.
#[derive(Debug, Clone, Copy)]
pub(super) struct CardOrigin<'a> {
    /// URL that the operator typed.
    pub(super) typed: &'a Url,
    /// Base for relative URLs in the card.
    pub(super) base: &'a Url,
}

/// Chooses an endpoint. The error lists the interfaces that the card offers instead.
pub(super) async fn choose(
    card: &ForeignCard,
    origin: CardOrigin<'_>,
    outbound: &Outbound,
) -> Result<ChosenEndpoint, String> {
    let callable = card.offers.iter().filter_map(|offer| {
        let binding = offer
            .binding()
            .filter(|binding| *binding != Binding::Grpc)?;
        let address = CardAddress::read(&offer.url, origin)?;
        Some((offer, binding, offer.version()?, address))
    });
    // `min_by_key` returns the first of equal candidates, so that the card's order counts too.
    let best = callable.min_by_key(|(_, binding, version, _)| {
        (*version != A2aVersion::V10, *binding != Binding::JsonRpc)
    });
    let Some((offer, binding, version, mut address)) = best else {
        return Err(nothing_in(card));
    };
    let mut warnings = Vec::new();
    if let Some(warning) = address.mend(origin.typed, outbound).await {
        warnings.push(warning);
    }
    let mut dialect = Dialect::Official;
    if version == A2aVersion::V03 && address.strip_method() && binding == Binding::JsonRpc {
        dialect = Dialect::Agno;
    }
    if binding == Binding::HttpJson {
        address.strip_slash();
    }
    let place = RemoteEndpoint {
        url: address.to_string(),
        binding,
        dialect,
        version,
        tenant: offer.tenant.clone(),
        streams: card.streams,
    };
    Ok(ChosenEndpoint {
        place,
        generation: offer.generation,
        warnings,
    })
}

/// Explains why no interface of the card can be called.
fn nothing_in(card: &ForeignCard) -> String {
    if card.offers.is_empty() {
        let mut wrong = card.dropped.iter();
        return match wrong.find(|wrong| wrong.starts_with("supportedInterfaces")) {
            Some(wrong) => format!("it names no place to call: {wrong}"),
            None => {
                "it names no place to call: neither supportedInterfaces nor url does".to_owned()
            }
        };
    }
    let offers: Vec<_> = card.offers.iter().map(ToString::to_string).collect();
    format!(
        "it offers nothing that can be called (JSONRPC or HTTP+JSON, version 0.3 or 1.0, over HTTP), but only {}",
        offers.join(", ")
    )
}

/// URL with its path as written, with or without a trailing slash.
#[derive(Debug)]
struct CardAddress {
    url: Url,
    path: String,
}

impl CardAddress {
    /// Parses an address in a card; `None` unless the scheme is HTTP or HTTPS.
    fn read(text: &str, origin: CardOrigin<'_>) -> Option<Self> {
        let url = if text.contains("://") {
            Url::parse(text)
        } else if is_host_and_port(text) {
            Url::parse(&format!("{}://{text}", origin.typed.scheme()))
        } else {
            origin.base.join(text)
        };
        let url = url
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let written = text.split(['?', '#']).next().unwrap_or_default();
        // `Url` adds a slash to a URL without a path.
        let path = if url.path() == "/" && !written.ends_with('/') {
            String::new()
        } else {
            url.path().to_owned()
        };
        Some(Self { url, path })
    }

    /// Replaces an origin that cannot be right, or that the hub may not call, by the typed origin. Returns a
    /// warning for the operator, if any.
    async fn mend(&mut self, typed: &Url, outbound: &Outbound) -> Option<String> {
        let (said, wanted) = (origin_of(&self.url), origin_of(typed));
        if said == wanted {
            return None;
        }
        if is_same_port_here(&self.url, typed) {
            self.move_to(typed);
            return None;
        }
        let why = match misplaced(&self.url, typed) {
            Some(why) => why.to_owned(),
            None => match outbound.admit(self.url.as_str()).await {
                Err(error) => error.to_string(),
                Ok(_) => {
                    let is_open = typed.scheme() == "https" && self.url.scheme() == "http";
                    let how = if is_open { ", unencrypted" } else { "" };
                    return Some(format!(
                        "the card was found at {wanted} but says that requests go to {said}{how}; credentials \
                         for {wanted} are not shown there"
                    ));
                }
            },
        };
        let before = self.to_string();
        self.move_to(typed);
        Some(format!(
            "the card says that it is called at {before}; {self} is called instead: {why}"
        ))
    }

    /// Moves to the origin of `typed`, with the same path and query.
    fn move_to(&mut self, typed: &Url) {
        let mut url = typed.clone();
        url.set_path(self.url.path());
        url.set_query(self.url.query());
        self.url = url;
    }

    /// Removes a method at the end of the path. Returns true if the path ended in a method.
    fn strip_method(&mut self) -> bool {
        let base = METHODS
            .iter()
            .find_map(|method| self.path.strip_suffix(method));
        let Some(base) = base.map(str::to_owned) else {
            return false;
        };
        self.path = base;
        true
    }

    fn strip_slash(&mut self) {
        let length = self.path.trim_end_matches('/').len();
        self.path.truncate(length);
    }
}

impl std::fmt::Display for CardAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", origin_of(&self.url), self.path)?;
        match self.url.query() {
            Some(query) => write!(f, "?{query}"),
            None => Ok(()),
        }
    }
}

/// Returns true if a text without a scheme is a host with a port. The text could also be read as a relative
/// URL.
fn is_host_and_port(text: &str) -> bool {
    let place = text.split(['/', '?', '#']).next().unwrap_or_default();
    place.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Explains why an address in a card cannot be right, from the hub's point of view.
fn misplaced(url: &Url, typed: &Url) -> Option<&'static str> {
    if is_unspecified(url) {
        return Some("a server listens at such an address, nobody is called there");
    }
    if is_loopback(url) && !is_loopback(typed) {
        return Some("that is the server's own machine as it sees itself");
    }
    let is_downgrade = typed.scheme() == "https" && url.scheme() == "http";
    if is_downgrade && url.host_str() == typed.host_str() {
        return Some("it was typed with https");
    }
    None
}

/// Returns true if both URLs lead to the same port of the local machine, under different names.
fn is_same_port_here(a: &Url, b: &Url) -> bool {
    let is_here = |url: &Url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    is_here(a)
        && is_here(b)
        && a.scheme() == b.scheme()
        && a.port_or_known_default() == b.port_or_known_default()
}

fn is_unspecified(url: &Url) -> bool {
    literal(url).is_some_and(|addr| addr.is_unspecified())
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    match literal(url) {
        Some(addr) => addr.is_loopback(),
        None => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Returns the IP address of a URL's host; `None` for a host name. IPv6 addresses are in brackets in a URL.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_matches(['[', ']']).parse().ok()
}
