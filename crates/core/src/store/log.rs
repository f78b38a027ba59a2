//! The rows of a task's log, and their stored form. The recorder of a task makes them; the store keeps them.

use jackfield_model::{Answer, Cause, Done, End, Event, Failure, ITEM_OVERHEAD, Message, Reason};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Content of one row of a task's log.
#[derive(Debug, Clone, PartialEq)]
pub enum LogItem {
    /// Message of the caller, which opens a turn.
    Message(Message),
    /// Event of the agent.
    Event(Event),
    /// Answer to a question, by the question's id.
    Answer(String, Answer),
    /// End of the turn.
    End(End),
}

#[derive(Serialize, Deserialize)]
struct AnswerBody {
    ask_id: String,
    answer: Answer,
}

#[derive(Serialize, Deserialize)]
struct FailureBody {
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    text: String,
}

impl LogItem {
    /// Returns the kind and the body, as stored.
    pub fn to_row(&self) -> Result<(&'static str, String), serde_json::Error> {
        Ok(match self {
            Self::Message(message) => ("message", serde_json::to_string(message)?),
            Self::Event(event) => (event.kind(), event.body()?),
            Self::Answer(ask_id, answer) => (
                "answer",
                serde_json::to_string(&AnswerBody {
                    ask_id: ask_id.clone(),
                    answer: answer.clone(),
                })?,
            ),
            Self::End(End::Done(done)) => ("done", serde_json::to_string(done)?),
            Self::End(End::Failed(failure)) => {
                let body = FailureBody {
                    reason: failure.reason.name().to_owned(),
                    cause: failure.cause.map(|cause| cause.name().to_owned()),
                    text: failure.text.to_string(),
                };
                ("failed", serde_json::to_string(&body)?)
            }
            Self::End(End::Cancelled) => ("cancelled", "{}".to_owned()),
        })
    }

    /// Reads a row from its stored kind and body.
    pub fn from_row(kind: &str, body: &str) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            "message" => Self::Message(serde_json::from_str(body)?),
            "answer" => {
                let AnswerBody { ask_id, answer } = serde_json::from_str(body)?;
                Self::Answer(ask_id, answer)
            }
            "done" => Self::End(End::Done(Box::new(serde_json::from_str::<Done>(body)?))),
            "failed" => {
                let FailureBody {
                    reason,
                    cause,
                    text,
                } = serde_json::from_str(body)?;
                let failure = Failure::new(Reason::from_name(&reason), text);
                let cause = cause.as_deref().and_then(Cause::from_name);
                Self::End(End::Failed(failure.because(cause)))
            }
            "cancelled" => Self::End(End::Cancelled),
            event => Self::Event(Event::from_log(event, body)?),
        })
    }

    /// Returns by how much the item advances a [`Cursor`](crate::task::Cursor).
    pub fn advance(&self) -> u64 {
        match self {
            Self::Event(event) => event.advance(),
            Self::Message(_) | Self::Answer(..) | Self::End(_) => 1,
        }
    }

    /// Returns the size of the item, for rings and batches.
    pub fn weight(&self) -> usize {
        match self {
            Self::Event(event) => event.weight(),
            Self::Message(message) => ITEM_OVERHEAD + message.weight(),
            Self::Answer(id, answer) => ITEM_OVERHEAD + id.len() + answer.weight(),
            Self::End(end) => end.weight(),
        }
    }
}

/// One row of a task's log. The store may merge rows of text: `pos` and `at` are then those of the first row,
/// `seq` is that of the last.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRow {
    /// Position of the item: of its first byte for text.
    pub pos: u64,
    /// Number of the agent's last frame in the row, if the protocol numbers frames.
    pub seq: Option<u64>,
    /// Time at which the hub wrote the row. Rows that change the task's state have the same time as
    /// [`TaskRecord::updated_at`].
    ///
    /// [`TaskRecord::updated_at`]: super::TaskRecord::updated_at
    pub at: Timestamp,
    /// Content of the row.
    pub item: LogItem,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any code that an agent may fail with: our names, and whatever else.
    fn code() -> impl Strategy<Value = String> {
        let ours = prop::sample::select(Reason::HUB_REASONS.to_vec());
        prop_oneof![ours.prop_map(|ours| ours.name().to_owned()), ".{0,12}"]
    }

    /// Any reason that a failure can have.
    fn reason() -> impl Strategy<Value = Reason> {
        let ours = prop::sample::select(Reason::HUB_REASONS.to_vec());
        prop_oneof![ours, code().prop_map(|code| Reason::from_agent_code(&code))]
    }

    proptest! {
        #[test]
        fn a_failure_reads_back_as_it_was_whatever_the_agent_calls_it(reason in reason(), text in ".{0,12}") {
            let item = LogItem::End(End::Failed(Failure::new(reason, text)));
            let (kind, body) = item.to_row().unwrap();
            prop_assert_eq!(LogItem::from_row(kind, &body).unwrap(), item);
        }
    }

    #[test]
    fn rows_read_back_as_they_were() {
        let items = [
            LogItem::Message(Message::text("hi")),
            LogItem::Event(Event::text("there")),
            LogItem::Answer(
                "q".into(),
                Answer {
                    approved: Some(true),
                    ..Answer::default()
                },
            ),
            LogItem::End(End::done()),
            LogItem::End(End::Done(Box::new(Done {
                file_transfer_offer: Some(
                    jackfield_model::Json::parse(r#"{"zip_size": 7}"#).unwrap(),
                ),
                ..Done::default()
            }))),
            LogItem::End(End::Cancelled),
            LogItem::End(End::Failed(Failure::new(
                Reason::Agent("quota".into()),
                "no more",
            ))),
            LogItem::End(End::Failed(Failure::new(Reason::Timeout, "late"))),
            LogItem::End(End::Failed(
                Failure::new(Reason::Timeout, "late").because(Cause::Unanswered),
            )),
        ];
        for item in items {
            let (kind, body) = item.to_row().unwrap();
            assert_eq!(LogItem::from_row(kind, &body).unwrap(), item);
        }
    }
}
