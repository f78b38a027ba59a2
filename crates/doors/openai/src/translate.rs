//! Pure conversions between the protocol and the core: models and agents, conversations and messages
//! (`conversation.rs`), settings and metadata (`settings.rs`), the rest of an answer (`answer.rs`).

mod answer;
mod conversation;
mod settings;
#[cfg(test)]
mod tests;

use jackfield_model::{AgentId, Answer, Ask, AskKind, Chunk, ChunkKind, Message, Part};

pub(crate) use self::{
    answer::{AnswerRest, usage_of},
    conversation::Conversation,
    settings::{metadata_of, take_settings},
};
use crate::limits::LINE;

/// Prefix of a model's name. The bare id of the agent is accepted, too; a `/` is in no id.
const PREFIX: &str = "jackfield/";

/// Returns the model of an agent.
pub(crate) fn model_name(agent: &AgentId) -> String {
    format!("{PREFIX}{agent}")
}

/// Returns the id of the agent that a model names.
pub(crate) fn model_id(model: &str) -> &str {
    model.strip_prefix(PREFIX).unwrap_or(model)
}

/// Returns the line that tells of a tool or a status beside the answer. `None` for other chunks.
pub(crate) fn line_of(chunk: &Chunk) -> Option<String> {
    let text = one_line(&chunk.text);
    match chunk.kind {
        ChunkKind::Status => Some(text).filter(|text| !text.is_empty()),
        ChunkKind::ToolStart => {
            let tool = one_line(chunk.tool_name.as_deref().unwrap_or("a tool"));
            Some(match &*text {
                "" => format!("Uses {tool}"),
                text => format!("Uses {tool}: {text}"),
            })
        }
        ChunkKind::Text | ChunkKind::Thinking | ChunkKind::ToolInput | ChunkKind::ToolResult => {
            None
        }
    }
}

/// Returns a text as one line of limited length.
fn one_line(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(LINE)];
    cut.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text of a question.
pub(crate) fn question(ask: &Ask) -> String {
    match (ask.kind, &ask.tool_name) {
        (AskKind::Input, _) => ask.text.clone(),
        (AskKind::Approval, None) => format!("{}\n\nAnswer yes or no.", ask.text),
        (AskKind::Approval, Some(tool)) => {
            format!("{} ({tool})\n\nAnswer yes or no.", ask.text)
        }
    }
}

/// Converts the message of a caller into the answer to a question. Whatever does not clearly approve, denies.
pub(crate) fn answer_to(ask: &Ask, message: Message) -> Answer {
    let text = message.joined_text();
    let mut answer = Answer {
        metadata: message.metadata,
        extra: message.extra,
        ..Answer::default()
    };
    match ask.kind {
        AskKind::Input => {
            let is_text = |part: &Part| matches!(part, Part::Text(_));
            answer.parts = message.parts;
            answer.parts.retain(|part| !is_text(part));
            answer.content = Some(text);
        }
        AskKind::Approval => {
            let word = text.trim().trim_end_matches(['.', '!']).to_lowercase();
            let is_yes = matches!(
                &*word,
                "yes" | "y" | "ok" | "okay" | "approve" | "approved" | "allow"
            );
            answer.approved = Some(is_yes);
            answer.reason = (!is_yes).then_some(text);
        }
    }
    answer
}
