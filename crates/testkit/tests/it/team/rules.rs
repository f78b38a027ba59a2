//! The scripted client follows the rules of the published client, checked with frames from the protocol's notes,
//! without a hub.

use jackfield_testkit::{Dropped, Screen};
use serde_json::{Value, json};

/// A frame of a member, or of the whole team without a name.
fn frame(kind: &str, name: &str, fields: Value) -> String {
    let mut payload = fields;
    if !name.is_empty() {
        let leaf = name.rsplit('/').next().unwrap();
        payload["agent_name"] = leaf.into();
        payload["member_route_key"] = name.into();
        payload["event_scope"] = "member_scoped".into();
    }
    json!({"type": kind, "payload": payload}).to_string()
}

fn numbered(run: &str, sequence: i64, delta: &str) -> String {
    let envelope = json!({"team_run_id": run, "sequence": sequence});
    let fields = json!({"id": "s", "delta": delta, "team_stream_event_envelope": envelope});
    frame("SEGMENT_CONTENT", "lead", fields)
}

fn start(kind: &str, id: &str) -> String {
    let fields = json!({"id": id, "segment_type": kind, "metadata": {"tool_name": "grep"}});
    frame("SEGMENT_START", "lead", fields)
}

fn tool(kind: &str) -> String {
    let fields = json!({"invocation_id": "t", "tool_name": "grep", "reason": "no", "error": "no", "result": 1});
    frame(kind, "lead", fields)
}

fn state(screen: &Screen) -> Value {
    screen.shown()["members"]["lead"]["messages"][0]["segments"][0]["state"].clone()
}

