//! A hub that stops during a call, moves to another address, or turns out to be another user's.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use jackfield_sdk::{
    ConnectionEnds, Discovery, DiscoveryFuture, Error, Event, Hub, HubAddress, Reconnect,
    UntrustedHub,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::Instant,
};

/// Answers the next request with a stream of these events, and returns the request line.
async fn answer(listener: &TcpListener, events: &str) -> (TcpStream, String) {
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut request = vec![0; 8192];
    let read = socket.read(&mut request).await.unwrap();
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    let line = request.lines().next().unwrap_or_default().to_owned();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(events.as_bytes()).await.unwrap();
    (socket, line)
}

const BEGIN: &str = "event: call\nid: 1-0\ndata: {\"type\":\"call\",\"id\":\"c-1\",\"session\":\"s\",\"task\":\"t-1\"}\n\n";
const END: &str = "event: done\nid: 2-1\ndata: {\"type\":\"done\",\"result\":\"hi\"}\n\n";

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

#[tokio::test]
async fn a_hub_that_stays_away_is_given_up_after_a_minute() {
    let (listener, url) = listen().await;
    let hub = Hub::new(HubAddress::new(&url).unwrap()).unwrap();
    let call = hub.call("bob").text("x").durable_if_resumable();
    let (call, served) = tokio::join!(call.start(), answer(&listener, BEGIN));
    let mut call = call.unwrap();
    drop(listener);
    drop(served);
    let reconnects = Arc::new(Mutex::new(Vec::new()));
    let received = reconnects.clone();
    call.on_reconnect(move |event| received.lock().unwrap().push(event));
    tokio::time::pause();
    let began = Instant::now();
    let error = call.next().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    let took = began.elapsed();
    let minute = Duration::from_secs(60);
    assert!(
        took >= minute && took <= minute + Duration::from_secs(2),
        "{took:?}"
    );
    let lost = Reconnect::Lost { retry_for: minute };
    assert_eq!(*reconnects.lock().unwrap(), [lost]);
}

/// Discovers the hub at a settable address, and distrusts a fixed address.
#[derive(Debug)]
struct FixedDiscovery {
    at: Mutex<String>,
    refused: SocketAddr,
}

impl Discovery for FixedDiscovery {
    fn locate(&self) -> DiscoveryFuture<'_, Option<HubAddress>> {
        Box::pin(async { HubAddress::new(&self.at.lock().unwrap()).ok() })
    }

    fn check(&self, ends: ConnectionEnds) -> DiscoveryFuture<'_, Result<(), UntrustedHub>> {
        Box::pin(async move {
            match ends.peer == self.refused {
                false => Ok(()),
                true => Err(UntrustedHub {
                    why: "it is another's".to_owned(),
                    remedy: "name it".to_owned(),
                }),
            }
        })
    }
}

#[tokio::test]
async fn a_call_goes_on_where_the_hub_has_moved_to() {
    let ((first, url), (second, moved)) = (listen().await, listen().await);
    let guide = Arc::new(FixedDiscovery {
        at: Mutex::new(url.clone()),
        refused: ([127, 0, 0, 1], 1).into(),
    });
    let address = HubAddress::new(&url).unwrap().with_discovery(guide.clone());
    let hub = Hub::new(address.with_token("secret")).unwrap();
    let call = hub.call("bob").text("x").durable();
    let (call, served) = tokio::join!(call.start(), answer(&first, BEGIN));
    let mut call = call.unwrap();
    drop(first);
    drop(served);
    guide.at.lock().unwrap().clone_from(&moved);
    let (next, (_socket, request_line)) = tokio::join!(call.next(), answer(&second, END));
    assert!(matches!(next, Ok(Some(Event::Done(_)))), "{next:?}");
    assert!(
        request_line.starts_with("GET /v1/calls/t-1/events"),
        "{request_line}"
    );
    assert_eq!(hub.address().base(), moved);
    assert_eq!(hub.address().token(), Some("secret"));
}

#[tokio::test]
async fn nothing_is_sent_to_whoever_is_refused() {
    let (listener, url) = listen().await;
    let guide = Arc::new(FixedDiscovery {
        at: Mutex::new(url.clone()),
        refused: listener.local_addr().unwrap(),
    });
    let address = HubAddress::new(&url).unwrap().with_discovery(guide);
    let hub = Hub::new(address.clone()).unwrap();
    let silent = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut received = Vec::new();
        socket.read_to_end(&mut received).await.unwrap();
        received
    };
    let (called, received) = tokio::join!(hub.call("bob").text("x").start(), silent);
    let error = called.unwrap_err();
    assert!(matches!(&error, Error::Untrusted { .. }), "{error:?}");
    assert!(error.to_string().contains("it is another's"), "{error}");
    assert_eq!(received, b"");
    let silent = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut received = Vec::new();
        socket.read_to_end(&mut received).await.unwrap();
        received
    };
    let (tried, received) = tokio::join!(jackfield_sdk::try_socket(&address), silent);
    assert!(matches!(tried, Err(Error::Untrusted { .. })), "{tried:?}");
    assert_eq!(received, b"");
}
