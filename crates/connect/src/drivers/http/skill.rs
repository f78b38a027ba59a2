//! Converts a message into a request to a skill of a card. Pure. Paths are filled and checked by the code of
//! the peer-to-peer protocol, so that a caller's text cannot lead to a different path.

use jackfield_sdk::{AgentFailure, Message, Part};
use jackfield_wire::p2p::{PathParam, PathParams, PeerCard, PeerSkill, path};
use serde_json::{Map, Value};

/// A request to a skill.
#[derive(Debug, PartialEq)]
pub(super) struct SkillCall {
    /// HTTP method.
    pub(super) method: String,
    /// Path below the agent's own URL.
    pub(super) path: String,
    /// Body of the request.
    pub(super) body: Option<Value>,
}

/// Names of input fields for the text of a message.
const WORDS: [&str; 8] = [
    "message", "text", "input", "prompt", "query", "question", "goal", "task",
];

/// Converts a message into a request.
pub(super) fn call(card: &PeerCard, message: &Message) -> Result<SkillCall, AgentFailure> {
    let metadata = message.metadata.as_ref().unwrap_or(&Value::Null);
    let skill = choose(card, metadata)?;
    let mut params = params_of(&metadata["params"]);
    let left: Vec<_> = places(&skill.path)
        .filter(|place| !params.contains_key(*place))
        .collect();
    let has_body = !matches!(skill.method.as_str(), "GET" | "DELETE" | "HEAD");
    // A single unfilled place is for the text. If the text is too long for the path, only its start goes
    // there, and the body contains the whole text.
    let mut is_said_in_path = false;
    if let [place] = left[..]
        && !message.text.is_empty()
    {
        let text = message.text.as_str();
        let fits = match has_body {
            true => path::cut_to_fit(&skill.path, place, &params, text),
            false => text,
        };
        is_said_in_path = fits.len() == text.len();
        params.insert(place.to_owned(), PathParam::from(fits));
    }
    let path = path::expand(&skill.path, &params).map_err(|fault| {
        let text = format!("skill {}: {fault}; say it in metadata.params", skill.id);
        AgentFailure::new("invalid_message", text)
    })?;
    let body = has_body.then(|| body(skill, message, is_said_in_path));
    Ok(SkillCall {
        method: skill.method.clone(),
        path,
        body: body.flatten(),
    })
}

fn choose<'a>(card: &'a PeerCard, metadata: &Value) -> Result<&'a PeerSkill, AgentFailure> {
    let wanted = metadata["skill"].as_str();
    let skill = match wanted {
        Some(id) => card.skills.iter().find(|skill| skill.id == id),
        None => card.skills.first(),
    };
    skill.ok_or_else(|| {
        let ids: Vec<_> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
        let wanted = wanted.unwrap_or_default();
        let text = format!("there is no skill {wanted:?}; there are {}", ids.join(", "));
        AgentFailure::new("invalid_message", text)
    })
}

