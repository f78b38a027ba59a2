//! `task ls --dead` and `task resend`: undeliverable callbacks.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{Router, extract::State, http::StatusCode, routing::post};
use jackfield_core::{hub::Request, outbox::Callback, principal::Principal};
use jackfield_model::{AgentId, End, Message};
use jackfield_testkit::{SOON, TestHub, attach_agent};
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet, time::timeout};

use crate::run::Cli;

/// A receiver that answers 410 until switched on.
struct Receiver {
    url: String,
    is_there: Arc<AtomicBool>,
    taken: mpsc::Receiver<String>,
    _server: JoinSet<()>,
}

type Shared = (Arc<AtomicBool>, mpsc::Sender<String>);

async fn take(State((is_there, taken)): State<Shared>, body: String) -> StatusCode {
    if !is_there.load(Ordering::SeqCst) {
        return StatusCode::GONE;
    }
    taken.send(body).await.expect("the test reads");
    StatusCode::NO_CONTENT
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!(
            "http://{}/done?key=secret",
            listener.local_addr().expect("an address")
        );
        let is_there = Arc::new(AtomicBool::new(false));
        let (sender, taken) = mpsc::channel(8);
        let app = Router::new().route("/done", post(take));
        let app = app.with_state((is_there.clone(), sender));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self {
            url,
            is_there,
            taken,
            _server: server,
        }
    }
}

#[tokio::test]
async fn a_callback_that_was_given_up_is_listed_and_sent_again() {
    let hub = TestHub::start_with(|config| config.allow_private_outbound = true).await;
    let cli = Cli::new(&hub);
    cli.run(&["task", "ls", "--dead"])
        .await
        .ok()
        .stderr_has("there are no undelivered callbacks");
    let mut receiver = Receiver::start().await;
    let mut bob = attach_agent(hub.hub(), "bob");
    let id = AgentId::parse("bob").unwrap();
    let mut request = Request::new(Principal::platform(), "bridge", id, Message::text("hi"));
    request.callback = Some(Callback {
        url: receiver.url.clone(),
        kind: "bridge".into(),
        data: None,
        token: None,
    });
    let task = hub
        .hub()
        .tasks()
        .start(request)
        .await
        .unwrap()
        .id
        .to_string();
    bob.next_call().await.finish(End::done());
    // The retry sends no notification, so the test polls the list.
    let list = async {
        loop {
            let list = cli.run(&["task", "ls", "--dead"]).await.ok();
            if !list.out.is_empty() {
                return list;
            }
        }
    };
    let list = timeout(SOON, list)
        .await
        .unwrap()
        .stderr_has("task resend TASK");
    assert!(list.out.starts_with(&task) && list.out.contains("410"));
    assert!(!list.out.contains("secret"), "{list:?}");
    let all = cli
        .run(&["task", "ls", "--dead", "--json"])
        .await
        .ok()
        .json();
    assert_eq!(all["callbacks"][0]["task"], *task);
    receiver.is_there.store(true, Ordering::SeqCst);
    cli.run(&["task", "resend", &task])
        .await
        .ok()
        .stderr_has("again");
    let body = timeout(SOON, receiver.taken.recv()).await.unwrap().unwrap();
    assert!(body.contains(r#""status":"completed""#), "{body}");
    cli.run(&["task", "resend", &task])
        .await
        .code(1)
        .stderr_has("task ls --dead");
    let none = "0199c2f0-1111-7aaa-8bbb-123456789abc";
    cli.run(&["task", "resend", none]).await.code(3);
}
