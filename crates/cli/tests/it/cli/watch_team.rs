//! `watch TEAM`: as lines, as JSON, on a screen; and after cuts.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::cli::{
    fake::{FakeHub, PendingRequest},
    terminal::Terminal,
};
use crate::run::{Cli, Running};

/// Leaves the alternate screen.
const SCREEN_LEFT: &str = "\u{1b}[?1049l";

fn snapshot(sequence: u64) -> Value {
    json!({
        "team": {"id": "shop", "name": "The shop", "status": "RUNNING", "run": {"id": "run_1", "sequence": sequence},
                 "agents": [{"route_key": "lead", "name": "lead", "agent": "claude", "online": true, "status": "idle"}]},
        "tasks": [{"id": "task_0001", "task_id": "task_0001", "task_name": "scan", "assignee_name": "lead", "status": "queued"}],
        "approvals": [],
    })
}

fn envelope(sequence: u64, event_type: &str, data: &Value) -> Value {
    json!({"event_id": "e", "timestamp": "2026-03-01T10:00:00.000Z", "team_id": "shop", "event_source_type": "AGENT",
           "data": {"agent_name": "lead", "agent_event": {"event_id": "i", "timestamp": "2026-03-01T10:00:00.000Z",
                    "agent_id": "claude", "event_type": event_type, "data": data}},
           "team_run_id": "run_1", "sequence": sequence})
}

/// Sends a line of text.
async fn send_line(stream: &mut PendingRequest, sequence: u64, text: &str) {
    let data =
        json!({"event_type": "SEGMENT_CONTENT", "segment_id": "s", "payload": {"delta": text}});
    let id = format!("run_1:{sequence}");
    let envelope = envelope(sequence, "segment_event", &data);
    stream.event("envelope", Some(&id), &envelope).await;
}

/// Opens the event stream of a hub with a team.
async fn opened(hub: &FakeHub) -> PendingRequest {
    let asked = hub.expect("GET /v1/teams/shop").await;
    asked.answer(200, &json!({"id": "shop"})).await;
    let stream = hub.expect("GET /v1/teams/shop/events").await;
    assert_eq!(stream.last, None);
    stream.stream().await
}

async fn watching(args: &[&str]) -> (FakeHub, Running, PendingRequest) {
    let hub = FakeHub::start().await;
    let mut watch = Cli::at(&hub.url()).start(args);
    let stream = opened(&hub).await;
    watch.until_it_says("watching").await;
    (hub, watch, stream)
}

#[tokio::test]
async fn a_team_is_seen_in_lines() {
    let (_hub, mut watch, mut stream) = watching(&["watch", "shop"]).await;
    stream.event("snapshot", None, &snapshot(2)).await;
    assert_eq!(watch.line().await.unwrap(), "shop     │ · RUNNING");
    assert_eq!(
        watch.line().await.unwrap(),
        "shop     │ task scan (lead): queued"
    );
    // Replayed events that the snapshot already contains are not shown again.
    let status = json!({"event_source_type": "TEAM", "data": {"new_status": "RUNNING"}, "team_run_id": "run_1", "sequence": 1});
    stream.event("envelope", Some("run_1:1"), &status).await;
    send_line(&mut stream, 2, "hello\n").await;
    // Events before the start are marked as earlier.
    assert_eq!(watch.line().await.unwrap(), "— earlier —");
    assert_eq!(watch.line().await.unwrap(), "lead     │ hello");
    assert_eq!(watch.line().await.unwrap(), "— now —");
    let tool = json!({"invocation_id": "c", "tool_name": "grep"});
    let done = envelope(3, "tool_execution_succeeded", &tool);
    stream.event("envelope", Some("run_1:3"), &done).await;
    assert_eq!(watch.line().await.unwrap(), "lead     │ ▸ grep ✓");
    watch.signal(Signal::INT);
    watch.end().await.code(130);
}

