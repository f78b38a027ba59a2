//! The lines of JSON that Claude Code prints and reads. Pure: [`ClaudeReader`] converts a line into [`ClaudeEvent`]
//! items.
//!
//! With partial messages enabled, each message is printed twice: in pieces (`stream_event`) and whole
//! (`assistant`). The whole message counts only if no pieces were printed. Messages of subagents carry the id
//! of the tool call that started them (`parent_tool_use_id`): their text is reasoning, not part of the reply.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use jackfield_sdk::{AgentFailure, CallerQuestion};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::OutputItem;

/// Most speakers (the main agent and its subagents) that are distinguished at once. The end of a subagent is
/// not reported.
const SPEAKERS: usize = 64;

/// Meaning of an output line, see [`ClaudeReader::read`].
#[derive(Debug, Clone, PartialEq)]
pub enum ClaudeEvent {
    /// Output for the caller.
    Said(OutputItem),
    /// Request for permission to use a tool; the process waits for the response.
    Permission(PermissionRequest),
    /// Id of a permission request that was withdrawn.
    Withdrawn(String),
    /// A request of an unknown kind.
    Unknown {
        /// Id of the request.
        request: String,
        /// Kind of the request.
        what: String,
    },
    /// The turn is complete or has failed.
    End(Result<(), AgentFailure>),
}

/// Request for permission to use a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// Id of the request.
    pub request: String,
    /// Name of the tool.
    pub tool: String,
    /// Input of the tool.
    pub input: Value,
}

/// Parser for the output of one process.
#[derive(Debug, Default)]
pub struct ClaudeReader {
    /// Current message of each speaker; the empty name is the main agent.
    speakers: HashMap<String, SpeakerState>,
    /// Whether the reply had any text.
    has_text: bool,
    /// Whether the model produced any output.
    has_spoken: bool,
    /// Number of unknown lines.
    unknown: u64,
}

/// A message being received in pieces.
#[derive(Debug, Default)]
struct SpeakerState {
    message: String,
    /// Ids of its tool calls, by block index.
    tools: HashMap<u64, String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ClaudeFrame {
    System(Value),
    StreamEvent {
        event: Value,
        #[serde(default)]
        parent_tool_use_id: Option<String>,
    },
    Assistant {
        message: Value,
        #[serde(default)]
        parent_tool_use_id: Option<String>,
    },
    User {
        message: Value,
    },
    Result(Value),
    ControlRequest {
        request_id: String,
        request: Value,
    },
    ControlCancelRequest {
        request_id: String,
    },
    ControlResponse {},
    #[serde(other)]
    Other,
}

impl ClaudeReader {
    /// Parses a line. Unknown lines are skipped and counted.
    pub fn read(&mut self, line: &str) -> Vec<ClaudeEvent> {
        let heard = match serde_json::from_str(line) {
            Ok(frame) => self.frame(frame),
            Err(_) => None,
        };
        if heard.is_none() && !line.trim().is_empty() {
            self.unknown += 1;
            tracing::debug!(
                count = self.unknown,
                "claude printed what is not known here"
            );
        }
        heard.unwrap_or_default()
    }

    /// Returns whether the model has produced any output.
    pub fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    fn frame(&mut self, frame: ClaudeFrame) -> Option<Vec<ClaudeEvent>> {
        let said = match frame {
            ClaudeFrame::System(system) => system_said(&system)?,
            ClaudeFrame::StreamEvent {
                event,
                parent_tool_use_id,
            } => self.piece(&event, parent_tool_use_id.unwrap_or_default())?,
            ClaudeFrame::Assistant {
                message,
                parent_tool_use_id,
            } => self.whole(&message, &parent_tool_use_id.unwrap_or_default()),
            ClaudeFrame::User { message } => tool_results(&message),
            ClaudeFrame::Result(result) => return Some(self.result(&result)),
            ClaudeFrame::ControlRequest {
                request_id,
                request,
            } => return Some(vec![control_request(request_id, &request)]),
            ClaudeFrame::ControlCancelRequest { request_id } => {
                return Some(vec![ClaudeEvent::Withdrawn(request_id)]);
            }
            ClaudeFrame::ControlResponse {} => return Some(Vec::new()),
            ClaudeFrame::Other => return None,
        };
        Some(said.into_iter().map(ClaudeEvent::Said).collect())
    }

