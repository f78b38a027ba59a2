//! What a team's frames look like as lines of text.

use serde_json::json;

use super::*;

/// A team that is watched: envelopes as the hub writes them go in, lines come out.
struct Seen {
    lines: TeamLines,
    sequence: u64,
}

impl Seen {
    fn new() -> Self {
        Self {
            lines: TeamLines::new(Style::plain(), "shop", " --hub http://h"),
            sequence: 0,
        }
    }

    fn envelope(&mut self, source: &str, data: Value) -> Vec<String> {
        self.sequence += 1;
        let mut envelope = json!({"event_id": "e", "timestamp": "2026-03-01T10:00:00Z", "team_id": "shop",
            "event_source_type": source, "team_run_id": "run_1", "sequence": self.sequence});
        envelope["data"] = data;
        self.lines.of(&TeamFeedItem::Envelope {
            envelope,
            is_past: false,
        })
    }

    fn agent(&mut self, event_type: &str, data: Value) -> Vec<String> {
        let mut event = json!({"event_id": "i", "event_type": event_type});
        event["data"] = data;
        self.envelope("AGENT", json!({"agent_name": "lead", "agent_event": event}))
    }

    fn segment(&mut self, kind: &str, id: &str, segment_type: &str, payload: Value) -> Vec<String> {
        let mut data = json!({"event_type": kind, "type": kind, "segment_id": id, "segment_type": segment_type});
        data["payload"] = payload;
        self.agent("segment_event", data)
    }

    fn say(&mut self, id: &str, delta: &str) -> Vec<String> {
        let payload = json!({ "delta": delta });
        // As the published runtime does it: the type stands only in the start.
        self.agent(
            "segment_event",
            json!({"event_type": "SEGMENT_CONTENT", "segment_id": id, "payload": payload}),
        )
    }
}

#[test]
fn text_comes_in_whole_lines() {
    let mut seen = Seen::new();
    assert!(
        seen.segment("SEGMENT_START", "s", "text", json!({}))
            .is_empty()
    );
    assert!(seen.say("s", "Two ").is_empty());
    assert_eq!(seen.say("s", "files\nand "), ["lead     │ Two files"]);
    assert!(seen.say("s", "more").is_empty());
    assert_eq!(
        seen.segment("SEGMENT_END", "s", "text", json!({})),
        ["lead     │ and more"]
    );
}

#[test]
fn segments_of_one_member_are_kept_apart() {
    let mut seen = Seen::new();
    seen.segment("SEGMENT_START", "a", "reasoning", json!({}));
    seen.segment("SEGMENT_START", "b", "text", json!({}));
    seen.say("a", "hm");
    seen.say("b", "yes");
    assert_eq!(
        seen.segment("SEGMENT_END", "a", "reasoning", json!({})),
        ["lead     │ (hm)"]
    );
    assert_eq!(
        seen.segment("SEGMENT_END", "b", "text", json!({})),
        ["lead     │ yes"]
    );
}

#[test]
fn an_answer_that_was_streamed_is_not_said_again() {
    let mut seen = Seen::new();
    let answer = json!({"content": "Done"});
    assert_eq!(
        seen.agent("assistant_complete_response", answer.clone()),
        ["lead     │ Done"]
    );
    seen.segment("SEGMENT_START", "s", "text", json!({}));
    seen.say("s", "Done");
    seen.segment("SEGMENT_END", "s", "text", json!({}));
    assert!(
        seen.agent("assistant_complete_response", answer.clone())
            .is_empty()
    );
    // The next one counts for itself.
    assert_eq!(
        seen.agent("assistant_complete_response", answer),
        ["lead     │ Done"]
    );
}

#[test]
fn a_tool_is_one_line() {
    let mut seen = Seen::new();
    let start = json!({"metadata": {"tool_name": "grep"}});
    assert!(
        seen.segment("SEGMENT_START", "c", "tool_call", start)
            .is_empty()
    );
    assert!(seen.say("c", "{\"q\":\n1}").is_empty());
    assert!(
        seen.segment("SEGMENT_END", "c", "tool_call", json!({}))
            .is_empty()
    );
    let tool = json!({"invocation_id": "c", "tool_name": "grep", "error": "no\nsuch file", "reason": "not now"});
    assert!(
        seen.agent("tool_execution_started", tool.clone())
            .is_empty()
    );
    assert_eq!(
        seen.agent("tool_execution_succeeded", tool.clone()),
        ["lead     │ ▸ grep ✓"]
    );
    assert_eq!(
        seen.agent("tool_execution_failed", tool.clone()),
        ["lead     │ ▸ grep ✗ no such file"]
    );
    assert_eq!(
        seen.agent("tool_denied", tool),
        ["lead     │ ▸ grep ✗ denied: not now"]
    );
}

