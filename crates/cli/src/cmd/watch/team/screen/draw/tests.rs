//! What the screen of a team shows, and that it shows something at any size.

use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};
use serde_json::{Value, json};

use super::{super::super::feed::TeamFeedItem, *};

fn snapshot() -> Value {
    json!({
        "team": {"id": "shop", "name": "The shop", "status": "RUNNING", "run": {"id": "run_1", "sequence": 10},
                 "agents": [{"route_key": "lead", "agent": "claude", "online": true, "status": "executing_tool"},
                            {"route_key": "backend/dba", "agent": "dba", "online": true, "status": "awaiting_tool_approval"}]},
        "tasks": [{"task_id": "task_0001", "task_name": "scan", "assignee_name": "lead", "status": "completed"},
                  {"task_id": "task_0002", "task_name": "index", "assignee_name": "dba", "status": "in_progress"}],
        "approvals": [{"route_key": "backend/dba", "invocation_id": "c1", "tool_name": "drop", "arguments": {"t": "x"}}],
    })
}

fn lead(state: &mut ScreenState, event_type: &str, data: Value) {
    let mut event = json!({ "event_type": event_type });
    event["data"] = data;
    let envelope = json!({"event_source_type": "AGENT", "team_run_id": "run_1", "sequence": 11,
        "data": {"agent_name": "lead", "agent_event": event}});
    state.apply(&TeamFeedItem::Envelope {
        envelope,
        is_past: false,
    });
}

fn say(state: &mut ScreenState, id: &str, segment_type: &str, delta: &str) {
    let data = json!({"event_type": "SEGMENT_CONTENT", "segment_id": id, "segment_type": segment_type, "payload": {"delta": delta}});
    lead(state, "segment_event", data);
}

/// A team at work.
fn at_work() -> ScreenState {
    let mut state = ScreenState::new("shop", "");
    state.apply(&TeamFeedItem::Snapshot(snapshot()));
    say(&mut state, "a", "reasoning", "let me see");
    say(&mut state, "b", "text", "Two files of the old shop");
    let tool = json!({"invocation_id": "g", "tool_name": "grep", "arguments": {"q": "x"}, "result": [1, 2]});
    lead(&mut state, "tool_execution_succeeded", tool);
    let tool = json!({"invocation_id": "h", "tool_name": "cat", "arguments": {"f": "a.md"}});
    lead(&mut state, "tool_execution_started", tool);
    state
}

fn drawn(state: &mut ScreenState, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    terminal.backend().buffer().clone()
}

fn rows(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width);
    let rows = buffer.content.chunks(width);
    rows.map(|row| {
        let row: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        row.trim_end().to_owned()
    })
    .collect()
}

#[test]
fn a_team_at_work_is_seen_as_a_whole() {
    let buffer = drawn(&mut at_work(), 80, 14);
    let line = "─".repeat(80);
    let rule = |used: usize, to: usize| line.chars().take(to - used).collect::<String>();
    assert_eq!(
        rows(&buffer),
        [
            "shop The shop  RUNNING  2 of 2 online  run_1, 11 events".to_owned(),
            format!(
                "▶  lead  executing_tool {}┌ board 1 of 2 done {}",
                rule(24, 50),
                rule(20, 30)
            ),
            "let me see                                        │✓ scan lead".to_owned(),
            "Two files of the old shop                         │▸ index dba".to_owned(),
            "▸ grep ✓                                          │".to_owned(),
            "▸ cat …                                           │".to_owned(),
            "                                                  │".to_owned(),
            format!("─  backend/dba  awaiting_tool_approval {}│", rule(39, 50)),
            "? drop {\"t\":\"x\"}                                  │".to_owned(),
            "  jackfield team approve shop c1 --member         │".to_owned(),
            "backend/dba                                       │".to_owned(),
            "                                                  │".to_owned(),
            "                                                  │".to_owned(),
            KEYS.to_owned(),
        ]
    );
    // Thinking is dimmed, text is not.
    assert!(buffer[(0, 2)].modifier.contains(Modifier::DIM));
    assert!(!buffer[(0, 3)].modifier.contains(Modifier::DIM));
    assert!(buffer[(0, 8)].modifier.contains(Modifier::REVERSED));
}

