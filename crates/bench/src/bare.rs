//! The baseline: a relay of the same Agora frames with the same server, WebSocket and parser, but without the
//! core. It has a map from ids to bounded queues of frames, and flushes once per batch; as simple as a relay
//! can be.
//!
//! It supports `register`, `ping` and relayed frames. A full queue stops the sender's connection, including
//! all other streams on it: acceptable for the baseline, not for the hub.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use axum::{Router, extract::State, response::Response, routing::get};
use jackfield_agora::wire::{AgoraUplink, Relay, downlink, parse};
use jackfield_kit::{
    io::Io,
    server::Server,
    tasks::Tasks,
    upgrade::Upgrade,
    ws::{Ws, WsConfig, WsEvent, WsMessage},
};
use parking_lot::RwLock;
use tokio::{net::TcpListener, sync::mpsc};

/// Maximum number of frames waiting for one receiver: about 800 KiB of the benchmark's frames, close to the
/// hub's own limit of 1 MiB.
const QUEUE: usize = 4096;
/// Bytes in the socket's queue above which no more frames are taken from a receiver's queue until a flush.
const QUEUE_HIGH: usize = 64 << 10;
/// Number of frames handled before the other direction gets a turn.
const BATCH: usize = 64;
/// Grace period for open connections at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

type Route = mpsc::Sender<String>;

/// Queues of the registered agents, by id.
#[derive(Debug, Default)]
struct Directory(RwLock<HashMap<Box<str>, Route>>);

#[derive(Clone)]
struct Shared {
    directory: Arc<Directory>,
    tasks: Tasks,
}

/// Serves until killed; the only line on stdout is the address.
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
            routes: HashMap::new(),
        };
        session.run(inbox).await;
        session.directory.0.write().remove(&session.id);
    })
}

/// A connection.
struct Session {
    ws: Ws<Io>,
    directory: Arc<Directory>,
    id: Box<str>,
    outbox: Route,
    /// Cached queues of earlier receivers.
    routes: HashMap<Box<str>, Route>,
}

impl Session {
    async fn run(&mut self, mut inbox: mpsc::Receiver<String>) {
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                turn = self.ws.next_event(true) => match turn {
                    WsEvent::Frame(frame) => self.on_frames(frame).await,
                    WsEvent::Flushed => {}
                    WsEvent::Closed | WsEvent::Failed(_) => return,
                },
                _ = inbox.recv_many(&mut batch, BATCH), if self.ws.queued_bytes() < QUEUE_HIGH => {
                    for frame in batch.drain(..) {
                        self.queue(&frame);
                    }
                }
            }
        }
    }

    async fn on_frames(&mut self, first: WsMessage) {
        let mut next = Some(first);
        for _ in 0..BATCH {
            match next {
                Some(WsMessage::Text(text)) => self.on_text(&text).await,
                Some(_) => {}
                None => return,
            }
            // An error occurs again on the next turn.
            next = self.ws.try_next().and_then(Result::ok);
        }
        if let Some(WsMessage::Text(text)) = next {
            self.on_text(&text).await;
        }
    }

    async fn on_text(&mut self, text: &str) {
        match parse(text) {
            Ok(AgoraUplink::Relay(relay)) => self.on_relay(&relay).await,
            Ok(AgoraUplink::Register(register)) => {
                self.id = Box::from(&*register.id);
                let route = (self.id.clone(), self.outbox.clone());
                self.directory.0.write().extend([route]);
                self.queue(&downlink::registered(&register.id));
            }
            Ok(AgoraUplink::Ping) => self.queue(&downlink::pong()),
            Ok(AgoraUplink::List(_)) => {}
            Err(malformed) => self.queue(&malformed.to_frame("invalid")),
        }
    }

    async fn on_relay(&mut self, relay: &Relay<'_>) {
        if let Some(route) = self.routes.get(&*relay.to) {
            return pass(route, relay.forward(&self.id)).await;
        }
        let found = self.directory.0.read().get(&*relay.to).cloned();
        if let Some(route) = found {
            pass(&route, relay.forward(&self.id)).await;
            self.routes.insert(Box::from(&*relay.to), route);
        }
    }

    fn queue(&mut self, frame: &str) {
        // A closing socket accepts no more frames; the next turn ends the session.
        self.ws.queue_text(frame).ok();
    }
}

async fn pass(route: &Route, frame: String) {
    // Space in the queue is the usual case, and trying costs less than a future.
    if let Err(mpsc::error::TrySendError::Full(frame)) = route.try_send(frame) {
        // Frames for a disconnected receiver are dropped.
        route.send(frame).await.ok();
    }
}
