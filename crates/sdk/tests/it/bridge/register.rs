//! How an agent registers, reconnects and gives up.

use jackfield_sdk::{Agent, Error, Extension, Skill};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::bridge::script::ScriptedHub;

#[tokio::test]
async fn it_registers_with_version_2_and_all_extensions() {
    let agent = Agent::new("echo:1@home")
        .name("Echo")
        .description("says what you said")
        .agent_type("example")
        .skill("repeat")
        .skill(Skill::new("speak").name("Speech").description("aloud"))
        .version("1.2")
        .input_mode("text/plain")
        .input_mode("image/png")
        .output_mode("text/plain")
        .extension("https://x/y")
        .extension(Extension::new("https://x/z").description("z").required());
    let script = ScriptedHub::start(agent).await;
    let (wire, register) = script.greet().await;
    assert_eq!(wire.uri, "/ws?agent_id=echo%3A1%40home");
    assert_eq!(
        register,
        json!({
            "type": "register", "agent_id": "echo:1@home", "token": "secret",
            "bridge_version": "2", "agent_type": "example", "capabilities": ["repeat", "speak"],
            "profile": {
                "version": "1.2", "input_modes": ["text/plain", "image/png"], "output_modes": ["text/plain"],
                "skills": [{"id": "repeat"}, {"id": "speak", "name": "Speech", "description": "aloud"}],
                "extensions": [{"uri": "https://x/y"}, {"uri": "https://x/z", "description": "z", "required": true}],
            },
            "name": "Echo", "description": "says what you said",
            "extensions": ["resume", "artifacts", "input", "meta"],
        })
    );
}

#[tokio::test]
async fn it_says_no_more_than_the_protocol_has_where_that_is_all() {
    let script = ScriptedHub::start(Agent::new("a").skill("repeat")).await;
    let (_, register) = script.greet().await;
    assert_eq!(
        register,
        json!({
            "type": "register", "agent_id": "a", "token": "secret", "bridge_version": "2",
            "capabilities": ["repeat"], "extensions": ["resume", "artifacts", "input", "meta"],
        })
    );
}

#[tokio::test]
async fn it_does_not_come_back_after_it_was_replaced_or_revoked() {
    for code in [4001, 4002] {
        let mut script = ScriptedHub::start(Agent::new("a")).await;
        let wire = script.first().await;
        wire.close(code, "for good").await;
        let error = script.ended().await;
        assert!(
            matches!(&error, Error::Closed { code: said, reason } if *said == code && reason == "for good"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn it_comes_back_after_any_other_end() {
    let script = ScriptedHub::start(Agent::new("a")).await;
    for code in [1000, 1001, 1008, 1011] {
        script.first().await.close(code, "").await;
    }
    drop(script.first().await);
    drop(script.accept().await);
    drop(script.tcp().await);
    script.first().await;
}

#[tokio::test]
async fn a_refusal_ends_it() {
    let mut script = ScriptedHub::start(Agent::new("a")).await;
    let (mut wire, _) = script.greet().await;
    wire.send(json!({"type": "registered", "status": "error", "error": "Authentication failed"}))
        .await;
    wire.close(1008, "Auth failed").await;
    let error = script.ended().await;
    assert_eq!(error.code(), Some("unauthorized"));
    assert_eq!(error.to_string(), "Authentication failed");
}

#[tokio::test]
async fn a_refusal_for_now_does_not() {
    let script = ScriptedHub::start(Agent::new("a")).await;
    let (mut wire, _) = script.greet().await;
    wire.send(json!({"type": "registered", "status": "error", "error": "held for a minute"}))
        .await;
    wire.close(1008, "Not now").await;
    script.first().await;
}

#[tokio::test]
async fn a_server_that_is_no_hub_ends_it_and_one_that_is_not_ready_does_not() {
    let mut script = ScriptedHub::start(Agent::new("a")).await;
    for status in ["503 Service Unavailable", "404 Not Found"] {
        let mut tcp = script.tcp().await;
        let mut head = [0; 4096];
        assert!(tcp.read(&mut head).await.unwrap() > 0);
        let response = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        tcp.write_all(response.as_bytes()).await.unwrap();
        tcp.shutdown().await.unwrap();
    }
    let error = script.ended().await;
    assert!(
        matches!(&error, Error::NoWebSocket { why, .. } if why.contains("404")),
        "{error:?}"
    );
}
