//! Invalid input gets a clear error, and affects no other agent.

mod clocks;
mod frames;
mod register;
mod relays;
mod signals;

use jackfield_testkit::{Events, Raw, TestHub, Web};
use serde_json::json;

use crate::bridge::{chunk, text_event};

/// An agent that works for the platform, beside the agent with invalid input.
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

    /// Checks that its answer continues, without other frames on either end.
    async fn is_undisturbed(&mut self) {
        self.agent.expect_no_bridge_frame().await;
        self.agent.send(chunk("its-own", "still here")).await;
        self.events.expect(text_event("still here")).await;
    }
}

/// The number of unmatched frames and events.
async fn counted(web: &Web) -> f64 {
    let refused = r#"jackfield_frames_refused_total{door="bridge"}"#;
    web.metric(refused).await + web.metric("jackfield_events_late_total").await
}

/// Registers and is refused. Returns the error text and the close reason.
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
