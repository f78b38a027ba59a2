//! The whole tree, and the walk of a question down to its last leaf.

use crate::chains::{
    crew::{AMEN, Crew},
    guest::{Guest, Speech},
    hub::Hub,
    laptop::Laptop,
    root::Root,
    server::{Manners, Server},
};

/// What the root asks.
pub(crate) const QUESTION: &str = "what is the weather?";

/// A hub with everybody who has a part.
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

    /// The question has come down to the peer; the call that the team was given on the way.
    pub(crate) async fn is_asked(&mut self) -> (String, Speech) {
        let call = self.crew.is_asked().await;
        (call, self.guest.is_asked(QUESTION).await)
    }

    /// Kills the hub, starts another one on its data, and waits until everybody is there again.
    pub(crate) async fn kill_hub(self) -> Self {
        let hub = self.hub.kill_and_start().await;
        let mut chain = Self { hub, ..self };
        chain.crew.until_attached_again().await;
        chain.laptop.until_connected_again().await;
        let ids = ["laptop", "server", "lead", &chain.guest.id];
        chain.hub.until_online(&ids).await;
        chain
    }

    /// A question and its whole answer, piece by piece.
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
