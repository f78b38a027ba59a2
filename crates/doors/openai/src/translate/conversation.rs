//! [`Conversation`]: the messages that a client sends with each request, and the one message that the agent gets of
//! them. An agent that remembers the conversation gets what is new; any other agent gets all of it, with the
//! speakers named.

use jackfield_model::{FileSource, Message, Part};
use jackfield_wire::read::FieldError;
use sha2::{Digest, Sha256};

use crate::wire::{ChatMessage, InputItem, RequestInput, read_content};

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The instructions of the client's operator: `system` and `developer`.
    System,
    User,
    Assistant,
    /// A tool that the client ran for another model.
    Tool,
}

impl Role {
    fn parse(name: &str) -> Result<Self, FieldError> {
        Ok(match name {
            "system" | "developer" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" | "function" => Self::Tool,
            _ => {
                let text = "must be system, developer, user, assistant or tool";
                return Err(FieldError::invalid("role", text));
            }
        })
    }

    /// Returns the name of the speaker, for the agent.
    fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq)]
struct Utterance {
    role: Role,
    parts: Vec<Part>,
}

/// The messages of a client's request. The last one is the user's.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Conversation(Vec<Utterance>);

impl Conversation {
    /// Reads the messages of a chat. An error's path begins at `messages`.
    pub(crate) fn from_chat(messages: &[ChatMessage<'_>]) -> Result<Self, FieldError> {
        let read = |message: &ChatMessage<'_>| {
            let role = Role::parse(&message.role)?;
            let parts = match message.content.filter(|raw| raw.get() != "null") {
                Some(raw) => read_content(raw).map_err(|error| error.within("content"))?,
                // A model that only called tools said nothing.
                None if role == Role::Assistant => Vec::new(),
                None => return Err(FieldError::missing("content")),
            };
            Ok(Utterance { role, parts })
        };
        let all = messages.iter().enumerate().map(|(index, message)| {
            read(message).map_err(|error: FieldError| error.within(&format!("[{index}]")))
        });
        let all = all.collect::<Result<_, _>>();
        Self::checked(all.map_err(|error| error.within("messages"))?, "messages")
    }

    /// Reads the input of a response. An error's path begins at `input`.
    pub(crate) fn from_input(
        input: RequestInput<'_>,
        instructions: Option<&str>,
    ) -> Result<Self, FieldError> {
        let system = instructions.map(|text| Utterance {
            role: Role::System,
            parts: vec![Part::Text(text.to_owned())],
        });
        let mut all: Vec<_> = system.into_iter().collect();
        match input {
            RequestInput::Text(text) => all.push(Utterance {
                role: Role::User,
                parts: vec![Part::Text(text)],
            }),
            RequestInput::Items(items) => {
                for (index, item) in items.iter().enumerate() {
                    let place =
                        |error: FieldError| error.within(&format!("[{index}]")).within("input");
                    all.extend(read_item(item).map_err(place)?);
                }
            }
        }
        Self::checked(all, "input")
    }

    fn checked(all: Vec<Utterance>, field: &str) -> Result<Self, FieldError> {
        let is_blank = |part: &Part| matches!(part, Part::Text(text) if text.trim().is_empty());
        match all.last() {
            None => Err(FieldError::invalid(
                field,
                "must have a message of the user; it is empty",
            )),
            Some(last) if last.role != Role::User => Err(FieldError::invalid(
                field,
                "must end with a message of the role user: the agent answers it",
            )),
            Some(last) if last.parts.iter().all(is_blank) => Err(FieldError::invalid(
                field,
                "must end with a message that says something; its content is empty",
            )),
            Some(_) => Ok(Self(all)),
        }
    }

    /// Returns the number of messages that the agent has had, if it remembers the conversation: all up to its last
    /// answer.
    fn old(&self) -> usize {
        let last_answer = self.0.iter().rposition(|said| said.role == Role::Assistant);
        last_answer.map_or(0, |at| at + 1)
    }

