//! Cache of issued cards. A card is signed only after a change, and conditional requests can be answered.

use std::{collections::HashMap, sync::Arc};

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderValue;
use jackfield_core::principal::Principal;
use jackfield_model::AgentId;
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};
use parking_lot::Mutex;

use crate::wire::card::{A2aCard, CardAudience};

/// Capacity of the cache in bytes. A card has about 4 KiB, so the cards of some thousand agents fit. An
/// evicted card is signed again, and its readers fetch the card once more.
const ROOM: usize = 16 << 20;

/// Subject and kind of a card.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum CardSubject {
    /// Card of an agent, for all callers of the agent.
    Agent(AgentId),
    /// Extended card of an agent.
    Extended(AgentId),
    /// Card of the hub, which lists different agents per principal.
    Hub(String),
}

impl CardSubject {
    /// Returns the subject of the hub's card for a principal.
    pub(super) fn hub(principal: &Principal) -> Self {
        Self::Hub(match principal.grant.token {
            Some(token) => format!("{} {token:?}", principal.key()),
            None => principal.key(),
        })
    }
}

/// Issued card.
#[derive(Debug)]
pub(super) struct IssuedCard {
    /// Card as JSON, signed.
    pub(super) body: Arc<str>,
    /// Entity tag, which changes with the body.
    pub(super) tag: HeaderValue,
    /// Time when the card was first issued in the current form, as an HTTP date.
    pub(super) modified: HeaderValue,
    /// Digest of the unsigned card, because each signature is different.
    unsigned: [u8; 32],
    pub(super) at: Timestamp,
}

/// Cache of issued cards: the latest card for each subject and reader, with and without the need for a token.
#[derive(Debug, Default)]
pub(super) struct CardCache(Mutex<CachedCards>);

/// Cache key: [`CardSubject`], [`CardAudience`], and the need for a token.
type CardCacheKey = (CardSubject, CardAudience, bool);

#[derive(Debug, Default)]
struct CachedCards {
    cards: HashMap<CardCacheKey, Arc<IssuedCard>>,
    bytes: usize,
}

impl CardCache {
    /// Returns the cached card if unchanged, otherwise signs and caches the new card.
    pub(super) fn issue(
        &self,
        subject: CardSubject,
        reader: CardAudience,
        mut card: A2aCard,
        sign: impl FnOnce(&mut A2aCard),
    ) -> Arc<IssuedCard> {
        let place = (subject, reader, card.needs_token);
        let unsigned = sha256(card.to_json(reader).as_bytes());
        let same = |issued: &&Arc<IssuedCard>| issued.unsigned == unsigned;
        if let Some(issued) = self.0.lock().cards.get(&place).filter(same) {
            return issued.clone();
        }
        sign(&mut card);
        let issued = Arc::new(IssuedCard::new(card.to_json(reader), unsigned));
        let mut held = self.0.lock();
        // A concurrent request may have been faster. All readers get the same bytes.
        if let Some(issued) = held.cards.get(&place).filter(same) {
            return issued.clone();
        }
        held.put(place, issued.clone());
        issued
    }
}

impl CachedCards {
    fn put(&mut self, place: CardCacheKey, issued: Arc<IssuedCard>) {
        self.bytes += issued.body.len();
        if let Some(old) = self.cards.insert(place, issued) {
            self.bytes -= old.body.len();
        }
        while self.bytes > ROOM {
            let oldest = self.cards.iter().min_by_key(|(_, issued)| issued.at);
            let Some(place) = oldest.map(|(place, _)| place.clone()) else {
                return;
            };
            if let Some(gone) = self.cards.remove(&place) {
                self.bytes -= gone.body.len();
            }
        }
    }
}

impl IssuedCard {
    fn new(body: String, unsigned: [u8; 32]) -> Self {
        let at = Timestamp::now();
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(sha256(body.as_bytes())));
        let modified = DateTimePrinter::new().timestamp_to_rfc9110_string(&at);
        Self {
            body: Arc::from(body),
            tag: HeaderValue::try_from(tag).expect("base64url is visible ASCII"),
            modified: modified
                .ok()
                .and_then(|date| HeaderValue::try_from(date).ok())
                .expect("the present has a date of visible ASCII"),
            unsigned,
            at,
        }
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest(&SHA256, bytes).as_ref());
    out
}
