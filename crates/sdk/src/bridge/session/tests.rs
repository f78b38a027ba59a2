//! Whose frames go out when several requests have something to say.

use std::future::poll_fn;

use serde_json::{Value, json};
use tokio::{sync::mpsc, task::unconstrained};

use super::*;

#[tokio::test]
async fn requests_take_turns() {
    let (told, mut ready) = mpsc::channel(3);
    let agent = Agent::new("a").on_message(move |_, reply| {
        let told = told.clone();
        async move {
            for _ in 0..100 {
                reply.text("x").await?;
            }
            Ok(told.send(()).await?)
        }
    });
    let mut session = BridgeSession::new(&agent);
    for request in ["r1", "r2", "r3"] {
        let message = json!({"type": "message", "request_id": request, "content": ""});
        session.handle_frame(&message.to_string());
    }
    for _ in 0..3 {
        ready.recv().await.unwrap();
    }
    let mut runs: Vec<(String, u32)> = Vec::new();
    let next =
        |session: &mut BridgeSession<'_>, cx: &mut Context<'_>| Poll::Ready(session.poll_frame(cx));
    while let Poll::Ready(frame) = unconstrained(poll_fn(|cx| next(&mut session, cx))).await {
        let frame: Value = serde_json::from_str(&frame).unwrap();
        let id = frame["request_id"].as_str().unwrap();
        match runs.last_mut() {
            Some((last, count)) if last == id => *count += 1,
            _ => runs.push((id.to_owned(), 1)),
        }
    }
    // A hundred pieces each, in turns; the ends may follow.
    let turns: Vec<_> = runs
        .iter()
        .map(|(id, count)| (id.as_str(), *count))
        .collect();
    let [r1, r2, r3] = ["r1", "r2", "r3"].map(|id| (id, TURN));
    assert_eq!(turns[..6], [r1, r2, r3, r1, r2, r3]);
    assert!(turns.iter().all(|(_, count)| *count <= TURN), "{turns:?}");
}
