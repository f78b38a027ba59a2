//! One-line descriptions of events with their tone, for both views.

use serde_json::Value;

use super::team_event::{MemberAction, MemberQuestion};
use crate::{
    output::{clean, text},
    shell::{command, word},
};

/// Importance of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// Secondary.
    Quiet,
    /// Needs attention.
    Loud,
    /// An error.
    Bad,
}

/// Maximum number of characters of a value on a line.
const SHORT: usize = 120;

/// Returns the line for a member's event ([`MemberAction`]); `None` for events without a line.
pub(super) fn event_line(deed: &MemberAction<'_>) -> Option<(Tone, String)> {
    Some(match deed {
        MemberAction::Status {
            status,
            tool,
            error,
        } => {
            let tone = if *status == "error" {
                Tone::Bad
            } else {
                Tone::Quiet
            };
            let mut line = format!("· {}", clean(status));
            if !tool.is_empty() {
                line += &format!(" {}", clean(tool));
            }
            if !error.is_empty() {
                line += &format!(": {}", clean(error));
            }
            (tone, line)
        }
        MemberAction::Hears { from, content } => {
            let line = format!("← {}: {}", clean(from), clean(content));
            (Tone::Plain, line)
        }
        MemberAction::Told(content) => (Tone::Plain, format!("← {}", clean(content))),
        MemberAction::Todos(todos) => (Tone::Quiet, to_do(todos)),
        MemberAction::Made(path) => (Tone::Plain, format!("made {}", clean(path))),
        // The hub reports a stop as this failure.
        MemberAction::Fails {
            code: "cancelled", ..
        } => (Tone::Loud, "stopped".to_owned()),
        MemberAction::Fails { code, message } => (
            Tone::Bad,
            format!("failed, {}: {}", clean(code), clean(message)),
        ),
        MemberAction::Begins { .. }
        | MemberAction::Says { .. }
        | MemberAction::Ends { .. }
        | MemberAction::Answers(_)
        | MemberAction::Tool { .. } => return None,
    })
}

fn to_do(todos: &[Value]) -> String {
    let one = |todo: &Value| {
        let mark = match text(todo, "status") {
            "done" => "✓",
            "in_progress" => "▸",
            _ => "·",
        };
        format!("{mark} {}", clean(text(todo, "description")))
    };
    let todos: Vec<_> = todos.iter().map(one).collect();
    format!("to do: {}", todos.join(", "))
}

/// Returns the name of a task, or its description if there is no name.
pub(super) fn task_name(task: &Value) -> &str {
    let named = ["task_name", "description", "task_id", "id"];
    let names = named.iter().map(|key| text(task, key));
    names
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or("?")
}

/// Returns the id of a task, in either spelling.
pub(super) fn task_id(task: &Value) -> &str {
    task["task_id"].as_str().unwrap_or(text(task, "id"))
}

/// Returns the status of a task; a new task may have none.
pub(super) fn task_status(task: &Value) -> &str {
    task["status"].as_str().unwrap_or("not_started")
}

/// Formats a foreign value on one line.
pub(super) fn whole(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => clean(text),
        other => clean(&other.to_string()),
    }
}

/// Formats a foreign value like [`whole`], truncated to [`SHORT`] characters.
pub(super) fn short(value: &Value) -> String {
    let whole = whole(value);
    match whole.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

/// Tool name that the hub uses for a question for text.
const QUESTION: &str = "ask_user";

/// Returns whether the tool name means a question for text, not an approval.
pub(super) fn is_question(tool: &str) -> bool {
    tool == QUESTION
}

/// Returns a member's question on one line. Shows a question once, even if it is repeated in the arguments.
pub(super) fn asked(tool: &str, ask: MemberQuestion<'_>) -> String {
    let (tool, message) = (clean(tool), clean(ask.message));
    let arguments = match ask.arguments["question"].as_str() {
        Some(question) if question == ask.message => String::new(),
        _ => short(ask.arguments),
    };
    let what = format!("? {tool} {arguments}");
    match (what.trim_end(), &*message) {
        (what, "") => what.to_owned(),
        (what, message) => format!("{what}: {message}"),
    }
}

/// Returns the command that answers a member. Text from members must not become a command.
pub(super) fn how_to_answer(
    team: &str,
    key: &str,
    tool: &str,
    invocation: &str,
    flags: &str,
) -> String {
    let key = word(key);
    if is_question(tool) {
        let rest = format!("--to {key} \"…\"");
        return command("team say", &[team], &rest, flags);
    }
    let rest = format!("--member {key}");
    command("team approve", &[team, invocation], &rest, flags)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_members_say_does_not_become_a_command() {
        assert_eq!(
            how_to_answer("shop", "backend/dba", "rm", "call_1", " --hub http://h"),
            "jackfield team approve shop call_1 --member backend/dba --hub http://h"
        );
        assert_eq!(
            how_to_answer("shop", "a b", "ask_user", "call_1", " --hub http://h"),
            "jackfield team say shop --to 'a b' \"…\" --hub http://h"
        );
        assert_eq!(
            how_to_answer("shop", "a", "rm", "$(id)", ""),
            "jackfield team approve shop '$(id)' --member a"
        );
    }

    #[test]
    fn a_task_has_a_name_in_either_spelling() {
        assert_eq!(
            task_name(&json!({"id": "t1", "description": "Research protocol"})),
            "Research protocol"
        );
        assert_eq!(
            task_name(&json!({"task_id": "t1", "task_name": "scan"})),
            "scan"
        );
        assert_eq!(task_id(&json!({"id": "t1"})), "t1");
        assert_eq!(task_status(&json!({})), "not_started");
    }

    #[test]
    fn what_is_asked_is_told_with_its_words_and_once() {
        let asks = |tool: &str, data: &Value| asked(tool, MemberQuestion::of(data));
        let leave = json!({"message": "delete\nit?", "arguments": {"path": "x"}});
        assert_eq!(asks("rm", &leave), r#"? rm {"path":"x"}: delete it?"#);
        let question = json!({"message": "which?", "arguments": {"question": "which?"}});
        assert_eq!(asks("ask_user", &question), "? ask_user: which?");
        // A hub that does not send the message.
        let older = json!({"arguments": {"path": "x"}});
        assert_eq!(asks("rm", &older), r#"? rm {"path":"x"}"#);
        assert_eq!(asks("rm", &json!({})), "? rm");
    }

    #[test]
    fn a_long_value_is_cut() {
        assert_eq!(short(&json!({"q": "x"})), r#"{"q":"x"}"#);
        assert_eq!(short(&Value::Null), "");
        assert_eq!(short(&json!("ä".repeat(500))).chars().count(), SHORT + 1);
    }
}
