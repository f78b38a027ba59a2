//! Setup of a channel: exchanges session descriptions and candidates, and tries every pair of addresses. All
//! work happens inside the future of [`call`] or [`answer`]; dropping the future ends it.

use std::net::SocketAddr;
use std::time::Duration;

use str0m::change::{SdpAnswer, SdpOffer, SdpPendingOffer};
use str0m::channel::ChannelId;
use str0m::net::Protocol;
use str0m::{Candidate, Event};
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

use super::candidates::{self, Candidates};
use super::peer::RtcPeer;
use super::sockets::PacketArrival;
use super::stun::{self, StunRequests};
use super::{LABEL, RtcChannel, RtcOptions, SignalKind, Signalling, sdp};
use crate::endpoint::ChannelError;

/// Calls the peer: sends an offer and opens the [`RtcChannel`].
pub async fn call<S: Signalling>(
    signalling: &mut S,
    options: &RtcOptions,
) -> Result<RtcChannel, ChannelError> {
    let mut connecting = Connecting::open(options).await?;
    let mut offer = connecting.offer()?;
    if let Some(offset) = options.offset {
        offer = sdp::with_offset(&offer, offset);
    }
    let way = connecting.find(signalling, SignalKind::Offer, offer);
    let found = timeout(options.patience, way).await;
    connecting.result(found.ok(), options.patience)
}

/// Answers an offer: accepts the [`RtcChannel`] that the caller opens.
pub async fn answer<S: Signalling>(
    signalling: &mut S,
    offer_sdp: &str,
    options: &RtcOptions,
) -> Result<RtcChannel, ChannelError> {
    let mut connecting = Connecting::open(options).await?;
    let answer = connecting.answer(offer_sdp)?;
    let way = connecting.find(signalling, SignalKind::Answer, answer);
    let found = timeout(options.patience, way).await;
    connecting.result(found.ok(), options.patience)
}

struct Connecting {
    peer: RtcPeer,
    /// Our offer, until answered.
    pending: Option<SdpPendingOffer>,
    /// Media section to which our candidates belong.
    mid: String,
    max_message: usize,
    candidates: Candidates,
    /// Candidates that arrived before the description.
    early: Vec<Candidate>,
    questions: StunRequests,
    lookups: JoinSet<Vec<SocketAddr>>,
    /// Whether the peer may still send signals.
    is_signalled: bool,
}

impl Connecting {
    async fn open(options: &RtcOptions) -> Result<Self, ChannelError> {
        let mut lookups = JoinSet::new();
        for (host, port) in stun::servers(&options.ice_servers) {
            lookups.spawn(stun::resolve(host, port));
        }
        Ok(Self {
            peer: RtcPeer::open(options).await?,
            pending: None,
            mid: String::new(),
            max_message: 0,
            candidates: Candidates::default(),
            early: Vec::new(),
            questions: StunRequests::default(),
            lookups,
            is_signalled: true,
        })
    }

    fn offer(&mut self) -> Result<String, ChannelError> {
        let mut changes = self.peer.sdp();
        changes.add_channel(LABEL.to_owned());
        let (offer, pending) = changes
            .apply()
            .ok_or_else(|| ChannelError::NoRoute("there is nothing to offer".to_owned()))?;
        let offer = offer.to_sdp_string();
        self.pending = Some(pending);
        sdp::mid_of(&offer).clone_into(&mut self.mid);
        Ok(offer)
    }

    fn answer(&mut self, offer: &str) -> Result<String, ChannelError> {
        let (description, candidates) = sdp::split_candidates(offer);
        if !description.contains("\r\nm=application ") {
            return Err(ChannelError::Signal("it offers no data channel".to_owned()));
        }
        let offered = SdpOffer::from_sdp_string(&description).map_err(unusable)?;
        let answer = self.peer.sdp().accept_offer(offered).map_err(unusable)?;
        self.on_description(&description, &candidates);
        Ok(answer.to_sdp_string())
    }

    fn answered(&mut self, pending: SdpPendingOffer, answer: &str) -> Result<(), ChannelError> {
        let (description, candidates) = sdp::split_candidates(answer);
        let answer = SdpAnswer::from_sdp_string(&description).map_err(unusable)?;
        let sdp = self.peer.sdp();
        sdp.accept_answer(pending, answer).map_err(unusable)?;
        self.on_description(&description, &candidates);
        Ok(())
    }