#[tokio::test]
async fn only_the_last_lines_of_what_was_before_are_shown_unless_asked_for() {
    for (args, first, count) in [
        (&["watch", "shop"][..], "lead     │ line 11", 20),
        (&["watch", "shop", "--history"], "lead     │ line 1", 30),
    ] {
        let (_hub, mut watch, mut stream) = watching(args).await;
        stream.event("snapshot", None, &snapshot(30)).await;
        for sequence in 1..=30 {
            send_line(&mut stream, sequence, &format!("line {sequence}\n")).await;
        }
        watch.line().await;
        watch.line().await;
        let mark = watch.line().await.unwrap();
        let is_cut = count < 30;
        assert_eq!(mark.contains("the last 20 of 30 lines"), is_cut, "{mark}");
        assert_eq!(mark.contains("--history"), is_cut, "{mark}");
        assert_eq!(watch.line().await.unwrap(), first);
        for _ in 1..count {
            watch.line().await;
        }
        assert_eq!(watch.line().await.unwrap(), "— now —");
    }
}

/// The last event of a replay may be hidden from this viewer, so no event marks the end of the replay.
#[tokio::test]
async fn a_replay_without_an_end_is_shown_too() {
    let (_hub, mut watch, mut stream) = watching(&["watch", "shop"]).await;
    stream.event("snapshot", None, &snapshot(3)).await;
    send_line(&mut stream, 1, "one\n").await;
    for line in [
        "shop     │ · RUNNING",
        "shop     │ task scan (lead): queued",
    ] {
        assert_eq!(watch.line().await.unwrap(), line);
    }
    assert_eq!(watch.line().await.unwrap(), "— earlier —");
    assert_eq!(watch.line().await.unwrap(), "lead     │ one");
    send_line(&mut stream, 4, "four\n").await;
    assert_eq!(watch.line().await.unwrap(), "— now —");
    assert_eq!(watch.line().await.unwrap(), "lead     │ four");
}

#[tokio::test]
async fn json_is_what_the_hub_says_line_by_line() {
    let (_hub, mut watch, mut stream) = watching(&["watch", "shop", "--json"]).await;
    stream.event("snapshot", None, &snapshot(1)).await;
    let first = watch.json().await;
    assert_eq!(first["event"], "snapshot");
    assert_eq!(first["tasks"], snapshot(1)["tasks"]);
    let past = envelope(1, "something_old", &json!({}));
    stream.event("envelope", Some("run_1:1"), &past).await;
    assert_eq!(watch.json().await, past);
    assert_eq!(watch.json().await, json!({"event": "now"}));
    let mut odd = envelope(2, "something_new", &json!({"x": 1}));
    odd["more"] = json!("kept");
    stream.event("envelope", Some("run_1:2"), &odd).await;
    assert_eq!(watch.json().await, odd);
    let gap = json!({"team_run_id": "run_1", "from_sequence": 3, "to_sequence": 9});
    stream.event("gap", None, &gap).await;
    assert_eq!(
        watch.json().await,
        json!({"event": "gap", "team_run_id": "run_1", "from_sequence": 3, "to_sequence": 9})
    );
}

#[tokio::test]
async fn only_what_is_still_open_is_shown_with_the_command_that_answers_it() {
    let (_hub, mut watch, mut stream) = watching(&["watch", "shop"]).await;
    let asks = |id: &str, tool: &str| json!({"route_key": "lead", "invocation_id": id, "tool_name": tool, "arguments": {"t": 1}, "message": "may I?"});
    let mut first = snapshot(3);
    first["tasks"] = json!([]);
    first["approvals"] = json!([asks("open", "ask_user")]);
    stream.event("snapshot", None, &first).await;
    for (sequence, event_type, data) in [
        (1, "tool_approval_requested", asks("decided", "rm")),
        (2, "tool_approved", asks("decided", "rm")),
        (3, "tool_approval_requested", asks("open", "ask_user")),
        (4, "tool_approval_requested", asks("new", "rm")),
    ] {
        let id = format!("run_1:{sequence}");
        let envelope = envelope(sequence, event_type, &data);
        stream.event("envelope", Some(&id), &envelope).await;
    }
    let open = "lead     │ ? ask_user {\"t\":1}: may I?";
    let say = "lead     │   jackfield team say shop --to lead \"…\"";
    let asked = "lead     │ ? rm {\"t\":1}: may I?";
    for line in [
        "shop     │ · RUNNING",
        open,
        say,
        "— earlier —",
        asked,
        "lead     │ ▸ rm approved",
        // The pending question is still shown, and not repeated.
        "— now —",
        asked,
        "lead     │   jackfield team approve shop new --member lead (or deny)",
    ] {
        assert_eq!(watch.line().await.unwrap(), line);
    }
}