#[test]
fn what_is_no_tool_does_not_end_as_one() {
    let mut seen = Seen::new();
    // Status lines stand under a tool of their own, which the hub ends with the call.
    let status = json!({"invocation_id": "s", "tool_invocation_id": "s", "tool_name": "status", "log_entry": "asking bob"});
    seen.agent("tool_execution_started", status.clone());
    assert_eq!(
        seen.agent("tool_interaction_log_entry", status.clone()),
        ["lead     │ · asking bob"]
    );
    // So does an approval that belongs to no tool; the tool itself may follow under the same name.
    let press =
        |id: &str| json!({"invocation_id": id, "tool_name": "press", "result": "500 copies"});
    let mut stand = press("ask-1");
    stand["result"].take();
    seen.agent("tool_approval_requested", stand.clone());
    assert_eq!(
        seen.agent("tool_approved", stand.clone()),
        ["lead     │ ▸ press approved"]
    );
    seen.agent("tool_execution_started", press("run"));
    assert_eq!(
        seen.agent("tool_execution_succeeded", press("run")),
        ["lead     │ ▸ press ✓"]
    );
    assert!(seen.agent("tool_execution_succeeded", stand).is_empty());
    assert!(seen.agent("tool_execution_succeeded", status).is_empty());
    // A tool that was asked for, ran and gave nothing has ended.
    let quiet = json!({"invocation_id": "q", "tool_name": "rm"});
    for event in [
        "tool_approval_requested",
        "tool_approved",
        "tool_execution_started",
    ] {
        seen.agent(event, quiet.clone());
    }
    assert_eq!(
        seen.agent("tool_execution_succeeded", quiet),
        ["lead     │ ▸ rm ✓"]
    );
}

#[test]
fn an_approval_is_shown_once_with_the_command_that_answers_it() {
    let mut seen = Seen::new();
    let approval = json!({"route_key": "lead", "invocation_id": "call 1", "tool_name": "rm", "arguments": {"f": 1}});
    let snapshot = json!({"team": {"status": "RUNNING"}, "tasks": [], "approvals": [approval]});
    let lines = seen.lines.of(&TeamFeedItem::Snapshot(snapshot.clone()));
    assert_eq!(
        lines,
        [
            "shop     │ · RUNNING",
            "lead     │ ? rm {\"f\":1}",
            "lead     │   jackfield team approve shop 'call 1' --member lead --hub http://h (or deny)"
        ]
    );
    // The replay tells it once more, and so does the snapshot after a cut.
    let asked = json!({"invocation_id": "call 1", "tool_name": "rm", "arguments": {"f": 1}});
    assert!(
        seen.agent("tool_approval_requested", asked.clone())
            .is_empty()
    );
    assert!(seen.lines.of(&TeamFeedItem::Snapshot(snapshot)).is_empty());
    // After an answer it may be asked again.
    assert_eq!(
        seen.agent("tool_approved", asked.clone()),
        ["lead     │ ▸ rm approved"]
    );
    assert_eq!(seen.agent("tool_approval_requested", asked).len(), 2);
}

#[test]
fn what_waits_is_told_again_after_the_replay_if_it_is_out_of_sight() {
    for (replayed, again) in [(IN_SIGHT, 0), (IN_SIGHT + 1, 2)] {
        let mut seen = Seen::new();
        let approval =
            json!({"route_key": "lead", "invocation_id": "c", "tool_name": "rm", "arguments": {}});
        let snapshot = json!({"team": {"status": "RUNNING"}, "tasks": [], "approvals": [approval]});
        assert_eq!(seen.lines.of(&TeamFeedItem::Snapshot(snapshot)).len(), 3);
        seen.lines.of(&TeamFeedItem::Earlier);
        for _ in 0..replayed {
            seen.say("s", "word\n");
        }
        let lines = seen.lines.of(&TeamFeedItem::Now);
        let now = lines.iter().position(|line| line == "— now —").unwrap();
        assert_eq!((now, lines.len()), (1 + replayed, 2 + replayed + again));
    }
}

#[test]
fn of_what_was_before_the_last_lines_are_shown_and_how_to_see_all() {
    for (has_history, shown) in [(false, EARLIER), (true, EARLIER + 5)] {
        let mut seen = Seen::new();
        seen.lines = seen.lines.with_history(has_history);
        seen.lines.of(&TeamFeedItem::Earlier);
        let mut lines = Vec::new();
        for number in 1..=EARLIER + 5 {
            lines.extend(seen.say("s", &format!("{number}\n")));
            assert_eq!(seen.lines.is_holding(), !has_history);
        }
        lines.extend(seen.lines.of(&TeamFeedItem::Now));
        assert_eq!(lines.len(), shown + 2, "with what is above and below");
        assert_eq!(lines[0].contains("the last 20 of 25 lines"), !has_history);
        assert_eq!(lines[shown], "lead     │ 25");
        assert!(!seen.lines.is_holding());
        assert_eq!(seen.say("s", "new\n"), ["lead     │ new"]);
    }
}

