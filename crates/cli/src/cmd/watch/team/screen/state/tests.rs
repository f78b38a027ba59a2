//! How a team's frames and the keys change what the screen shows.

use serde_json::json;

use super::{
    super::{
        super::{describe::Tone, team_event::StreamKind},
        lane::{LaneEntry, ToolState},
    },
    *,
};

fn snapshot() -> Value {
    json!({
        "team": {"id": "shop", "name": "The shop", "status": "RUNNING", "run": {"id": "run_1", "sequence": 10},
                 "agents": [{"route_key": "lead", "name": "lead", "agent": "claude", "online": true, "status": "idle"},
                            {"route_key": "backend/dba", "name": "dba", "agent": "dba", "online": false, "status": "idle"}]},
        "tasks": [{"id": "task_0001", "task_id": "task_0001", "task_name": "scan", "assignee_name": "lead", "status": "in_progress"}],
        "approvals": [{"route_key": "backend/dba", "invocation_id": "c1", "tool_name": "drop", "arguments": {"t": "x"}}],
    })
}

fn told(sequence: u64, source: &str, data: Value, is_past: bool) -> TeamFeedItem {
    let mut envelope = json!({"event_id": "e", "timestamp": "2026-03-01T10:00:00Z", "team_id": "shop",
        "event_source_type": source, "team_run_id": "run_1", "sequence": sequence});
    envelope["data"] = data;
    TeamFeedItem::Envelope { envelope, is_past }
}

fn agent(event_type: &str, data: Value) -> Value {
    let mut event = json!({"event_id": "i", "event_type": event_type});
    event["data"] = data;
    json!({"agent_name": "lead", "agent_event": event})
}

/// A team that is watched from its snapshot on.
fn watched() -> ScreenState {
    let mut state = ScreenState::new("shop", "");
    state.apply(&TeamFeedItem::Snapshot(snapshot()));
    state
}

impl ScreenState {
    fn lead(&mut self, event_type: &str, data: Value) {
        self.apply(&told(11, "AGENT", agent(event_type, data), false));
    }

    fn segment(&mut self, kind: &str, id: &str, segment_type: &str, payload: Value) {
        let mut data = json!({"event_type": kind, "segment_id": id, "segment_type": segment_type});
        data["payload"] = payload;
        self.lead("segment_event", data);
    }

    fn say(&mut self, id: &str, delta: &str) {
        self.segment("SEGMENT_CONTENT", id, "", json!({ "delta": delta }));
    }

    fn texts(&self, lane: usize) -> Vec<(StreamKind, &str)> {
        let said = self.lanes[lane].entries.iter();
        said.filter_map(|entry| match entry {
            LaneEntry::Said { kind, text, .. } => Some((*kind, text.as_str())),
            _ => None,
        })
        .collect()
    }

    fn tools(&self, lane: usize) -> Vec<(&str, ToolState)> {
        let used = self.lanes[lane].entries.iter();
        used.filter_map(|entry| match entry {
            LaneEntry::Used(tool) => Some((tool.name.as_str(), tool.state)),
            _ => None,
        })
        .collect()
    }

    fn type_in(&mut self, code: KeyCode) -> Option<UserAction> {
        self.press(KeyEvent::new(code, KeyModifiers::NONE))
    }
}

#[test]
fn a_snapshot_shows_everybody_and_how_things_stand() {
    let state = watched();
    let lanes: Vec<_> = state
        .lanes
        .iter()
        .map(|lane| (lane.key.as_str(), lane.is_online))
        .collect();
    assert_eq!(lanes, [("lead", true), ("backend/dba", false)]);
    assert_eq!(
        (state.status.as_str(), state.name.as_str()),
        ("RUNNING", "The shop")
    );
    assert_eq!(state.run, Some(("run_1".to_owned(), 10)));
    assert_eq!((state.tasks.len(), state.approvals.len()), (1, 1));
}