    /// Handles the peer's description; its candidates can be tried from now on.
    fn on_description(&mut self, description: &str, candidates: &[&str]) {
        self.max_message = sdp::max_message_of(description);
        sdp::mid_of(description).clone_into(&mut self.mid);
        let inside = candidates.iter();
        let inside: Vec<_> = inside
            .filter_map(|line| self.candidates.take(line))
            .collect();
        for candidate in self.early.drain(..).chain(inside) {
            self.peer.add_remote(candidate);
        }
    }

    /// Sends our description, then drives the connection until the channel is open.
    async fn find<S: Signalling>(
        &mut self,
        signalling: &mut S,
        kind: SignalKind,
        description: String,
    ) -> Result<ChannelId, ChannelError> {
        signalling.send(kind, description).await?;
        loop {
            if let Some(id) = self.opened().await? {
                return Ok(id);
            }
            let due = self.peer.deadline();
            let due = self.questions.due().map_or(due, |other| due.min(other));
            tokio::select! {
                signal = signalling.next(), if self.is_signalled => match signal {
                    Some((kind, payload)) => self.on_signal(kind, &payload)?,
                    None => self.is_signalled = false,
                },
                () = self.peer.sockets.readable() => {
                    if let Some(candidate) = self.received() {
                        let payload = candidates::payload(&candidate, &self.mid);
                        signalling.send(SignalKind::Candidate, payload).await?;
                    }
                }
                Some(servers) = self.lookups.join_next() => {
                    for server in servers.into_iter().flatten() {
                        self.questions.ask(server, &self.peer.sockets);
                    }
                }
                () = sleep_until(due) => {
                    self.questions.send_due(&self.peer.sockets);
                    self.peer.tick();
                }
            }
        }
    }

    /// Processes pending events. Returns the channel if open.
    async fn opened(&mut self) -> Result<Option<ChannelId>, ChannelError> {
        let failed = |error: str0m::RtcError| ChannelError::NoRoute(error.to_string());
        while let Some(event) = self.peer.next_event().await.map_err(failed)? {
            match event {
                Event::ChannelOpen(id, label) if label == LABEL => return Ok(Some(id)),
                Event::Closed => return Err(gave_up()),
                _ => {}
            }
        }
        match self.peer.is_alive() {
            true => Ok(None),
            false => Err(gave_up()),
        }
    }

    fn on_signal(&mut self, kind: SignalKind, payload: &str) -> Result<(), ChannelError> {
        match kind {
            SignalKind::Candidate => {
                let line = candidates::line_of(payload);
                let candidate = line.and_then(|line| self.candidates.take(&line));
                match (candidate, &self.pending) {
                    (Some(candidate), None) => self.peer.add_remote(candidate),
                    (Some(candidate), Some(_)) => self.early.push(candidate),
                    (None, _) => tracing::trace!("a candidate is of no use"),
                }
                Ok(())
            }
            SignalKind::Answer => match self.pending.take() {
                Some(pending) => self.answered(pending, payload),
                None => Ok(()),
            },
            // A call has a single offer.
            SignalKind::Offer => Ok(()),
        }
    }

    /// Reads a packet. Returns a new local candidate if the packet is a STUN server's response.
    fn received(&mut self) -> Option<Candidate> {
        let (arrival, packet) = self.peer.receive()?;
        match self.questions.answered(arrival, packet) {
            Some(mapped) => self.on_mapped_address(arrival, mapped),
            None => {
                self.peer.process(arrival);
                None
            }
        }
    }

    fn on_mapped_address(
        &mut self,
        arrival: PacketArrival,
        mapped: SocketAddr,
    ) -> Option<Candidate> {
        if self.peer.sockets.addresses().any(|own| own == mapped) {
            return None;
        }
        let candidate = Candidate::server_reflexive(mapped, arrival.local, Protocol::Udp).ok()?;
        self.peer.add_local(candidate)
    }

    fn result(
        self,
        found: Option<Result<ChannelId, ChannelError>>,
        patience: Duration,
    ) -> Result<RtcChannel, ChannelError> {
        match found {
            Some(Ok(id)) => Ok(RtcChannel::start(self.peer, id, self.max_message)),
            Some(Err(error)) => Err(error),
            None => {
                let seconds = patience.as_secs_f32();
                Err(ChannelError::NoRoute(match self.pending {
                    Some(_) => format!("it did not answer within {seconds} s"),
                    None => format!("none of its addresses was reached within {seconds} s"),
                }))
            }
        }
    }
}

fn unusable(error: impl std::fmt::Display) -> ChannelError {
    ChannelError::Signal(error.to_string())
}

fn gave_up() -> ChannelError {
    ChannelError::NoRoute("the other side gave up".to_owned())
}
