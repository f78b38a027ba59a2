//! A call as a handoff: the choice of the peer's skill, its parameters and its input. Pure.

use jackfield_kit::files::Files;
use jackfield_model::{Failure, Json, Message, Part};
use jackfield_peer::{
    delegate::{choose, to_skill},
    wire::{Data, HandOff, Method, PathParam, PeerSkill},
};
use serde_json::{Map, Value};

use super::list::PeerRoute;
use crate::translate::data_from_parts;

/// How a caller of the hub supplies a missing parameter.
const REMEDY: &str = "give it as data, or in metadata \"params\"";

/// Converts a [`Message`] to a [`HandOff`].
pub(super) fn hand_off(
    way: &PeerRoute,
    message: &Message,
    files: &Files,
) -> Result<HandOff, Failure> {
    let input = data_from_parts(message.parts.clone(), files);
    let metadata = message.metadata.as_ref().and_then(object);
    match way {
        PeerRoute::Hub(path) => {
            let mut hand_off = HandOff::new(Method::Post, path.as_str());
            hand_off.input = Some(input);
            Ok(hand_off)
        }
        PeerRoute::Skills(skills) => {
            let wanted = metadata.as_ref().and_then(|it| it.get("skill")?.as_str());
            let skill = choose(skills, wanted)?;
            by_skill(skill, metadata.as_ref(), message, input)
        }
    }
}

fn by_skill(
    skill: &PeerSkill,
    metadata: Option<&Map<String, Value>>,
    message: &Message,
    input: Data,
) -> Result<HandOff, Failure> {
    let said = metadata.and_then(|it| it.get("params")?.as_object());
    let data = message.parts.iter().find_map(|part| match part {
        Part::Data(json) => object(json),
        Part::Text(_) | Part::File(_) => None,
    });
    let given = |name: &str| {
        let given = said.and_then(|it| it.get(name));
        given.or_else(|| data.as_ref()?.get(name)).and_then(param)
    };
    to_skill(skill, given, || message.joined_text(), input, REMEDY)
}

fn object(json: &Json) -> Option<Map<String, Value>> {
    serde_json::from_str(json.get()).ok()
}

fn param(value: &Value) -> Option<PathParam> {
    match value {
        Value::String(text) => Some(PathParam::Text(text.clone())),
        Value::Bool(flag) => Some(PathParam::Flag(*flag)),
        Value::Number(number) => Some(PathParam::Number(number.to_string().into())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
