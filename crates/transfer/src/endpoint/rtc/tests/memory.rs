//! Signalling in memory, with somebody in between who may change what goes by.

use std::net::{IpAddr, Ipv4Addr};

use tokio::sync::mpsc;

use crate::endpoint::ChannelError;
use crate::endpoint::rtc::{self, RtcChannel, RtcOptions, SignalKind, Signalling};

type Signal = (SignalKind, String);
/// Turns a signal into those that arrive.
pub(super) type Change = Box<dyn FnMut(Signal) -> Vec<Signal> + Send>;

/// One party's end.
pub(super) struct Memory {
    to: mpsc::Sender<Signal>,
    from: mpsc::Receiver<Signal>,
    change: Change,
}

impl Signalling for Memory {
    async fn send(&mut self, kind: SignalKind, payload: String) -> Result<(), ChannelError> {
        for signal in (self.change)((kind, payload)) {
            // One who is connected does not listen any more.
            self.to.send(signal).await.ok();
        }
        Ok(())
    }

    async fn next(&mut self) -> Option<Signal> {
        self.from.recv().await
    }
}

/// As it was sent.
pub(super) fn unchanged() -> Change {
    Box::new(|signal| vec![signal])
}

/// The ends of the caller and of the other; what each sends is changed.
pub(super) fn memory(caller: Change, called: Change) -> (Memory, Memory) {
    let (to_called, from_caller) = mpsc::channel(64);
    let (to_caller, from_called) = mpsc::channel(64);
    let end = |to, from, change| Memory { to, from, change };
    (
        end(to_called, from_called, caller),
        end(to_caller, from_caller, called),
    )
}

pub(super) fn loopback() -> RtcOptions {
    RtcOptions {
        bind: Some(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]),
        ..RtcOptions::default()
    }
}

/// Waits for the offer and answers it.
pub(super) async fn answer_next(
    signalling: &mut Memory,
    options: &RtcOptions,
) -> Result<RtcChannel, ChannelError> {
    let (kind, offer) = signalling.next().await.expect("an offer");
    assert_eq!(kind, SignalKind::Offer);
    rtc::answer(signalling, &offer, options).await
}

/// What comes of a call: the caller's end and the other's.
pub(super) async fn attempt(
    caller: Change,
    called: Change,
) -> (
    Result<RtcChannel, ChannelError>,
    Result<RtcChannel, ChannelError>,
) {
    let (mut caller, mut called) = memory(caller, called);
    let options = loopback();
    tokio::join!(
        rtc::call(&mut caller, &options),
        answer_next(&mut called, &options)
    )
}

/// Two ends of one channel.
pub(super) async fn pair() -> (RtcChannel, RtcChannel) {
    let (caller, called) = attempt(unchanged(), unchanged()).await;
    (caller.expect("it calls"), called.expect("it answers"))
}

/// The lines of a description that are candidates, and the others.
pub(super) fn split(sdp: &str) -> (Vec<String>, String) {
    let (candidates, rest): (Vec<_>, Vec<_>) = sdp
        .split_inclusive("\r\n")
        .partition(|line| line.starts_with("a=candidate:"));
    let candidates = candidates.iter().map(|line| line.trim_end().to_owned());
    (candidates.collect(), rest.concat())
}

/// The port in a line `a=candidate:1 1 udp 1 127.0.0.1 PORT typ host`.
pub(super) fn port(candidate: &str) -> u16 {
    candidate.split(' ').nth(5).unwrap().parse().unwrap()
}

/// The same line with another port.
pub(super) fn with_port(candidate: &str, port: u16) -> String {
    let mut words: Vec<_> = candidate.split(' ').map(str::to_owned).collect();
    words[5] = port.to_string();
    words.join(" ")
}
