//! A peer that hands off, by 1.1.0.

use std::collections::VecDeque;

use crate::matrix::protocol::Protocol;
use jackfield_peer::{HANDOFF_STREAM, PeerId, streams::Stream};
use jackfield_testkit::TestHub;
use serde_json::{Value, json};

use crate::matrix::{
    caller::{Caller, QUESTION},
    event::{CallerEvent, File, text},
    node::{self, Peer},
    setup::Owner,
};

pub(crate) struct P2p {
    peer: Peer,
    hub: PeerId,
    target: String,
    stream: Option<Stream>,
    unread: Vec<u8>,
    has_text: bool,
    pending: VecDeque<CallerEvent>,
}

impl P2p {
    /// Returns the next frame, or `None` at the end.
    async fn frame(&mut self) -> Option<Value> {
        loop {
            if let Some(at) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = self.unread.drain(..=at).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let more = node::read(self.stream.as_mut()?).await;
            if more.is_empty() {
                return None;
            }
            self.unread.extend(more);
        }
    }

    /// The answer: text, or an object with more fields.
    async fn result(&mut self, data: &Value) {
        let words = data.as_str().or(data["text"].as_str());
        if let Some(words) = words.filter(|words| !self.has_text && !words.is_empty()) {
            self.pending.push_back(CallerEvent::text(words));
        }
        for file in data["files"].as_array().into_iter().flatten() {
            let file = File::linked(&file["name"], &file["url"]).await;
            self.pending.push_back(CallerEvent::File(file));
        }
        self.pending.push_back(CallerEvent::Done);
    }
}

impl Caller for P2p {
    const PROTOCOL: Protocol = Protocol::P2p;
    /// Streams have small windows, and a hub with a blocked write gives up soon.
    const UNREAD: usize = 2 << 20;

    async fn join(hub: &TestHub, target: &str, _: Protocol) -> Self {
        let peer = Peer::start().await;
        Self {
            hub: peer.connect(hub).await,
            peer,
            target: target.to_owned(),
            stream: None,
            unread: Vec::new(),
            has_text: false,
            pending: VecDeque::new(),
        }
    }

    async fn join_without_access(hub: &TestHub, _: &Owner, target: &str) -> Self {
        Self::join(hub, target, Protocol::P2p).await
    }

    async fn call(&mut self) {
        let opened = self.peer.node.open(self.hub, &[], &[HANDOFF_STREAM]).await;
        let (mut stream, _) = opened.unwrap();
        let path = format!("/agents/{}/ask", self.target);
        let request = json!({"method": "POST", "path": path, "input_data": QUESTION});
        assert!(node::write(&mut stream, &request).await, "it is open");
        self.stream = Some(stream);
    }

    async fn next_event(&mut self) -> CallerEvent {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            let Some(frame) = self.frame().await else {
                return CallerEvent::Cancelled;
            };
            match frame["type"].as_str() {
                Some("accepted" | "heartbeat") => {}
                Some("chunk") => {
                    self.has_text = true;
                    return CallerEvent::Text(text(&frame["data"]));
                }
                Some("status") => return CallerEvent::Status(text(&frame["text"])),
                Some("result") => self.result(&frame["data"]).await,
                Some("error") => {
                    let code = &frame["code"];
                    return CallerEvent::Failed {
                        code: match frame["reason"].as_str() {
                            Some(reason) => reason.to_owned(),
                            None => code.to_string(),
                        },
                        words: text(&frame["error"]),
                    };
                }
                _ => panic!("{frame}"),
            }
        }
    }

    async fn answer(&mut self, _: &str) {
        unreachable!("its call has failed");
    }

    /// Dropping a stream resets it.
    async fn cancel(&mut self) {
        self.stream = None;
    }

    async fn leave(&mut self) {
        self.peer.node.disconnect(self.hub);
    }

    async fn reconnect(&mut self) {
        unreachable!("its calls end with its connection");
    }
}
