//! Answers of each kind of agent keep their chunk kinds in every caller's protocol. One table covers all drivers, and
//! each caller's protocol has a test that reads the table.

use jackfield_testkit::{Events, TestHub};
use serde_json::{Value, json};

use super::{
    a2a_stream, acp,
    model::{LINES, Model},
    say, start, text, until_connected, until_rest, watched_crew, words_of,
};
use crate::run::{Cli, Running};

/// A piece of an answer: kind, tool, tool call, text.
type Piece = (String, String, String, String);

/// Expected answer of a driver.
struct Row {
    /// The driver; also the agent's id.
    driver: &'static str,
    /// The message to the agent.
    words: &'static str,
    /// The answer without status lines; those of a command arrive separately.
    pieces: Vec<Piece>,
    statuses: &'static [&'static str],
    /// The reported usage.
    usage: Value,
    stop_reason: Option<&'static str>,
}

/// The received answer, in the same terms.
#[derive(Debug, Default)]
struct ReceivedAnswer {
    pieces: Vec<Piece>,
    statuses: Vec<String>,
    stop_reason: Option<String>,
    usage: Value,
}

impl ReceivedAnswer {
    /// Adds a piece. Adjacent text is joined, since protocols may join it too.
    fn piece(&mut self, kind: &str, tool: &str, id: &str, text: &str) {
        match self.pieces.last_mut() {
            _ if kind == "status" => self.statuses.push(text.to_owned()),
            // The empty end of an earlier text.
            _ if kind == "text" && text.is_empty() => {}
            Some((last, .., so_far)) if last == kind && matches!(kind, "text" | "thinking") => {
                so_far.push_str(text);
            }
            _ => self.pieces.push(piece(kind, tool, id, text)),
        }
    }

    fn expect(&self, row: &Row) {
        let driver = row.driver;
        assert_eq!(self.pieces, row.pieces, "{driver}");
        assert_eq!(self.statuses, row.statuses, "{driver}");
    }
}

fn piece(kind: &str, tool: &str, id: &str, text: &str) -> Piece {
    (
        kind.to_owned(),
        tool.to_owned(),
        id.to_owned(),
        text.to_owned(),
    )
}

/// A hub with an agent of every kind.
struct AgentsFixture {
    hub: TestHub,
    /// The agents, and the programs that drive them.
    _agents: (Cli, Model, Vec<Running>),
}

impl AgentsFixture {
    async fn start() -> Self {
        let hub = TestHub::start().await;
        let cli = Cli::new(&hub);
        let model = Model::start().await;
        std::fs::write(cli.home().join("lines"), LINES).expect("a file");
        let acp = acp("told");
        let acp: Vec<_> = acp.iter().map(String::as_str).collect();
        let (chat, base) = (model.url("/chat"), model.url(""));
        let kinds: [(&str, &[&str]); 7] = [
            ("claude", &["claude"]),
            ("acp", &acp),
            (
                "exec",
                &["exec", "sh", "-c", "echo looking >&2; echo three crabs"],
            ),
            ("jsonl", &["exec", "--format", "jsonl", "cat", "lines"]),
            ("http", &["http", &chat]),
            ("openai", &["openai", &base]),
            ("a2a", &["a2a", &base]),
        ];
        let mut agents = Vec::new();
        for (id, kind) in kinds {
            agents.push(start(&cli, id, kind));
        }
        for ((id, _), agent) in kinds.iter().zip(&mut agents) {
            until_connected(agent, id).await;
        }
        Self {
            hub,
            _agents: (cli, model, agents),
        }
    }
}

