//! Parser for responses of chat completions, producing [`OutputItem`] items. Pure; collects the text and the final
//! items.

use jackfield_sdk::AgentFailure;
use serde_json::Value;

use crate::{OutputItem, process::CRASHED};

/// Most tool calls per response that are distinguished.
const MOST_TOOLS: usize = 1024;
/// Error text for tool calls.
const NOT_OFFERED: &str = "not carried out: no tools are offered to this model";
/// Bytes of an invalid response that are shown.
const SHOWN: usize = 200;

/// Parser state of a response.
#[derive(Debug, Default)]
pub(super) struct CompletionReader {
    words: String,
    /// Ids of the tool calls, by index in the response.
    tools: Vec<(u64, String)>,
    usage: Option<Value>,
    finish: Option<String>,
    is_over: bool,
}

impl CompletionReader {
    /// Parses a piece of the response: the data of an event, or the whole response of a server without
    /// streaming.
    pub(super) fn read_event(&mut self, data: &str) -> Result<Vec<OutputItem>, AgentFailure> {
        let data = data.trim();
        if data == "[DONE]" {
            self.is_over = true;
            return Ok(Vec::new());
        }
        let piece: Value = serde_json::from_str(data).map_err(|_| nonsense(data))?;
        if let Some(error) = piece.get("error").filter(|error| !error.is_null()) {
            return Err(AgentFailure::new("agent_error", complaint_in(error)));
        }
        if let Some(usage) = piece.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        let Some(choices) = piece.get("choices") else {
            return match self.usage {
                Some(_) => Ok(Vec::new()),
                None => Err(nonsense(data)),
            };
        };
        let mut said = Vec::new();
        // Only one choice was requested.
        let choice = &choices[0];
        for delta in [&choice["delta"], &choice["message"]] {
            self.delta(delta, &mut said);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
        Ok(said)
    }

    fn delta(&mut self, delta: &Value, said: &mut Vec<OutputItem>) {
        let thoughts = [&delta["reasoning_content"], &delta["reasoning"]];
        if let Some(thought) = thoughts.into_iter().find_map(filled) {
            said.push(OutputItem::Thinking(thought.to_owned()));
        }
        for words in [&delta["content"], &delta["refusal"]] {
            let words = text_of(words);
            if !words.is_empty() {
                self.words.push_str(&words);
                said.push(OutputItem::Text(words));
            }
        }
        let calls = delta["tool_calls"].as_array().into_iter().flatten();
        for (at, call) in calls.enumerate() {
            self.tool(at, call, said);
        }
    }

    fn tool(&mut self, at: usize, call: &Value, said: &mut Vec<OutputItem>) {
        let index = call["index"].as_u64().unwrap_or(at as u64);
        let function = &call["function"];
        let known = self.tools.iter().rfind(|(known, _)| *known == index);
        let id = match (known, filled(&call["id"])) {
            // Some servers give every call the same index.
            (Some((_, known)), None) => known.clone(),
            (Some((_, known)), Some(id)) if known == id => known.clone(),
            (_, id) => {
                if self.tools.len() >= MOST_TOOLS {
                    return;
                }
                let id = id.map_or_else(|| format!("call-{index}"), str::to_owned);
                self.tools.push((index, id.clone()));
                let name = function["name"].as_str().unwrap_or("tool").to_owned();
                said.push(OutputItem::ToolStart {
                    name,
                    id: id.clone(),
                });
                id
            }
        };
        let text = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        if !text.is_empty() {
            said.push(OutputItem::ToolInput { id, text });
        }
    }

    /// Returns whether the server has sent the end marker.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the final items and the whole text. An incomplete response is an error.
    pub(super) fn end(self, origin: &str) -> Result<(Vec<OutputItem>, String), AgentFailure> {
        if self.finish.is_none() && !self.is_over {
            let text = format!("the answer of {origin} broke off before its end");
            return Err(AgentFailure::new(CRASHED, text));
        }
        let tools = self.tools.into_iter();
        let mut said: Vec<_> = tools
            .map(|(_, id)| OutputItem::tool_failed(id, NOT_OFFERED))
            .collect();
        said.extend(self.usage.map(OutputItem::Usage));
        said.extend(self.finish.map(OutputItem::StopReason));
        Ok((said, self.words))
    }
}

/// Parses a list of models.
pub(super) fn models(text: &str) -> Option<Vec<String>> {
    let list: Value = serde_json::from_str(text).ok()?;
    let models = list["data"].as_array()?;
    let ids = models.iter().filter_map(|model| filled(&model["id"]));
    Some(ids.map(str::to_owned).collect())
}

/// Extracts the error message of a response body.
pub(super) fn complaint(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(body) => match body.get("error") {
            Some(error) => complaint_in(error),
            None => complaint_in(&body),
        },
        Err(_) if text.trim().is_empty() => "it does not say why".to_owned(),
        Err(_) => text.trim().to_owned(),
    }
}

fn complaint_in(error: &Value) -> String {
    let texts = [error, &error["message"], &error["detail"]];
    match texts.into_iter().find_map(Value::as_str) {
        Some(text) => text.to_owned(),
        None => error.to_string(),
    }
}

fn nonsense(data: &str) -> AgentFailure {
    let shown = &data[..data.floor_char_boundary(SHOWN)];
    let text = format!("the server's answer makes no sense: {shown}");
    AgentFailure::new(CRASHED, text)
}

fn filled(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// Returns the text of a content field, which may be split into parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
