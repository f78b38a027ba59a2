//! `POST /api/a2a/call`: one agent calls another by way of the platform.

use jackfield_core::{
    agent::{Settings, Share},
    principal::{Principal, Who},
};
use jackfield_model::{AgentId, End, Event, Failure, Owner, Reason};
use serde_json::{Value, json};

use crate::http::harness::{BridgeHub, chunk, done, error};

fn call(caller: &str, target: &str) -> Value {
    json!({"caller_agent_id": caller, "target_agent_id": target, "task_description": "Translate"})
}

#[tokio::test]
async fn the_target_gets_a_message_of_its_caller_in_a_new_session() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut caller = hub.attach("bob");
    // It need not be online.
    caller.leave();
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let mut stream = hub.stream("/api/a2a/call", call("bob", "amy")).await;
        let serving = amy.next_call().await;
        let made = serving.call().clone();
        assert_eq!(
            made.principal.who,
            Who::Agent(AgentId::parse("bob").unwrap())
        );
        assert_eq!(made.message.joined_text(), "Translate");
        assert_eq!(made.message.files().count(), 0);
        assert!(
            made.session.as_str().starts_with("a2a-"),
            "{}",
            made.session
        );
        sessions.push(made.session.clone());
        serving.push(Event::text("Bonjour"));
        serving.finish(done("Bonjour"));
        assert_eq!(
            stream.rest().await,
            [chunk("Bonjour"), json!({"type": "done"})]
        );
    }
    assert_ne!(sessions[0], sessions[1]);
}

#[tokio::test]
async fn a_caller_that_the_hub_does_not_know_is_an_agent_of_the_platforms() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.stream("/api/a2a/call", call("stranger", "amy")).await;
    let serving = amy.next_call().await;
    let principal = &serving.call().principal;
    assert_eq!(principal.key(), "platform/agent/stranger");
    assert!(!principal.is_admin());
    serving.finish(done(""));
    assert_eq!(stream.rest().await, [json!({"type": "done"})]);
}

#[tokio::test]
async fn an_agent_reaches_only_what_its_owner_may_call() {
    let hub = BridgeHub::start().await;
    let ann = Principal::admin(Owner::parse("ann").unwrap());
    let mut amy = hub.attach_as(&ann, "amy", "bridge");
    let _bob = hub.attach("bob");
    let (status, answer) = hub.post("/api/a2a/call", call("bob", "amy")).await;
    assert_eq!(
        (status.as_u16(), &answer["error"]),
        (404, &json!("agent_offline"))
    );
    assert_eq!(answer["message"], "Target agent is not connected: amy");
    let id = AgentId::parse("amy").unwrap();
    let share = Some(Share::Everyone);
    hub.hub.agents().change(&ann, &id, share, None).unwrap();
    let _stream = hub.stream("/api/a2a/call", call("bob", "amy")).await;
    amy.next_call().await.finish(done(""));
}

#[tokio::test]
async fn a_target_that_is_away_is_404_and_bad_ids_are_400() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    amy.leave();
    for (caller, target, expected) in [
        ("bob", "amy", (404, "agent_offline")),
        ("bob", "nobody", (404, "agent_offline")),
        ("b b", "amy", (400, "invalid_agent_id")),
        ("bob", "a/b", (400, "invalid_agent_id")),
        ("", "amy", (400, "invalid_message")),
    ] {
        let (status, answer) = hub.post("/api/a2a/call", call(caller, target)).await;
        let found = (status.as_u16(), answer["error"].as_str().unwrap());
        assert_eq!(found, expected, "{caller} {target}");
    }
}

/// The original hub records such calls as completed.
#[tokio::test]
async fn a_call_that_fails_is_counted_as_failed() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.stream("/api/a2a/call", call("bob", "amy")).await;
    let serving = amy.next_call().await;
    serving.finish(End::Failed(Failure::new(Reason::Crashed, "boom")));
    assert_eq!(stream.rest().await, [error("adapter_crash", "boom")]);
}

#[tokio::test]
async fn a_target_takes_as_many_calls_of_agents_as_it_was_set_to() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let _bob = hub.attach("bob");
    let id = AgentId::parse("amy").unwrap();
    let set = |allow_a2a, calls_per_hour| {
        let settings = Settings {
            allow_a2a,
            calls_per_hour,
            ..Settings::default()
        };
        hub.hub
            .agents()
            .change(&Principal::local(), &id, None, Some(settings))
            .unwrap();
    };
    let limited = (429, "rate_limited");
    set(true, Some(2));
    for caller in ["bob", "stranger"] {
        let _stream = hub.stream("/api/a2a/call", call(caller, "amy")).await;
        amy.next_call().await.finish(done(""));
    }
    for (caller, per_hour, allow, expected) in [
        ("bob", Some(2), true, limited),
        ("stranger", Some(2), true, limited),
        ("bob", None, false, limited),
        ("stranger", None, false, limited),
    ] {
        set(allow, per_hour);
        let (status, answer) = hub.post("/api/a2a/call", call(caller, "amy")).await;
        assert_eq!(
            (status.as_u16(), answer["error"].as_str().unwrap()),
            expected,
            "{caller}"
        );
    }
    // The platform's own relays are no calls of agents.
    let _relay = hub.relay("amy", "r1").await;
    amy.next_call().await.finish(done(""));
}