#[test]
fn frames_that_lack_something_are_dropped() {
    let mut screen = Screen::new(&["lead"]);
    for (frame, why) in [
        ("no JSON".to_owned(), Dropped::Unreadable),
        (r#"{"payload":{}}"#.to_owned(), Dropped::Unreadable),
        (
            r#"{"type":"","payload":{}}"#.to_owned(),
            Dropped::Unreadable,
        ),
        (
            r#"{"type":"GAP","payload":{}}"#.to_owned(),
            Dropped::UnknownType,
        ),
        (
            r#"{"type":"SEGMENT_START"}"#.to_owned(),
            Dropped::Incomplete,
        ),
        (
            frame("SEGMENT_END", "lead", json!({"id": ""})),
            Dropped::Incomplete,
        ),
        (
            frame("SEGMENT_CONTENT", "lead", json!({"id": "s"})),
            Dropped::Incomplete,
        ),
        (
            frame(
                "TOOL_APPROVED",
                "lead",
                json!({"invocation_id": " ", "tool_name": "x"}),
            ),
            Dropped::Incomplete,
        ),
        (
            frame(
                "TOOL_DENIED",
                "lead",
                json!({"invocation_id": "t", "tool_name": "x"}),
            ),
            Dropped::Incomplete,
        ),
        (
            frame(
                "TOOL_EXECUTION_FAILED",
                "lead",
                json!({"invocation_id": "t", "tool_name": "x"}),
            ),
            Dropped::Incomplete,
        ),
        (
            frame(
                "TOOL_LOG",
                "lead",
                json!({"tool_invocation_id": "t", "log_entry": " "}),
            ),
            Dropped::Incomplete,
        ),
        (
            frame("SEGMENT_END", "lead", json!({"id": "nobody's"})),
            Dropped::UnknownSegment,
        ),
        (tool("TOOL_APPROVED"), Dropped::UnknownSegment),
        (
            frame("AGENT_STATUS", "stranger", json!({"new_status": "idle"})),
            Dropped::UnknownMember,
        ),
        (
            frame("AGENT_STATUS", "backend/dba", json!({"new_status": "idle"})),
            Dropped::UnknownMember,
        ),
        (
            frame("ERROR", "", json!({"code": "X", "message": "y"})),
            Dropped::UnknownMember,
        ),
    ] {
        screen.take(&frame);
        assert_eq!(screen.lost().pop(), Some(&(why, frame)));
    }
    let nothing = json!({"status": "uninitialized", "messages": []});
    assert_eq!(screen.shown()["members"], json!({ "lead": nothing }));
}

#[test]
fn a_number_is_taken_once_in_a_run_and_frames_without_one_always() {
    let mut screen = Screen::new(&["lead"]);
    screen.take(&start("text", "s"));
    for (run, sequence, delta) in [
        ("a", 1, "1"),
        ("a", 3, "3"),
        ("a", 2, "no"),
        ("a", 3, "no"),
        ("b", 1, "b"),
        ("a", 4, "4"),
        ("a", 0, "0"),
        ("a", -1, "-"),
    ] {
        screen.take(&numbered(run, sequence, delta));
    }
    assert_eq!(screen.text("lead"), "13b40-");
    assert_eq!(screen.dropped(Dropped::Seen), 2);
}

#[test]
fn a_member_is_found_by_its_route_then_by_its_likes_then_by_name_then_by_id() {
    let mut screen = Screen::new(&["lead", "backend", "dba"]);
    let status = |fields: Value| json!({"type": "AGENT_STATUS", "payload": fields}).to_string();
    screen.take(&status(
        json!({"new_status": "idle", "member_route_key": "lead", "agent_id": "a-1"}),
    ));
    assert_eq!(screen.status("lead"), "idle");
    screen.take(&status(
        json!({"new_status": "error", "member_route_key": "other", "agent_name": "lead"}),
    ));
    assert_eq!(screen.status("lead"), "error");
    screen.take(&status(json!({"new_status": "IDLE", "agent_id": "a-1"})));
    assert_eq!(screen.status("lead"), "idle");
    for route in ["backend/chief", "backend/db/dba"] {
        screen.take(&status(
            json!({"new_status": "idle", "member_route_key": route}),
        ));
        assert_eq!(screen.status(route), "idle");
    }
    assert_eq!(screen.status("backend"), "uninitialized");
}

#[test]
fn a_tool_only_goes_forward() {
    for (frames, end) in [
        (
            vec![
                "TOOL_APPROVAL_REQUESTED",
                "TOOL_APPROVED",
                "TOOL_EXECUTION_STARTED",
                "TOOL_EXECUTION_SUCCEEDED",
            ],
            "success",
        ),
        (
            vec!["TOOL_EXECUTION_STARTED", "TOOL_APPROVAL_REQUESTED"],
            "executing",
        ),
        (
            vec![
                "TOOL_DENIED",
                "TOOL_EXECUTION_STARTED",
                "TOOL_EXECUTION_SUCCEEDED",
            ],
            "denied",
        ),
        (
            vec!["TOOL_EXECUTION_FAILED", "TOOL_EXECUTION_SUCCEEDED"],
            "error",
        ),
        (vec!["TOOL_EXECUTION_SUCCEEDED", "TOOL_DENIED"], "success"),
    ] {
        let mut screen = Screen::new(&["lead"]);
        screen.take(&start("tool_call", "t"));
        assert_eq!(state(&screen), "parsing");
        screen.take(&frame("SEGMENT_END", "lead", json!({"id": "t"})));
        assert_eq!(state(&screen), "parsed");
        frames.iter().for_each(|kind| screen.take(&tool(kind)));
        assert_eq!(state(&screen), end, "{frames:?}");
    }
}

#[test]
fn a_message_is_closed_by_its_end_by_idle_and_by_an_error() {
    let complete = frame("ASSISTANT_COMPLETE", "lead", json!({"content": "all"}));
    let idle = frame("AGENT_STATUS", "lead", json!({"new_status": "idle"}));
    let error = frame("ERROR", "lead", json!({"code": "X", "message": "y"}));
    for close in [&complete, &idle, &error] {
        let mut screen = Screen::new(&["lead"]);
        screen.take(&start("text", "s"));
        screen.take(&numbered("a", 1, "all"));
        screen.take(close);
        screen.take(&start("text", "s-2"));
        let shown = &screen.shown()["members"]["lead"]["messages"];
        assert_eq!(shown.as_array().unwrap().len(), 2, "{shown}");
        assert_eq!(
            screen.text("lead"),
            "all",
            "what was streamed is not repeated"
        );
    }
    let mut screen = Screen::new(&["lead"]);
    screen.take(&complete);
    assert_eq!(screen.text("lead"), "all", "nothing was streamed");
    // Closed segments are ignored.
    screen.take(&complete);
    assert_eq!(screen.text("lead"), "allall");
}

#[test]
fn an_error_of_a_tool_is_shown_with_the_tool() {
    let mut screen = Screen::new(&["lead"]);
    screen.take(&start("tool_call", "t"));
    let message = "Error executing tool 'grep' (ID: t): no such file";
    screen.take(&frame(
        "ERROR",
        "lead",
        json!({"code": "TOOL", "message": message}),
    ));
    let segments = &screen.shown()["members"]["lead"]["messages"][0]["segments"];
    assert_eq!(segments.as_array().unwrap().len(), 1, "{segments}");
    assert_eq!(state(&screen), "error");
}

#[test]
fn created_tasks_replace_the_plan_and_queued_is_not_known() {
    let plan = |fields: Value| json!({"type": "TASK_PLAN_EVENT", "payload": fields}).to_string();
    let task = |id: &str| json!({"task_id": id, "task_name": id, "assignee_name": "lead", "dependencies": []});
    let mut screen = Screen::new(&["lead"]);
    screen.take(&plan(
        json!({"event_type": "TASKS_CREATED", "tasks": [task("t-1")]}),
    ));
    screen.take(&plan(
        json!({"event_type": "TASKS_CREATED", "tasks": [task("t-2")]}),
    ));
    for (told, shown) in [("completed", "completed"), ("queued", "not_started")] {
        screen.take(&plan(
            json!({"event_type": "TASK_STATUS_UPDATED", "task_id": "t-2", "new_status": told}),
        ));
        assert_eq!(screen.shown()["plan"].as_array().unwrap().len(), 1);
        assert_eq!(screen.shown()["plan"][0]["status"], shown);
    }
}
