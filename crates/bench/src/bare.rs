//! The yardstick: a relay of the same Agora frames on the same server, WebSocket and parser, but without the core.
//! A map from ids to bounded queues of frames, and one flush per batch; as plain as a relay can be.
//!
//! It knows `register`, `ping` and relayed frames. A full queue stops the sender's connection, whatever else that
//! carries: the yardstick may do that, the hub may not.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use axum::{Router, extract::State, response::Response, routing::get};
use jackfield_agora::wire::{Relay, Uplink, downlink, parse};
use jackfield_kit::{
    io::Io,
    server::Server,
    tasks::Tasks,
    upgrade::Upgrade,
    ws::{Incoming, Turn, Ws, WsConfig},
};
use parking_lot::RwLock;
use tokio::{net::TcpListener, sync::mpsc};

/// Frames that may wait for one receiver: some 800 KiB of the bench's frames, near the hub's own limit of 1 MiB.
const QUEUE: usize = 4096;
/// Frames are taken from the queue up to this much, then flushed.
const QUEUE_HIGH: usize = 64 << 10;
/// How many frames are handled before the queue is looked at again, in either direction.
const BATCH: usize = 64;
/// How long open connections are given at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

type Way = mpsc::Sender<String>;

/// Who is here.
#[derive(Debug, Default)]
struct Directory(RwLock<HashMap<Box<str>, Way>>);

#[derive(Clone)]
struct Shared {
    directory: Arc<Directory>,
    tasks: Tasks,
}

/// Serves until it is killed; the only line on stdout tells where.
pub(crate) async fn serve(listen: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("cannot listen on {listen}"))?;
    println!("bare relay listens on http://{}", listener.local_addr()?);
    let tasks = Tasks::new();
    let shared = Shared {
        directory: Arc::default(),
        tasks: tasks.clone(),
    };
    let app = Router::new().route("/ws", get(upgrade)).with_state(shared);
    Server::new(vec![listener], app, tasks)
        .run(LAST_WORDS)
        .await;
    Ok(())
}

async fn upgrade(State(shared): State<Shared>, upgrade: Upgrade) -> Response {
    let Shared { directory, tasks } = shared;
    upgrade.run(&tasks, WsConfig::default(), move |ws| async move {
        let (outbox, inbox) = mpsc::channel(QUEUE);
        let mut session = Session {
            ws,
            directory,
            id: Box::default(),
            outbox,
            ways: HashMap::new(),
        };
        session.run(inbox).await;
        session.directory.0.write().remove(&session.id);
    })
}

/// One connection.
struct Session {
    ws: Ws<Io>,
    directory: Arc<Directory>,
    id: Box<str>,
    outbox: Way,
    /// Ways that were looked up before.
    ways: HashMap<Box<str>, Way>,
}

impl Session {
    async fn run(&mut self, mut inbox: mpsc::Receiver<String>) {
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                turn = self.ws.turn(true) => match turn {
                    Turn::Frame(frame) => self.on_frames(frame).await,
                    Turn::Flushed => {}
                    Turn::Closed | Turn::Failed(_) => return,
                },
                _ = inbox.recv_many(&mut batch, BATCH), if self.ws.queued_bytes() < QUEUE_HIGH => {
                    for frame in batch.drain(..) {
                        self.queue(&frame);
                    }
                }
            }
        }
    }

    async fn on_frames(&mut self, first: Incoming) {
        let mut next = Some(first);
        for _ in 0..BATCH {
            match next {
                Some(Incoming::Text(text)) => self.on_text(&text).await,
                Some(_) => {}
                None => return,
            }
            // An error comes again with the next turn.
            next = self.ws.try_next().and_then(Result::ok);
        }
        if let Some(Incoming::Text(text)) = next {
            self.on_text(&text).await;
        }
    }

    async fn on_text(&mut self, text: &str) {
        match parse(text) {
            Ok(Uplink::Relay(relay)) => self.on_relay(&relay).await,
            Ok(Uplink::Register(register)) => {
                self.id = Box::from(&*register.id);
                let way = (self.id.clone(), self.outbox.clone());
                self.directory.0.write().extend([way]);
                self.queue(&downlink::registered(&register.id));
            }
            Ok(Uplink::Ping) => self.queue(&downlink::pong()),
            Ok(Uplink::List(_)) => {}
            Err(malformed) => self.queue(&malformed.to_frame("invalid")),
        }
    }

    async fn on_relay(&mut self, relay: &Relay<'_>) {
        if let Some(way) = self.ways.get(&*relay.to) {
            return pass(way, relay.forward(&self.id)).await;
        }
        let found = self.directory.0.read().get(&*relay.to).cloned();
        if let Some(way) = found {
            pass(&way, relay.forward(&self.id)).await;
            self.ways.insert(Box::from(&*relay.to), way);
        }
    }

    fn queue(&mut self, frame: &str) {
        // A closing socket takes no more; the next turn ends the session.
        self.ws.queue_text(frame).ok();
    }
}

async fn pass(way: &Way, frame: String) {
    // Room is the usual case, and trying costs less than a future.
    if let Err(mpsc::error::TrySendError::Full(frame)) = way.try_send(frame) {
        // A receiver that left is nobody's concern here.
        way.send(frame).await.ok();
    }
}
