//! Parser of team envelopes; unwraps nested teams. Pure, used by both views.

use serde_json::Value;

use crate::output::{items, text};

/// Maximum nesting of teams; the hub allows no more.
const DEPTH: usize = 16;

/// An event of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TeamEvent<'a> {
    /// Path of sub-teams to the event, joined by `/`; empty for the team itself.
    pub(super) team: String,
    pub(super) what: TeamEventKind<'a>,
}

/// Content of an event.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TeamEventKind<'a> {
    /// New status of the team.
    Team { status: &'a str, error: &'a str },
    /// New tasks on the board.
    Tasks(&'a [Value]),
    /// New status of a task on the board.
    Task {
        id: &'a str,
        status: &'a str,
        by: &'a str,
        gave: &'a [Value],
    },
    /// An event of a member.
    Member {
        name: &'a str,
        deed: MemberAction<'a>,
    },
}

/// Event of a member.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MemberAction<'a> {
    Status {
        status: &'a str,
        tool: &'a str,
        error: &'a str,
    },
    /// Start of a segment; `tool` is the tool's name in a tool segment.
    Begins {
        id: &'a str,
        kind: StreamKind,
        tool: &'a str,
    },
    Says {
        id: &'a str,
        /// For viewers who missed the start.
        kind: StreamKind,
        delta: &'a str,
    },
    Ends {
        id: &'a str,
        arguments: &'a Value,
    },
    /// Complete answer.
    Answers(&'a str),
    /// A step of a tool use.
    Tool {
        id: &'a str,
        tool: &'a str,
        step: ToolStep<'a>,
    },
    /// A message from a different member.
    Hears {
        from: &'a str,
        content: &'a str,
    },
    /// A notification of the hub or the runtime.
    Told(&'a str),
    /// The member's own to-do list.
    Todos(&'a [Value]),
    /// A file that was created or changed.
    Made(&'a str),
    Fails {
        code: &'a str,
        message: &'a str,
    },
}

/// Kind of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamKind {
    Text,
    Thinking,
    Tool,
}

/// Step of a tool use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ToolStep<'a> {
    Asks(MemberQuestion<'a>),
    Approved,
    Denied(&'a str),
    Runs(&'a Value),
    Succeeded(&'a Value),
    Failed(&'a str),
    Logs(&'a str),
}

/// A member's question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MemberQuestion<'a> {
    /// Text of the question; older hubs do not send it.
    pub(super) message: &'a str,
    pub(super) arguments: &'a Value,
}

impl<'a> MemberQuestion<'a> {
    /// Reads a question from an event or from a snapshot.
    pub(super) fn of(data: &'a Value) -> Self {
        Self {
            message: text(data, "message"),
            arguments: &data["arguments"],
        }
    }
}

impl TeamEvent<'_> {
    /// Returns the member's route key, or the sub-team's path.
    pub(super) fn place(&self) -> String {
        match &self.what {
            TeamEventKind::Member { name, .. } if self.team.is_empty() => (*name).to_owned(),
            TeamEventKind::Member { name, .. } => format!("{}/{name}", self.team),
            _ => self.team.clone(),
        }
    }

    /// Returns whether the event only changes the team's status or board, which a newer snapshot includes.
    pub(super) fn is_standing(&self) -> bool {
        match &self.what {
            TeamEventKind::Team { .. } | TeamEventKind::Tasks(_) | TeamEventKind::Task { .. } => {
                self.team.is_empty()
            }
            TeamEventKind::Member { .. } => false,
        }
    }
}

/// Parses an envelope into [`TeamEvent`]; `None` for unknown events of newer hubs.
pub(super) fn read(envelope: &Value) -> Option<TeamEvent<'_>> {
    let mut team = String::new();
    let mut event = envelope;
    for _ in 0..=DEPTH {
        let data = &event["data"];
        let what = match text(event, "event_source_type") {
            "SUB_TEAM" => {
                let node = text(data, "sub_team_node_name").trim();
                if !team.is_empty() && !node.is_empty() {
                    team.push('/');
                }
                team += node;
                event = &data["sub_team_event"];
                continue;
            }
            "TEAM" => TeamEventKind::Team {
                status: text(data, "new_status"),
                error: text(data, "error_message"),
            },
            "TASK_PLAN" => plan(data)?,
            "AGENT" => TeamEventKind::Member {
                name: text(data, "agent_name"),
                deed: deed(&data["agent_event"])?,
            },
            _ => return None,
        };
        return Some(TeamEvent { team, what });
    }
    None
}

fn plan(data: &Value) -> Option<TeamEventKind<'_>> {
    if data["tasks"].is_array() {
        return Some(TeamEventKind::Tasks(items(data, "tasks")));
    }
    let id = data["task_id"].as_str()?;
    Some(TeamEventKind::Task {
        id,
        status: text(data, "new_status"),
        by: text(data, "agent_name"),
        gave: items(data, "deliverables"),
    })
}

fn deed(event: &Value) -> Option<MemberAction<'_>> {
    let data = &event["data"];
    let of = |key: &str| text(data, key);
    let tool = |step| {
        let id = match step {
            ToolStep::Logs(_) => of("tool_invocation_id"),
            _ => of("invocation_id"),
        };
        let tool = of("tool_name");
        MemberAction::Tool { id, tool, step }
    };
    Some(match text(event, "event_type") {
        "segment_event" => return segment(data),
        "agent_status_updated" => MemberAction::Status {
            status: of("new_status"),
            tool: of("tool_name"),
            error: of("error_message"),
        },
        "assistant_complete_response" => MemberAction::Answers(of("content")),
        "tool_approval_requested" => tool(ToolStep::Asks(MemberQuestion::of(data))),
        "tool_approved" => tool(ToolStep::Approved),
        "tool_denied" => tool(ToolStep::Denied(either(of("reason"), of("error")))),
        "tool_execution_started" => tool(ToolStep::Runs(&data["arguments"])),
        "tool_execution_succeeded" => tool(ToolStep::Succeeded(&data["result"])),
        "tool_execution_failed" => tool(ToolStep::Failed(of("error"))),
        "tool_interaction_log_entry" => tool(ToolStep::Logs(of("log_entry"))),
        "inter_agent_message" => MemberAction::Hears {
            from: of("sender_agent_id"),
            content: of("content"),
        },
        "system_task_notification" => MemberAction::Told(of("content")),
        "agent_todo_list_updated" => MemberAction::Todos(items(data, "todos")),
        "artifact_persisted" | "artifact_updated" => MemberAction::Made(of("path")),
        "error_event" => MemberAction::Fails {
            code: of("code"),
            message: of("message"),
        },
        _ => return None,
    })
}

fn segment(data: &Value) -> Option<MemberAction<'_>> {
    let id = text(data, "segment_id");
    let (payload, metadata) = (&data["payload"], &data["payload"]["metadata"]);
    let kind = match text(data, "segment_type") {
        "" | "text" => StreamKind::Text,
        "reasoning" => StreamKind::Thinking,
        "media" => return media(data),
        _ => StreamKind::Tool,
    };
    Some(match either(text(data, "type"), text(data, "event_type")) {
        "SEGMENT_START" => MemberAction::Begins {
            id,
            kind,
            // A tool without a name is called by its segment type, such as run_bash.
            tool: either(text(metadata, "tool_name"), text(data, "segment_type")),
        },
        "SEGMENT_CONTENT" => MemberAction::Says {
            id,
            kind,
            delta: text(payload, "delta"),
        },
        "SEGMENT_END" => MemberAction::Ends {
            id,
            arguments: &metadata["arguments"],
        },
        _ => return None,
    })
}

/// Images and sound are only named, by the first link.
fn media(data: &Value) -> Option<MemberAction<'_>> {
    let url = data["payload"]["metadata"]["urls"][0].as_str()?;
    Some(MemberAction::Made(url))
}