fn params_of(params: &Value) -> PathParams {
    let pairs = params.as_object().into_iter().flatten();
    let pairs = pairs.filter_map(|(name, value)| {
        let param = match value {
            Value::String(text) => PathParam::Text(text.clone()),
            Value::Number(number) => PathParam::Number(number.to_string().into()),
            Value::Bool(flag) => PathParam::Flag(*flag),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((name.clone(), param))
    });
    pairs.collect()
}

/// Iterates over the names of the places in a path template.
fn places(template: &str) -> impl Iterator<Item = &str> {
    template
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
}

fn body(skill: &PeerSkill, message: &Message, is_said_in_path: bool) -> Option<Value> {
    let data = message.parts.iter().find_map(|part| match part {
        Part::Data(data) => Some(data.to_value()),
        Part::Text(_) | Part::File(_) => None,
    });
    if data.is_some() || is_said_in_path {
        return data;
    }
    let schema = skill.input_schema.as_deref();
    let schema = schema.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let schema = schema.unwrap_or_default();
    let said = Value::from(message.text.as_str());
    if schema["type"] == "string" {
        return Some(said);
    }
    let field = field_for_words(&schema).unwrap_or("message");
    Some(Map::from_iter([(field.to_owned(), said)]).into())
}

/// Returns the input field for the text: a field with a known name, else the only required string field.
fn field_for_words(schema: &Value) -> Option<&str> {
    let fields = schema["properties"].as_object()?;
    if let Some(known) = WORDS.into_iter().find(|field| fields.contains_key(*field)) {
        return Some(known);
    }
    let required = schema["required"].as_array()?;
    let mut texts = required
        .iter()
        .filter_map(Value::as_str)
        .filter(|field| fields.get(*field).is_some_and(|it| it["type"] == "string"));
    let only = texts.next()?;
    texts.next().is_none().then_some(only)
}

#[cfg(test)]
mod tests {
    use jackfield_wire::p2p::read_card;
    use serde_json::json;

    use super::*;

    /// A card as served by an agent of the peer-to-peer seed's SDK.
    fn card() -> PeerCard {
        let card = json!({
            "name": "weather", "version": "1.0", "description": "tells the weather",
            "skills": [
                {"id": "ask", "name": "Ask", "description": "", "path": "/{goal}", "method": "POST"},
                {"id": "forecast", "name": "Forecast", "path": "/forecast/{city}", "method": "GET"},
                {"id": "report", "name": "Report", "path": "report", "method": "post",
                 "input_schema": {"type": "object", "properties": {"place": {"type": "string"}, "days": {"type": "integer"}}, "required": ["place"]}},
                {"id": "say", "name": "Say", "path": "/say", "input_schema": {"type": "string"}},
                {"id": "find", "path": "/find?q={q}&lang=en", "method": "GET"},
            ],
        });
        read_card(card.to_string().as_bytes()).unwrap()
    }

    fn message(text: &str, metadata: Value, data: Option<Value>) -> Message {
        let mut message = Message::default();
        message.text = text.to_owned();
        message.parts = vec![Part::Text(text.to_owned())];
        message
            .parts
            .extend(data.map(|data| Part::Data(data.into())));
        message.metadata = Some(metadata);
        message
    }

    fn called(message: &Message) -> (String, String, Option<Value>) {
        let call = call(&card(), message).unwrap();
        (call.method, call.path, call.body)
    }

    #[test]
    fn the_first_skill_is_called_and_words_fill_the_place_in_its_path() {
        assert_eq!(
            called(&message("is it warm? ../x", Value::Null, None)),
            ("POST".into(), "/is%20it%20warm%3F%20..%2Fx".into(), None)
        );
    }

    #[test]
    fn words_of_every_kind_and_length_are_said() {
        assert_eq!(
            called(&message("plan a trip\nto C:\\", Value::Null, None)).1,
            "/plan%20a%20trip%0Ato%20C%3A%5C"
        );
        let long = "go on ".repeat(2000);
        let (_, path, body) = called(&message(&long, Value::Null, None));
        assert!(
            path.starts_with("/go%20on%20") && path.len() > 8000,
            "{path}"
        );
        assert_eq!(body, Some(json!({"message": long})));
        // Without a body the text does not fit.
        let refused = call(&card(), &message(&long, json!({"skill": "forecast"}), None));
        assert!(refused.unwrap_err().message.contains("8192 bytes"));
    }

    #[test]
    fn a_query_that_the_path_has_is_filled_in() {
        let metadata = json!({"skill": "find"});
        assert_eq!(
            called(&message("a&b=c", metadata, None)).1,
            "/find?q=a%26b%3Dc&lang=en"
        );
    }

    #[test]
    fn a_skill_that_is_named_is_called_with_what_is_given_for_it() {
        let metadata = json!({"skill": "forecast", "params": {"city": "Rome"}});
        assert_eq!(
            called(&message("", metadata, None)),
            ("GET".into(), "/forecast/Rome".into(), None)
        );
        let data = json!({"place": "Rome", "days": 2});
        assert_eq!(
            called(&message("", json!({"skill": "report"}), Some(data.clone()))),
            ("POST".into(), "/report".into(), Some(data))
        );
    }

    #[test]
    fn words_are_put_where_the_schema_wants_them() {
        let body = |skill: &str| called(&message("Rome", json!({"skill": skill}), None)).2;
        assert_eq!(body("report"), Some(json!({"place": "Rome"})));
        assert_eq!(body("say"), Some(json!("Rome")));
    }

    #[test]
    fn what_cannot_be_called_is_told_with_what_can() {
        let failure = |metadata| call(&card(), &message("", metadata, None)).unwrap_err();
        let unknown = failure(json!({"skill": "dance"}));
        assert_eq!(unknown.code, "invalid_message");
        assert!(
            unknown.message.contains("ask, forecast, report"),
            "{}",
            unknown.message
        );
        let empty = failure(json!({"skill": "forecast"}));
        assert!(empty.message.contains("city"), "{}", empty.message);
        let escape = json!({"skill": "forecast", "params": {"city": ".."}});
        assert_eq!(failure(escape).code, "invalid_message");
    }
}