    /// Handles a piece of a message.
    fn piece(&mut self, event: &Value, speaker: String) -> Option<Vec<OutputItem>> {
        let is_helper = !speaker.is_empty();
        if self.speakers.len() >= SPEAKERS && !self.speakers.contains_key(&speaker) {
            self.speakers.retain(|name, _| name.is_empty());
        }
        let speaker = self.speakers.entry(speaker).or_default();
        let index = event["index"].as_u64().unwrap_or_default();
        let said = match event["type"].as_str()? {
            "message_start" => {
                *speaker = SpeakerState {
                    message: text(&event["message"]["id"]),
                    tools: HashMap::new(),
                };
                return Some(Vec::new());
            }
            "content_block_start" => {
                let block = &event["content_block"];
                if block["type"] != "tool_use" {
                    return Some(Vec::new());
                }
                let id = text(&block["id"]);
                speaker.tools.insert(index, id.clone());
                OutputItem::ToolStart {
                    name: text(&block["name"]),
                    id,
                }
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                match delta["type"].as_str()? {
                    "text_delta" if is_helper => OutputItem::Thinking(text(&delta["text"])),
                    "text_delta" => {
                        self.has_text = true;
                        OutputItem::Text(text(&delta["text"]))
                    }
                    "thinking_delta" => OutputItem::Thinking(text(&delta["thinking"])),
                    "input_json_delta" => OutputItem::ToolInput {
                        id: speaker.tools.get(&index).cloned().unwrap_or_default(),
                        text: text(&delta["partial_json"]),
                    },
                    // Signatures of reasoning, and citations.
                    "signature_delta" | "citations_delta" => return Some(Vec::new()),
                    _ => return None,
                }
            }
            "content_block_stop" | "message_delta" | "message_stop" | "ping" => {
                return Some(Vec::new());
            }
            _ => return None,
        };
        self.has_spoken = true;
        Some(vec![said])
    }

    /// Handles a whole message, which counts if it was not received in pieces.
    fn whole(&mut self, message: &Value, speaker: &str) -> Vec<OutputItem> {
        let known = self.speakers.get(speaker);
        if known.is_some_and(|known| !known.message.is_empty() && message["id"] == *known.message) {
            return Vec::new();
        }
        self.has_spoken = true;
        let mut said = Vec::new();
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") if !speaker.is_empty() => {
                    said.push(OutputItem::Thinking(text(&block["text"])));
                }
                Some("text") => {
                    self.has_text = true;
                    said.push(OutputItem::Text(text(&block["text"])));
                }
                Some("thinking") => said.push(OutputItem::Thinking(text(&block["thinking"]))),
                Some("tool_use") => {
                    let id = text(&block["id"]);
                    said.push(OutputItem::ToolStart {
                        name: text(&block["name"]),
                        id: id.clone(),
                    });
                    said.push(OutputItem::ToolInput {
                        id,
                        text: block["input"].to_string(),
                    });
                }
                _ => {}
            }
        }
        said
    }

    /// Handles the last line.
    fn result(&mut self, result: &Value) -> Vec<ClaudeEvent> {
        let subtype = result["subtype"].as_str().unwrap_or("success");
        let mut heard = Vec::new();
        if let Some(usage) = usage(result) {
            heard.push(ClaudeEvent::Said(OutputItem::Usage(usage)));
        }
        if subtype != "success" || result["is_error"] == true {
            heard.push(ClaudeEvent::End(Err(failure(subtype, result))));
            return heard;
        }
        // Some commands answer without a model, and therefore without a message.
        if let Some(text) = result["result"].as_str().filter(|text| !text.is_empty())
            && !self.has_text
        {
            heard.push(ClaudeEvent::Said(OutputItem::Text(text.to_owned())));
        }
        if let Some(reason) = result["stop_reason"].as_str() {
            heard.push(ClaudeEvent::Said(OutputItem::StopReason(reason.to_owned())));
        }
        heard.push(ClaudeEvent::End(Ok(())));
        heard
    }
}

fn system_said(system: &Value) -> Option<Vec<OutputItem>> {
    match system["subtype"].as_str()? {
        "init" => {
            let session = text(&system["session_id"]);
            Some(match session.is_empty() {
                true => Vec::new(),
                false => vec![OutputItem::Session(session)],
            })
        }
        "api_retry" => {
            let attempt = &system["attempt"];
            let why = system["error"]
                .as_str()
                .unwrap_or("the model did not answer");
            let text = match attempt.as_u64() {
                Some(attempt) => format!("asking the model again, attempt {attempt}: {why}"),
                None => format!("asking the model again: {why}"),
            };
            Some(vec![OutputItem::Status(text)])
        }
        "compact_boundary" => Some(vec![OutputItem::Status(
            "the conversation was long and is now a summary".to_owned(),
        )]),
        _ => None,
    }
}

