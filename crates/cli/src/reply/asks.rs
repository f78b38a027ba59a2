//! Open questions of an agent to the user at the terminal, shown one after the other.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::{
    output::{self, Style, text},
    prompt, shell,
};

/// Maximum number of characters shown of a tool's arguments.
const MOST_ARGUMENTS: usize = 2000;

/// Queue of questions to the user.
#[derive(Debug, Default)]
pub(super) struct QuestionPrompts {
    /// Ids of approvals that were shown already.
    seen: Vec<Value>,
    waiting: VecDeque<Value>,
    shown: Option<(Value, oneshot::Receiver<Option<String>>)>,
}

impl QuestionPrompts {
    /// Returns whether an approval is new, and marks the approval as seen.
    pub(super) fn is_new(&mut self, ask: &Value) -> bool {
        let id = &ask["id"];
        let is_new = !self.seen.contains(id);
        if is_new {
            self.seen.push(id.clone());
        }
        is_new
    }

    /// Asks the user at the terminal; returns false without a terminal.
    pub(super) fn ask(&mut self, ask: Value) -> bool {
        if !prompt::is_interactive() {
            return false;
        }
        self.waiting.push_back(ask);
        self.prompt_next();
        true
    }

    /// Shows the next question, unless a question is already shown.
    pub(super) fn prompt_next(&mut self) {
        if self.shown.is_none()
            && let Some(ask) = self.waiting.pop_front()
        {
            output::print_message_part(&question(&ask));
            self.shown = Some((ask, prompt::line()));
        }
    }

    /// Waits for the answer to the current question. Never returns without a current question.
    pub(super) async fn answered(&mut self) -> (Value, Option<String>) {
        let Some((_, line)) = &mut self.shown else {
            return std::future::pending().await;
        };
        let line = line.await.ok().flatten();
        let ask = self.shown.take().map(|(ask, _)| ask);
        (ask.unwrap_or_default(), line)
    }
}

/// Formats a question for the terminal.
pub(crate) fn question(ask: &Value) -> String {
    let style = Style::stderr();
    let what = style.bold(&words(ask));
    if !is_approval(ask) {
        return format!("{what}\n> ");
    }
    let tool = match tool(ask) {
        tool if tool.is_empty() => tool,
        tool => format!("{}\n", style.dim(&tool)),
    };
    format!("{what}\n{tool}approve? [y/N, or a reason against it] ")
}

/// Returns the question on one line: the text, and the tool that needs the approval.
pub(crate) fn one_line(ask: &Value) -> String {
    let words = output::clean(&words(ask));
    match tool(ask) {
        tool if tool.is_empty() => words,
        tool => format!("{words} [{tool}]"),
    }
}

/// Returns the text of a question, or a default if the agent gave none.
fn words(ask: &Value) -> String {
    let words = output::clean_lines(text(ask, "text"));
    match words.trim() {
        "" if !is_approval(ask) => "(the agent waits for an answer)".to_owned(),
        "" if tool(ask).is_empty() => "may I go on?".to_owned(),
        "" => "may I do this?".to_owned(),
        _ => words,
    }
}

/// Returns the tool to approve, with at most [`MOST_ARGUMENTS`] characters of arguments.
fn tool(ask: &Value) -> String {
    let mut tool = output::clean(text(ask, "tool_name"));
    if !ask["arguments"].is_null() {
        let arguments = output::clean(&ask["arguments"].to_string());
        tool += " ";
        tool.extend(arguments.chars().take(MOST_ARGUMENTS));
        let left = arguments.chars().count().saturating_sub(MOST_ARGUMENTS);
        if left > 0 {
            tool += &format!(" … {left} more characters (--json shows all)");
        }
    }
    tool.trim().to_owned()
}

/// Returns whether the question is for an approval, not for text.
pub(crate) fn is_approval(ask: &Value) -> bool {
    text(ask, "kind") == "approval"
}

