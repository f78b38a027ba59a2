//! [`Form`]: the form in which a client asks its user, made from the schema of an agent's question, and the check of what
//! the user filled in.

use jackfield_model::{Answer, Ask, AskKind, Part};
use rmcp::model::{ElicitationSchema, PrimitiveSchemaDefinition, StringSchema};
use serde_json::Value;

/// Field of a form with one field.
const ANSWER: &str = "answer";
/// Field of an approval.
const APPROVE: &str = "approve";

/// A form. The protocol has no other fields than texts, numbers, yes or no, and choices.
#[derive(Debug)]
pub(super) enum Form {
    /// One field, with the name [`ANSWER`].
    Field(Box<PrimitiveSchemaDefinition>),
    /// The fields that the agent's schema names.
    Fields(Box<ElicitationSchema>),
    /// Yes or no, with the name [`APPROVE`].
    Approval,
}

impl Form {
    /// Returns a form with one field for text.
    pub(super) fn text() -> Self {
        let text = StringSchema::new().title("Answer");
        Self::Field(Box::new(PrimitiveSchemaDefinition::String(text)))
    }

    /// Returns the form for a question. A question whose schema a form cannot show gets a field for text.
    pub(super) fn of(ask: &Ask) -> Self {
        if ask.kind == AskKind::Approval {
            return Self::Approval;
        }
        let Some(schema) = &ask.schema else {
            return Self::text();
        };
        let fields = serde_json::from_str::<ElicitationSchema>(schema.get());
        let fields = fields.ok().filter(|it| !it.properties.is_empty());
        let field = || serde_json::from_str(schema.get());
        match fields {
            Some(fields) => Self::Fields(Box::new(fields)),
            None => field().map_or_else(|_| Self::text(), |it| Self::Field(Box::new(it))),
        }
    }

    /// Returns the schema of the form.
    pub(super) fn schema(&self) -> ElicitationSchema {
        match self {
            Self::Field(field) => ElicitationSchema::builder()
                .required_property(ANSWER, (**field).clone())
                .build_unchecked(),
            Self::Fields(fields) => (**fields).clone(),
            Self::Approval => ElicitationSchema::builder()
                .required_bool(APPROVE)
                .build_unchecked(),
        }
    }

    /// Reads what the user filled in. An answer with fields is text and data, for agents that read either.
    pub(super) fn read(&self, content: Value) -> Result<Answer, String> {
        let content = self.check(content)?;
        Ok(match self {
            Self::Approval => Answer {
                approved: content[APPROVE].as_bool(),
                ..Answer::default()
            },
            Self::Field(_) => {
                let answer = &content[ANSWER];
                let text = answer.as_str().map(str::to_owned);
                Answer {
                    content: Some(text.unwrap_or_else(|| answer.to_string())),
                    ..Answer::default()
                }
            }
            Self::Fields(_) => Answer {
                content: Some(content.to_string()),
                parts: vec![Part::Data(content.into())],
                ..Answer::default()
            },
        })
    }

    /// Checks that the content has the fields that the form needs, each of its type. The text of an error names the field
    /// and what belongs there.
    fn check(&self, content: Value) -> Result<Value, String> {
        let Some(given) = content.as_object() else {
            return Err("`content` must be an object with the fields of the form".to_owned());
        };
        let schema = serde_json::to_value(self.schema()).unwrap_or_default();
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if given.get(name).is_none_or(Value::is_null) {
                return Err(format!("`content.{name}` is missing; the form needs it"));
            }
        }
        for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
            let field = &schema["properties"][name];
            if !fits(field, value) {
                return Err(format!("`content.{name}` must be {}", wanted(field)));
            }
        }
        Ok(content)
    }
}

/// Returns whether a value has the type of a field, and is one of its choices. A field that the form does not have fits.
fn fits(field: &Value, value: &Value) -> bool {
    let has_type = match field["type"].as_str() {
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("boolean") => value.is_boolean(),
        Some("array") => {
            let items = value.as_array();
            return items.is_some_and(|items| items.iter().all(|it| fits(&field["items"], it)));
        }
        _ => true,
    };
    has_type && choices(field).is_none_or(|choices| choices.contains(&value))
}

/// Returns the choices of a field, if it has any.
fn choices(field: &Value) -> Option<Vec<&Value>> {
    if let Some(values) = field["enum"].as_array() {
        return Some(values.iter().collect());
    }
    let titled = field["oneOf"].as_array().or(field["anyOf"].as_array())?;
    Some(titled.iter().map(|choice| &choice["const"]).collect())
}

/// Returns what belongs into a field, for people.
fn wanted(field: &Value) -> String {
    let kind = field["type"].as_str().unwrap_or("a choice");
    match choices(field).or_else(|| choices(&field["items"])) {
        Some(choices) => {
            let choices: Vec<_> = choices.iter().map(ToString::to_string).collect();
            format!("of type {kind}, out of {}", choices.join(", "))
        }
        None => format!("of type {kind}"),
    }
}
