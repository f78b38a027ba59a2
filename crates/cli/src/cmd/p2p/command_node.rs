//! libp2p node of the command: dials peers, and does not listen.

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

use crate::{
    exit::{CliError, ErrorSubject, ExitKind},
    shell,
};

/// Time limit for notifying peers at the end: a reset is one packet.
const GOODBYE: Duration = Duration::from_secs(2);

/// Time limit for a peer's identification after its answer: it arrives at once, or not at all.
const SAYS: Duration = Duration::from_secs(1);

/// Identity of the command among peers.
#[derive(Debug, Args)]
pub(super) struct IdentityArgs {
    /// Use the key in this file, for peers that accept only listed peer ids [default: a new key each time]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

/// The node while the command runs.
#[derive(Debug)]
pub(super) struct CommandNode {
    pub(super) node: Node,
    tasks: Tasks,
    /// Whether the key is permanent, so that peers may know the id.
    is_kept: bool,
}

impl CommandNode {
    pub(super) async fn start(identified: &IdentityArgs) -> Result<Self> {
        let key = match &identified.key {
            None => Identity::fresh(),
            Some(file) => match Identity::load(file) {
                Ok(Some(key)) => key,
                Ok(None) => {
                    let word = shell::word(&file.to_string_lossy());
                    return Err(CliError::new(
                        ExitKind::Usage,
                        format!("there is no key in {} (--key)", file.display()),
                        format!("make one with: (umask 077; head -c 32 /dev/urandom > {word})"),
                    )
                    .into());
                }
                Err(error) => return Err(CliError::usage(format!("--key: {error}")).into()),
            },
        };
        let tasks = Tasks::new();
        let node = Node::start(NodeConfig::default(), key, &tasks).await;
        Ok(Self {
            node: node.context("cannot start the libp2p node")?,
            tasks,
            is_kept: identified.key.is_some(),
        })
    }

    /// Stops the [`Node`], and notifies peers.
    pub(super) async fn stop(self) {
        self.tasks.stop(GOODBYE).await;
    }

    /// Returns whether a peer identifies as a hub. The identification may arrive later than the card.
    pub(super) async fn is_hub(&self, peer: PeerId) -> bool {
        let mut news = self.node.watch();
        let said = async {
            loop {
                // `None` for a peer that has disconnected.
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

    /// Explains a card without skills.
    pub(super) fn hidden(&self) -> String {
        let id = self.node.peer_id();
        let key = match self.is_kept {
            true => "",
            false => "; --key FILE keeps the id",
        };
        format!(
            "the peer shows its skills, if any, only to peers that it allows: your peer id is {id}{key}"
        )
    }

    /// Converts a [`Failure`] of a peer into an error for the user.
    pub(super) fn stop_for(&self, failure: &Failure) -> CliError {
        let error = Error::Failed {
            code: failure.reason.name().to_owned(),
            cause: failure.cause.map(|cause| cause.name().to_owned()),
            message: failure.text.to_string(),
        };
        let mut stop = CliError::from_hub(&error, ErrorSubject::Handoff);
        if failure.reason == Reason::Unauthorized && self.is_kept {
            let id = self.node.peer_id();
            stop.next = Some(format!("its operator must allow your peer id {id}"));
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
            let station = CommandNode::start(&IdentityArgs { key: None })
                .await
                .unwrap();
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

    #[tokio::test]
    async fn the_command_for_a_missing_key_takes_any_file_name() {
        let key = Some(PathBuf::from("/nowhere/ann's key"));
        let error = CommandNode::start(&IdentityArgs { key }).await.unwrap_err();
        let error = error.downcast_ref::<CliError>().unwrap();
        let next = error.next.as_deref().unwrap();
        let command = r"(umask 077; head -c 32 /dev/urandom > '/nowhere/ann'\''s key')";
        assert!(next.ends_with(command), "{next}");
    }
}
