//! A peer of the hub: a node handles its connection and streams, and the test writes the bytes.

use jackfield_kit::tasks::Tasks;
use jackfield_peer::{
    PeerId,
    identity::Identity,
    node::{Node, NodeConfig, NodeRole},
    streams::Stream,
};
use jackfield_testkit::{SOON, TestHub};
use libp2p::futures::{AsyncReadExt as _, AsyncWriteExt as _};
use serde_json::Value;

/// A peer that isn't connected yet.
pub(crate) struct Peer {
    pub(crate) node: Node,
    pub(crate) tasks: Tasks,
}

impl Peer {
    pub(crate) async fn start() -> Self {
        let tasks = Tasks::new();
        let config = NodeConfig {
            role: NodeRole::Sidecar,
            ..NodeConfig::default()
        };
        let node = Node::start(config, Identity::fresh(), &tasks).await;
        Self {
            node: node.unwrap(),
            tasks,
        }
    }

    pub(crate) async fn connect(&self, hub: &TestHub) -> PeerId {
        let addresses = hub.peer_addresses();
        let tcp = addresses.iter().find(|it| it.contains("/tcp/")).unwrap();
        self.node.connect(tcp.parse().unwrap()).await.unwrap()
    }
}

/// Writes a frame; false if the stream is closed.
pub(crate) async fn write(stream: &mut Stream, frame: &Value) -> bool {
    let line = format!("{frame}\n");
    stream.write_all(line.as_bytes()).await.is_ok() && stream.flush().await.is_ok()
}

/// Reads the next bytes; empty at any end of the stream.
pub(crate) async fn read(stream: &mut Stream) -> Vec<u8> {
    let mut bytes = vec![0; 64 << 10];
    let read = tokio::time::timeout(SOON, stream.read(&mut bytes)).await;
    let read = read.expect("something comes in time").unwrap_or_default();
    bytes.truncate(read);
    bytes
}
