//! Conversions between the core's events, from a dialled server, and the agent's end of a call. Pure, except
//! for [`finish`].

use jackfield_core::agent::Profile;
use jackfield_model as event;
use jackfield_model::{AskKind, ChunkKind, Done, DoneState, End, Json, Reason, failure};
use jackfield_sdk::{
    AgentFailure, Artifact, CallerAnswer, CallerQuestion, Message, Part, Reply, ReplyError,
};
use serde_json::Value;

use crate::{OutputItem, OwnerDecision, SelfDescription, process::CRASHED};

/// Converts the server's profile.
pub(super) fn introduction(profile: &Profile) -> SelfDescription {
    SelfDescription {
        name: Some(profile.name.clone()).filter(|name| !name.is_empty()),
        description: profile.description.clone(),
        version: profile.version.clone(),
        skills: profile.skills.clone(),
    }
}

/// Converts the caller's message for the server.
pub(super) fn message(message: &Message) -> event::Message {
    let parts = match message.parts.is_empty() {
        true => vec![Part::Text(message.text.clone())],
        false => message.parts.clone(),
    };
    event::Message {
        id: message.message_id.clone(),
        parts,
        metadata: message.metadata.clone().map(Json::from),
        extra: None,
    }
}

/// Converts a piece of the reply.
pub(super) fn said(chunk: event::Chunk) -> OutputItem {
    let event::Chunk {
        kind,
        text,
        tool_name,
        tool_call_id,
        ..
    } = chunk;
    let id = tool_call_id.unwrap_or_default();
    match kind {
        ChunkKind::Text => OutputItem::Text(text),
        ChunkKind::Thinking => OutputItem::Thinking(text),
        ChunkKind::Status => OutputItem::Status(text),
        ChunkKind::ToolStart => OutputItem::ToolStart {
            name: tool_name.unwrap_or_default(),
            id,
        },
        ChunkKind::ToolInput => OutputItem::ToolInput { id, text },
        ChunkKind::ToolResult => OutputItem::ToolResult { id, text },
    }
}

/// Removes the fields of an artifact that only A2A has.
pub(super) fn artifact(artifact: Artifact) -> Artifact {
    Artifact {
        extra: None,
        ..artifact
    }
}

/// A question with its addressee, see [`question`].
#[derive(Debug, PartialEq)]
pub(super) enum RoutedQuestion {
    /// Question to the caller.
    Caller(CallerQuestion),
    /// Approval question to the owner.
    Owner { tool: String, arguments: Value },
}

/// Converts a question of the server.
pub(super) fn question(ask: event::Ask) -> RoutedQuestion {
    match ask.kind {
        AskKind::Input => {
            let question = CallerQuestion::new(ask.text);
            RoutedQuestion::Caller(match ask.schema {
                Some(schema) => question.schema(schema),
                None => question,
            })
        }
        AskKind::Approval => RoutedQuestion::Owner {
            tool: ask.tool_name.unwrap_or(ask.text),
            arguments: ask
                .arguments
                .map(|json| json.to_value())
                .unwrap_or_default(),
        },
    }
}

/// Converts the caller's answer.
pub(super) fn answer(answer: CallerAnswer) -> event::Answer {
    event::Answer {
        content: Some(answer.text).filter(|text| !text.is_empty()),
        parts: answer.parts,
        ..event::Answer::default()
    }
}

/// Converts the owner's decision.
pub(super) fn decision(decision: OwnerDecision) -> event::Answer {
    event::Answer {
        approved: Some(decision.approved),
        reason: decision.reason,
        ..event::Answer::default()
    }
}

/// Ends the reply as the server ended its call.
pub(super) async fn finish(end: End, has_words: bool, reply: &Reply) -> Result<(), AgentFailure> {
    let done = match end {
        End::Done(done) => *done,
        End::Failed(failure) => return Err(self::failure(&failure)),
        End::Cancelled => {
            let text = "the server stopped before it had finished";
            return Err(AgentFailure::new("agent_stopped", text));
        }
    };
    let state = (done.state, done.needs_auth, done.is_message);
    let Done {
        result,
        attachments,
        usage,
        stop_reason,
        ..
    } = done;
    for file in attachments {
        reply
            .attach(file)
            .await
            .map_err(|error| reply_failure(&error))?;
    }
    // Some agents put their answer only into the result, which not every caller reads.
    match result {
        Some(words) if !has_words => reply
            .text(words)
            .await
            .map_err(|error| reply_failure(&error))?,
        Some(words) => reply.result(words),
        None => {}
    }
    if let Some(usage) = usage {
        reply.usage(usage);
    }
    if let Some(reason) = stop_reason {
        reply.stop_reason(reason);
    }
    match state {
        (DoneState::InputRequired, true, _) => reply.auth_required(),
        (DoneState::InputRequired, false, _) => reply.input_required(),
        (DoneState::Rejected, ..) => reply.rejected(),
        (DoneState::Completed, _, true) => reply.bare_message(),
        (DoneState::Completed, _, false) => {}
    }
    Ok(())
}