/// Returns the command that answers a question. An approval has one line per answer: a single line with both
/// commands, pasted into a shell, would approve.
pub(crate) fn command(call: &str, ask: &Value, flags: &str) -> String {
    let about = [call, text(ask, "id")];
    if is_approval(ask) {
        let [approve, deny] = decisions(&about, flags);
        return format!("approve with: {approve}\ndeny with: {deny}");
    }
    let answer = shell::command("task answer", &about, "TEXT", flags);
    format!("answer with: {answer}")
}

/// Returns the commands that approve and deny.
fn decisions(about: &[&str], flags: &str) -> [String; 2] {
    ["--approve", "--deny"].map(|how| shell::command("task answer", about, how, flags))
}

/// Describes an approval that a different user must give, and the commands for that user. Our own flags do
/// not apply to the other user.
pub(crate) fn for_other_owner(call: &str, approval: &Value) -> (String, String) {
    let owner = output::clean(text(approval, "owner"));
    let mut what = format!("{owner} must approve this before the agent continues");
    if let Some(tool) = approval["tool_name"].as_str() {
        what += &format!(" [{}]", output::clean(tool));
    }
    let [approve, deny] = decisions(&[call, text(approval, "ask_id")], "");
    (
        what,
        format!("{owner} approves with: {approve}\n{owner} denies with: {deny}"),
    )
}

/// Returns the request body for an answer. Every answer to an approval but yes means no, with the text as the
/// reason.
pub(crate) fn answer_body(ask: &Value, line: &str) -> Value {
    let id = &ask["id"];
    if !is_approval(ask) {
        return json!({"ask_id": id, "content": line});
    }
    let approved = prompt::is_yes(line);
    let reason = line.trim();
    match reason.to_ascii_lowercase().as_str() {
        "" | "n" | "no" | "y" | "yes" => json!({"ask_id": id, "approved": approved}),
        _ => json!({"ask_id": id, "approved": approved, "reason": reason}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_approved_is_shown_bounded_and_cleaned() {
        let ask = json!({"id": "q", "kind": "approval", "text": "", "tool_name": "rm\u{1b} -rf", "arguments": {"path": "/"}});
        assert_eq!(one_line(&ask), r#"may I do this? [rm  -rf {"path":"/"}]"#);
        assert!(question(&ask).contains(r#"rm  -rf {"path":"/"}"#));
        let long = json!({"kind": "approval", "text": "may I?", "arguments": "x".repeat(3000)});
        let shown = one_line(&long);
        assert!(shown.len() < 2100 && shown.contains("1002 more characters"));
        let bare = |kind: &str| one_line(&json!({"kind": kind, "text": " "}));
        assert_eq!(bare("approval"), "may I go on?");
        assert_eq!(bare("input"), "(the agent waits for an answer)");
    }

    #[test]
    fn the_id_of_a_question_does_not_become_a_command() {
        let ask = json!({"id": "q; touch PWNED #", "ask_id": "$(id)", "kind": "approval", "owner": "ann"});
        assert_eq!(
            command("c1", &ask, " --hub http://h"),
            "approve with: jackfield task answer c1 'q; touch PWNED #' --approve --hub http://h\n\
             deny with: jackfield task answer c1 'q; touch PWNED #' --deny --hub http://h"
        );
        assert_eq!(
            for_other_owner("c1", &ask).1,
            "ann approves with: jackfield task answer c1 '$(id)' --approve\n\
             ann denies with: jackfield task answer c1 '$(id)' --deny"
        );
    }

    #[test]
    fn only_yes_approves() {
        let ask = json!({"id": "q", "kind": "approval", "text": "may I?"});
        let told = |line: &str| answer_body(&ask, line);
        assert_eq!(told("Y"), json!({"ask_id": "q", "approved": true}));
        assert_eq!(told(""), json!({"ask_id": "q", "approved": false}));
        assert_eq!(
            told("yes but later"),
            json!({"ask_id": "q", "approved": false, "reason": "yes but later"})
        );
        let input = json!({"id": "q", "kind": "input", "text": "which?"});
        assert_eq!(
            answer_body(&input, "no"),
            json!({"ask_id": "q", "content": "no"})
        );
    }
}