#[test]
fn a_snapshot_after_a_cut_doubles_nothing_and_keeps_what_was_said() {
    let mut state = watched();
    state.say("s", "hello");
    state.apply(&TeamFeedItem::Lost);
    assert!(state.is_lost);
    state.apply(&TeamFeedItem::Back);
    state.apply(&TeamFeedItem::Snapshot(snapshot()));
    state.say("s", " again");
    assert_eq!(state.texts(0), [(StreamKind::Text, "hello again")]);
    assert_eq!(
        (
            state.lanes.len(),
            state.tasks.len(),
            state.approvals.len(),
            state.is_lost
        ),
        (2, 1, 1, false)
    );
}

#[test]
fn a_replay_does_not_turn_the_team_or_its_board_back() {
    let mut state = watched();
    state.apply(&told(2, "TEAM", json!({"new_status": "IDLE"}), true));
    let created =
        json!({"team_id": "shop", "tasks": [{"task_id": "task_0001", "task_name": "scan"}]});
    state.apply(&told(3, "TASK_PLAN", created, true));
    assert_eq!(state.status, "RUNNING");
    assert_eq!(state.tasks[0].status, "in_progress");
    // What was said is shown all the same.
    let complete = agent("assistant_complete_response", json!({"content": "hi"}));
    state.apply(&told(4, "AGENT", complete, true));
    assert_eq!(state.texts(0), [(StreamKind::Text, "hi")]);
    // And the number of the last event is not turned back either.
    assert_eq!(state.run, Some(("run_1".to_owned(), 10)));
}

#[test]
fn the_board_follows_and_sub_teams_have_their_own() {
    let mut state = watched();
    let set = json!({"team_id": "t", "task_id": "task_0001", "new_status": "completed", "agent_name": "lead"});
    state.apply(&told(11, "TASK_PLAN", set, false));
    assert_eq!(state.tasks[0].status, "completed");
    let created =
        json!({"team_id": "b", "tasks": [{"task_id": "task_0001", "task_name": "index"}]});
    let nested = json!({"sub_team_node_name": "backend", "sub_team_event": {"event_source_type": "TASK_PLAN", "data": created}});
    state.apply(&told(12, "SUB_TEAM", nested, false));
    let tasks: Vec<_> = state
        .tasks
        .iter()
        .map(|task| (task.team.as_str(), task.name.as_str(), task.status.as_str()))
        .collect();
    assert_eq!(
        tasks,
        [
            ("", "scan", "completed"),
            ("backend", "index", "not_started")
        ]
    );
    state.apply(&TeamFeedItem::Snapshot(snapshot()));
    assert_eq!(state.tasks.len(), 2);
}

#[test]
fn segments_grow_apart_and_a_streamed_answer_is_not_said_twice() {
    let mut state = watched();
    state.segment("SEGMENT_START", "a", "reasoning", json!({}));
    state.segment("SEGMENT_START", "b", "text", json!({}));
    state.say("a", "hm");
    state.say("b", "yes");
    state.say("a", "!");
    state.segment("SEGMENT_END", "a", "reasoning", json!({}));
    state.segment("SEGMENT_END", "b", "text", json!({}));
    state.lead("assistant_complete_response", json!({"content": "yes"}));
    assert_eq!(
        state.texts(0),
        [(StreamKind::Thinking, "hm!"), (StreamKind::Text, "yes")]
    );
    // A new segment under an old id is a new one.
    state.say("b", "more");
    assert_eq!(state.texts(0).len(), 3);
}

