//! `elicitation/create`: the editor shows a form for a question of the agent.

use jackfield_model::{Ask, Json};
use jackfield_wire::read::{FieldError, read_part};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use super::request;

/// Types of the fields that a form may have.
const FIELD_TYPES: [&str; 5] = ["string", "number", "integer", "boolean", "array"];
/// Name of the only field of a form for a question without fields of its own.
const ANSWER: &str = "answer";

/// A form for a question.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Elicitation<'a> {
    session_id: &'a str,
    mode: &'static str,
    message: &'a str,
    requested_schema: Value,
    /// Whether the form has only the field [`ANSWER`], which the protocol needs and the agent does not know.
    #[serde(skip)]
    is_wrapped: bool,
}

impl<'a> Elicitation<'a> {
    /// Creates the form. The agent's schema is used if its fields can be fields of a form; otherwise the user writes text.
    pub(crate) fn new(session_id: &'a str, ask: &'a Ask) -> Self {
        let schema = ask.schema.as_ref().map(Json::to_value);
        let (requested_schema, is_wrapped) = match schema {
            Some(schema) if is_form(&schema) => (schema, false),
            Some(schema) if is_field(&schema) => (wrapped(&schema), true),
            _ => (wrapped(&json!({"type": "string", "title": "Answer"})), true),
        };
        Self {
            session_id,
            mode: "form",
            message: &ask.text,
            requested_schema,
            is_wrapped,
        }
    }

    /// Returns whether the answer is the value of a single field.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.is_wrapped
    }

    pub(crate) fn frame(&self, id: u64) -> String {
        request(id, "elicitation/create", self)
    }
}

/// Whether a schema is an object of simple fields.
fn is_form(schema: &Value) -> bool {
    let fields = schema["properties"].as_object();
    schema["type"] == "object"
        && fields.is_some_and(|fields| !fields.is_empty() && fields.values().all(is_field))
}

fn is_field(schema: &Value) -> bool {
    let kind = schema["type"].as_str().unwrap_or_default();
    FIELD_TYPES.contains(&kind)
}

fn wrapped(field: &Value) -> Value {
    json!({"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]})
}

/// What the user answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ElicitationAnswer {
    /// The text for the agent: the words of a single field, or the fields as JSON.
    Given(String),
    Declined,
    /// The user closed the form.
    Dismissed,
}

impl ElicitationAnswer {
    /// Reads the result of the request.
    pub(crate) fn read(result: &RawValue, is_wrapped: bool) -> Result<Self, FieldError> {
        #[derive(Deserialize)]
        struct Answer<'a> {
            action: String,
            #[serde(default, borrow)]
            content: Option<&'a RawValue>,
        }
        let answer: Answer<'_> = read_part(result)?;
        match &*answer.action {
            "accept" => {
                let content = answer.content.map_or("{}", RawValue::get);
                if !is_wrapped {
                    return Ok(Self::Given(content.to_owned()));
                }
                let fields: Value = serde_json::from_str(content).unwrap_or_default();
                match &fields[ANSWER] {
                    Value::Null => Err(FieldError::missing("content.answer")),
                    Value::String(text) => Ok(Self::Given(text.clone())),
                    other => Ok(Self::Given(other.to_string())),
                }
            }
            "decline" => Ok(Self::Declined),
            "cancel" => Ok(Self::Dismissed),
            _ => Err(FieldError::invalid(
                "action",
                "must be accept, decline or cancel",
            )),
        }
    }
}
