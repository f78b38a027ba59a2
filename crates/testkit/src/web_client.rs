//! [`WebClient`]: a scripted copy of the published web client of the team stream. It copies which fields the client requires of a frame, which frames it drops, how it finds the member, the segment and the tool of a frame, and when it reconnects. Written from notes on the client's behaviour.
//!
//! The client reconnects once, some time after an open socket was closed, whatever the close code. If the
//! reconnect fails, the client stays disconnected. Sequence numbers seen before stay seen. The test drives
//! the client: it reads only while the test waits.

mod member;
mod reading;
mod screen;
mod tool;

use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};

pub use self::{
    reading::Dropped,
    screen::{Approval, Screen},
};
use crate::{Raw, SOON};

/// A web client that watches one team.
#[derive(Debug)]
pub struct WebClient {
    addr: SocketAddr,
    path: String,
    /// Delay before a reconnect: a second in the published client, zero unless a test sets it.
    pub patience: Duration,
    socket: Option<Raw>,
    /// Number of reconnects.
    pub returns: usize,
    /// The contents of the screen.
    pub screen: Screen,
}

impl WebClient {
    /// Opens the stream of a team with the given members.
    pub async fn open(addr: SocketAddr, team: &str, members: &[&str]) -> Self {
        let path = format!("/ws/agent-team/{team}");
        Self {
            socket: Some(Raw::connect(addr, &path).await),
            addr,
            path,
            patience: Duration::ZERO,
            returns: 0,
            screen: Screen::new(members),
        }
    }

    /// Sets the address of the hub for the next reconnect.
    pub fn moved(&mut self, addr: SocketAddr) {
        self.addr = addr;
    }

    /// Returns whether the client stays disconnected.
    pub fn is_dark(&self) -> bool {
        self.socket.is_none()
    }

    /// Reads a frame, or reconnects if the socket was closed. Returns false if the client stays disconnected.
    async fn step(&mut self) -> bool {
        let Some(socket) = &mut self.socket else {
            return false;
        };
        if let Some(text) = socket.wait_text().await {
            self.screen.take(&text);
            return true;
        }
        tokio::time::sleep(self.patience).await;
        self.socket = Raw::try_connect(self.addr, &self.path).await;
        self.returns += usize::from(self.socket.is_some());
        self.socket.is_some()
    }

    /// Reads until the [`Screen`] fulfils the condition.
    pub async fn until(&mut self, what: &str, is_it: impl Fn(&Screen) -> bool) {
        let reading = async {
            while !is_it(&self.screen) {
                assert!(self.step().await, "the client stays away, before {what}");
            }
        };
        let read = tokio::time::timeout(SOON, reading).await;
        assert!(
            read.is_ok(),
            "{what} did not happen: {:#}, dropped {:#?}",
            self.screen.shown(),
            self.screen.lost()
        );
    }

    /// Reads until the team has become idle `times` times.
    pub async fn until_rest(&mut self, times: usize) {
        self.until("the team comes to rest", |screen| screen.rests() >= times)
            .await;
    }

    /// Reads until the socket is closed and the client has reconnected, or stays disconnected.
    pub async fn until_back(&mut self) {
        let before = self.returns;
        let reading = async { while self.returns == before && self.step().await {} };
        tokio::time::timeout(SOON, reading)
            .await
            .expect("the socket stays open");
    }

    /// Sends a message of the user. The message is lost if the socket is closed.
    pub async fn send(&mut self, message: Value) {
        if let Some(socket) = &mut self.socket {
            socket.maybe_send_text(&message.to_string()).await;
        }
    }

    /// Sends a user's message to a member, or to the coordinator.
    pub async fn say(&mut self, content: &str, target: Option<&str>) {
        let mut payload = json!({ "content": content });
        if let Some(target) = target {
            payload["target_member_name"] = target.into();
        }
        self.send(json!({"type": "SEND_MESSAGE", "payload": payload}))
            .await;
    }

    /// Sends the user's request to stop all work.
    pub async fn stop(&mut self) {
        self.send(json!({"type": "STOP_GENERATION"})).await;
    }

    /// Waits until a tool of a member awaits approval, and sends the user's decision. Repeats the decision if
    /// it was lost with the socket.
    pub async fn decide(&mut self, invocation: &str, approve: bool) {
        let waits = |screen: &Screen| {
            let mut approvals = screen.approvals().into_iter();
            approvals.find(|it| it.invocation_id == invocation)
        };
        self.until("a tool waits", |screen| waits(screen).is_some())
            .await;
        let kind = if approve { "APPROVE_TOOL" } else { "DENY_TOOL" };
        while let Some(approval) = waits(&self.screen) {
            let came_back = self.returns;
            let payload = json!({
                "invocation_id": invocation,
                "agent_name": approval.member,
                "approval_token": approval.token,
                "reason": if approve { "go on" } else { "not now" },
            });
            self.send(json!({"type": kind, "payload": payload})).await;
            while waits(&self.screen).is_some() && self.returns == came_back {
                let step = tokio::time::timeout(SOON, self.step()).await;
                assert!(step.expect("nothing came in time"), "it stays away");
            }
        }
    }
}
