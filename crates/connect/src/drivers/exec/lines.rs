//! The lines of JSON that a command prints and reads with `--format jsonl`. Pure.
//!
//! The command prints chunk objects, one per line ([`read`]). The default `kind` is `text`:
//!
//! ```json
//! {"kind": "text", "text": "a piece of the answer"}
//! {"kind": "thinking", "text": "its reasoning"}
//! {"kind": "status", "text": "what it is doing"}
//! {"kind": "tool_start", "tool_name": "search", "tool_call_id": "t1"}
//! {"kind": "tool_input", "tool_call_id": "t1", "text": "{\"q\": \"crabs\"}"}
//! {"kind": "tool_result", "tool_call_id": "t1", "text": "3 hits"}
//! {"kind": "session", "id": "what it calls the conversation; it gets it again with the next message"}
//! {"kind": "usage", "usage": {"tokens": 12}}
//! {"kind": "stop_reason", "text": "end_turn"}
//! {"kind": "ask", "text": "which one?", "schema": {"type": "string"}}
//! {"kind": "approval", "tool_name": "delete", "arguments": {"path": "x"}}
//! {"kind": "error", "code": "quota", "text": "no more today"}
//! ```
//!
//! The first input line is the [`message`]. Each further line is the answer to a question of the command:
//!
//! ```json
//! {"kind": "message", "text": "...", "session": "...", "native_session": null, "caller": "alice", "files": []}
//! {"kind": "answer", "text": "the blue one"}
//! {"kind": "decision", "approved": false, "reason": "not today"}
//! ```
//!
//! The input stays open while the command runs, so the command must read a line and not up to the end. An output line
//! that is not JSON is shown as status. An object of an unknown kind is ignored.

use jackfield_sdk::{AgentFailure, CallerAnswer, CallerQuestion};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{OutputItem, OwnerDecision, Turn};

/// Meaning of an output line.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandOutput {
    /// Output for the caller, see [`DriverOutput::send`](crate::DriverOutput::send).
    Said(OutputItem),
    /// A question to the caller; the command waits for the answer.
    Ask(CallerQuestion),
    /// An approval question to the owner; the command waits for the decision.
    Approval {
        /// Name of the tool.
        tool: String,
        /// Arguments of the tool call.
        arguments: Value,
    },
    /// The command reports a failure.
    Failed(AgentFailure),
    /// An empty line, or an unknown kind.
    Nothing,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CommandObject {
    kind: Option<String>,
    text: String,
    tool_name: String,
    tool_call_id: String,
    id: String,
    code: Option<String>,
    usage: Value,
    schema: Option<Value>,
    arguments: Value,
}

/// Parses an output line of a command.
pub fn read(line: &str) -> CommandOutput {
    if line.trim().is_empty() {
        return CommandOutput::Nothing;
    }
    let Ok(object) = serde_json::from_str::<CommandObject>(line) else {
        return CommandOutput::Said(OutputItem::Status(line.to_owned()));
    };
    let CommandObject {
        text,
        tool_name,
        tool_call_id,
        ..
    } = object;
    CommandOutput::Said(match object.kind.as_deref().unwrap_or("text") {
        "text" => OutputItem::Text(text),
        "thinking" => OutputItem::Thinking(text),
        "status" => OutputItem::Status(text),
        "tool_start" => OutputItem::ToolStart {
            name: tool_name,
            id: tool_call_id,
        },
        "tool_input" => OutputItem::ToolInput {
            id: tool_call_id,
            text,
        },
        "tool_result" => OutputItem::ToolResult {
            id: tool_call_id,
            text,
        },
        "session" if !object.id.is_empty() => OutputItem::Session(object.id),
        "usage" => OutputItem::Usage(object.usage),
        "stop_reason" => OutputItem::StopReason(text),
        "ask" => {
            let question = CallerQuestion::new(text);
            return CommandOutput::Ask(match object.schema {
                Some(schema) => question.schema(schema),
                None => question,
            });
        }
        "approval" => {
            return CommandOutput::Approval {
                tool: tool_name,
                arguments: object.arguments,
            };
        }
        "error" => {
            let code = object.code.unwrap_or_else(|| "agent_error".to_owned());
            return CommandOutput::Failed(AgentFailure::new(code, text));
        }
        _ => return CommandOutput::Nothing,
    })
}

/// Builds the input line with the message of a [`Turn`].
pub fn message(turn: &Turn) -> Value {
    json!({
        "kind": "message",
        "text": turn.message.text,
        "session": turn.message.session,
        "native_session": turn.native_session,
        "caller": turn.message.caller,
        "files": turn.files,
    })
}

/// Builds the input line with the caller's [`CallerAnswer`].
pub fn answer(answer: &CallerAnswer) -> Value {
    json!({"kind": "answer", "text": answer.text})
}

/// Builds the input line with the owner's [`OwnerDecision`].
pub fn decision(decision: &OwnerDecision) -> Value {
    json!({"kind": "decision", "approved": decision.approved, "reason": decision.reason})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> OutputItem {
        match read(line) {
            CommandOutput::Said(said) => said,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_kind_of_line_is_what_it_says() {
        assert_eq!(said(r#"{"text":"a"}"#), OutputItem::Text("a".to_owned()));
        assert_eq!(
            said(r#"{"kind":"thinking","text":"b"}"#),
            OutputItem::Thinking("b".to_owned())
        );
        assert_eq!(
            said(r#"{"kind":"tool_start","tool_name":"search","tool_call_id":"t1"}"#),
            OutputItem::ToolStart {
                name: "search".to_owned(),
                id: "t1".to_owned()
            }
        );
        assert_eq!(
            said(r#"{"kind":"tool_result","tool_call_id":"t1","text":"3 hits"}"#),
            OutputItem::ToolResult {
                id: "t1".to_owned(),
                text: "3 hits".to_owned()
            }
        );
        assert_eq!(
            said(r#"{"kind":"session","id":"s"}"#),
            OutputItem::Session("s".to_owned())
        );
        assert_eq!(
            said(r#"{"kind":"usage","usage":{"tokens":12}}"#),
            OutputItem::Usage(json!({"tokens": 12}))
        );
        assert_eq!(
            read(r#"{"kind":"approval","tool_name":"rm","arguments":{"path":"x"}}"#),
            CommandOutput::Approval {
                tool: "rm".to_owned(),
                arguments: json!({"path": "x"})
            }
        );
        assert_eq!(
            read(r#"{"kind":"ask","text":"which?","schema":{"type":"string"}}"#),
            CommandOutput::Ask(CallerQuestion::new("which?").schema(json!({"type": "string"})))
        );
        assert_eq!(
            read(r#"{"kind":"error","text":"no"}"#),
            CommandOutput::Failed(AgentFailure::new("agent_error", "no"))
        );
    }

    #[test]
    fn what_is_not_known_harms_nobody() {
        for nothing in [
            "",
            "  ",
            r#"{"kind":"song","text":"la"}"#,
            r#"{"kind":"session"}"#,
        ] {
            assert_eq!(read(nothing), CommandOutput::Nothing, "{nothing}");
        }
        for odd in ["Loading model...", "[1]", r#"{"text":1}"#, "{"] {
            assert_eq!(said(odd), OutputItem::Status(odd.to_owned()));
        }
    }
}
