//! One connection of an agent: registers, takes messages, runs the handler for each, sends what they say.

use std::{collections::HashMap, convert::Infallible, time::Duration};

use futures_util::{SinkExt, StreamExt};
use jackfield_wire::agora::{DeliveryKind, Downlink, Register, parse_downlink, query_of, uplink};
use tokio::{
    net::TcpStream,
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message as Frame, protocol::frame::coding::CloseCode},
};

use super::{Agent, Message, reply::Reply};
use crate::{Address, Error};

/// How many frames may wait for the socket before handlers wait.
const QUEUE: usize = 64;
/// How long connecting and registering may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// The hub pings more often than this; silence means that it is gone.
const SILENCE: Duration = Duration::from_secs(75);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why a connection ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) error: Error,
    pub(super) was_attached: bool,
}

/// Runs one connection until it ends.
pub(super) async fn run(
    agent: &Agent,
    address: &Address,
    attached: &mut (dyn FnMut() + Send),
) -> Result<Infallible, Ended> {
    let early = |error| Ended {
        error,
        was_attached: false,
    };
    let mut socket = match timeout(PATIENCE, connect(agent, address)).await {
        Ok(result) => result.map_err(early)?,
        Err(_) => return Err(early(unreachable(address, "it did not answer in time"))),
    };
    attached();
    let error = serve(agent, &mut socket).await;
    Err(Ended {
        error,
        was_attached: true,
    })
}

fn unreachable(
    address: &Address,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::Unreachable {
        url: address.base().to_owned(),
        source: source.into(),
    }
}

async fn connect(agent: &Agent, address: &Address) -> Result<Socket, Error> {
    // Chosen once per process; somebody else's choice is as good.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let (mut socket, _) = connect_async(address.socket("/ws"))
        .await
        .map_err(|error| unreachable(address, error))?;
    let register = Register {
        id: agent.id.as_str().into(),
        name: agent.name.as_deref().map(Into::into),
        endpoint: None,
        description: agent.description.as_deref().map(Into::into),
        agent_type: agent.agent_type.as_deref().map(Into::into),
        token: address.token().map(Into::into),
        capabilities: agent
            .skills
            .iter()
            .map(|skill| skill.as_str().into())
            .collect(),
    };
    socket
        .send(Frame::text(uplink::register(&register)))
        .await
        .map_err(|_| Error::Broken)?;
    loop {
        let text = match next(&mut socket).await? {
            Frame::Text(text) => text,
            Frame::Close(frame) => return Err(closed(frame)),
            _ => continue,
        };
        match parse_downlink(&text).map_err(|error| Error::Unreadable(error.to_string()))? {
            Downlink::Registered(_) => return Ok(socket),
            Downlink::Error(error) => {
                let (code, message) = (error.code.into_owned(), error.message.into_owned());
                return Err(Error::Refused {
                    status: 0,
                    code,
                    message,
                });
            }
            _ => {}
        }
    }
}

async fn next(socket: &mut Socket) -> Result<Frame, Error> {
    match timeout(SILENCE, socket.next()).await {
        Ok(Some(Ok(frame))) => Ok(frame),
        Ok(Some(Err(_)) | None) | Err(_) => Err(Error::Broken),
    }
}

fn closed(frame: Option<tokio_tungstenite::tungstenite::protocol::CloseFrame>) -> Error {
    let (code, reason) = frame.map_or((CloseCode::Status, String::new()), |frame| {
        (frame.code, frame.reason.to_string())
    });
    Error::Closed {
        code: code.into(),
        reason,
    }
}

async fn serve(agent: &Agent, socket: &mut Socket) -> Error {
    let (out, mut frames) = mpsc::channel(QUEUE);
    // Dropped with this connection, and the handlers with it: the hub has told their callers.
    let mut handlers = JoinSet::new();
    let mut running: HashMap<String, AbortHandle> = HashMap::new();
    loop {
        tokio::select! {
            frame = next(socket) => match frame {
                Ok(Frame::Text(text)) => on_frame(agent, &text, &out, &mut handlers, &mut running),
                Ok(Frame::Close(frame)) => return closed(frame),
                Ok(_) => {}
                Err(error) => return error,
            },
            Some(frame) = frames.recv() => {
                if send(socket, frame, &mut frames).await.is_err() {
                    return Error::Broken;
                }
            }
            Some(done) = handlers.join_next() => {
                if let Ok(address) = done {
                    running.remove(&address);
                }
            }
        }
    }
}

/// Sends what is queued with one flush.
async fn send(
    socket: &mut Socket,
    first: String,
    frames: &mut mpsc::Receiver<String>,
) -> Result<(), Error> {
    let mut next = Some(first);
    while let Some(frame) = next {
        socket
            .feed(Frame::text(frame))
            .await
            .map_err(|_| Error::Broken)?;
        next = frames.try_recv().ok();
    }
    socket.flush().await.map_err(|_| Error::Broken)
}

fn on_frame(
    agent: &Agent,
    text: &str,
    out: &mpsc::Sender<String>,
    handlers: &mut JoinSet<String>,
    running: &mut HashMap<String, AbortHandle>,
) {
    let delivery = match parse_downlink(text) {
        Ok(Downlink::Delivery(delivery)) => delivery,
        Ok(Downlink::Error(error)) => {
            tracing::debug!(agent = %agent.id, code = %error.code, message = %error.message, "the hub reports an error");
            return;
        }
        Ok(_) => return,
        Err(error) => {
            tracing::debug!(agent = %agent.id, %error, "a frame of the hub cannot be read");
            return;
        }
    };
    let from = delivery.from.to_string();
    match delivery.kind {
        DeliveryKind::Cancel => {
            if let Some(handler) = running.remove(&from) {
                handler.abort();
            }
        }
        DeliveryKind::Message => {
            let Some(handler) = agent.handler.clone() else {
                return;
            };
            let query = query_of(delivery.payload);
            let value = |raw: Option<&serde_json::value::RawValue>| {
                raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
            };
            let message = Message {
                text: query.text,
                caller: delivery
                    .caller
                    .map(String::from)
                    .or_else(|| Some(from.clone())),
                session: query.session_id,
                request_id: query.request_id,
                parts: value(query.parts.as_deref()),
                metadata: value(query.metadata.as_deref()),
            };
            let reply = Reply::new(from.clone(), out.clone());
            let address = from.clone();
            let handle = handlers.spawn(async move {
                let request_id = message.request_id.clone();
                if reply.open(request_id.as_deref()).await.is_ok() {
                    let result = handler(message, reply.clone()).await;
                    // A connection that broke meanwhile has nobody to tell.
                    reply.finish(result).await.ok();
                }
                address
            });
            running.insert(from, handle);
        }
        DeliveryKind::MessageChunk
        | DeliveryKind::MessageEnd
        | DeliveryKind::Reply
        | DeliveryKind::ReplyChunk
        | DeliveryKind::ReplyEnd => {}
    }
}
