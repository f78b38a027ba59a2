//! Every kind of event that a member's work becomes, at depth 0, 1 and 3.

use jackfield_core::{
    hub::{Parent, Request},
    principal::Principal,
};
use jackfield_model::{
    AgentId, Artifact, ChunkKind, Done, End, Failure, File, FileSource, Json, Part, Reason,
};
use serde_json::{Value, json};

use crate::ws::harness::*;

/// Members at each depth: the target, its name, its agent, its route key, and what its stamp is called.
const DEPTHS: [(usize, &str, &str, &str, Option<&str>); 3] = [
    (0, "boss", "a-boss", "boss", None),
    (1, "lead", "a-lead", "backend/lead", Some("SUB_TEAM:AGENT")),
    (
        3,
        "dba",
        "a-dba",
        "backend/db/core/dba",
        Some("SUB_TEAM:SUB_TEAM"),
    ),
];

#[tokio::test]
async fn a_members_work_is_told_in_the_protocols_frames_at_every_depth() {
    for (depth, name, agent, route, stamp) in DEPTHS {
        let hub = TeamHub::start().await;
        let mut agents = hub.nested();
        let (mut speaker, mut viewer) = (hub.viewer("web").await, hub.viewer("web").await);
        speaker.say("Find them", Some(route)).await;
        let working = agents[depth].next_call().await;
        let turn = format!("turn_{}", working.call().id.to_string().replace('-', ""));
        let grep = Some(("call_1", "grep"));
        working.push(chunk(ChunkKind::Thinking, "hm", None));
        working.push(chunk(ChunkKind::Text, "Two ", None));
        working.push(chunk(ChunkKind::Text, "files", None));
        working.push(chunk(ChunkKind::ToolStart, "", grep));
        working.push(chunk(ChunkKind::ToolInput, r#"{"q":"x"}"#, grep));
        working.push(chunk(ChunkKind::Status, "started", None));
        working.push(chunk(ChunkKind::ToolResult, "[1,2]", grep));
        working.push(artifact(false));
        working.push(artifact(true));
        let usage = r#"{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}"#;
        working.finish(End::Done(Box::new(Done {
            usage: Some(Json::parse(usage).unwrap()),
            ..Done::default()
        })));

        let mut frames = viewer.until_idle().await;
        let numbers: Vec<u64> = (1..=frames.len() as u64).collect();
        assert_eq!(sequences(&frames), numbers, "each once, from 1 on");
        let stamps: Vec<Value> = frames.iter_mut().map(take_stamp).collect();
        let run = &stamps[0]["team_run_id"];
        assert!(run.as_str().unwrap().starts_with("run_"));
        for stamp in &stamps {
            assert_eq!(
                (
                    &stamp["team_run_id"],
                    &stamp["run_version"],
                    &stamp["origin"]
                ),
                (run, &json!(1), &json!("local"))
            );
            assert_eq!(stamp["source_node_id"], "hub");
            let at = stamp["received_at"].as_str().unwrap();
            assert!(at.len() == 24 && at.ends_with('Z'), "{at}");
        }

        let seg = |number: u8| format!("{turn}:seg_{number}");
        let status = |new: &str, old: &str| {
            let mut payload = json!({"new_status": new});
            if !old.is_empty() {
                payload["old_status"] = json!(old);
            }
            payload
        };
        let team = |new: &str, old: &str| ("TEAM_STATUS", status(new, old));
        let mut executing = status("executing_tool", "analyzing_llm_response");
        executing["tool_name"] = json!("grep");
        let start =
            json!({"id": "call_1", "segment_type": "tool_call", "metadata": {"tool_name": "grep"}});
        let end =
            json!({"id": "call_1", "metadata": {"tool_name": "grep", "arguments": {"q": "x"}}});
        let started =
            json!({"invocation_id": "call_1", "tool_name": "grep", "arguments": {"q": "x"}});
        let member = vec![
            (
                "INTER_AGENT_MESSAGE",
                json!({
                    "sender_agent_id": "local", "recipient_role_name": name,
                    "content": "Find them", "message_type": "user_message",
                }),
            ),
            ("AGENT_STATUS", status("processing_user_input", "")),
            (
                "AGENT_STATUS",
                status("analyzing_llm_response", "processing_user_input"),
            ),
            (
                "SEGMENT_START",
                json!({"id": seg(1), "segment_type": "reasoning"}),
            ),
            (
                "SEGMENT_CONTENT",
                json!({"id": seg(1), "segment_type": "reasoning", "delta": "hm"}),
            ),
            ("SEGMENT_END", json!({"id": seg(1)})),
            (
                "SEGMENT_START",
                json!({"id": seg(2), "segment_type": "text"}),
            ),
            (
                "SEGMENT_CONTENT",
                json!({"id": seg(2), "segment_type": "text", "delta": "Two "}),
            ),
            (
                "SEGMENT_CONTENT",
                json!({"id": seg(2), "segment_type": "text", "delta": "files"}),
            ),
            ("SEGMENT_END", json!({"id": seg(2)})),
            ("SEGMENT_START", start),
            ("AGENT_STATUS", executing),
            (
                "SEGMENT_CONTENT",
                json!({"id": "call_1", "segment_type": "tool_call", "delta": r#"{"q":"x"}"#}),
            ),
            (
                "TOOL_LOG",
                json!({"log_entry": "started", "tool_invocation_id": "call_1", "tool_name": "grep"}),
            ),
            ("SEGMENT_END", end),
            ("TOOL_EXECUTION_STARTED", started),
            (
                "AGENT_STATUS",
                status("processing_tool_result", "executing_tool"),
            ),
            (
                "TOOL_EXECUTION_SUCCEEDED",
                json!({"invocation_id": "call_1", "tool_name": "grep", "result": [1, 2]}),
            ),
            (
                "ARTIFACT_UPDATED",
                json!({"artifact_id": "art", "path": "plot.png", "type": "image"}),
            ),
            (
                "ARTIFACT_PERSISTED",
                json!({"artifact_id": "art", "path": "plot.png", "type": "image", "url": "https://x.test/p.png"}),
            ),
            (
                "ASSISTANT_COMPLETE",
                json!({
                    "content": "Two files", "usage": serde_json::from_str::<Value>(usage).unwrap(),
                    "image_urls": [], "audio_urls": [], "video_urls": [],
                }),
            ),
            ("AGENT_STATUS", status("idle", "processing_tool_result")),
        ];
        let mut expected = vec![team("processing", "")];
        let nested = route.matches('/').count();
        expected.extend((0..nested).map(|_| team("processing", "")));
        expected.extend(member);
        expected.extend((0..=nested).map(|_| team("idle", "processing")));

        let told: Vec<(String, Value)> = frames.iter().map(said).collect();
        let expected: Vec<(String, Value)> = expected
            .into_iter()
            .map(|(kind, payload)| (kind.to_owned(), payload))
            .collect();
        assert_eq!(told, expected, "depth {depth}");
        for (frame, stamped) in frames.iter().zip(&stamps) {
            let payload = &frame["payload"];
            let kind = frame["type"].as_str().unwrap();
            if kind == "TEAM_STATUS" {
                assert_eq!(payload["event_scope"], "team_scoped");
                continue;
            }
            assert_eq!(
                (&payload["agent_name"], &payload["agent_id"]),
                (&json!(name), &json!(agent))
            );
            assert_eq!(payload["member_route_key"], route);
            assert_eq!(payload["event_scope"], "member_scoped");
            let node = (depth > 0).then_some("backend");
            assert_eq!(payload["sub_team_node_name"].as_str(), node);
            let own = format!("AGENT:{kind}");
            assert_eq!(stamped["event_type"], stamp.unwrap_or(&own));
        }
    }
}

fn artifact(last: bool) -> jackfield_model::Event {
    let file = File {
        name: None,
        mime: Some("image/png".to_owned()),
        source: FileSource::Uri("https://x.test/p.png".to_owned()),
    };
    jackfield_model::Event::Artifact(Artifact {
        id: "art".to_owned(),
        name: Some("plot.png".to_owned()),
        parts: vec![Part::File(file)],
        append: true,
        last,
        extra: None,
    })
}

fn take_stamp(frame: &mut Value) -> Value {
    let payload = frame["payload"].as_object_mut().unwrap();
    payload.remove("team_stream_event_envelope").unwrap()
}

/// The type, and the payload without what says whose it is.
fn said(frame: &Value) -> (String, Value) {
    let mut payload = frame["payload"].as_object().unwrap().clone();
    for field in [
        "agent_name",
        "agent_id",
        "member_route_key",
        "event_scope",
        "sub_team_node_name",
    ] {
        payload.remove(field);
    }
    let kind = frame["type"].as_str().unwrap().to_owned();
    (kind, payload.into())
}

#[tokio::test]
async fn a_tool_that_failed_is_shown_so_and_its_member_goes_on() {
    let hub = TeamHub::start().await;
    let [mut boss, ..] = hub.nested();
    let mut viewer = hub.viewer("web").await;
    viewer.say("go", None).await;
    let working = boss.next_call().await;
    working.push(chunk(ChunkKind::ToolStart, "", Some(("call_1", "grep"))));
    let result = "[error] no such file";
    working.push(chunk(
        ChunkKind::ToolResult,
        result,
        Some(("call_1", "grep")),
    ));
    working.push(chunk(ChunkKind::Text, "Nothing there", None));
    working.finish(done());
    let mut frames = viewer.until_idle().await;
    frames.iter_mut().for_each(|frame| drop(take_stamp(frame)));
    let told: Vec<_> = frames.iter().map(said).collect();
    let kinds = ["TOOL_EXECUTION_SUCCEEDED", "TOOL_EXECUTION_FAILED"];
    let ends: Vec<_> = told
        .iter()
        .filter(|(kind, _)| kinds.contains(&kind.as_str()))
        .collect();
    let failed = json!({"invocation_id": "call_1", "tool_name": "grep", "error": "no such file"});
    assert_eq!(ends, [&("TOOL_EXECUTION_FAILED".to_owned(), failed)]);
    let is_answer = |(kind, _): &(String, Value)| kind == "ASSISTANT_COMPLETE";
    assert!(told.iter().any(is_answer), "{told:#?}");
}

#[tokio::test]
async fn a_tool_whose_result_was_never_reported_is_not_shown_as_succeeded() {
    let hub = TeamHub::start().await;
    let [mut boss, ..] = hub.nested();
    let mut viewer = hub.viewer("web").await;
    viewer.say("go", None).await;
    let working = boss.next_call().await;
    working.push(chunk(ChunkKind::ToolStart, "", Some(("call_1", "grep"))));
    working.push(chunk(ChunkKind::Text, "Done", None));
    working.finish(done());
    let frames = viewer.until_idle().await;
    let of_kind = |kind: &str| frames.iter().filter(|it| it["type"] == kind).count();
    assert_eq!(of_kind("TOOL_EXECUTION_SUCCEEDED"), 0);
    let failed = frames
        .iter()
        .find(|it| it["type"] == "TOOL_EXECUTION_FAILED");
    let error = &failed.unwrap()["payload"]["error"];
    assert_eq!(error, "the agent did not report a result");
}

#[tokio::test]
async fn status_lines_outside_of_tools_belong_to_a_segment_that_was_started() {
    let hub = TeamHub::start().await;
    let [mut boss, ..] = hub.nested();
    let mut viewer = hub.viewer("web").await;
    viewer.say("go", None).await;
    let working = boss.next_call().await;
    working.push(chunk(ChunkKind::Status, "thinking it over", None));
    working.push(chunk(ChunkKind::Text, "Done", None));
    working.push(chunk(ChunkKind::Status, "nearly there", None));
    working.finish(done());
    let frames = viewer.until_idle().await;
    let of_kind = |kind: &str| {
        let frames = frames.iter().filter(move |it| it["type"] == kind);
        frames.map(|it| it["payload"].clone()).collect::<Vec<_>>()
    };
    let mut started = of_kind("SEGMENT_START");
    started.retain(|start| start["metadata"]["tool_name"] == "status");
    let [start] = started.as_slice() else {
        panic!("it is started once: {started:?}")
    };
    let lines = of_kind("TOOL_LOG");
    let words: Vec<_> = lines.iter().map(|line| &line["log_entry"]).collect();
    assert_eq!(words, ["thinking it over", "nearly there"]);
    for line in &lines {
        assert_eq!(line["tool_invocation_id"], start["id"]);
    }
}

#[tokio::test]
async fn a_member_that_fails_is_shown_with_its_error() {
    let hub = TeamHub::start().await;
    let [mut boss, ..] = hub.nested();
    let mut viewer = hub.viewer("web").await;
    viewer.say("go", None).await;
    let working = boss.next_call().await;
    working.push(chunk(ChunkKind::ToolStart, "", Some(("call_1", "grep"))));
    let failure = Failure::new(Reason::Agent("LLM_ERROR".to_owned()), "quota");
    working.finish(End::Failed(failure));
    let frames = viewer.until_idle().await;
    let find = |kind: &str| {
        let found = frames.iter().rfind(|frame| frame["type"] == kind);
        found.unwrap()["payload"].clone()
    };
    let failed = find("TOOL_EXECUTION_FAILED");
    assert_eq!(
        (&failed["invocation_id"], &failed["error"]),
        (&json!("call_1"), &json!("quota"))
    );
    let error = find("ERROR");
    assert_eq!(
        (&error["message"], &error["agent_name"]),
        (&json!("quota"), &json!("boss"))
    );
    assert_eq!(find("AGENT_STATUS")["error_message"], "quota");
}

#[tokio::test]
async fn a_message_from_one_member_to_another_is_an_event_of_the_one_who_gets_it() {
    let hub = TeamHub::start().await;
    let [mut boss, mut lead, ..] = hub.nested();
    let (mut speaker, mut viewer) = (hub.viewer("web").await, hub.viewer("web").await);
    speaker.say("go", None).await;
    let leading = boss.next_call().await;
    let as_boss = Principal::local().as_agent(AgentId::parse("a-boss").unwrap());
    let target = AgentId::parse("back").unwrap();
    let message = jackfield_model::Message::text("take this");
    let mut request = Request::new(as_boss, "local", target, message);
    request.parent = Parent::Call(leading.call().id);
    let asking = hub.hub.calls().open(request).unwrap();
    let working = lead.next_call().await;
    assert_eq!(
        viewer.until("INTER_AGENT_MESSAGE").await["message_type"],
        "user_message"
    );
    let payload = viewer.until("INTER_AGENT_MESSAGE").await;
    for (field, value) in [
        ("sender_agent_id", "a-boss"),
        ("recipient_role_name", "lead"),
        ("content", "take this"),
        ("message_type", "direct_message"),
        ("agent_name", "lead"),
        ("member_route_key", "backend/lead"),
    ] {
        assert_eq!(payload[field], value, "{field}");
    }
    working.finish(done());
    drop(asking);
    leading.finish(done());
    viewer.until_idle().await;
}

#[tokio::test]
async fn two_viewers_get_the_same_numbers_and_a_strangers_call_is_not_shown() {
    let hub = TeamHub::start().await;
    let [mut boss, ..] = hub.nested();
    let (mut one, mut two) = (hub.viewer("web").await, hub.viewer("web").await);
    let target = AgentId::parse("a-boss").unwrap();
    let message = jackfield_model::Message::text("psst");
    let request = Request::new(Principal::local(), "local", target, message);
    let asking = hub.hub.calls().open(request).unwrap();
    let direct = boss.next_call().await;
    direct.push(jackfield_model::Event::text("secret"));
    direct.finish(done());
    drop(asking);
    let mut speaker = hub.viewer("web").await;
    speaker.say("go", None).await;
    let working = boss.next_call().await;
    working.push(jackfield_model::Event::text("public"));
    working.finish(done());
    let (first, second) = (one.until_idle().await, two.until_idle().await);
    assert_eq!(first, second);
    assert!(!format!("{first:?}").contains("secret"));
    assert_eq!(sequences(&first).len(), first.len());
}
