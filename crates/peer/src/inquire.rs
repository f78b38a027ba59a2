//! Short questions to a peer: its card, or a document at a path, such as the list of a hub's agents. The
//! door, the sidecar's commands and `jackfield p2p …` ask them.

use std::time::Duration;

use jackfield_model::{Failure, Reason};
use libp2p::{Multiaddr, PeerId, StreamProtocol};

use crate::wire::{
    CardError, HandOff, MAX_CARD, Method, PeerAnswer, PeerCard, read_answer, read_card,
};
use crate::{
    delegate::unreachable,
    exchange::{self, AskError},
    failure::HandoffError,
    limits::MAX_ANSWER,
    node::Node,
    protocol::{CARD, HANDOFF},
};

/// How long a peer has to send its card or its list of agents.
const ANSWER: Duration = Duration::from_secs(10);

/// Fetches the [`PeerCard`] of a peer. The connection proves that the card is the peer's own.
pub async fn fetch_card(
    node: &Node,
    peer: PeerId,
    addresses: &[Multiaddr],
) -> Result<PeerCard, Failure> {
    let answer = ask(node, peer, addresses, CARD, b"", MAX_CARD).await?;
    read_card(&answer).map_err(|no_card| match no_card {
        CardError::Error(error) => HandoffError::received(&error),
        CardError::Fault(fault) => {
            let text = format!("the peer's card cannot be read: {fault}");
            Failure::new(Reason::Crashed, text)
        }
    })
}

/// Fetches the document at a path of a peer, such as `/agents` of a hub.
pub async fn fetch(
    node: &Node,
    peer: PeerId,
    addresses: &[Multiaddr],
    path: &str,
) -> Result<Vec<u8>, Failure> {
    let request = HandOff::new(Method::Get, path).to_json();
    let answer = ask(
        node,
        peer,
        addresses,
        HANDOFF,
        request.as_bytes(),
        MAX_ANSWER,
    );
    let answer = answer.await?;
    match read_answer(&answer) {
        PeerAnswer::Error(error) => Err(HandoffError::received(&error)),
        PeerAnswer::Body(_) => Ok(answer),
    }
}

async fn ask(
    node: &Node,
    peer: PeerId,
    addresses: &[Multiaddr],
    protocol: StreamProtocol,
    request: &[u8],
    cap: usize,
) -> Result<Vec<u8>, Failure> {
    let opened = node.open(peer, addresses, &[protocol]).await;
    let (mut stream, _) = opened.map_err(|error| unreachable(&error))?;
    let answer = exchange::ask(&mut stream, request, cap, ANSWER).await;
    answer.map_err(|trouble| {
        let reason = match trouble {
            AskError::TooLarge(_) => Reason::TooLarge,
            AskError::TooSlow => Reason::Timeout,
            AskError::Broken(_) => Reason::Offline,
        };
        Failure::new(reason, trouble.to_string())
    })
}