/// Converts results of tools.
fn tool_results(message: &Value) -> Vec<OutputItem> {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks
        .filter(|block| block["type"] == "tool_result")
        .map(|block| {
            let (id, given) = (text(&block["tool_use_id"]), result_text(&block["content"]));
            match block["is_error"] == true {
                true => OutputItem::tool_failed(id, &given),
                false => OutputItem::ToolResult { id, text: given },
            }
        })
        .collect()
}

/// Returns the text of a tool's result; other content is named by its type.
fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let words = blocks.iter().map(|block| match block["type"].as_str() {
                Some("text") => text(&block["text"]),
                Some(other) => format!("[{other}]"),
                None => String::new(),
            });
            words.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the usage of the turn.
fn usage(result: &Value) -> Option<Value> {
    let mut usage = result["usage"].as_object().cloned().unwrap_or_default();
    for field in [
        "total_cost_usd",
        "num_turns",
        "duration_ms",
        "duration_api_ms",
    ] {
        if result[field].is_number() {
            usage.insert(field.to_owned(), result[field].clone());
        }
    }
    (!usage.is_empty()).then(|| usage.into())
}

/// Converts the error of a failed turn.
fn failure(subtype: &str, result: &Value) -> AgentFailure {
    let errors = result["errors"].as_array().into_iter().flatten();
    let errors: Vec<_> = errors.filter_map(Value::as_str).collect();
    let text = match result["result"].as_str().filter(|text| !text.is_empty()) {
        Some(text) => text.to_owned(),
        None if errors.is_empty() => format!("claude ended with {subtype}"),
        None => errors.join("\n"),
    };
    let code = match subtype {
        "success" => "agent_error",
        other => other,
    };
    AgentFailure::new(code, text)
}

/// Converts a control request.
fn control_request(request_id: String, request: &Value) -> ClaudeEvent {
    match request["subtype"].as_str() {
        Some("can_use_tool") => ClaudeEvent::Permission(PermissionRequest {
            request: request_id,
            tool: text(&request["tool_name"]),
            input: request["input"].clone(),
        }),
        other => ClaudeEvent::Unknown {
            request: request_id,
            what: other.unwrap_or_default().to_owned(),
        },
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Builds the first input line, without hooks.
pub fn initialize() -> Value {
    json!({"type": "control_request", "request_id": "jackfield-1", "request": {"subtype": "initialize", "hooks": null}})
}

/// Builds the input line with the prompt.
pub fn user(prompt: &str) -> Value {
    json!({
        "type": "user",
        "session_id": "",
        "message": {"role": "user", "content": prompt},
        "parent_tool_use_id": null,
    })
}

/// Builds the input line that allows a tool, with this input.
pub fn allow(request: &str, input: &Value) -> Value {
    response(
        request,
        &json!({"behavior": "allow", "updatedInput": input}),
    )
}

/// Builds the input line that denies a tool, with a reason.
pub fn deny(request: &str, reason: &str) -> Value {
    response(request, &json!({"behavior": "deny", "message": reason}))
}

fn response(request: &str, response: &Value) -> Value {
    json!({
        "type": "control_response",
        "response": {"subtype": "success", "request_id": request, "response": response},
    })
}

/// Builds the input line that rejects an unknown control request.
pub fn unsupported(request: &str, what: &str) -> Value {
    json!({
        "type": "control_response",
        "response": {"subtype": "error", "request_id": request, "error": format!("{what} is not supported here")},
    })
}

/// Converts a question of the tool `AskUserQuestion` into a [`CallerQuestion`].
pub fn question(question: &Value) -> CallerQuestion {
    let mut words = text(&question["question"]);
    let options = question["options"].as_array().into_iter().flatten();
    let mut labels = Vec::new();
    for option in options {
        let (label, about) = (text(&option["label"]), text(&option["description"]));
        words += &match about.is_empty() {
            true => format!("\n- {label}"),
            false => format!("\n- {label}: {about}"),
        };
        labels.push(label);
    }
    let asked = CallerQuestion::new(words);
    match labels.is_empty() {
        true => asked,
        // The examples are suggestions; free text is an answer too.
        false => asked.schema(json!({"type": "string", "examples": labels})),
    }
}
