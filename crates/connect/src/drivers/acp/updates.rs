//! Converts updates of an ACP agent into [`OutputItem`] items. Pure; keeps state to avoid repeated items.

use std::collections::HashMap;

use serde_json::Value;

use super::usage::TurnUsage;
use crate::OutputItem;

/// Most tool calls per turn that are distinguished.
const MOST_TOOLS: usize = 4096;

/// State of a turn's updates.
#[derive(Debug, Default)]
pub(super) struct UpdateReader {
    tools: HashMap<String, ToolProgress>,
    plan: String,
    /// Usage of the turn, as far as reported.
    pub(super) usage: TurnUsage,
    /// Number of updates of unknown kinds.
    pub(super) skipped: u64,
}

#[derive(Debug, Default)]
struct ToolProgress {
    is_input_told: bool,
    is_over: bool,
}

impl UpdateReader {
    /// Creates the state of a new turn.
    pub(super) fn new(usage: TurnUsage) -> Self {
        Self {
            usage,
            ..Self::default()
        }
    }

    /// Converts an update.
    pub(super) fn read_update(&mut self, update: &Value) -> Vec<OutputItem> {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => words(&update["content"], OutputItem::Text),
            "agent_thought_chunk" => words(&update["content"], OutputItem::Thinking),
            "tool_call" | "tool_call_update" => self.tool(update),
            "plan" => self.plan(update),
            "usage_update" => {
                self.usage.read_update(update);
                Vec::new()
            }
            // The caller's own message, and updates that only concern an editor.
            "user_message_chunk"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update" => Vec::new(),
            _ => {
                self.skipped += 1;
                Vec::new()
            }
        }
    }

    fn tool(&mut self, update: &Value) -> Vec<OutputItem> {
        let Some(id) = update["toolCallId"].as_str() else {
            self.skipped += 1;
            return Vec::new();
        };
        let mut said = Vec::new();
        if !self.tools.contains_key(id) {
            if self.tools.len() >= MOST_TOOLS {
                self.skipped += 1;
                return said;
            }
            let names = [&update["name"], &update["title"], &update["kind"]];
            let name = names.into_iter().find_map(Value::as_str).unwrap_or("tool");
            said.push(OutputItem::ToolStart {
                name: name.to_owned(),
                id: id.to_owned(),
            });
        }
        let tool = self.tools.entry(id.to_owned()).or_default();
        let input = &update["rawInput"];
        // Some agents start with an empty input and fill it in later.
        if !tool.is_input_told && !is_empty(input) {
            tool.is_input_told = true;
            said.push(OutputItem::ToolInput {
                id: id.to_owned(),
                text: plain(input),
            });
        }
        let status = update["status"].as_str().unwrap_or_default();
        if !tool.is_over && matches!(status, "completed" | "failed") {
            tool.is_over = true;
            let result = result(update);
            said.push(match status {
                "failed" => OutputItem::tool_failed(id, &result),
                _ => OutputItem::ToolResult {
                    id: id.to_owned(),
                    text: result,
                },
            });
        }
        said
    }

    fn plan(&mut self, update: &Value) -> Vec<OutputItem> {
        let entries = update["entries"].as_array().into_iter().flatten();
        let steps = entries.filter_map(|entry| {
            let mark = match entry["status"].as_str() {
                Some("completed") => "[x]",
                Some("in_progress") => "[>]",
                _ => "[ ]",
            };
            Some(format!("{mark} {}", entry["content"].as_str()?))
        });
        let plan = steps.collect::<Vec<_>>().join("\n");
        if plan == self.plan || plan.is_empty() {
            return Vec::new();
        }
        self.plan.clone_from(&plan);
        vec![OutputItem::Status(format!("plan:\n{plan}"))]
    }
}

/// Converts the text of a content block.
fn words(block: &Value, said: impl Fn(String) -> OutputItem) -> Vec<OutputItem> {
    match text_of(block) {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![said(text)],
        None => {
            let kind = block["type"].as_str().unwrap_or("nothing");
            vec![OutputItem::Status(format!("(left out: {kind})"))]
        }
    }
}

/// Returns a content block as text, if possible.
fn text_of(block: &Value) -> Option<String> {
    match block["type"].as_str()? {
        "text" => Some(block["text"].as_str()?.to_owned()),
        "resource_link" => {
            let uri = block["uri"].as_str()?;
            let name = block["name"].as_str().unwrap_or(uri);
            Some(format!("[{name}]({uri})"))
        }
        "resource" => Some(block["resource"]["text"].as_str()?.to_owned()),
        _ => None,
    }
}

/// Returns the result of a tool call.
fn result(update: &Value) -> String {
    let contents = update["content"].as_array().into_iter().flatten();
    let texts = contents.filter_map(|content| match content["type"].as_str()? {
        "content" => text_of(&content["content"]),
        "diff" => Some(format!("changed {}", content["path"].as_str()?)),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    match &update["rawOutput"] {
        output if text.is_empty() && !is_empty(output) => plain(output),
        _ => text,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// How a prompt ended, see [`ending`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptOutcome {
    /// The turn is complete.
    Done,
    /// The agent refused the message.
    Refused,
    /// The turn was stopped, but not by us.
    Stopped,
}

/// Converts the response to a prompt.
pub(super) fn ending(answer: &Value) -> (OutputItem, PromptOutcome) {
    let reason = answer["stopReason"].as_str().unwrap_or("end_turn");
    let said = OutputItem::StopReason(reason.to_owned());
    let ending = match reason {
        "refusal" => PromptOutcome::Refused,
        "cancelled" => PromptOutcome::Stopped,
        _ => PromptOutcome::Done,
    };
    (said, ending)
}

#[cfg(test)]
mod tests;