#[test]
fn a_tool_is_one_entry_that_never_goes_back() {
    let mut state = watched();
    let call = |key: &str, value: Value| {
        let mut data = json!({"invocation_id": "c", "tool_name": "grep"});
        data[key] = value;
        data
    };
    state.segment(
        "SEGMENT_START",
        "c",
        "tool_call",
        json!({"metadata": {"tool_name": "grep"}}),
    );
    assert_eq!(state.tools(0), [("grep", ToolState::Begun)]);
    state.lead(
        "tool_approval_requested",
        call("arguments", json!({"q": 1})),
    );
    assert_eq!(state.tools(0), [("grep", ToolState::Waits)]);
    assert_eq!(state.asked("lead").count(), 1);
    state.lead("tool_approved", call("reason", json!("ok")));
    assert_eq!(state.asked("lead").count(), 0);
    state.lead("tool_execution_started", call("arguments", json!({"q": 1})));
    state.lead("tool_execution_succeeded", call("result", json!([1])));
    state.lead("tool_execution_started", call("arguments", json!({"q": 1})));
    assert_eq!(state.tools(0), [("grep", ToolState::Succeeded)]);
    // One whose beginning nobody saw.
    let failed = json!({"invocation_id": "d", "tool_name": "cat", "error": "no such file"});
    state.lead("tool_execution_failed", failed);
    assert_eq!(state.tools(0)[1], ("cat", ToolState::Failed));
}

#[test]
fn keys_answer_what_the_selected_member_asks_for_once() {
    let mut state = watched();
    assert_eq!(state.type_in(KeyCode::Char('a')), None);
    assert!(state.notice.contains("lead has no open question"));
    state.type_in(KeyCode::Tab);
    let wish = UserAction::Decide {
        key: "backend/dba".to_owned(),
        invocation: "c1".to_owned(),
        approve: true,
    };
    assert_eq!(state.type_in(KeyCode::Char('a')).as_ref(), Some(&wish));
    assert_eq!(state.type_in(KeyCode::Char('a')), None);
    // A refusal is told, and it can be tried again.
    state.decided("backend/dba", "c1", Some("not yours"));
    assert_eq!(state.notice, "not yours");
    assert_eq!(state.type_in(KeyCode::Char('a')), Some(wish));
    state.decided("backend/dba", "c1", None);
    assert!(state.approvals.is_empty());
}

#[test]
fn a_question_for_words_is_not_approved_but_may_be_refused() {
    let mut state = watched();
    let asked = json!({"invocation_id": "q", "tool_name": "ask_user", "arguments": {"question": "which?"}, "message": "which?"});
    state.lead("tool_approval_requested", asked);
    assert_eq!(
        state.asked("lead").next().unwrap().what,
        "? ask_user: which?"
    );
    assert_eq!(state.type_in(KeyCode::Char('a')), None);
    assert!(state.notice.contains("jackfield team say shop --to lead"));
    let refused = state.type_in(KeyCode::Char('d'));
    assert!(matches!(
        refused,
        Some(UserAction::Decide { approve: false, .. })
    ));
}

#[test]
fn what_was_asked_and_decided_before_is_not_open() {
    let mut state = watched();
    let asked = |id: &str| json!({"invocation_id": id, "tool_name": "rm", "arguments": {}});
    let past = |event_type: &str, data: Value| told(9, "AGENT", agent(event_type, data), true);
    state.apply(&past("tool_approval_requested", asked("old")));
    assert_eq!(state.asked("lead").count(), 0);
    // Nor does what was before close what the snapshot has as open.
    let mut idle = agent("agent_status_updated", json!({"new_status": "idle"}));
    idle["agent_name"] = json!("dba");
    let nested = json!({"sub_team_node_name": "backend", "sub_team_event": {"event_source_type": "AGENT", "data": idle}});
    state.apply(&told(10, "SUB_TEAM", nested, true));
    assert_eq!(state.asked("backend/dba").count(), 1);
    // A snapshot after a cut tells what is no longer open.
    let mut later = snapshot();
    later["approvals"] = json!([]);
    state.apply(&TeamFeedItem::Snapshot(later));
    assert!(state.approvals.is_empty());
}

