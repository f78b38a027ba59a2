//! Callers that disconnect from a plain axum server.

use std::net::SocketAddr;

use jackfield_sdk::Agent;
use jackfield_testkit::SOON;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::timeout,
};

use crate::a2a::server::message;

/// Progress of a handler.
#[derive(Debug, PartialEq)]
enum Progress {
    Begun,
    Dropped,
}

struct Guard(mpsc::Sender<Progress>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.try_send(Progress::Dropped).ok();
    }
}

async fn serving() -> (SocketAddr, mpsc::Receiver<Progress>, JoinSet<()>) {
    let (tells, seen) = mpsc::channel(16);
    let agent = Agent::new("my-agent").on_message(move |_, reply| {
        let guard = Guard(tells.clone());
        async move {
            reply.text("working").await?;
            guard.0.try_send(Progress::Begun)?;
            std::future::pending().await
        }
    });
    let router = agent.into_a2a_router("/a2a").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut server = JoinSet::new();
    server.spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, seen, server)
}

async fn next(seen: &mut mpsc::Receiver<Progress>) -> Progress {
    timeout(SOON, seen.recv()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_caller_that_hangs_up_drops_the_handler_on_either_route() {
    let (address, mut seen, _server) = serving().await;
    for route in ["send", "stream"] {
        let mut socket = TcpStream::connect(address).await.unwrap();
        let body = message("my-agent");
        let head = format!(
            "POST /a2a/message/{route} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all((head + &body).as_bytes()).await.unwrap();
        assert_eq!(next(&mut seen).await, Progress::Begun);
        if route == "stream" {
            let mut buffer = [0; 1024];
            let read = timeout(SOON, socket.read(&mut buffer)).await.unwrap();
            assert!(read.unwrap() > 0);
        }
        drop(socket);
        assert_eq!(next(&mut seen).await, Progress::Dropped, "{route}");
    }
}
