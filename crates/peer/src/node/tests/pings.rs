//! Pings from peers that don't answer pings themselves, as some libraries are configured.

use libp2p::{
    SwarmBuilder, noise, ping,
    swarm::{Swarm, SwarmEvent},
    tcp, yamux,
};

use super::*;
use crate::streams;

/// A peer without any protocol, so it doesn't answer pings.
fn silent() -> Swarm<streams::Behaviour> {
    SwarmBuilder::with_new_identity()
        .with_tokio()
        .with_tcp(
            tcp::Config::default(),
            noise::Config::new,
            yamux::Config::default,
        )
        .unwrap()
        .with_behaviour(|_| streams::Behaviour::new(Arc::new(SharedStreams::new())))
        .unwrap()
        .with_swarm_config(|config| config.with_idle_connection_timeout(WAIT))
        .build()
}

/// Opens a stream and pings once.
async fn ping_once(swarm: &mut Swarm<streams::Behaviour>, to: PeerId, ping: [u8; 32]) -> Stream {
    let (reply, opened) = oneshot::channel();
    let protocols = vec![ping::PROTOCOL_NAME];
    swarm.behaviour_mut().open(to, protocols, reply);
    let pinging = async {
        let (stream, _) = opened.await.unwrap().unwrap();
        ping_on(stream, ping).await
    };
    tokio::pin!(pinging);
    loop {
        tokio::select! {
            stream = &mut pinging => return stream,
            event = swarm.select_next_some() => {
                assert!(!matches!(event, SwarmEvent::ConnectionClosed { .. }), "{event:?}");
            }
        }
    }
}

async fn ping_on(mut stream: Stream, ping: [u8; 32]) -> Stream {
    stream.write_all(&ping).await.unwrap();
    stream.flush().await.unwrap();
    let mut pong = [0; 32];
    stream.read_exact(&mut pong).await.unwrap();
    assert_eq!(ping, pong);
    stream
}

#[tokio::test]
async fn a_peer_that_refuses_to_be_pinged_gets_its_own_pings_answered() {
    in_time(async {
        let server = TestNode::listening(TCP).await;
        let (to, mut swarm) = (server.node.peer_id(), silent());
        swarm.dial(server.node.addresses()[0].clone()).unwrap();
        while !matches!(
            swarm.select_next_some().await,
            SwarmEvent::ConnectionEstablished { .. }
        ) {}
        // The server pings first; by the third round trip it knows that the peer doesn't answer.
        for round in 0..10 {
            let stream = ping_once(&mut swarm, to, [round; 32]).await;
            drop(stream);
        }
        // Repeated pings on a single stream, with other streams open.
        let mut open = Vec::new();
        for round in 0..2 * u8::try_from(limits::PINGS).unwrap() {
            open.push(ping_once(&mut swarm, to, [round; 32]).await);
        }
        let newest = open.pop().unwrap();
        let pinging = ping_on(newest, [7; 32]);
        tokio::pin!(pinging);
        loop {
            tokio::select! {
                _ = &mut pinging => break,
                _ = swarm.select_next_some() => {}
            }
        }
    })
    .await;
}