#[tokio::test]
async fn after_a_cut_it_goes_on_where_it_was_and_tells_nothing_twice() {
    let (hub, mut watch, mut stream) = watching(&["watch", "shop"]).await;
    stream.event("snapshot", None, &snapshot(0)).await;
    watch.line().await;
    watch.line().await;
    send_line(&mut stream, 1, "one\n").await;
    send_line(&mut stream, 2, "two\nthr").await;
    assert_eq!(watch.line().await.unwrap(), "lead     │ one");
    assert_eq!(watch.line().await.unwrap(), "lead     │ two");
    drop(stream);
    watch.until_it_says("lost the connection to the hub").await;
    let again = hub.expect("GET /v1/teams/shop/events").await;
    assert_eq!(again.last.as_deref(), Some("run_1:2"));
    let stopping = json!({"error": "stopping", "message": "the hub stops"});
    again.answer(503, &stopping).await;
    let again = hub.expect("GET /v1/teams/shop/events").await;
    assert_eq!(again.last.as_deref(), Some("run_1:2"));
    let mut stream = again.stream().await;
    stream.event("snapshot", None, &snapshot(3)).await;
    watch.until_it_says("reconnected").await;
    // A hub that doesn't know the cursor sends all events again.
    send_line(&mut stream, 1, "one\n").await;
    send_line(&mut stream, 2, "two\nthr").await;
    send_line(&mut stream, 3, "ee\n").await;
    assert_eq!(watch.line().await.unwrap(), "lead     │ three");
}

#[tokio::test]
async fn what_an_earlier_run_had_begun_is_told_as_broken_off_before_the_hub_is_back() {
    let (hub, mut watch, mut stream) = watching(&["watch", "shop"]).await;
    stream.event("snapshot", None, &snapshot(0)).await;
    watch.line().await;
    watch.line().await;
    send_line(&mut stream, 1, "one\nhalf a li").await;
    assert_eq!(watch.line().await.unwrap(), "lead     │ one");
    drop(stream);
    watch.until_it_says("lost the connection to the hub").await;
    let again = hub.expect("GET /v1/teams/shop/events").await;
    let mut stream = again.stream().await;
    let mut next = snapshot(1);
    next["team"]["run"]["id"] = json!("run_2");
    stream.event("snapshot", None, &next).await;
    assert_eq!(
        watch.line().await.unwrap(),
        "lead     │ half a li … (interrupted)"
    );
    watch.until_it_says("reconnected").await;
    let data =
        json!({"event_type": "SEGMENT_CONTENT", "segment_id": "s", "payload": {"delta": "new\n"}});
    let mut envelope = envelope(1, "segment_event", &data);
    envelope["team_run_id"] = json!("run_2");
    stream.event("envelope", Some("run_2:1"), &envelope).await;
    assert_eq!(watch.line().await.unwrap(), "lead     │ new");
}

#[tokio::test]
async fn a_team_that_is_removed_ends_it() {
    let (_hub, watch, mut stream) = watching(&["watch", "shop"]).await;
    send_line(&mut stream, 1, "last words").await;
    let gone = json!({"error": "not_found", "message": "the team was removed"});
    stream.event("failed", None, &gone).await;
    let end = watch.end().await.code(3);
    assert_eq!(end.out, "lead     │ last words\n");
    end.stderr_has("the team was removed")
        .stderr_has("jackfield team ls");
}

