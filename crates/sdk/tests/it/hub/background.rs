//! Agents that run in the background of a test, and clients of the hub.

use std::{net::SocketAddr, time::Duration};

use jackfield_sdk::{Agent, Backoff, Error, Hub, HubAddress};
use jackfield_testkit::SOON;
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

pub(crate) fn address(addr: SocketAddr) -> HubAddress {
    HubAddress::new(&format!("http://{addr}")).expect("a URL")
}

pub(crate) fn client(addr: SocketAddr) -> Hub {
    Hub::new(address(addr)).expect("a client")
}

/// An agent in the background of a test, and a notification for each attach.
pub(crate) struct BackgroundAgent {
    agents: JoinSet<Result<(), Error>>,
    attached: mpsc::Receiver<()>,
}

impl BackgroundAgent {
    pub(crate) async fn start(agent: Agent, addr: SocketAddr) -> Self {
        let (notification, attached) = mpsc::channel(1024);
        let soon = Backoff::new(Duration::from_millis(1), Duration::from_millis(20));
        let agent = agent.hub(address(addr)).backoff(soon);
        let mut agents = JoinSet::new();
        agents.spawn(agent.run_with(move || notification.try_send(()).expect("the test listens")));
        let mut background = Self { agents, attached };
        background.is_attached().await;
        background
    }

    pub(crate) async fn is_attached(&mut self) {
        let notification = timeout(SOON, self.attached.recv()).await;
        notification
            .expect("it attaches in time")
            .expect("it attaches");
    }

    pub(crate) async fn ended(mut self) -> Error {
        let ended = timeout(SOON, self.agents.join_next()).await;
        let result = ended.expect("it ends in time").expect("it runs");
        result
            .expect("it does not panic")
            .expect_err("an agent ends for a reason")
    }
}