#[test]
fn keys_move_and_quit() {
    let mut state = watched();
    state.type_in(KeyCode::Up);
    assert_eq!(state.selected, 1);
    state.type_in(KeyCode::Down);
    assert_eq!(state.selected, 0);
    state.type_in(KeyCode::Enter);
    state.type_in(KeyCode::Up);
    assert_eq!((state.is_alone, state.selected, state.scroll), (true, 0, 1));
    state.type_in(KeyCode::Esc);
    assert_eq!((state.is_alone, state.scroll), (false, 0));
    state.type_in(KeyCode::Char('t'));
    assert!(state.is_unfolded);
    assert_eq!(state.type_in(KeyCode::Char('q')), Some(UserAction::Quit));
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(state.press(interrupt), Some(UserAction::Interrupt));
    // Nobody is there to be selected.
    assert_eq!(ScreenState::new("shop", "").type_in(KeyCode::Tab), None);
}

#[test]
fn a_member_that_is_idle_waits_for_nothing() {
    let mut state = watched();
    let asked = json!({"invocation_id": "c", "tool_name": "rm", "arguments": {}});
    state.lead("tool_approval_requested", asked);
    state.lead(
        "agent_status_updated",
        json!({"new_status": "awaiting_tool_approval"}),
    );
    assert_eq!(state.asked("lead").count(), 1);
    assert_eq!(state.lanes[0].status, "awaiting_tool_approval");
    state.lead("agent_status_updated", json!({"new_status": "idle"}));
    assert_eq!(state.asked("lead").count(), 0);
    // Others still do.
    assert_eq!(state.approvals.len(), 1);
}

#[test]
fn a_gap_is_told_and_ends_what_was_open() {
    let mut state = watched();
    state.say("s", "half");
    let gap = json!({"team_run_id": "run_1", "from_sequence": 12, "to_sequence": 40});
    state.apply(&TeamFeedItem::Gap(gap));
    assert!(state.notice.contains("12 to 40"));
    state.say("s", "rest");
    assert_eq!(
        state.texts(0),
        [(StreamKind::Text, "half"), (StreamKind::Text, "rest")]
    );
    let is_gap = |entry: &LaneEntry| matches!(entry, LaneEntry::Line(Tone::Quiet, _));
    assert_eq!(
        state.lanes[0]
            .entries
            .iter()
            .filter(|it| is_gap(it))
            .count(),
        1
    );
    assert!(state.lanes[1].entries.is_empty());
}

#[test]
fn memory_is_bounded_whatever_comes() {
    let mut state = watched();
    for id in 0..2_000 {
        state.say(&id.to_string(), &"ä".repeat(1_000));
    }
    let kept = |state: &ScreenState| {
        let said = state.texts(0);
        said.iter().map(|(_, text)| text.len()).sum::<usize>()
    };
    assert!(kept(&state) <= 256 << 10);
    for _ in 0..500 {
        state.say("long", &"ä".repeat(1_000));
    }
    assert!(kept(&state) <= 256 << 10);
    let result = json!({"invocation_id": "c", "tool_name": "t", "result": "x".repeat(1 << 20)});
    state.lead("tool_execution_succeeded", result);
    let Some(LaneEntry::Used(tool)) = state.lanes[0].entries.back() else {
        panic!("no tool");
    };
    assert!(tool.output.len() <= 4 << 10);
    for member in 0..2_000 {
        let event = json!({"agent_name": format!("m{member}"), "agent_event":
            {"event_type": "tool_approval_requested", "data": {"invocation_id": "c", "tool_name": "t", "arguments": {}}}});
        state.apply(&told(11, "AGENT", event, false));
        let task = json!({"task_id": format!("task_{member}"), "new_status": "queued"});
        state.apply(&told(11, "TASK_PLAN", task, false));
    }
    assert_eq!(state.lanes.len(), LANES_MAX);
    assert!(state.approvals.len() <= LANES_MAX);
    assert_eq!(state.tasks.len(), TASKS_MAX);
}

#[test]
fn a_new_run_counts_anew() {
    let mut state = watched();
    let envelope = json!({"event_source_type": "TEAM", "data": {"new_status": "RUNNING"}, "team_run_id": "run_2", "sequence": 1});
    state.apply(&TeamFeedItem::Envelope {
        envelope,
        is_past: false,
    });
    assert_eq!(state.run, Some(("run_2".to_owned(), 1)));
}
