//! Replies of a handler, as frames.

use jackfield_sdk::{Agent, AgentFailure, Artifact, CallerQuestion, File};
use serde_json::{Value, json};

use crate::bridge::script::ScriptedHub;

/// A frame for the request of a test.
fn about(seq: u64, mut frame: Value) -> Value {
    frame["request_id"] = json!("r");
    frame["seq"] = json!(seq);
    if !matches!(frame["type"].as_str(), Some("artifact" | "ask")) {
        frame["session_id"] = json!("s");
    }
    frame
}

#[tokio::test]
async fn everything_that_can_be_said_has_a_frame() {
    let agent = Agent::new("a").on_message(|_, reply| async move {
        reply.text("h\u{e9}llo\n").await?;
        reply.thinking("hm").await?;
        reply.status("looking").await?;
        reply.tool_start("look", "t1").await?;
        reply.tool_input("t1", "{}").await?;
        reply.tool_result("t1", "found").await?;
        let whole = Artifact::new("report").name("report.md").text("all of it");
        reply.artifact(whole).await?;
        let first = Artifact::new("log").data(json!({"line": 1})).open();
        reply.artifact(first).await?;
        let last = Artifact::new("log").file(File::at("https://x/y")).append();
        reply.artifact(last).await?;
        reply.attach(File::bytes(*b"hi").name("hi.txt")).await?;
        let png = File::at("https://x/a.png").name("a.png").mime("image/png");
        reply.attach(png).await?;
        reply.result("the whole answer");
        reply.usage(json!({"tokens": 3}));
        reply.stop_reason("end_turn");
        reply.input_required();
        Ok(())
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    let chunk = |kind: &str, text: &str| json!({"type": "chunk", "kind": kind, "delta": text});
    let tool = |kind: &str, text: &str| json!({"type": "chunk", "kind": kind, "delta": text, "tool_call_id": "t1"});
    let mut start = tool("tool_start", "");
    start["tool_name"] = json!("look");
    let frames = [
        json!({"type": "chunk", "delta": "h\u{e9}llo\n"}),
        chunk("thinking", "hm"),
        chunk("status", "looking"),
        start,
        tool("tool_input", "{}"),
        tool("tool_result", "found"),
        json!({"type": "artifact", "artifact_id": "report", "name": "report.md", "parts": [{"text": "all of it"}], "append": false, "last": true}),
        json!({"type": "artifact", "artifact_id": "log", "parts": [{"data": {"line": 1}}], "append": false, "last": false}),
        json!({"type": "artifact", "artifact_id": "log", "parts": [{"file": {"uri": "https://x/y"}}], "append": true, "last": true}),
        json!({"type": "artifact", "artifact_id": "file-1", "name": "hi.txt", "parts": [{"file": {"name": "hi.txt", "bytes": "aGk="}}], "append": false, "last": true}),
        json!({
            "type": "done", "result": "the whole answer", "state": "input_required",
            "attachments": [{"name": "a.png", "url": "https://x/a.png", "type": "image/png"}],
            "usage": {"tokens": 3}, "stop_reason": "end_turn",
        }),
    ];
    for (seq, frame) in (1..).zip(frames) {
        wire.expect(about(seq, frame)).await;
    }
}

#[tokio::test]
async fn a_handler_ends_its_turn_as_it_wants() {
    let agent = Agent::new("a").on_message(|message, reply| async move {
        let id = message.message_id.unwrap_or_default();
        reply.text(format!("{id} it is")).await?;
        // Only the last state counts.
        reply.rejected();
        match id.as_str() {
            "asking" => reply.input_required(),
            "passing" => reply.bare_message(),
            _ => {}
        }
        Ok(())
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    for (id, state) in [
        ("asking", "input_required"),
        ("passing", "message"),
        ("refusing", "rejected"),
    ] {
        wire.send(json!({
            "type": "message", "session_id": "s", "request_id": "r", "content": "go",
            "attachments": [], "meta": {"message_id": id, "parts": [{"text": "go"}]},
        }))
        .await;
        let words = format!("{id} it is");
        wire.expect(about(1, json!({"type": "chunk", "delta": words})))
            .await;
        wire.expect(about(2, json!({"type": "done", "state": state})))
            .await;
        wire.ack("r", 2).await;
    }
}

#[tokio::test]
async fn a_question_waits_for_its_answer_and_takes_the_first() {
    let agent = Agent::new("a").on_message(|_, reply| async move {
        let wanted = CallerQuestion::new("which?").schema(json!({"type": "string"}));
        let which = reply.ask(wanted).await?;
        reply
            .text(format!("{}/{:?} ", which.text, which.parts))
            .await?;
        let again = reply.ask("sure?").await?;
        Ok(reply.text(again.text).await?)
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    let ask = json!({"type": "ask", "ask_id": "ask-1", "kind": "input", "text": "which?", "schema": {"type": "string"}});
    wire.expect(about(1, ask)).await;
    wire.send(
        json!({"type": "answer", "request_id": "r", "ask_id": "ask-9", "content": "nobody asked"}),
    )
    .await;
    for content in ["this", "that"] {
        wire.send(json!({"type": "answer", "request_id": "r", "ask_id": "ask-1", "content": content, "parts": [{"data": 1}]}))
            .await;
    }
    let text = "this/[Data(1)] ";
    wire.expect(about(2, json!({"type": "chunk", "delta": text})))
        .await;
    let ask = json!({"type": "ask", "ask_id": "ask-2", "kind": "input", "text": "sure?"});
    wire.expect(about(3, ask)).await;
    wire.send(json!({"type": "answer", "request_id": "r", "ask_id": "ask-2", "content": "yes"}))
        .await;
    wire.expect(about(4, json!({"type": "chunk", "delta": "yes"})))
        .await;
    wire.expect(about(5, json!({"type": "done"}))).await;
}

#[tokio::test]
async fn the_owner_approves_or_not() {
    let agent = Agent::new("a").on_message(|_, reply| async move {
        let approval = reply.approve("rm", json!({"path": "/"})).await?;
        let (approved, reason) = (approval.approved, approval.reason);
        Ok(reply.text(format!("{approved} {reason:?}")).await?)
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    for (request, answer, expected) in [
        ("r1", json!({"approved": true}), "true None"),
        (
            "r2",
            json!({"approved": false, "reason": "no"}),
            "false Some(\"no\")",
        ),
        ("r3", json!({"content": "well"}), "false None"),
    ] {
        wire.message(request, "go").await;
        wire.expect(json!({
            "type": "ask", "request_id": request, "ask_id": "ask-1", "kind": "approval",
            "text": "may I use rm?", "tool_name": "rm", "arguments": {"path": "/"}, "seq": 1,
        }))
        .await;
        let mut frame = json!({"type": "answer", "request_id": request, "ask_id": "ask-1"});
        frame
            .as_object_mut()
            .unwrap()
            .extend(answer.as_object().unwrap().clone());
        wire.send(frame).await;
        assert_eq!(wire.frame().await["delta"], expected);
        assert_eq!(wire.frame().await["type"], "done");
    }
}

#[tokio::test]
async fn a_question_to_the_owner_has_its_name_before_it_is_decided() {
    let agent = Agent::new("a").on_message(|_, reply| async move {
        let first = reply.ask_approval("rm", json!({})).await?;
        let second = reply.ask_approval("ls", json!({})).await?;
        reply
            .text(format!("{} {}", first.ask_id(), second.ask_id()))
            .await?;
        let (second, first) = (second.decided().await?, first.decided().await?);
        let content = format!("{} {}", first.approved, second.approved);
        Ok(reply.text(content).await?)
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    assert_eq!(wire.frame().await["ask_id"], "ask-1");
    assert_eq!(wire.frame().await["ask_id"], "ask-2");
    wire.expect(about(3, json!({"type": "chunk", "delta": "ask-1 ask-2"})))
        .await;
    for (ask, approved) in [("ask-1", true), ("ask-2", false)] {
        wire.send(
            json!({"type": "answer", "request_id": "r", "ask_id": ask, "approved": approved}),
        )
        .await;
    }
    wire.expect(about(4, json!({"type": "chunk", "delta": "true false"})))
        .await;
}

#[tokio::test]
async fn a_handler_fails_with_its_own_code_or_ours() {
    let agent = Agent::new("a").on_message(|message, reply| async move {
        match message.text.as_str() {
            "code" => Err(AgentFailure::new("quota", "no more today").into()),
            "panic" => panic!("at the {}", "disco"),
            "early" => {
                reply.text("so far").await?;
                Err("no".into())
            }
            _ => Err("it is broken".into()),
        }
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    for (what, code, text) in [
        ("code", "quota", "no more today"),
        ("panic", "adapter_crash", "the agent panicked: at the disco"),
        ("else", "agent_error", "it is broken"),
    ] {
        wire.message("r", what).await;
        let error = json!({"type": "error", "code": code, "message": text});
        wire.expect(about(1, error)).await;
        wire.ack("r", 1).await;
    }
    wire.message("r", "early").await;
    assert_eq!(wire.frame().await["delta"], "so far");
    let error = json!({"type": "error", "code": "agent_error", "message": "no"});
    wire.expect(about(2, error)).await;
}

#[tokio::test]
async fn an_agent_without_a_handler_says_so() {
    let script = ScriptedHub::start(Agent::new("a")).await;
    let mut wire = script.first().await;
    wire.message("r", "hello?").await;
    let text = "this agent takes no messages";
    let error = json!({"type": "error", "code": "agent_error", "message": text});
    wire.expect(about(1, error)).await;
}

#[tokio::test]
async fn a_long_text_goes_in_pieces_that_the_hub_takes() {
    let text = "\u{1}\u{f6}".repeat(100_000);
    let content = text.clone();
    let agent = Agent::new("a").on_message(move |_, reply| {
        let content = content.clone();
        async move { Ok(reply.text(content).await?) }
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    let (mut whole, mut seq) = (String::new(), 0);
    while whole.len() < text.len() {
        let frame = wire.frame().await;
        seq += 1;
        assert_eq!(frame["seq"], seq);
        assert!(frame["delta"].to_string().len() < 1 << 20);
        whole += frame["delta"].as_str().unwrap();
        wire.ack("r", seq).await;
    }
    assert!(whole == text, "some of it changed");
}

#[tokio::test]
async fn what_is_too_large_for_the_hub_is_refused_before_it_is_sent() {
    let agent = Agent::new("a").on_message(|_, reply| async move {
        let large = "x".repeat(8 << 20);
        let artifact = Artifact::new("x").text(&large);
        let refused = [
            reply.artifact(artifact).await.unwrap_err(),
            reply.ask(&large).await.unwrap_err(),
            reply.call_agent("b", &large).await.unwrap_err(),
        ];
        assert!(
            refused
                .iter()
                .all(|error| error.to_string().contains("8 MiB"))
        );
        reply.result(large);
        Ok(())
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    let text = "the agent's result is larger than the hub takes at once";
    let error = json!({"type": "error", "code": "internal_error", "message": text});
    wire.expect(about(1, error)).await;
}

#[tokio::test]
async fn a_hub_without_extensions_gets_frames_that_it_knows() {
    let agent = Agent::new("a").on_message(|message, reply| async move {
        assert_eq!(message.parts.len(), 2, "words and a link");
        let refused = [
            reply.artifact(Artifact::new("x")).await.unwrap_err(),
            reply.ask("?").await.unwrap_err(),
        ];
        Ok(reply
            .text(format!("{}, {}", refused[0], refused[1]))
            .await?)
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.plain().await;
    wire.send(json!({
        "type": "message", "session_id": "s", "request_id": "r", "content": "go",
        "attachments": [{"name": "a", "url": "https://x/a", "type": "text/plain"}],
    }))
    .await;
    let text = "this hub does not take artifacts, this hub does not take questions";
    wire.expect(json!({"type": "chunk", "session_id": "s", "request_id": "r", "delta": text}))
        .await;
    wire.expect(json!({"type": "done", "session_id": "s", "request_id": "r"}))
        .await;
}
