//! The command as a peer of its own: it dials others and listens nowhere.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use clap::Args;
use jackfield_kit::tasks::Tasks;
use jackfield_model::{Failure, Reason};
use jackfield_peer::{
    PeerId,
    identity::Identity,
    node::{Node, NodeConfig},
};
use jackfield_sdk::Error;
use tokio::{sync::broadcast::error::RecvError, time::timeout};

use crate::exit::{About, Code, Stop};

/// How long others are given to hear that it leaves: a reset is one packet.
const GOODBYE: Duration = Duration::from_secs(2);

/// How long a peer that has answered is given to say what program it is: it does so at once, or not at all.
const SAYS: Duration = Duration::from_secs(1);

/// As whom others are asked.
#[derive(Debug, Args)]
pub(super) struct Identified {
    /// The file of the key to be known by, for peers that let in only those they know [default: a new key each time]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

/// The node while the command runs.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) node: Node,
    tasks: Tasks,
    /// Whether others know its id from before.
    is_kept: bool,
}

impl Station {
    pub(super) async fn start(identified: &Identified) -> Result<Self> {
        let key = match &identified.key {
            None => Identity::fresh(),
            Some(file) => match Identity::load(file) {
                Ok(Some(key)) => key,
                Ok(None) => {
                    let file = file.display();
                    return Err(Stop::new(
                        Code::Usage,
                        format!("there is no key in {file} (--key)"),
                        format!("make one with: (umask 077; head -c 32 /dev/urandom > {file})"),
                    )
                    .into());
                }
                Err(error) => return Err(Stop::usage(format!("--key: {error}")).into()),
            },
        };
        let tasks = Tasks::new();
        let node = Node::start(NodeConfig::default(), key, &tasks).await;
        Ok(Self {
            node: node.context("cannot be a peer")?,
            tasks,
            is_kept: identified.key.is_some(),
        })
    }

    /// Leaves, and lets others hear it.
    pub(super) async fn stop(self) {
        self.tasks.stop(GOODBYE).await;
    }

    /// Whether a peer that was asked says to be a hub: it may have shown its card before it said what it is.
    pub(super) async fn is_hub(&self, peer: PeerId) -> bool {
        let mut news = self.node.watch();
        let said = async {
            loop {
                // Whoever is gone says nothing more.
                if let Some(is_hub) = self.node.peer(peer)?.is_hub() {
                    return Some(is_hub);
                }
                if let Err(RecvError::Closed) = news.recv().await {
                    return None;
                }
            }
        };
        let said = timeout(SAYS, said).await.ok().flatten();
        said.unwrap_or(false)
    }

    /// What a card without skills means.
    pub(super) fn hidden(&self) -> String {
        let id = self.node.peer_id();
        let key = match self.is_kept {
            true => "",
            false => "; --key FILE keeps one id",
        };
        format!(
            "it shows its skills only to peers that it allows, if it has any: you are {id}{key}"
        )
    }

    /// What a failure of a peer means for whoever typed the command.
    pub(super) fn stop_for(&self, failure: &Failure) -> Stop {
        let error = Error::Failed {
            code: failure.reason.name().to_owned(),
            message: failure.text.to_string(),
        };
        let mut stop = Stop::from_hub(&error, About::Handoff);
        if failure.reason == Reason::Unauthorized && self.is_kept {
            let id = self.node.peer_id();
            stop.next = Some(format!("its operator must allow you: you are {id}"));
        }
        stop
    }
}

#[cfg(test)]
mod tests {
    use jackfield_peer::node::NodeRole;

    use super::*;

    #[tokio::test]
    async fn a_peer_that_was_just_met_is_given_time_to_say_that_it_is_a_hub() {
        for (role, is_hub) in [(NodeRole::Hub, true), (NodeRole::Sidecar, false)] {
            let station = Station::start(&Identified { key: None }).await.unwrap();
            let config = NodeConfig {
                listen: vec!["/ip4/127.0.0.1/tcp/0".parse().unwrap()],
                role,
                ..NodeConfig::default()
            };
            let tasks = Tasks::new();
            let peer = Node::start(config, Identity::fresh(), &tasks).await;
            let peer = peer.unwrap();
            let address = peer.addresses().remove(0);
            let id = station.node.connect(address).await.unwrap();
            assert_eq!(station.is_hub(id).await, is_hub);
        }
    }
}
