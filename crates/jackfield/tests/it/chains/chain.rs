//! The whole tree, and the path of a question down to the last leaf.

use crate::chains::{
    crew::{AMEN, Crew},
    guest::{Guest, Speech},
    hub::Hub,
    laptop::Laptop,
    root::Root,
    server::{Manners, Server},
};

/// The question of the root.
pub(crate) const QUESTION: &str = "what is the weather?";

/// A hub with all agents of the tree.
pub(crate) struct Chain {
    pub(crate) hub: Hub,
    pub(crate) laptop: Laptop,
    pub(crate) server: Server,
    pub(crate) crew: Crew,
    pub(crate) guest: Guest,
}

impl Chain {
    pub(crate) async fn start() -> Self {
        Self::with(Manners::PassesOn).await
    }

    pub(crate) async fn with(manners: Manners) -> Self {
        let hub = Hub::start().await;
        let guest = Guest::join(&hub).await;
        let crew = Crew::join(&hub, &guest.id).await;
        let server = Server::join(&hub, manners).await;
        let laptop = Laptop::join(&hub).await;
        Self {
            hub,
            laptop,
            server,
            crew,
            guest,
        }
    }

    /// Waits until the question reaches the peer. Also returns the team's call on the way.
    pub(crate) async fn is_asked(&mut self) -> (String, Speech) {
        let call = self.crew.is_asked().await;
        (call, self.guest.is_asked(QUESTION).await)
    }

    /// Kills the hub, starts a new hub on the same data, and waits until all agents are back.
    pub(crate) async fn kill_hub(self) -> Self {
        let hub = self.hub.kill_and_start().await;
        let mut chain = Self { hub, ..self };
        chain.crew.until_attached_again().await;
        chain.laptop.until_connected_again().await;
        let ids = ["laptop", "server", "lead", &chain.guest.id];
        chain.hub.until_online(&ids).await;
        chain
    }

    /// Checks a question with its complete answer, piece by piece.
    pub(crate) async fn works(&mut self) {
        let mut root = Root::live(&self.hub, QUESTION).await;
        let (_, mut speech) = self.is_asked().await;
        for piece in ["sun ", "and ", "rain\n"] {
            speech.says(piece).await;
            root.hears(piece).await;
        }
        speech.ends().await;
        self.crew.may_end();
        root.hears_to_the_end(AMEN).await;
        self.hub.until_quiet().await;
    }
}
