//! Which of the places that a card offers is called: the newest version, JSON-RPC before REST. Cards are often written
//! on another machine than the one that is called: what they say of their own address is mended where it cannot be meant.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use jackfield_kit::outbound::{Outbound, Url, origin_of};

use super::{Dialect, Place};
use crate::wire::{
    card::{Binding, ForeignCard, Generation},
    official::Version,
};

/// What the URL ends in that Agno's cards name, and what REST of 0.3 has below its own.
const METHODS: [&str; 2] = ["/v1/message:stream", "/v1/message:send"];

/// What was chosen.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) place: Place,
    /// Which fields of the card said so.
    pub(super) generation: Generation,
    /// What people should know of it.
    pub(super) warnings: Vec<String>,
}

/// Where a card was found, and by whose word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    /// What the operator typed.
    pub(super) typed: &'a Url,
    /// What relative URLs in the card are relative to.
    pub(super) base: &'a Url,
}

/// Chooses a place. The error says what the card offers instead.
pub(super) async fn choose(
    card: &ForeignCard,
    origin: Origin<'_>,
    outbound: &Outbound,
) -> Result<Choice, String> {
    let callable = card.offers.iter().filter_map(|offer| {
        let binding = offer
            .binding()
            .filter(|binding| *binding != Binding::Grpc)?;
        let address = Address::read(&offer.url, origin)?;
        Some((offer, binding, offer.version()?, address))
    });
    // The first of the best, since the card's own order counts too.
    let best = callable.min_by_key(|(_, binding, version, _)| {
        (*version != Version::V10, *binding != Binding::JsonRpc)
    });
    let Some((offer, binding, version, mut address)) = best else {
        return Err(nothing_in(card));
    };
    let mut warnings = Vec::new();
    if let Some(warning) = address.mend(origin.typed, outbound).await {
        warnings.push(warning);
    }
    let mut dialect = Dialect::Official;
    if version == Version::V03 && address.strip_method() && binding == Binding::JsonRpc {
        dialect = Dialect::Agno;
    }
    if binding == Binding::HttpJson {
        address.strip_slash();
    }
    let place = Place {
        url: address.to_string(),
        binding,
        dialect,
        version,
        tenant: offer.tenant.clone(),
        streams: card.streams,
    };
    Ok(Choice {
        place,
        generation: offer.generation,
        warnings,
    })
}

/// Why nothing of this can be called.
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

/// A URL whose path stays as it was written, slash at its end or not.
#[derive(Debug)]
struct Address {
    url: Url,
    path: String,
}

impl Address {
    /// The address that a text in a card means, if it is one of HTTP.
    fn read(text: &str, origin: Origin<'_>) -> Option<Self> {
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
        // A URL without a path gets one when it is read.
        let path = if url.path() == "/" && !written.ends_with('/') {
            String::new()
        } else {
            url.path().to_owned()
        };
        Some(Self { url, path })
    }

    /// Puts the typed origin in place of one that cannot be meant or may not be called, and says what people should know.
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

    /// The same path and query at another origin.
    fn move_to(&mut self, typed: &Url) {
        let mut url = typed.clone();
        url.set_path(self.url.path());
        url.set_query(self.url.query());
        self.url = url;
    }

    /// Takes the method off a path that ends in one.
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

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", origin_of(&self.url), self.path)?;
        match self.url.query() {
            Some(query) => write!(f, "?{query}"),
            None => Ok(()),
        }
    }
}

/// Whether a text without a scheme is a host with its port, which is no relative URL although it could be read as one.
fn is_host_and_port(text: &str) -> bool {
    let place = text.split(['/', '?', '#']).next().unwrap_or_default();
    place.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Why an address cannot be what the card's author means, as seen from here.
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

/// Whether two URLs lead to one port of this machine, under two of its names.
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

/// The address that a URL's host is, if it is no name. IPv6 addresses stand in brackets there.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_matches(['[', ']']).parse().ok()
}
