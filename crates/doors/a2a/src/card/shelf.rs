//! The cards that were given out, so that one is signed only when it changes, and its readers can be told that it has
//! not.

use std::{collections::HashMap, sync::Arc};

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderValue;
use jackfield_core::principal::Principal;
use jackfield_model::AgentId;
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};
use parking_lot::Mutex;

use crate::wire::card::{Card, Reader};

/// How many bytes of cards are kept. A card has about 4 KiB, so that those of some thousand agents stay; one that had
/// to go is signed again, and its readers fetch it once more.
const ROOM: usize = 16 << 20;

/// Whose card it is, and what kind of card.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// An agent's, for everybody who may call it.
    Agent(AgentId),
    /// The same with what only asked-for cards say.
    Extended(AgentId),
    /// The hub's, which shows everybody other agents.
    Hub(String),
}

impl Subject {
    /// The hub's card as this principal sees it.
    pub(super) fn hub(principal: &Principal) -> Self {
        Self::Hub(match principal.grant.token {
            Some(token) => format!("{} {token:?}", principal.key()),
            None => principal.key(),
        })
    }
}

/// A card as it is given out.
#[derive(Debug)]
pub(super) struct Issued {
    /// The card as JSON, signed.
    pub(super) body: Arc<str>,
    /// What changes whenever the body does.
    pub(super) tag: HeaderValue,
    /// When it was first given out like this.
    pub(super) modified: HeaderValue,
    /// The digest of the card before it was signed, since a signature is another every time.
    unsigned: [u8; 32],
    pub(super) at: Timestamp,
}

/// The cards that were given out, the newest of each subject and reader, with and without the need of a token.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<Held>);

/// Whose card, for whom, and whether it says that a token is needed.
type Place = (Subject, Reader, bool);

#[derive(Debug, Default)]
struct Held {
    cards: HashMap<Place, Arc<Issued>>,
    bytes: usize,
}

impl Shelf {
    /// The card as it was given out before, if it is the same; else this one, signed.
    pub(super) fn issue(
        &self,
        subject: Subject,
        reader: Reader,
        mut card: Card,
        sign: impl FnOnce(&mut Card),
    ) -> Arc<Issued> {
        let place = (subject, reader, card.needs_token);
        let unsigned = sha256(card.to_json(reader).as_bytes());
        let same = |issued: &&Arc<Issued>| issued.unsigned == unsigned;
        if let Some(issued) = self.0.lock().cards.get(&place).filter(same) {
            return issued.clone();
        }
        sign(&mut card);
        let issued = Arc::new(Issued::new(card.to_json(reader), unsigned));
        let mut held = self.0.lock();
        // Somebody else may have been faster; all readers get the same bytes.
        if let Some(issued) = held.cards.get(&place).filter(same) {
            return issued.clone();
        }
        held.put(place, issued.clone());
        issued
    }
}

impl Held {
    fn put(&mut self, place: Place, issued: Arc<Issued>) {
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

impl Issued {
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