    /// Returns the text of the last message.
    pub(crate) fn last_text(&self) -> String {
        let parts = self.0.last().map(|last| last.parts.clone());
        let message = Message {
            parts: parts.unwrap_or_default(),
            ..Message::default()
        };
        message.joined_text()
    }

    /// Returns what is new for an agent that remembers the conversation.
    pub(crate) fn news(&self) -> Message {
        let new = self.0[self.old()..].iter();
        let new = new.filter(|said| said.role == Role::User);
        message(new.flat_map(|said| said.parts.iter().cloned()).collect())
    }

    /// Returns the whole conversation as one message, for an agent that does not know it. A single message of the
    /// user is passed on as it is.
    pub(crate) fn whole(&self) -> Message {
        if self.0.iter().all(|said| said.role == Role::User) {
            let parts = self.0.iter().flat_map(|said| said.parts.iter().cloned());
            return message(parts.collect());
        }
        let mut parts = Vec::new();
        let mut text = String::new();
        for said in &self.0 {
            text.push_str(&format!("[{}]\n", said.role.name()));
            for part in &said.parts {
                match part {
                    Part::Text(words) => {
                        text.push_str(words);
                        text.push('\n');
                    }
                    other => {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                        parts.push(other.clone());
                    }
                }
            }
            text.push('\n');
        }
        parts.push(Part::Text(text.trim_end().to_owned()));
        parts.retain(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
        message(parts)
    }

    /// Returns a hash of the conversation so far, by which the next request of a client without a session is
    /// recognised: its messages begin with these.
    pub(crate) fn fingerprint(&self) -> [u8; 32] {
        fingerprint(&self.0)
    }

    /// Returns the fingerprint of the request before this one: without the last answer and what follows it. `None`
    /// at the start of a conversation.
    pub(crate) fn fingerprint_before(&self) -> Option<[u8; 32]> {
        let mut before = self.0.get(..self.old()).filter(|old| !old.is_empty())?;
        while let Some((last, rest)) = before.split_last()
            && last.role == Role::Assistant
        {
            before = rest;
        }
        Some(fingerprint(before))
    }
}

fn message(parts: Vec<Part>) -> Message {
    Message {
        parts,
        ..Message::default()
    }
}

/// Reads an item of the input. Items that only the model that made them understands give nothing.
fn read_item(item: &InputItem<'_>) -> Result<Option<Utterance>, FieldError> {
    match item.kind.as_deref() {
        None | Some("message") => {
            let role = item.role.as_deref();
            let role = Role::parse(role.ok_or_else(|| FieldError::missing("role"))?)?;
            let content = item.content.ok_or_else(|| FieldError::missing("content"))?;
            let parts = read_content(content).map_err(|error| error.within("content"))?;
            Ok(Some(Utterance { role, parts }))
        }
        Some("reasoning" | "jackfield:tool_call") => Ok(None),
        Some("function_call" | "function_call_output") => Err(FieldError::invalid(
            "type",
            "must be message: an agent runs its own tools, and takes none of the client",
        )),
        Some("item_reference") => Err(FieldError::invalid(
            "type",
            "must be message; send the item itself, or previous_response_id",
        )),
        Some(_) => Err(FieldError::invalid("type", "must be message")),
    }
}

/// Texts are separated by their lengths, so that two conversations do not give the same bytes.
fn fingerprint(said: &[Utterance]) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |kind: &str, text: &str| {
        hash.update(kind);
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    };
    for said in said {
        add("role", said.role.name());
        for part in &said.parts {
            match part {
                Part::Text(text) => add("text", text),
                Part::Data(json) => add("data", json.get()),
                Part::File(file) => match &file.source {
                    FileSource::Uri(uri) => add("uri", uri),
                    FileSource::Bytes(bytes) => add("bytes", bytes),
                },
            }
        }
    }
    hash.finalize().into()
}
