//! What a peer gets that does it wrong: a clear error, and nobody else notices.

mod clocks;
mod frames;
mod register;
mod relays;
mod signals;

use jackfield_testkit::{Events, Raw, TestHub, Web};
use serde_json::json;

use crate::bridge::{chunk, said};

/// An agent at work for the platform, beside the one that does it wrong.
struct Bystander {
    agent: Raw,
    events: Events,
}

impl Bystander {
    async fn join(hub: &TestHub) -> Self {
        let mut agent = hub.bridge("bystander").await;
        let events = hub.platform().relay("bystander", "its-own").await;
        agent.expect_message("hi").await;
        Self { agent, events }
    }

    /// Its answer goes on, and nothing else has come to either end.
    async fn is_undisturbed(&mut self) {
        self.agent.expect_no_bridge_frame().await;
        self.agent.send(chunk("its-own", "still here")).await;
        self.events.expect(said("still here")).await;
    }
}

/// How many frames and events were counted as nobody's.
async fn counted(web: &Web) -> f64 {
    let refused = r#"jackfield_frames_refused_total{door="bridge"}"#;
    web.metric(refused).await + web.metric("jackfield_events_late_total").await
}

/// Registers, and is refused: the text, and the reason of the close.
async fn refused(raw: &mut Raw) -> (String, String) {
    let frame = raw.frame().await;
    assert_eq!(
        (&frame["type"], &frame["status"]),
        (&json!("registered"), &json!("error")),
        "{frame}"
    );
    let text = frame["error"].as_str().unwrap().to_owned();
    let (code, reason) = raw.closed().await;
    assert_eq!(code, 1008);
    (text, reason)
}