fn rows() -> [Row; 7] {
    let search = || {
        vec![
            piece("thinking", "", "", "hm"),
            piece("tool_start", "search", "t1", ""),
            piece("tool_input", "", "t1", r#"{"q":"crabs"}"#),
            piece("tool_result", "", "t1", "3 hits"),
            piece("text", "", "", "three crabs"),
        ]
    };
    let refused = "[error] not carried out: no tools are offered to this model";
    let made_up = search()
        .into_iter()
        .filter(|(kind, ..)| kind != "tool_result")
        .chain([piece("tool_result", "", "t1", refused)]);
    [
        Row {
            driver: "claude",
            words: "all kinds",
            pieces: vec![
                piece("thinking", "", "", "hm"),
                piece("tool_start", "Bash", "toolu_1", ""),
                piece("tool_input", "", "toolu_1", r#"{"command":"ls"}"#),
                piece("tool_result", "", "toolu_1", "a.txt"),
                piece("text", "", "", "one file "),
            ],
            statuses: &["asking the model again, attempt 1: overloaded"],
            usage: json!({
                "input_tokens": 3, "output_tokens": 5, "total_cost_usd": 0.25, "duration_ms": 7, "num_turns": 1,
            }),
            stop_reason: Some("end_turn"),
        },
        Row {
            driver: "acp",
            words: "everything",
            pieces: vec![
                piece("thinking", "", "", "hm"),
                piece("tool_start", "Read a.txt", "call_001", ""),
                piece("tool_input", "", "call_001", r#"{"path":"a.txt"}"#),
                piece("tool_result", "", "call_001", "hello"),
                piece("text", "", "", "a.txt says hello"),
            ],
            statuses: &["plan:\n[ ] look"],
            usage: json!({"context": {"used": 53000, "size": 200_000}}),
            stop_reason: Some("end_turn"),
        },
        Row {
            driver: "exec",
            words: "go",
            pieces: vec![piece("text", "", "", "three crabs\n")],
            statuses: &["looking"],
            usage: Value::Null,
            stop_reason: None,
        },
        Row {
            driver: "jsonl",
            words: "go",
            pieces: search(),
            statuses: &["looking"],
            usage: json!({"tokens": 12}),
            stop_reason: Some("end_turn"),
        },
        Row {
            driver: "http",
            words: "go",
            pieces: search(),
            statuses: &["looking"],
            usage: json!({"tokens": 12}),
            stop_reason: Some("end_turn"),
        },
        Row {
            driver: "openai",
            words: "go",
            pieces: made_up.collect(),
            statuses: &[],
            usage: json!({"total_tokens": 12}),
            stop_reason: Some("stop"),
        },
        Row {
            driver: "a2a",
            words: "go",
            pieces: search(),
            statuses: &["looking"],
            usage: Value::Null,
            stop_reason: Some("end_turn"),
        },
    ]
}

#[tokio::test]
async fn an_a2a_caller_gets_every_kind_of_every_driver() {
    let fixture = AgentsFixture::start().await;
    for row in rows() {
        let events = a2a_stream(&fixture.hub, row.driver, row.words).await;
        let received = read_a2a(events).await;
        received.expect(&row);
        assert_eq!(
            received.stop_reason.as_deref(),
            row.stop_reason,
            "{}",
            row.driver
        );
    }
}

/// Text arrives as a growing artifact; everything else as status updates with a kind.
async fn read_a2a(mut events: Events) -> ReceivedAnswer {
    let mut received = ReceivedAnswer::default();
    let mut has_begun = false;
    let results = events.rest().await;
    let (last, before) = results.split_last().expect("a stream");
    for result in before {
        let result = &result["result"];
        let status = &result["statusUpdate"];
        if status.is_object() {
            assert_eq!(status["status"]["state"], "TASK_STATE_WORKING", "{result}");
            let words = words_of(&status["status"]["message"]["parts"]);
            let about = &status["metadata"];
            match text(&about["kind"]) {
                "" => assert_eq!(words, "", "{result}"),
                kind => received.piece(
                    kind,
                    text(&about["toolName"]),
                    text(&about["toolCallId"]),
                    &words,
                ),
            }
        }
        let update = &result["artifactUpdate"];
        if update.is_object() {
            assert_eq!(update["artifact"]["artifactId"], "reply", "{result}");
            assert_eq!(update["append"] == true, has_begun, "{result}");
            has_begun = true;
            received.piece("text", "", "", &words_of(&update["artifact"]["parts"]));
        }
    }
    let end = &last["result"]["statusUpdate"];
    assert_eq!(end["status"]["state"], "TASK_STATE_COMPLETED", "{last}");
    received.stop_reason = end["metadata"]["stopReason"].as_str().map(str::to_owned);
    received
}

#[tokio::test]
async fn the_relay_gets_every_kind_of_every_driver() {
    let fixture = AgentsFixture::start().await;
    let platform = fixture.hub.platform();
    for row in rows() {
        let Row { driver, words, .. } = row;
        let body = json!({"agent_id": driver, "session_id": "s-1", "request_id": format!("r-{driver}"), "content": words});
        let mut events = platform.stream("/api/relay", body).await;
        let events_so_far = events.rest().await;
        let (last, chunks) = events_so_far.split_last().expect("a stream");
        let mut received = ReceivedAnswer::default();
        for chunk in chunks {
            assert_eq!(chunk["type"], "chunk", "{driver}: {chunk}");
            let kind = chunk["kind"].as_str().unwrap_or("text");
            let (tool, id) = (text(&chunk["tool_name"]), text(&chunk["tool_call_id"]));
            received.piece(kind, tool, id, text(&chunk["delta"]));
        }
        received.expect(&row);
        // The protocol can't carry usage and stop reason.
        assert_eq!(*last, json!({"type": "done"}), "{driver}");
    }
}

#[tokio::test]
async fn a_team_is_shown_every_kind_of_every_driver() {
    let fixture = AgentsFixture::start().await;
    let drivers = rows().map(|row| row.driver);
    let mut viewer = watched_crew(&fixture.hub, &drivers).await;
    for row in rows() {
        say(&mut viewer, row.driver, row.words).await;
        let received = read_team(row.driver, until_rest(&mut viewer).await);
        received.expect(&row);
        assert_eq!(received.usage, row.usage, "{}", row.driver);
    }
}

/// Translates a member's team events to the terms of the other protocols.
fn read_team(member: &str, shown: Vec<(String, Value)>) -> ReceivedAnswer {
    let mut received = ReceivedAnswer::default();
    let mut running = None;
    for (kind, payload) in shown {
        if kind == "TEAM_STATUS" {
            continue;
        }
        assert_eq!(payload["agent_name"], member, "{kind} {payload}");
        let segment = (text(&payload["segment_type"]), text(&payload["id"]));
        // The placeholder for status lines outside of tools is no tool.
        let of_tool = (&payload["tool_name"], &payload["metadata"]["tool_name"]);
        if kind != "TOOL_LOG" && (of_tool.0 == "status" || of_tool.1 == "status") {
            continue;
        }
        match (&*kind, segment) {
            ("INTER_AGENT_MESSAGE", _) => assert_eq!(payload["message_type"], "user_message"),
            ("SEGMENT_START", ("tool_call", id)) => {
                received.piece(
                    "tool_start",
                    text(&payload["metadata"]["tool_name"]),
                    id,
                    "",
                );
            }
            ("SEGMENT_CONTENT", (segment, id)) => {
                let (kind, id) = match segment {
                    "tool_call" => ("tool_input", id),
                    "reasoning" => ("thinking", ""),
                    "text" => ("text", ""),
                    _ => panic!("{payload}"),
                };
                received.piece(kind, "", id, text(&payload["delta"]));
            }
            ("TOOL_EXECUTION_STARTED", _) => running = Some(payload["invocation_id"].clone()),
            ("TOOL_EXECUTION_SUCCEEDED", _) => {
                let id = &payload["invocation_id"];
                assert_eq!(running.take().as_ref(), Some(id), "{payload}");
                received.piece("tool_result", "", text(id), text(&payload["result"]));
            }
            ("TOOL_EXECUTION_FAILED", _) => {
                let id = &payload["invocation_id"];
                assert_eq!(running.take().as_ref(), Some(id), "{payload}");
                let error = text(&payload["error"]);
                // A tool without a result ends with the turn.
                if error == "the agent did not report a result" {
                    continue;
                }
                let failed = format!("[error] {error}");
                received.piece("tool_result", "", text(id), &failed);
            }
            ("TOOL_LOG", _) => received.piece("status", "", "", text(&payload["log_entry"])),
            ("ASSISTANT_COMPLETE", _) => {
                let mut last_text = received.pieces.iter().rev();
                let last_text = last_text.find(|(kind, ..)| kind == "text");
                let last_text = last_text.expect("it said something");
                assert_eq!(payload["content"], *last_text.3, "{payload}");
                received.usage = payload["usage"].clone();
            }
            ("SEGMENT_START" | "SEGMENT_END" | "AGENT_STATUS", _) => {}
            _ => panic!("{kind} {payload}"),
        }
    }
    received
}
