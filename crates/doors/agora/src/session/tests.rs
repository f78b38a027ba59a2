//! What an idle connection costs, and what an agent hears of a store that failed. Everything else of a session is tested on
//! real sockets, in the testkit.

use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_core::{
    hub::Hub,
    limits::Limits,
    store::{Store, memory::MemoryStore},
};
use jackfield_kit::{
    auth::{Gatekeeper, Ingress},
    files::Files,
    io::Io,
    socket::TcpConnection,
    tasks::Tasks,
    ws::{Ws, WsConfig},
    ws_connection::WsConnectionParts,
};
use jackfield_store::SqliteStore;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use super::*;

/// A client of a door in this process.
async fn client_of(agora: &Arc<Agora>, tasks: &Tasks, id: &str) -> WebSocketStream<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (tcp, _) = listener.accept().await.unwrap();
    let ws = Ws::server(Io::Plain(TcpConnection::new(tcp)), WsConfig::default());
    let parts = WsConnectionParts {
        hub: agora.hub.clone(),
        door: DOOR,
        stop: tasks.stop_token().clone(),
        peer: None,
        token: None,
        came: Ingress::Directly,
    };
    let agora = agora.clone();
    tasks.spawn(async move { agora.run(WsConnection::new(ws, parts)).await });
    let mut client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
    say(&mut client, &json!({"type": "register", "id": id})).await;
    assert_eq!(heard(&mut client).await["type"], "registered");
    client
}

async fn say(client: &mut WebSocketStream<TcpStream>, frame: &Value) {
    client.send(Message::text(frame.to_string())).await.unwrap();
}

async fn heard(client: &mut WebSocketStream<TcpStream>) -> Value {
    let told = client.next().await.unwrap().unwrap();
    serde_json::from_str(told.to_text().unwrap()).unwrap()
}

#[tokio::test]
async fn two_agents_that_have_written_to_each_other_come_to_rest() {
    let hub = Hub::open(Arc::new(MemoryStore::default()), Limits::default())
        .await
        .unwrap();
    let tasks = Tasks::new();
    let gatekeeper = Gatekeeper::new(hub.clone(), true);
    let agora = Agora::new(hub.clone(), gatekeeper, tasks.clone(), Files::for_hub(&hub));
    let mut ada = client_of(&agora, &tasks, "ada").await;
    let mut bob = client_of(&agora, &tasks, "bob").await;
    for _ in 0..2 {
        say(
            &mut ada,
            &json!({"type": "send", "to": "bob", "payload": {"question": "?"}}),
        )
        .await;
        assert_eq!(heard(&mut bob).await["from"], "ada");
        say(
            &mut bob,
            &json!({"type": "reply", "to": "ada", "payload": {"answer": "!"}}),
        )
        .await;
        assert_eq!(heard(&mut ada).await["from"], "bob");
    }
    // Stopped time passes only when nobody has anything to do any more.
    tokio::time::pause();
    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
}

/// A connection of a door on this store, and the socket of its client.
async fn connection(store: Arc<dyn Store>) -> (impl Future<Output = ()>, TcpStream) {
    connection_with(store, true).await
}

/// The same of a hub that trusts programs of this machine, or needs a token of them too.
async fn connection_with(
    store: Arc<dyn Store>,
    is_trusting: bool,
) -> (impl Future<Output = ()>, TcpStream) {
    let hub = Hub::open(store, Limits::default()).await.unwrap();
    let tasks = Tasks::new();
    let gatekeeper = Gatekeeper::new(hub.clone(), is_trusting);
    let agora = Agora::new(hub.clone(), gatekeeper, tasks.clone(), Files::for_hub(&hub));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let client = TcpStream::connect(address).await.unwrap();
    let (tcp, _) = listener.accept().await.unwrap();
    let ws = Ws::server(Io::Plain(TcpConnection::new(tcp)), WsConfig::default());
    let parts = WsConnectionParts {
        hub,
        door: DOOR,
        stop: tasks.stop_token().clone(),
        peer: None,
        token: None,
        came: Ingress::Directly,
    };
    (agora.run(WsConnection::new(ws, parts)), client)
}

#[tokio::test]
async fn the_task_of_a_connection_stays_small() {
    let (task, _client) = connection(Arc::new(MemoryStore::default())).await;
    let (session_size, task_size) = (size_of::<AgoraSession>(), size_of_val(&task));
    println!(
        "session {session_size} bytes, its task {task_size}, an empty lane {}",
        size_of::<RelayRoute>()
    );
    assert!(
        session_size <= 1024 && task_size <= 1280,
        "{session_size}, {task_size}"
    );
}

#[tokio::test]
async fn an_agent_that_could_not_be_written_down_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path()).unwrap());
    let (task, client) = connection(store.clone()).await;
    store.close();
    let talk = async {
        let mut client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
        let register = json!({"type": "register", "id": "ada"}).to_string();
        client.send(Message::text(register)).await.unwrap();
        let told = client.next().await.unwrap().unwrap();
        let told: Value = serde_json::from_str(told.to_text().unwrap()).unwrap();
        assert_eq!(
            told,
            json!({
                "type": "error", "code": "internal", "frame_type": "register",
                "message": "the hub's store failed; the hub's log says why",
            })
        );
        client.close(None).await.unwrap();
    };
    tokio::join!(task, talk);
}

#[tokio::test]
async fn an_agent_without_a_token_is_told_in_which_field_to_send_one() {
    let (task, client) = connection_with(Arc::new(MemoryStore::default()), false).await;
    let talk = async {
        let mut client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
        for register in [
            json!({"type": "register", "id": "ada"}),
            json!({"type": "register", "id": "ada", "token": ""}),
        ] {
            let register = Message::text(register.to_string());
            client.send(register).await.unwrap();
            let told = client.next().await.unwrap().unwrap();
            let told: Value = serde_json::from_str(told.to_text().unwrap()).unwrap();
            assert_eq!(
                (&told["code"], &told["field"]),
                (&json!("unauthorized"), &json!("token"))
            );
            let text = told["message"].as_str().unwrap();
            assert!(text.contains("register.token"), "{text}");
        }
        client.close(None).await.unwrap();
    };
    tokio::join!(task, talk);
}
