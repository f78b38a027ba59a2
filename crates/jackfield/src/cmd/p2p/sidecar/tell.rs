//! What a sidecar says of itself: who it is and where on standard output, everything else on standard error; or all of it
//! as lines of JSON. Nobody may be reading: it goes on all the same.

use jackfield_peer::node::ReservationState;
use jackfield_sidecar::{HubStatus, ListingStatus, SidecarAgentStatus, SidecarStatus};
use serde_json::{Value, json};

use crate::output;

/// Says what is new.
#[derive(Debug)]
pub(super) struct Teller {
    is_json: bool,
    peer: String,
    places: Places,
    /// What was told before.
    told: SidecarStatus,
}

/// Where it is known besides among peers, by URL.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) registry: Option<String>,
    pub(super) hub: Option<String>,
}

impl Teller {
    pub(super) fn new(is_json: bool, peer: String, places: Places) -> Self {
        Self {
            is_json,
            peer,
            places,
            told: SidecarStatus::default(),
        }
    }

    /// The first line.
    pub(super) fn begin(&self) {
        if self.is_json {
            self.event(&json!({"event": "started", "peer_id": self.peer}));
        } else {
            output::line(&format!("jackfield sidecar is {}", self.peer)).ok();
        }
    }

    /// Says what has changed.
    pub(super) fn tell(&mut self, now: SidecarStatus) {
        self.addresses(&now);
        if now.agent != self.told.agent {
            self.agent(&now.agent);
        }
        for (index, (relay, state)) in now.relays.iter().enumerate() {
            let had = self.told.relays.get(index).map(|(_, state)| state);
            if had != Some(state) {
                self.relay(&relay.to_string(), state);
            }
        }
        if now.listing != self.told.listing {
            self.listing(&now.listing);
        }
        if now.hub != self.told.hub {
            self.hub(&now.hub);
        }
        self.told = now;
    }

    fn addresses(&self, now: &SidecarStatus) {
        let told = &self.told.addresses;
        for address in now.addresses.iter().filter(|it| !told.contains(it)) {
            if self.is_json {
                let address = address.to_string();
                self.event(&json!({"event": "address", "state": "here", "address": address}));
            } else {
                output::line(&address.to_string()).ok();
            }
        }
        for address in told.iter().filter(|it| !now.addresses.contains(it)) {
            let address = address.to_string();
            self.say(
                &json!({"event": "address", "state": "gone", "address": address}),
                &format!("no longer reached at {address}"),
            );
        }
    }

    fn agent(&self, agent: &SidecarAgentStatus) {
        match agent {
            SidecarAgentStatus::Unseen => {}
            SidecarAgentStatus::Here {
                name,
                skills,
                remarks,
            } => {
                self.say(
                    &json!({"event": "agent", "state": "here", "name": name, "skills": skills, "remarks": remarks}),
                    &format!("the agent {name} is there: {}", skills.join(", ")),
                );
                if !self.is_json {
                    for remark in remarks {
                        output::chat(&output::clean_lines(&format!("in its card, {remark}")));
                    }
                }
            }
            SidecarAgentStatus::Gone(why) => self.say(
                &json!({"event": "agent", "state": "gone", "reason": **why}),
                &format!(
                    "the agent shows no card: {why}\nstart it, or name another with --agent-url; it is looked for again and again"
                ),
            ),
        }
    }

    fn relay(&self, relay: &str, state: &ReservationState) {
        match state {
            ReservationState::Asking => {}
            ReservationState::Held => self.say(
                &json!({"event": "relay", "state": "held", "relay": relay}),
                &format!("reached through the relay {relay}"),
            ),
            ReservationState::NoRelay => self.say(
                &json!({"event": "relay", "state": "no_relay", "relay": relay}),
                &format!(
                    "connected with {relay}; it is no relay, so that peers that cannot dial you do not reach you through it\na hub is a relay with p2p.relay = true"
                ),
            ),
            ReservationState::Unreached(why) => self.say(
                &json!({"event": "relay", "state": "unreached", "relay": relay, "reason": **why}),
                &format!(
                    "no way to the relay: {why}\nit is tried again and again; a hub says its addresses at URL/peers"
                ),
            ),
            ReservationState::Lost(why) => self.say(
                &json!({"event": "relay", "state": "lost", "relay": relay, "reason": **why}),
                &format!(
                    "no place at the relay {relay}: {why}\nit is asked again and again; a hub is a relay with p2p.relay = true, for peers that are allowed there or registered with --hub URL"
                ),
            ),
        }
    }

    fn listing(&self, listing: &ListingStatus) {
        let Some(url) = &self.places.registry else {
            return;
        };
        match listing {
            ListingStatus::None => {}
            ListingStatus::Listed => self.say(
                &json!({"event": "registry", "state": "listed", "url": url}),
                &format!("listed in the registry at {url}"),
            ),
            // Whoever keeps the connection there says the same.
            ListingStatus::Forbidden(_) if self.places.hub.as_ref() == Some(url) => {}
            ListingStatus::Forbidden(why) => self.forbidden("registry", url, why),
            ListingStatus::Failed { why, is_refused } => {
                let next = if *is_refused {
                    format!(
                        "show a token of that hub with --hub {url} --token-file FILE, or let its operator add {} to p2p.allowed",
                        self.peer
                    )
                } else {
                    "it is tried again and again; --hub URL or --registry URL names another, --no-register does without"
                        .to_owned()
                };
                self.say(
                    &json!({"event": "registry", "state": "failed", "url": url, "reason": **why}),
                    &format!("not listed in the registry at {url}: {why}\n{next}"),
                );
            }
        }
    }

    fn hub(&self, hub: &HubStatus) {
        let Some(url) = &self.places.hub else { return };
        let failed = |why: &str| {
            self.say(
                &json!({"event": "hub", "state": "failed", "url": url, "reason": why}),
                &format!("not connected with the hub at {url}: {why}\nit is tried again and again"),
            );
        };
        match hub {
            HubStatus::None => {}
            HubStatus::Callable(agent) => self.say(
                &json!({"event": "hub", "state": "callable", "url": url, "agent": **agent}),
                &format!("callable as {agent} at the hub {url}"),
            ),
            HubStatus::Connected => self.say(
                &json!({"event": "hub", "state": "connected", "url": url}),
                &format!(
                    "connected with the hub at {url}, which has not taken it for an agent\nits operator must add {} to p2p.allowed; its card must have a skill",
                    self.peer
                ),
            ),
            // Whoever keeps the registry there says the same.
            HubStatus::Unanswered(_) if self.places.registry.as_ref() == Some(url) => {}
            HubStatus::Forbidden(why) => self.forbidden("hub", url, why),
            HubStatus::Unanswered(why) | HubStatus::Unreached(why) => failed(why),
        }
    }

    /// Whoever is there does not want this peer.
    fn forbidden(&self, event: &str, url: &str, why: &str) {
        self.say(
            &json!({"event": event, "state": "forbidden", "url": url, "reason": why}),
            &format!(
                "not wanted at {url}: {why}\nits operator lets it in again with: jackfield p2p unblock {}",
                self.peer
            ),
        );
    }

    /// An event for programs, or words for people.
    fn say(&self, event: &Value, words: &str) {
        if self.is_json {
            self.event(event);
        } else {
            output::chat(&output::clean_lines(words));
        }
    }

    fn event(&self, event: &Value) {
        output::json(event).ok();
    }
}
