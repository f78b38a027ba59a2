//! Silence, on a clock that the test owns: no sockets here.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, BodyDataStream},
    http::Request,
};
use futures_util::StreamExt as _;
use jackfield_a2a::{A2aDoor, router};
use jackfield_core::{
    agent::Profile, hub::Hub, limits::Limits, principal::Principal, store::memory::MemoryStore,
};
use jackfield_kit::{
    auth::Gatekeeper,
    testing::{Manner, Scripted},
};
use tokio::time::Instant;
use tower::ServiceExt as _;

use crate::official::{callers::Binding, harness::ECHO};

/// Published clients give up when nothing comes for so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// The streams of this door: where, and what opens them.
fn openings() -> [(&'static str, String); 5] {
    let call = |method: &str, binding: Binding| {
        let message = binding.message("hi", "");
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"message":{message}}}}}"#
        )
    };
    let plain = |binding: Binding| format!(r#"{{"message":{}}}"#, binding.message("hi", ""));
    [
        ("", call("SendStreamingMessage", Binding::Rpc10)),
        ("", call("message/stream", Binding::Rpc03)),
        ("/message:stream", plain(Binding::Rest10)),
        ("/v1/message:stream", plain(Binding::Rest03)),
        // In the dialect of Agno.
        ("/v1/message:stream", call("message/stream", Binding::Rpc03)),
    ]
}

async fn next(stream: &mut BodyDataStream) -> String {
    let bytes = stream.next().await.unwrap().unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_never_silent_for_longer_than_clients_wait() {
    for (path, body) in openings() {
        let store = Arc::new(MemoryStore::default());
        let hub = Hub::open(store, Limits::default()).await.unwrap();
        let manner = Manner::default();
        let mut agent = Scripted::attach(
            &hub,
            &Principal::local(),
            "echo",
            Profile::default(),
            manner,
        );
        let app = router(A2aDoor::new(
            hub.clone(),
            Gatekeeper::new(hub.clone(), true),
        ));
        let request =
            Request::post(format!("{ECHO}{path}")).header("Content-Type", "application/json");
        let request = request.body(Body::from(body)).unwrap();
        let response = app.oneshot(request).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut stream = response.into_body().into_data_stream();
        // Whoever works on it says nothing at all.
        let _serving = agent.next_call().await;
        let mut comments = 0;
        while comments < 3 {
            let start = Instant::now();
            let text = next(&mut stream).await;
            assert!(start.elapsed() < PATIENCE, "{path}: {:?}", start.elapsed());
            comments += usize::from(text == ": keepalive\n\n");
        }
    }
}
