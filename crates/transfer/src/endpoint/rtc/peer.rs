//! str0m's state machine combined with sockets and the clock. The owner decides when to read.

use std::time::Duration;

use str0m::change::SdpApi;
use str0m::channel::{Channel, ChannelId};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcError};
use tokio::time::Instant;

use super::RtcOptions;
use super::queue::FULL;
use super::sockets::{PacketArrival, UdpSockets};
use crate::endpoint::ChannelError;

/// Unanswered connectivity checks until the connection counts as lost: about twelve seconds.
const UNANSWERED_CHECKS: usize = 6;
/// Interval of round-trip measurements.
const ROUND_TRIP_INTERVAL: Duration = Duration::from_secs(1);
/// Longest packet in bytes.
const LONGEST_PACKET: usize = 2048;
/// Steps for closing; a close takes a few packets.
const FAREWELL: usize = 32;

/// One end of a connection. Dropping it notifies the peer, if the system accepts the packets at once.
pub(super) struct RtcPeer {
    rtc: Rtc,
    pub(super) sockets: UdpSockets,
    buffer: Box<[u8]>,
    deadline: Instant,
}

impl RtcPeer {
    /// Opens the sockets, which are the first candidates.
    pub(super) async fn open(options: &RtcOptions) -> Result<Self, ChannelError> {
        let sockets = UdpSockets::open(options.bind.as_deref()).await;
        let sockets = sockets.map_err(|error| ChannelError::NoRoute(error.to_string()))?;
        let now = Instant::now();
        let mut config = Rtc::builder()
            .clear_codecs()
            .set_stats_interval(Some(ROUND_TRIP_INTERVAL))
            .set_sctp_max_buffered_amount(FULL);
        config.set_max_stun_retransmits(UNANSWERED_CHECKS);
        let mut rtc = config.build(now.into_std());
        for address in sockets.addresses() {
            if let Ok(candidate) = Candidate::host(address, Protocol::Udp) {
                rtc.add_local_candidate(candidate);
            }
        }
        Ok(Self {
            rtc,
            sockets,
            buffer: vec![0; LONGEST_PACKET].into(),
            deadline: now,
        })
    }

    /// Sends pending packets. Returns the next event, or `None` if nothing is left to do until
    /// [`Self::deadline`].
    pub(super) async fn next_event(&mut self) -> Result<Option<Event>, RtcError> {
        loop {
            match self.rtc.poll_output()? {
                Output::Transmit(packet) => {
                    let (from, to) = (packet.source, packet.destination);
                    self.sockets.send(from, to, &packet.contents).await;
                }
                Output::Event(event) => return Ok(Some(event)),
                Output::Timeout(at) => {
                    self.deadline = Instant::from_std(at);
                    return Ok(None);
                }
            }
        }
    }

    /// Returns when [`tick`](Self::tick) has to be called.
    pub(super) fn deadline(&self) -> Instant {
        // str0m uses a far future for "never", which a timer may not accept.
        self.deadline
            .min(Instant::now() + Duration::from_secs(3600))
    }

    /// Advances the clock.
    pub(super) fn tick(&mut self) {
        self.input(|rtc, now| rtc.handle_input(Input::Timeout(now)));
    }

    /// Returns a received packet, if any.
    pub(super) fn receive(&mut self) -> Option<(PacketArrival, &[u8])> {
        let arrival = self.sockets.try_receive(&mut self.buffer)?;
        Some((arrival, &self.buffer[..arrival.len]))
    }

    /// Processes the packet that [`Self::receive`] returned last.
    pub(super) fn process(&mut self, arrival: PacketArrival) {
        let Self { rtc, buffer, .. } = self;
        feed(rtc, arrival, &buffer[..arrival.len]);
    }

    /// Processes a packet that was kept.
    pub(super) fn process_kept(&mut self, arrival: PacketArrival, packet: &[u8]) {
        feed(&mut self.rtc, arrival, packet);
    }

    /// Returns the API for session descriptions.
    pub(super) fn sdp(&mut self) -> SdpApi<'_> {
        self.rtc.sdp_api()
    }

    /// Adds a local candidate. Returns the candidate if the peer should know it.
    pub(super) fn add_local(&mut self, candidate: Candidate) -> Option<Candidate> {
        self.rtc.add_local_candidate(candidate).cloned()
    }

    /// Adds a candidate of the peer.
    pub(super) fn add_remote(&mut self, candidate: Candidate) {
        self.rtc.add_remote_candidate(candidate);
    }

    /// Returns a channel, while open.
    pub(super) fn channel(&mut self, id: ChannelId) -> Option<Channel<'_>> {
        self.rtc.channel(id)
    }

    /// Closes a channel, after all data sent before.
    pub(super) fn close_channel(&mut self, id: ChannelId) {
        self.rtc.direct_api().close_data_channel(id);
    }

    /// Returns whether the connection is still active.
    pub(super) fn is_alive(&self) -> bool {
        self.rtc.is_alive()
    }

    fn input(&mut self, give: impl FnOnce(&mut Rtc, std::time::Instant) -> Result<(), RtcError>) {
        if let Err(error) = give(&mut self.rtc, Instant::now().into_std()) {
            tracing::debug!(%error, "the connection took no input");
        }
    }
}

/// Passes a packet to str0m. Ignores invalid packets, because anyone can send to an open port.
fn feed(rtc: &mut Rtc, arrival: PacketArrival, packet: &[u8]) {
    let Ok(packet) = Receive::new(Protocol::Udp, arrival.source, arrival.local, packet) else {
        return;
    };
    let input = Input::Receive(Instant::now().into_std(), packet);
    if !rtc.accepts(&input) {
        return;
    }
    if let Err(error) = rtc.handle_input(input) {
        tracing::debug!(%error, "a packet was not understood");
    }
}

impl Drop for RtcPeer {
    fn drop(&mut self) {
        if self.rtc.close().is_err() {
            return;
        }
        for _ in 0..FAREWELL {
            match self.rtc.poll_output() {
                Ok(Output::Transmit(packet)) => {
                    let (from, to) = (packet.source, packet.destination);
                    self.sockets.try_send(from, to, &packet.contents);
                }
                Ok(Output::Event(_)) => {}
                Ok(Output::Timeout(_)) | Err(_) => return,
            }
        }
    }
}
