//! The whole tree, and the path of a question down to the last leaf.

use crate::chains::{
    hub::Hub,
    laptop::Laptop,
    peer::{PeerAnswer, ScriptedPeer},
    root::Root,
    server::{ContextHandling, Server},
    team::{CLOSING_TEXT, TestTeam},
};

/// The question of the root.
pub(crate) const QUESTION: &str = "what is the weather?";

/// A hub with all agents of the tree.
pub(crate) struct Chain {
    pub(crate) hub: Hub,
    pub(crate) laptop: Laptop,
    pub(crate) server: Server,
    pub(crate) team: TestTeam,
    pub(crate) peer: ScriptedPeer,
}

impl Chain {
    pub(crate) async fn start() -> Self {
        Self::with(ContextHandling::ForwardsContext).await
    }

    pub(crate) async fn with(handling: ContextHandling) -> Self {
        let hub = Hub::start().await;
        let peer = ScriptedPeer::join(&hub).await;
        let team = TestTeam::join(&hub, &peer.id).await;
        let server = Server::join(&hub, handling).await;
        let laptop = Laptop::join(&hub).await;
        Self {
            hub,
            laptop,
            server,
            team,
            peer,
        }
    }

    /// Waits until the question reaches the peer. Also returns the team's call on the way.
    pub(crate) async fn next_request(&mut self) -> (String, PeerAnswer) {
        let call = self.team.next_request().await;
        (call, self.peer.next_request(QUESTION).await)
    }

    /// Kills the hub, starts a new hub on the same data, and waits until all agents are back.
    pub(crate) async fn kill_hub(self) -> Self {
        let hub = self.hub.kill_and_start().await;
        let mut chain = Self { hub, ..self };
        chain.team.until_attached_again().await;
        chain.laptop.until_connected_again().await;
        let ids = ["laptop", "server", "lead", &chain.peer.id];
        chain.hub.until_online(&ids).await;
        chain
    }

    /// Checks a question with its complete answer, piece by piece.
    pub(crate) async fn check_call(&mut self) {
        let mut root = Root::live(&self.hub, QUESTION).await;
        let (_, mut peer_answer) = self.next_request().await;
        for piece in ["sun ", "and ", "rain\n"] {
            peer_answer.send(piece).await;
            root.expect_piece(piece).await;
        }
        peer_answer.ends().await;
        self.team.may_end();
        root.expect_rest(CLOSING_TEXT).await;
        self.hub.wait_until_idle().await;
    }
}
