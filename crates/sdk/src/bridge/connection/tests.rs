//! The clocks of a connection and a hub that does not read, over a socket that is a piece of memory.

use serde_json::{Value, json};
use tokio::{
    io::DuplexStream,
    sync::watch,
    time::{Instant, sleep},
};
use tokio_tungstenite::tungstenite::protocol::Role;

use super::*;
use crate::Agent;

/// What fits into the socket.
const SMALL: usize = 4 << 10;

/// A connection and its other end.
async fn pair() -> (
    BridgeConnection<DuplexStream>,
    WebSocketStream<DuplexStream>,
) {
    let (near, far) = tokio::io::duplex(SMALL);
    let near = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
    let far = WebSocketStream::from_raw_socket(far, Role::Server, None).await;
    (BridgeConnection::new(near), far)
}

/// Registers with a hub that knows `resume`.
async fn registered(
    session: &mut BridgeSession<'_>,
) -> (
    BridgeConnection<DuplexStream>,
    WebSocketStream<DuplexStream>,
) {
    let (mut connection, mut hub) = pair().await;
    let resume = json!({"token": "t", "grace_ms": 1});
    let frame =
        json!({"type": "registered", "status": "ok", "extensions": ["resume"], "resume": resume});
    let confirm = async {
        read(&mut hub).await;
        write(&mut hub, &frame).await;
    };
    let (registered, ()) = tokio::join!(connection.register(session, None), confirm);
    registered.unwrap();
    (connection, hub)
}

async fn read(hub: &mut WebSocketStream<DuplexStream>) -> Value {
    loop {
        if let Frame::Text(text) = hub.next().await.unwrap().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

async fn write(hub: &mut WebSocketStream<DuplexStream>, frame: &Value) {
    hub.send(Frame::text(frame.to_string())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_gives_a_sign_of_life_every_20_seconds() {
    let agent = Agent::new("a").on_message(|_, _| std::future::pending());
    let mut session = BridgeSession::new(&agent);
    let (mut connection, mut hub) = registered(&mut session).await;
    let start = Instant::now();
    let script = async {
        for (request, session) in [("r1", "s"), ("r2", "s"), ("r3", "t")] {
            let message = json!({"type": "message", "session_id": session, "request_id": request, "content": ""});
            write(&mut hub, &message).await;
        }
        for beat in 1..=10 {
            let heartbeat =
                json!({"type": "heartbeat", "active_sessions": 2, "uptime_ms": beat * 20_000});
            assert_eq!(read(&mut hub).await, heartbeat);
            assert_eq!(start.elapsed(), HEARTBEAT * beat);
        }
    };
    tokio::select! {
        () = script => {}
        error = connection.serve(&mut session) => panic!("{error:?}"),
        () = sleep(100 * HEARTBEAT) => panic!("it gives none"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_is_silent_is_gone() {
    let agent = Agent::new("a");
    let mut session = BridgeSession::new(&agent);
    let (mut connection, _hub) = registered(&mut session).await;
    let start = Instant::now();
    let served = timeout(10 * SILENCE, connection.serve(&mut session)).await;
    let error = served.expect("it does not wait for ever");
    assert!(matches!(error, Error::Broken), "{error:?}");
    assert!((SILENCE..SILENCE + HEARTBEAT).contains(&start.elapsed()));
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_only_answers_pings_is_not() {
    let agent = Agent::new("a");
    let mut session = BridgeSession::new(&agent);
    let (mut connection, mut hub) = registered(&mut session).await;
    // Reading is what answers pings.
    let silent = async { while hub.next().await.is_some() {} };
    tokio::select! {
        () = silent => panic!("it was left"),
        error = connection.serve(&mut session) => panic!("{error:?}"),
        () = sleep(10 * SILENCE) => {}
    }
}

/// Counts up, and says when it is dropped.
struct Counter(watch::Sender<(u32, bool)>);

impl Drop for Counter {
    fn drop(&mut self) {
        self.0.send_modify(|(_, dropped)| *dropped = true);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_does_not_read_is_heard_and_its_handlers_wait() {
    let (told, mut counted) = watch::channel((0, false));
    let agent = Agent::new("a").on_message(move |_, reply| {
        let counter = Counter(told.clone());
        async move {
            loop {
                reply.text("x".repeat(1000)).await?;
                counter.0.send_modify(|(count, _)| *count += 1);
            }
        }
    });
    let mut session = BridgeSession::new(&agent);
    let (mut connection, mut hub) = registered(&mut session).await;
    let script = async {
        let message =
            json!({"type": "message", "session_id": "s", "request_id": "r", "content": ""});
        write(&mut hub, &message).await;
        sleep(SILENCE / 2).await;
        let (said, _) = *counted.borrow();
        assert!((100..2000).contains(&said), "{said}");
        sleep(SILENCE / 4).await;
        assert_eq!(counted.borrow().0, said, "there is no more room");
        write(&mut hub, &json!({"type": "cancel", "request_id": "r"})).await;
        counted.wait_for(|(_, dropped)| *dropped).await.unwrap();
    };
    tokio::select! {
        () = script => {}
        error = connection.serve(&mut session) => panic!("{error:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn why_it_was_closed_is_read_even_if_nothing_can_be_written() {
    let agent = Agent::new("a");
    let mut session = BridgeSession::new(&agent);
    let (mut connection, mut hub) = registered(&mut session).await;
    let frame = CloseFrame {
        code: CloseCode::from(4001),
        reason: "Replaced".into(),
    };
    hub.send(Frame::Close(Some(frame))).await.unwrap();
    drop(hub);
    session.queue_heartbeat();
    let error = connection.serve(&mut session).await;
    assert!(
        matches!(error, Error::Closed { code: 4001, .. }),
        "{error:?}"
    );
    assert!(connection.mute, "writing failed first");
}
