//! What an idle connection costs. Everything else of a session is tested on real sockets, in the testkit.

use jackfield_core::{hub::Hub, limits::Limits, store::memory::MemoryStore};
use jackfield_kit::{
    auth::Gatekeeper,
    io::Io,
    line::LineParts,
    socket::Socket,
    tasks::Tasks,
    ws::{Ws, WsConfig},
};
use tokio::net::{TcpListener, TcpStream};

use super::*;

#[tokio::test]
async fn the_task_of_a_connection_stays_small() {
    let store = Arc::new(MemoryStore::default());
    let hub = Hub::open(store, Limits::default()).await.unwrap();
    let tasks = Tasks::new();
    let gatekeeper = Gatekeeper::new(hub.clone(), true);
    let agora = Agora::new(hub.clone(), gatekeeper, tasks.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tcp = TcpStream::connect(address).await.unwrap();
    let ws = Ws::server(Io::Plain(Socket::new(tcp)), WsConfig::default());
    let parts = LineParts {
        hub,
        door: DOOR,
        stop: tasks.stop_token().clone(),
        hangup: None,
        token: None,
    };
    let task = agora.run(Line::new(ws, parts));
    let (session_size, task_size) = (size_of::<Session>(), size_of_val(&task));
    println!(
        "session {session_size} bytes, its task {task_size}, an empty lane {}",
        size_of::<Lane>()
    );
    assert!(
        session_size <= 1024 && task_size <= 1280,
        "{session_size}, {task_size}"
    );
}