fn either<'a>(first: &'a str, second: &'a str) -> &'a str {
    if first.is_empty() { second } else { first }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(event_type: &str, data: Value) -> Value {
        let mut event = json!({"event_id": "i", "event_type": event_type});
        event["data"] = data;
        json!({"event_id": "e", "timestamp": "2026-03-01T10:00:00Z", "team_id": "shop", "event_source_type": "AGENT",
               "data": {"agent_name": "dba", "agent_event": event}})
    }

    fn inside(node: &str, event: &Value) -> Value {
        json!({"event_id": "e", "timestamp": "t", "team_id": "t", "event_source_type": "SUB_TEAM",
               "data": {"sub_team_node_name": node, "sub_team_event": event}})
    }

    fn deed_of(envelope: &Value) -> MemberAction<'_> {
        match read(envelope).map(|news| news.what) {
            Some(TeamEventKind::Member { deed, .. }) => deed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_example_of_the_seed_is_text() {
        let envelope = json!({"event_id": "uuid-string-1234", "timestamp": "2026-01-06T12:00:00Z", "team_id": "team-primary",
            "event_source_type": "AGENT", "data": {"agent_name": "Researcher_1", "agent_event": {"event_id": "evt-5678",
            "timestamp": "...", "agent_id": "agent-uuid-001", "event_type": "segment_event",
            "data": {"type": "SEGMENT_CONTENT", "payload": {"delta": "Analysis "}}}}});
        let news = read(&envelope).unwrap();
        assert_eq!(news.place(), "Researcher_1");
        let says = MemberAction::Says {
            id: "",
            kind: StreamKind::Text,
            delta: "Analysis ",
        };
        assert_eq!(deed_of(&envelope), says);
    }

    #[test]
    fn a_place_is_the_route_from_the_outermost_team() {
        let event = agent("error_event", json!({"code": "X", "message": "quota"}));
        assert_eq!(read(&event).unwrap().place(), "dba");
        let nested = inside("backend", &inside(" ", &inside("db", &event)));
        assert_eq!(read(&nested).unwrap().place(), "backend/db/dba");
        let status = json!({"event_source_type": "TEAM", "data": {"new_status": "ERROR", "error_message": "no"}});
        let nested = inside("backend", &status);
        let news = read(&nested).unwrap();
        assert_eq!(news.place(), "backend");
        assert!(!news.is_standing() && read(&status).unwrap().is_standing());
    }

    #[test]
    fn what_nobody_knows_or_nests_for_ever_is_nothing() {
        assert_eq!(read(&json!({"event_source_type": "NEW"})), None);
        assert_eq!(read(&json!([])), None);
        assert_eq!(read(&agent("assistant_chunk", json!({}))), None);
        assert_eq!(read(&inside("a", &json!("no event"))), None);
        let mut event = agent("error_event", json!({}));
        for _ in 0..DEPTH {
            event = inside("a", &event);
        }
        assert!(read(&event).is_some());
        assert_eq!(read(&inside("a", &event)), None);
    }

    #[test]
    fn segments_are_told_apart_by_what_they_are() {
        let start = |segment_type: &str, payload: Value| {
            agent(
                "segment_event",
                json!({"event_type": "SEGMENT_START", "segment_id": "s", "segment_type": segment_type, "payload": payload}),
            )
        };
        let begins = |kind, tool| MemberAction::Begins {
            id: "s",
            kind,
            tool,
        };
        let tool = start("tool_call", json!({"metadata": {"tool_name": "grep"}}));
        assert_eq!(deed_of(&tool), begins(StreamKind::Tool, "grep"));
        let bash = start("run_bash", json!({}));
        assert_eq!(deed_of(&bash), begins(StreamKind::Tool, "run_bash"));
        let thinking = start("reasoning", json!({}));
        assert_eq!(
            deed_of(&thinking),
            begins(StreamKind::Thinking, "reasoning")
        );
        let urls = json!({"metadata": {"media_type": "image", "urls": ["http://x/a.png"]}});
        assert_eq!(
            deed_of(&start("media", urls)),
            MemberAction::Made("http://x/a.png")
        );
    }

    #[test]
    fn both_payloads_of_a_board_are_read() {
        let plan = |data: Value| json!({"event_source_type": "TASK_PLAN", "data": data});
        let created = plan(json!({"team_id": "t", "tasks": [{"id": "t1"}]}));
        assert_eq!(
            read(&created).unwrap().what,
            TeamEventKind::Tasks(&[json!({"id": "t1"})])
        );
        let set = plan(
            json!({"team_id": "t", "task_id": "t1", "new_status": "completed", "agent_name": "dev"}),
        );
        let task = TeamEventKind::Task {
            id: "t1",
            status: "completed",
            by: "dev",
            gave: &[],
        };
        assert_eq!(read(&set).unwrap().what, task);
        assert_eq!(read(&plan(json!({"team_id": "t"}))), None);
    }

    #[test]
    fn each_step_of_a_tool_is_read() {
        let data = json!({"invocation_id": "c", "tool_invocation_id": "c", "tool_name": "grep", "arguments": {"q": 1},
                          "result": [1], "error": "no", "log_entry": "at it", "message": "may I?"});
        let ask = MemberQuestion {
            message: "may I?",
            arguments: &data["arguments"],
        };
        for (event_type, step) in [
            ("tool_approval_requested", ToolStep::Asks(ask)),
            ("tool_approved", ToolStep::Approved),
            ("tool_denied", ToolStep::Denied("no")),
            ("tool_execution_started", ToolStep::Runs(&data["arguments"])),
            (
                "tool_execution_succeeded",
                ToolStep::Succeeded(&data["result"]),
            ),
            ("tool_execution_failed", ToolStep::Failed("no")),
            ("tool_interaction_log_entry", ToolStep::Logs("at it")),
        ] {
            let (id, tool) = ("c", "grep");
            let envelope = agent(event_type, data.clone());
            assert_eq!(deed_of(&envelope), MemberAction::Tool { id, tool, step });
        }
    }
}