#[test]
fn a_replay_that_pauses_is_shown_as_far_as_it_has_come() {
    let mut seen = Seen::new();
    seen.lines.of(&TeamFeedItem::Earlier);
    seen.say("s", "one\n");
    assert_eq!(seen.lines.held(), ["— earlier —", "lead     │ one"]);
    seen.say("s", "two\n");
    let lines = seen.lines.of(&TeamFeedItem::Now);
    assert_eq!(lines, ["lead     │ two", "— now —"]);
}

#[test]
fn what_was_stopped_is_told_from_what_failed() {
    let mut seen = Seen::new();
    let stopped = json!({"code": "cancelled", "message": "stopped before it was done"});
    assert_eq!(seen.agent("error_event", stopped), ["lead     │ stopped"]);
}

#[test]
fn the_board_is_shown_as_it_changes() {
    let mut seen = Seen::new();
    let scan = json!({"id": "task_0001", "task_id": "task_0001", "task_name": "scan", "assignee_name": "dev", "status": "in_progress"});
    let snapshot = json!({"team": {"status": "IDLE"}, "tasks": [scan], "approvals": []});
    let lines = seen.lines.of(&TeamFeedItem::Snapshot(snapshot.clone()));
    assert_eq!(
        lines,
        [
            "shop     │ · IDLE",
            "shop     │ task scan (dev): in_progress"
        ]
    );
    assert!(seen.lines.of(&TeamFeedItem::Snapshot(snapshot)).is_empty());
    let done = json!({"team_id": "t", "task_id": "task_0001", "new_status": "completed", "agent_name": "dev",
                      "deliverables": [{"file_path": "a.md", "summary": "notes"}]});
    assert_eq!(
        seen.envelope("TASK_PLAN", done.clone()),
        ["shop     │ task scan: completed, by dev, files: a.md"]
    );
    // The same id on the board of a sub-team is another task.
    let nested = json!({"sub_team_node_name": "backend", "sub_team_event": {"event_source_type": "TASK_PLAN", "data": done}});
    assert_eq!(
        seen.envelope("SUB_TEAM", nested),
        ["backend  │ task task_0001: completed, by dev, files: a.md"]
    );
}

#[test]
fn what_a_snapshot_has_is_not_told_by_the_replay() {
    let mut seen = Seen::new();
    let past = |source: &str, data: Value| TeamFeedItem::Envelope {
        envelope: json!({"event_source_type": source, "data": data, "team_run_id": "run_1", "sequence": 1}),
        is_past: true,
    };
    let status = json!({"new_status": "RUNNING"});
    assert!(seen.lines.of(&past("TEAM", status.clone())).is_empty());
    let tasks = json!({"tasks": [{"task_id": "task_0001", "task_name": "scan"}]});
    assert!(seen.lines.of(&past("TASK_PLAN", tasks)).is_empty());
    // A sub-team is not in it.
    let nested = json!({"sub_team_node_name": "backend", "sub_team_event": {"event_source_type": "TEAM", "data": status}});
    assert_eq!(
        seen.lines.of(&past("SUB_TEAM", nested)),
        ["backend  │ · RUNNING"]
    );
}

#[test]
fn what_comes_in_the_middle_is_shown_too() {
    let mut seen = Seen::new();
    assert_eq!(
        seen.say("gone", "half a line\n"),
        ["lead     │ half a line"]
    );
    seen.say("gone", "rest");
    let gap = json!({"team_run_id": "run_1", "from_sequence": 3, "to_sequence": 9});
    assert_eq!(
        seen.lines.of(&TeamFeedItem::Gap(gap)),
        [
            "lead     │ rest",
            "shop     │ events 3 to 9 are no longer stored"
        ]
    );
}

#[test]
fn memory_does_not_grow_with_what_never_ends() {
    let mut seen = Seen::new();
    for id in 0..1000 {
        seen.segment("SEGMENT_START", &format!("s{id}"), "text", json!({}));
    }
    assert!(seen.lines.members["lead"].open.len() <= OPEN_MAX);
    let lines = seen.say("long", &"x".repeat(LINE_MAX + 1));
    assert_eq!(lines.len(), 1);
}

#[test]
fn what_members_say_does_not_steer_the_terminal() {
    let mut seen = Seen::new();
    let lines = seen.say("s", "a\u{1b}[2Jb\r\n");
    assert_eq!(lines, ["lead     │ a [2Jb"]);
    let failed = json!({"code": "X\u{1b}", "message": "no\nway"});
    assert_eq!(
        seen.agent("error_event", failed),
        ["lead     │ failed, X : no way"]
    );
}
