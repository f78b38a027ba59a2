//! How two ends find each other, or do not.

use std::net::{Ipv6Addr, SocketAddr};

use serde_json::{Value, json};
use tokio::net::UdpSocket;

use super::memory::{
    Change, answer_next, attempt, loopback, memory, pair, split, unchanged, with_port,
};
use crate::endpoint::rtc::{self, RtcOptions, SignalKind, Signalling, offset_of};
use crate::endpoint::{Channel, ChannelError, ChannelFrame};

fn candidate(line: &str) -> (SignalKind, String) {
    (
        SignalKind::Candidate,
        json!({"candidate": line, "mid": "0"}).to_string(),
    )
}

/// Nothing of its own addresses.
fn silent() -> Change {
    Box::new(|(kind, sdp)| vec![(kind, split(&sdp).1)])
}

async fn expect_open(caller: Change, called: Change) {
    let (caller, called) = attempt(caller, called).await;
    let (mut caller, mut called) = (caller.unwrap(), called.unwrap());
    caller
        .send(ChannelFrame::Text("here".to_owned()))
        .await
        .unwrap();
    let arrived = called.recv().await.unwrap();
    assert_eq!(arrived, Some(ChannelFrame::Text("here".to_owned())));
}

#[tokio::test]
async fn candidates_may_come_after_the_description_among_garbage() {
    let caller: Change = Box::new(|(kind, sdp)| {
        let (candidates, rest) = split(&sdp);
        let mut signals = vec![(kind, rest), (SignalKind::Candidate, "garbage".to_owned())];
        signals.push(candidate("candidate:1 1 udp 1 4711.local 9 typ host"));
        signals.push(candidate(
            "candidate:1 1 tcp 1 127.0.0.1 9 typ host tcptype active",
        ));
        signals.extend(candidates.iter().map(|line| candidate(&line[2..])));
        signals.push((SignalKind::Offer, "a second offer".to_owned()));
        signals
    });
    expect_open(caller, silent()).await;
}

#[tokio::test]
async fn candidates_may_come_before_the_description_and_twice() {
    let called: Change = Box::new(|(kind, sdp)| {
        let (candidates, rest) = split(&sdp);
        let mut signals = vec![candidate(""), (SignalKind::Candidate, "{}".to_owned())];
        signals.extend(candidates.iter().map(|line| candidate(line)));
        signals.extend(candidates.iter().map(|line| candidate(&line[2..])));
        signals.push((kind, rest));
        signals.push((SignalKind::Answer, "a second answer".to_owned()));
        signals
    });
    expect_open(silent(), called).await;
}

#[tokio::test]
async fn one_that_tells_no_candidate_is_found_by_what_it_sends() {
    expect_open(silent(), unchanged()).await;
    expect_open(unchanged(), silent()).await;
}

#[tokio::test]
async fn it_works_over_ipv6() {
    // Some containers have none.
    if std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        eprintln!("left out: this machine has no ::1");
        return;
    }
    let (mut caller, mut called) = memory(unchanged(), unchanged());
    let options = RtcOptions {
        bind: Some(vec![Ipv6Addr::LOCALHOST.into()]),
        ..RtcOptions::default()
    };
    let (caller, called) = tokio::join!(
        rtc::call(&mut caller, &options),
        answer_next(&mut called, &options)
    );
    assert!(caller.is_ok() && called.is_ok(), "{caller:?} {called:?}");
}

#[tokio::test]
async fn the_machines_own_addresses_are_found() {
    let (mut caller, mut called) = memory(unchanged(), unchanged());
    let options = RtcOptions::default();
    let (caller, called) = tokio::join!(
        rtc::call(&mut caller, &options),
        answer_next(&mut called, &options)
    );
    assert!(caller.is_ok() && called.is_ok(), "{caller:?} {called:?}");
}

#[tokio::test]
async fn a_description_that_is_nonsense_is_a_signal_that_cannot_be_used() {
    let (mut signalling, _other) = memory(unchanged(), unchanged());
    for nonsense in [
        "",
        "nonsense",
        "v=0\r\n",
        "v=0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n",
        "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\n",
    ] {
        let answered = rtc::answer(&mut signalling, nonsense, &loopback()).await;
        assert!(
            matches!(answered, Err(ChannelError::Signal(_))),
            "{nonsense:?}: {answered:?}"
        );
    }
    let spoiled: Change = Box::new(|(kind, _)| vec![(kind, "nonsense".to_owned())]);
    let (mut caller, mut called) = memory(unchanged(), spoiled);
    let options = loopback();
    let called = tokio::select! {
        called = rtc::call(&mut caller, &options) => called,
        _ = answer_next(&mut called, &options) => unreachable!("it waits for the caller"),
    };
    assert!(matches!(called, Err(ChannelError::Signal(_))), "{called:?}");
}

