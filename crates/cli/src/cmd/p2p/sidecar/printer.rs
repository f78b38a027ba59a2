//! Messages of a sidecar: peer id and addresses to standard output, everything else to standard error; or all
//! as lines of JSON. Write errors are ignored.

use jackfield_peer::node::ReservationState;
use jackfield_sidecar::{HubStatus, ListingStatus, SidecarAgentStatus, SidecarStatus};
use serde_json::{Value, json};

use crate::output;

/// Prints changes of the [`Standing`].
#[derive(Debug)]
pub(super) struct SidecarPrinter {
    is_json: bool,
    peer: String,
    places: SidecarUrls,
    /// Last printed state.
    told: SidecarStatus,
}

/// URLs of registry and hub.
#[derive(Debug)]
pub(super) struct SidecarUrls {
    pub(super) registry: Option<String>,
    pub(super) hub: Option<String>,
}

impl SidecarPrinter {
    pub(super) fn new(is_json: bool, peer: String, places: SidecarUrls) -> Self {
        Self {
            is_json,
            peer,
            places,
            told: SidecarStatus::default(),
        }
    }

    /// Prints the first line.
    pub(super) fn begin(&self) {
        if self.is_json {
            self.event(&json!({"event": "started", "peer_id": self.peer}));
        } else {
            output::line(&format!("jackfield sidecar is {}", self.peer)).ok();
        }
    }

    /// Prints the changes.
    pub(super) fn print_changes(&mut self, now: SidecarStatus) {
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
            self.print(
                &json!({"event": "address", "state": "gone", "address": address}),
                &format!("no longer reachable at {address}"),
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
                self.print(
                    &json!({"event": "agent", "state": "here", "name": name, "skills": skills, "remarks": remarks}),
                    &format!("the agent {name} is ready: {}", skills.join(", ")),
                );
                if !self.is_json {
                    for remark in remarks {
                        output::print_message(&output::clean_lines(&format!("in its card, {remark}")));
                    }
                }
            }
            SidecarAgentStatus::Gone(why) => self.print(
                &json!({"event": "agent", "state": "gone", "reason": **why}),
                &format!(
                    "the agent shows no card: {why}\nstart it, or name another with --agent-url; retrying"
                ),
            ),
        }
    }

    fn relay(&self, relay: &str, state: &ReservationState) {
        match state {
            ReservationState::Asking => {}
            ReservationState::Held => self.print(
                &json!({"event": "relay", "state": "held", "relay": relay}),
                &format!("reachable through the relay {relay}"),
            ),
            ReservationState::NoRelay => self.print(
                &json!({"event": "relay", "state": "no_relay", "relay": relay}),
                &format!(
                    "connected with {relay}, which is no relay: peers that cannot dial you cannot reach you through it\na hub is a relay with p2p.relay = true"
                ),
            ),
            ReservationState::Unreached(why) => self.print(
                &json!({"event": "relay", "state": "unreached", "relay": relay, "reason": **why}),
                &format!(
                    "cannot reach the relay: {why}\nretrying; a hub lists its addresses at URL/peers"
                ),
            ),
            ReservationState::Lost(why) => self.print(
                &json!({"event": "relay", "state": "lost", "relay": relay, "reason": **why}),
                &format!(
                    "no reservation at the relay {relay}: {why}\nretrying; a hub is a relay with p2p.relay = true, for peers that are allowed there or registered with --hub URL"
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
            ListingStatus::Listed => self.print(
                &json!({"event": "registry", "state": "listed", "url": url}),
                &format!("listed in the registry at {url}"),
            ),
            // The connection to the hub reports the same.
            ListingStatus::Forbidden(_) if self.places.hub.as_ref() == Some(url) => {}
            ListingStatus::Forbidden(why) => self.forbidden("registry", url, why),
            ListingStatus::Failed { why, is_refused } => {
                let next = if *is_refused {
                    format!(
                        "pass a token of that hub with --hub {url} --token-file FILE, or have its operator add {} to p2p.allowed",
                        self.peer
                    )
                } else {
                    "retrying; --hub URL or --registry URL names another, --no-register does without"
                        .to_owned()
                };
                self.print(
                    &json!({"event": "registry", "state": "failed", "url": url, "reason": **why}),
                    &format!("not listed in the registry at {url}: {why}\n{next}"),
                );
            }
        }
    }

    fn hub(&self, hub: &HubStatus) {
        let Some(url) = &self.places.hub else { return };
        let failed = |why: &str| {
            self.print(
                &json!({"event": "hub", "state": "failed", "url": url, "reason": why}),
                &format!("not connected with the hub at {url}: {why}\nretrying"),
            );
        };
        match hub {
            HubStatus::None => {}
            HubStatus::Callable(agent) => self.print(
                &json!({"event": "hub", "state": "callable", "url": url, "agent": **agent}),
                &format!("callable as {agent} at the hub {url}"),
            ),
            HubStatus::Connected => self.print(
                &json!({"event": "hub", "state": "connected", "url": url}),
                &format!(
                    "connected with the hub at {url}, which does not offer it as an agent\nits operator must add {} to p2p.allowed; its card must have a skill",
                    self.peer
                ),
            ),
            // The registration at the hub reports the same.
            HubStatus::Unanswered(_) if self.places.registry.as_ref() == Some(url) => {}
            HubStatus::Forbidden(why) => self.forbidden("hub", url, why),
            HubStatus::Unanswered(why) | HubStatus::Unreached(why) => failed(why),
        }
    }

    /// Reports that this peer is blocked there.
    fn forbidden(&self, event: &str, url: &str, why: &str) {
        self.print(
            &json!({"event": event, "state": "forbidden", "url": url, "reason": why}),
            &format!(
                "blocked at {url}: {why}\nits operator unblocks it with: jackfield p2p unblock {}",
                self.peer
            ),
        );
    }

    /// Prints an event for programs, or a message for people.
    fn print(&self, event: &Value, words: &str) {
        if self.is_json {
            self.event(event);
        } else {
            output::print_message(&output::clean_lines(words));
        }
    }

    fn event(&self, event: &Value) {
        output::json(event).ok();
    }
}