/// Converts a failure, with the bridge's code where one exists.
pub(super) fn failure(failure: &failure::Failure) -> AgentFailure {
    let code = match &failure.reason {
        Reason::Invalid | Reason::Unsupported | Reason::TooLarge | Reason::Conflict => {
            "invalid_message"
        }
        Reason::Busy | Reason::RateLimited => "agent_busy",
        Reason::Timeout => "timeout",
        Reason::Offline | Reason::Stopping | Reason::NotFound | Reason::Crashed => CRASHED,
        Reason::SessionUnknown => "session_not_found",
        Reason::Agent(code) => code,
        Reason::Unauthorized
        | Reason::Loop
        | Reason::Cancelled
        | Reason::SlowReader
        | Reason::Internal => "internal_error",
    };
    AgentFailure::new(code, failure.text.clone())
}

/// Converts the error of a call that has ended, or of output that the hub does not support.
pub(super) fn reply_failure(error: &ReplyError) -> AgentFailure {
    AgentFailure::new("internal_error", error.to_string())
}

#[cfg(test)]
mod tests {
    use jackfield_sdk::File;
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    fn core<T: DeserializeOwned>(value: &Value) -> T {
        serde_json::from_str(&value.to_string()).unwrap()
    }

    #[test]
    fn a_message_goes_to_the_server_with_all_of_its_parts() {
        let mut said = Message::default();
        said.text = "look".to_owned();
        said.message_id = Some("m".to_owned());
        said.metadata = Some(json!({"skill": "see"}));
        said.parts = vec![
            Part::Text("look".to_owned()),
            Part::File(File::bytes(*b"hi!?").name("a.txt")),
            Part::Data(json!({"n": 1}).into()),
        ];
        let message = message(&said);
        assert_eq!(
            serde_json::to_value(&message).unwrap(),
            json!({
                "message_id": "m",
                "parts": [{"text": "look"}, {"file": {"name": "a.txt", "bytes": "aGkhPw=="}}, {"data": {"n": 1}}],
                "metadata": {"skill": "see"},
            })
        );
    }

    #[test]
    fn every_kind_of_chunk_is_said_as_it_is() {
        for (chunk, expected) in [
            (json!({"text": "a"}), OutputItem::Text("a".to_owned())),
            (
                json!({"kind": "thinking", "text": "b"}),
                OutputItem::Thinking("b".to_owned()),
            ),
            (
                json!({"kind": "tool_result", "text": "c", "tool_call_id": "t"}),
                OutputItem::ToolResult {
                    id: "t".to_owned(),
                    text: "c".to_owned(),
                },
            ),
        ] {
            assert_eq!(said(core(&chunk)), expected);
        }
    }

    #[test]
    fn an_artifact_keeps_its_pieces_together() {
        let piece = json!({"id": "a", "name": "n", "parts": [{"text": "x"}, {"file": {"uri": "https://x/y"}}], "append": true, "last": false, "extra": {"extensions": []}});
        let expected = Artifact::new("a")
            .name("n")
            .text("x")
            .file(File::at("https://x/y"))
            .append()
            .open();
        assert_eq!(artifact(core(&piece)), expected);
    }

    #[test]
    fn questions_go_to_whom_they_are_for() {
        let ask = |kind: &str| {
            core(
                &json!({"id": "q", "kind": kind, "text": "may I?", "tool_name": "rm", "arguments": {"p": 1}, "schema": {"type": "string"}}),
            )
        };
        assert_eq!(
            question(ask("input")),
            RoutedQuestion::Caller(CallerQuestion::new("may I?").schema(json!({"type": "string"})))
        );
        assert_eq!(
            question(ask("approval")),
            RoutedQuestion::Owner {
                tool: "rm".to_owned(),
                arguments: json!({"p": 1})
            }
        );
    }

    #[test]
    fn failures_have_the_codes_of_the_bridge() {
        for (reason, code) in [
            (Reason::Offline, "adapter_crash"),
            (Reason::Busy, "agent_busy"),
            (Reason::TooLarge, "invalid_message"),
            (Reason::Agent("quota".to_owned()), "quota"),
        ] {
            assert_eq!(failure(&failure::Failure::new(reason, "x")).code, code);
        }
    }
}