#[tokio::test]
async fn a_hub_without_such_a_team_has_perhaps_such_an_agent() {
    let hub = FakeHub::start().await;
    let mut watch = Cli::at(&hub.url()).start(&["watch", "bob"]);
    let missing = json!({"error": "not_found", "message": "no"});
    let asked = hub.expect("GET /v1/teams/bob").await;
    asked.answer(404, &missing).await;
    let asked = hub.expect("GET /v1/agents/bob").await;
    asked.answer(200, &json!({"id": "bob"})).await;
    let stream = hub.expect("GET /v1/events?agent=bob").await;
    let _stream = stream.stream().await;
    watch.until_it_says("watching").await;
}

#[tokio::test]
async fn a_terminal_shows_lanes_answers_approvals_and_is_put_back() {
    let hub = FakeHub::start().await;
    let mut terminal = Terminal::start(Cli::at(&hub.url()).command(&["watch", "shop"]));
    let mut stream = opened(&hub).await;
    let mut first = snapshot(0);
    first["approvals"] = json!([{"route_key": "lead", "invocation_id": "c1", "tool_name": "drop", "arguments": {"t": "x"}}]);
    stream.event("snapshot", None, &first).await;
    terminal.until("a approves, d denies").await;
    send_line(&mut stream, 1, "unbroken").await;
    terminal.until("unbroken").await;
    terminal.type_in("a");
    let asked = hub.expect("POST /v1/teams/shop/decisions").await;
    assert_eq!(
        asked.body,
        json!({"invocation_id": "c1", "target": "lead", "approve": true})
    );
    let refused = json!({"error": "unauthorized", "message": "only its owner may"});
    asked.answer(401, &refused).await;
    terminal.until("only its owner may").await;
    terminal.type_in("q");
    let (code, screen) = terminal.end().await;
    assert_eq!(code, Some(0));
    assert!(screen.contains(SCREEN_LEFT), "{screen:?}");
}

#[tokio::test]
async fn a_terminal_is_put_back_at_every_end() {
    for (keys, signal, code) in [
        (Some("\u{3}"), None, 130),
        (None, Some(Signal::INT), 130),
        (None, Some(Signal::TERM), 130),
        (None, None, 3),
    ] {
        let hub = FakeHub::start().await;
        let mut terminal = Terminal::start(Cli::at(&hub.url()).command(&["watch", "shop"]));
        let mut stream = opened(&hub).await;
        stream.event("snapshot", None, &snapshot(0)).await;
        terminal.until("The shop").await;
        if let Some(keys) = keys {
            terminal.type_in(keys);
        } else if let Some(signal) = signal {
            kill_process(terminal.pid(), signal).unwrap();
        } else {
            let gone = json!({"error": "not_found", "message": "the team was removed"});
            stream.event("failed", None, &gone).await;
        }
        let (ended, screen) = terminal.end().await;
        assert_eq!(ended, Some(code), "{screen:?}");
        let (_, after) = screen.split_once(SCREEN_LEFT).expect("it is left");
        // The final message stays on the screen.
        assert_eq!(
            after.contains("the team was removed"),
            code == 3,
            "{after:?}"
        );
    }
}

#[tokio::test]
async fn plain_and_json_are_lines_on_a_terminal_too() {
    for flag in ["--plain", "--json"] {
        let hub = FakeHub::start().await;
        let mut terminal = Terminal::start(Cli::at(&hub.url()).command(&["watch", "shop", flag]));
        let mut stream = opened(&hub).await;
        stream.event("snapshot", None, &snapshot(0)).await;
        terminal.until("scan").await;
        kill_process(terminal.pid(), Signal::INT).unwrap();
        let (code, screen) = terminal.end().await;
        assert_eq!(code, Some(130));
        assert!(!screen.contains(SCREEN_LEFT), "{screen:?}");
    }
}
