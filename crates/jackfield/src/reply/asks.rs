//! The questions of an agent that wait for the person at the terminal: shown one after another.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::{
    output::{self, Style, text},
    prompt,
};

/// Questions that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Asks {
    /// The ids of the approvals that were seen.
    seen: Vec<Value>,
    waiting: VecDeque<Value>,
    shown: Option<(Value, oneshot::Receiver<Option<String>>)>,
}

impl Asks {
    /// Whether an approval was not seen before.
    pub(super) fn is_new(&mut self, ask: &Value) -> bool {
        let id = &ask["id"];
        let is_new = !self.seen.contains(id);
        if is_new {
            self.seen.push(id.clone());
        }
        is_new
    }

    /// Asks the person at the terminal; false if there is none.
    pub(super) fn ask(&mut self, ask: Value) -> bool {
        if !prompt::somebody_is_there() {
            return false;
        }
        self.waiting.push_back(ask);
        self.prompt_next();
        true
    }

    /// Shows the next question, if none is shown.
    pub(super) fn prompt_next(&mut self) {
        if self.shown.is_none()
            && let Some(ask) = self.waiting.pop_front()
        {
            output::murmur(&question(&ask));
            self.shown = Some((ask, prompt::line()));
        }
    }

    /// The answer to the question that is shown. Never, while there is none.
    pub(super) async fn answered(&mut self) -> (Value, Option<String>) {
        let Some((_, line)) = &mut self.shown else {
            return std::future::pending().await;
        };
        let line = line.await.ok().flatten();
        let ask = self.shown.take().map(|(ask, _)| ask);
        (ask.unwrap_or_default(), line)
    }
}

/// A question as the person at the terminal sees it.
pub(crate) fn question(ask: &Value) -> String {
    let style = Style::stderr();
    let what = style.bold(&output::clean_lines(text(ask, "text")));
    if text(ask, "kind") != "approval" {
        return format!("{what}\n> ");
    }
    let mut tool = output::clean(text(ask, "tool_name"));
    if !ask["arguments"].is_null() {
        tool += &format!(" {}", output::clean(&ask["arguments"].to_string()));
    }
    format!(
        "{what}\n{}\napprove? [y/N, or a reason against it] ",
        style.dim(&tool)
    )
}

/// The sentence that says by which command a question is answered.
pub(crate) fn command(call: &str, ask: &Value, flags: &str) -> String {
    let how = if text(ask, "kind") == "approval" {
        "--approve|--deny"
    } else {
        "TEXT"
    };
    let id = output::clean(text(ask, "id"));
    format!("answer with: jackfield task answer {call} {id} {how}{flags}")
}

/// What the hub is told. Anything but yes to an approval is no, and the reason.
pub(crate) fn answer_body(ask: &Value, line: &str) -> Value {
    let id = &ask["id"];
    if text(ask, "kind") != "approval" {
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
