//! A call as a handoff: which of a peer's skills is meant, with which parameters and which input. Pure.

use jackfield_core::{
    event::{Json, Message, Part},
    failure::{Failure, Reason},
    files::Files,
};
use jackfield_wire::p2p::{Data, HandOff, Method, Param, Skill, path};
use serde_json::{Map, Value};

use super::list::Way;
use crate::translate::data_from_parts;

/// The handoff that a message becomes.
pub(super) fn hand_off(way: &Way, message: &Message, files: &Files) -> Result<HandOff, Failure> {
    let input = data_from_parts(message.parts.clone(), files);
    let metadata = message.metadata.as_ref().and_then(object);
    match way {
        Way::Hub(path) => {
            let mut hand_off = HandOff::new(Method::Post, path.as_str());
            hand_off.input = Some(input);
            Ok(hand_off)
        }
        Way::Skills(skills) => {
            let wanted = metadata.as_ref().and_then(|it| it.get("skill")?.as_str());
            let skill = choose(skills, wanted)?;
            by_skill(skill, metadata.as_ref(), message, input)
        }
    }
}

/// The skill that is wanted, else the first: a card begins with what a peer is for.
fn choose<'a>(skills: &'a [Skill], wanted: Option<&str>) -> Result<&'a Skill, Failure> {
    let Some(wanted) = wanted else {
        return skills.first().ok_or_else(|| {
            Failure::new(
                Reason::Unsupported,
                "the peer's card names no skill to call",
            )
        });
    };
    let is_it = |skill: &&Skill| skill.id == wanted || skill.name == wanted;
    skills.iter().find(is_it).ok_or_else(|| {
        let known: Vec<_> = skills.iter().map(|skill| skill.id.as_str()).collect();
        let text = format!(
            "the peer has no skill {wanted:?} (metadata \"skill\"); it has {}",
            known.join(", ")
        );
        Failure::new(Reason::Unsupported, text)
    })
}

fn by_skill(
    skill: &Skill,
    metadata: Option<&Map<String, Value>>,
    message: &Message,
    input: Data,
) -> Result<HandOff, Failure> {
    let method = Method::from_name(&skill.method)
        .map_err(|fault| Failure::new(Reason::Unsupported, fault.to_string()))?;
    let mut hand_off = HandOff::new(method, skill.path.as_str());
    let said = metadata.and_then(|it| it.get("params")?.as_object());
    let data = message.parts.iter().find_map(|part| match part {
        Part::Data(json) => object(json),
        Part::Text(_) | Part::File(_) => None,
    });
    let names = placeholders(&skill.path);
    let is_only = names.len() == 1;
    for name in names {
        let given = said.and_then(|it| it.get(name));
        let given = given.or_else(|| data.as_ref()?.get(name));
        let param = match given {
            Some(value) => param(value),
            // A path with one gap, such as the original's `/{goal}`, is filled with the words.
            None if is_only => Some(Param::Text(message.words())),
            None => None,
        };
        let param = param.ok_or_else(|| {
            let text = format!(
                "skill {:?} of the peer needs parameter {name:?}: give it as data, or in metadata \"params\"",
                skill.id
            );
            Failure::new(Reason::Invalid, text)
        })?;
        hand_off.params.insert(name.to_owned(), param);
    }
    // What cannot be a path is said here, not by the peer.
    path::expand(&hand_off.path, &hand_off.params)
        .map_err(|fault| Failure::new(Reason::Invalid, fault.to_string()))?;
    if method != Method::Get {
        hand_off.input = Some(input);
    }
    Ok(hand_off)
}

fn object(json: &Json) -> Option<Map<String, Value>> {
    serde_json::from_str(json.get()).ok()
}

fn param(value: &Value) -> Option<Param> {
    match value {
        Value::String(text) => Some(Param::Text(text.clone())),
        Value::Bool(flag) => Some(Param::Flag(*flag)),
        Value::Number(number) => Some(Param::Number(number.to_string().into())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The names in braces, each once.
fn placeholders(template: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        if !names.contains(&name) {
            names.push(name);
        }
        rest = after;
    }
    names
}