#[tokio::test]
async fn without_a_path_both_give_up() {
    // Nobody reads there.
    let deaf = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = deaf.local_addr().unwrap().port();
    tokio::time::pause();
    let elsewhere = || -> Change {
        Box::new(move |(kind, sdp)| {
            let (candidates, rest) = split(&sdp);
            let lines = candidates.iter().map(|line| with_port(line, port) + "\r\n");
            vec![(kind, rest + &lines.collect::<String>())]
        })
    };
    let (caller, called) = attempt(elsewhere(), elsewhere()).await;
    assert!(
        matches!(caller, Err(ChannelError::NoRoute(_))),
        "{caller:?}"
    );
    assert!(
        matches!(called, Err(ChannelError::NoRoute(_))),
        "{called:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_not_answered_gives_up() {
    let (mut caller, _called) = memory(unchanged(), unchanged());
    let called = rtc::call(&mut caller, &loopback()).await;
    let problem = called.unwrap_err().to_string();
    assert!(problem.contains("did not answer within 15 s"), "{problem}");
}

#[tokio::test]
async fn the_offer_says_where_to_go_on_and_others_skip_that() {
    let (mut caller, mut called) = memory(unchanged(), unchanged());
    let options = RtcOptions {
        offset: Some(1234),
        ..loopback()
    };
    let answering = async {
        let (_, offer) = called.next().await.unwrap();
        assert_eq!(offset_of(&offer), Some(1234));
        rtc::answer(&mut called, &offer, &options).await
    };
    let (caller, called) = tokio::join!(rtc::call(&mut caller, &options), answering);
    assert!(caller.is_ok() && called.is_ok(), "{caller:?} {called:?}");
}

#[tokio::test]
async fn what_a_stun_server_tells_is_signalled_as_a_candidate() {
    let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address: SocketAddr = server.local_addr().unwrap();
    let (mut caller, mut other) = memory(unchanged(), unchanged());
    let options = RtcOptions {
        ice_servers: vec!["turn:192.0.2.1".to_owned(), format!("stun:{address}")],
        ..loopback()
    };
    let serving = async {
        let mut request = [0; 64];
        let (_, from) = server.recv_from(&mut request).await.unwrap();
        // A binding request; the answer has its id, and XOR-MAPPED-ADDRESS 192.0.2.9:5000.
        assert_eq!(request[..2], [0, 1]);
        let mut answer = vec![1, 1, 0, 12];
        answer.extend(&request[4..20]);
        answer.extend([0, 0x20, 0, 8, 0, 1]);
        answer.extend((5000_u16 ^ 0x2112).to_be_bytes());
        answer.extend([192 ^ 0x21, 0x12, 2 ^ 0xa4, 9 ^ 0x42]);
        server.send_to(&answer, from).await.unwrap();
        assert_eq!(other.next().await.unwrap().0, SignalKind::Offer);
        let (kind, payload) = other.next().await.unwrap();
        assert_eq!(kind, SignalKind::Candidate);
        serde_json::from_str::<Value>(&payload).unwrap()
    };
    let payload = tokio::select! {
        payload = serving => payload,
        called = rtc::call(&mut caller, &options) => unreachable!("{called:?}"),
    };
    let line = payload["candidate"].as_str().unwrap();
    assert!(line.starts_with("candidate:"), "{line}");
    assert!(line.contains(" 192.0.2.9 5000 typ srflx"), "{line}");
    assert!(payload["mid"].is_string());
}

#[tokio::test]
async fn two_channels_do_not_disturb_each_other() {
    let ((mut one, mut other_one), (mut two, mut other_two)) = tokio::join!(pair(), pair());
    one.send(ChannelFrame::Text("one".to_owned()))
        .await
        .unwrap();
    two.send(ChannelFrame::Text("two".to_owned()))
        .await
        .unwrap();
    let texts = (
        other_one.recv().await.unwrap(),
        other_two.recv().await.unwrap(),
    );
    let text = |text: &str| Some(ChannelFrame::Text(text.to_owned()));
    assert_eq!(texts, (text("one"), text("two")));
}