#[test]
fn the_selected_approval_is_answered_by_keys() {
    let mut state = at_work();
    state.selected = 1;
    let shown = rows(&drawn(&mut state, 80, 14)).join("\n");
    assert!(shown.contains("▶  backend/dba"), "{shown}");
    assert!(shown.contains("  a approves, d denies"), "{shown}");
    assert!(!shown.contains("team approve"), "{shown}");
}

#[test]
fn tools_unfold() {
    let mut state = at_work();
    state.is_unfolded = true;
    state.is_alone = true;
    let shown = rows(&drawn(&mut state, 60, 12)).join("\n");
    assert!(
        shown.contains("▾ grep ✓\n  -> [1,2]\n▾ cat …\n  <- {\"f\":\"a.md\"}"),
        "{shown}"
    );
}

#[test]
fn a_lane_alone_shows_its_end_and_scrolls_no_further_than_its_beginning() {
    let mut state = ScreenState::new("shop", "");
    state.apply(&TeamFeedItem::Snapshot(snapshot()));
    let lines: Vec<_> = (1..=20).map(|line| format!("line {line}")).collect();
    say(&mut state, "s", "text", &lines.join("\n"));
    state.is_alone = true;
    let shown = rows(&drawn(&mut state, 40, 6));
    assert_eq!(shown[2..5], ["line 18", "line 19", "line 20"]);
    state.scroll = 2;
    let shown = rows(&drawn(&mut state, 40, 6));
    assert_eq!(shown[2..5], ["line 16", "line 17", "line 18"]);
    state.scroll = 1_000;
    let shown = rows(&drawn(&mut state, 40, 6));
    assert_eq!(shown[2..5], ["line 1", "line 2", "line 3"]);
    assert_eq!(state.scroll, 17);
}

#[test]
fn the_selected_lane_is_among_those_that_fit() {
    let mut state = ScreenState::new("shop", "");
    let agents: Vec<_> = (0..40)
        .map(|at| json!({"route_key": format!("m{at}"), "agent": "x", "online": true, "status": "idle"}))
        .collect();
    state.apply(&TeamFeedItem::Snapshot(json!({"team": {"agents": agents}})));
    for selected in [0, 20, 39] {
        state.selected = selected;
        let shown = rows(&drawn(&mut state, 40, 14)).join("\n");
        assert!(shown.contains(&format!("▶  m{selected} ")), "{shown}");
    }
}

#[test]
fn the_board_makes_room_for_what_is_not_over() {
    let mut state = ScreenState::new("shop", "");
    let status = |at: usize| if at < 30 { "completed" } else { "queued" };
    let tasks: Vec<_> = (0..40)
        .map(|at| json!({"task_id": format!("t{at}"), "task_name": format!("n{at}"), "status": status(at)}))
        .collect();
    state.apply(&TeamFeedItem::Snapshot(json!({"tasks": tasks})));
    let shown = rows(&drawn(&mut state, 80, 8)).join("\n");
    assert!(shown.contains("board 30 of 40 done"), "{shown}");
    assert!(!shown.contains("n29") && shown.contains("○ n30"), "{shown}");
    assert!(shown.contains("and 6 more"), "{shown}");
    // A narrow terminal belongs to the members.
    let shown = rows(&drawn(&mut state, 60, 8)).join("\n");
    assert!(!shown.contains("board"), "{shown}");
}

#[test]
fn no_size_is_too_small() {
    let mut state = at_work();
    for is_alone in [false, true] {
        state.is_alone = is_alone;
        for width in [0, 1, 2, 5, 29, 30, 31, 75, 76, 90] {
            for height in [0, 1, 2, 3, 4, 7] {
                state.scroll = 3;
                drawn(&mut state, width, height);
            }
        }
        drawn(&mut ScreenState::new("shop", ""), 20, 5);
    }
}

#[test]
fn a_hub_that_is_gone_is_told_below() {
    let mut state = at_work();
    state.apply(&TeamFeedItem::Lost);
    let buffer = drawn(&mut state, 80, 14);
    assert!(rows(&buffer)[13].starts_with("lost the connection to the hub; reconnecting  q quit"));
    assert_eq!(buffer[(0, 13)].fg, Color::Red);
}

#[test]
fn what_members_say_cannot_steer_the_screen() {
    let mut state = at_work();
    say(&mut state, "x", "text", "a\u{1b}[2J\tb\u{202e}c");
    let shown = rows(&drawn(&mut state, 80, 16)).join("\n");
    assert!(shown.contains("a[2J    bc"), "{shown}");
}
