//! A handoff to a skill of a peer's card: the choice of the skill, and the parameters of its path. Pure.

use jackfield_model::{Failure, Reason};

use crate::wire::{Data, HandOff, Method, PathParam, PathParams, PeerInputError, PeerSkill, path};

/// Returns the skill with this id or name. Without one, returns the first skill, because a card begins with
/// the peer's main purpose.
pub fn choose<'a>(skills: &'a [PeerSkill], wanted: Option<&str>) -> Result<&'a PeerSkill, Failure> {
    let Some(wanted) = wanted else {
        return skills.first().ok_or_else(|| {
            Failure::new(
                Reason::Unsupported,
                "the peer's card names no skill to call",
            )
        });
    };
    let is_it = |skill: &&PeerSkill| skill.id == wanted || skill.name == wanted;
    skills.iter().find(is_it).ok_or_else(|| {
        let known: Vec<_> = skills.iter().map(|skill| skill.id.as_str()).collect();
        let text = format!(
            "the peer has no skill {wanted:?}; it has {}",
            known.join(", ")
        );
        Failure::new(Reason::Unsupported, text)
    })
}

/// Builds the [`HandOff`] to a [`PeerSkill`]. `given` supplies the parameters of the path. A single parameter, such as
/// the original's `/{goal}`, takes the words of the message if `given` has none; words too long for a path
/// are cut there, since the input has all of them. Paths that cannot work are refused here and not by the
/// peer; `remedy` tells the caller how to supply a missing parameter.
pub fn to_skill(
    skill: &PeerSkill,
    given: impl Fn(&str) -> Option<PathParam>,
    words: impl FnOnce() -> String,
    input: Data,
    remedy: &str,
) -> Result<HandOff, Failure> {
    let method = Method::from_name(&skill.method)
        .map_err(|fault| Failure::new(Reason::Unsupported, no_method(skill, &fault)))?;
    let mut hand_off = HandOff::new(method, skill.path.as_str());
    hand_off.params = match placeholders(&skill.path).as_slice() {
        [only] => {
            let param = given(only).unwrap_or_else(|| {
                let words = words();
                match method {
                    // A GET has no input for the rest of the words.
                    Method::Get => PathParam::Text(words),
                    _ => PathParam::from(path::cut_to_fit(
                        &skill.path,
                        only,
                        &PathParams::new(),
                        &words,
                    )),
                }
            });
            PathParams::from([((*only).to_owned(), param)])
        }
        names => {
            let params = names.iter().map(|name| match given(name) {
                Some(param) => Ok(((*name).to_owned(), param)),
                None => Err(missing(skill, name, remedy)),
            });
            params.collect::<Result<_, _>>()?
        }
    };
    path::expand(&hand_off.path, &hand_off.params)
        .map_err(|fault| Failure::new(Reason::Invalid, fault.to_string()))?;
    if method != Method::Get {
        hand_off.input = Some(input);
    }
    Ok(hand_off)
}

fn no_method(skill: &PeerSkill, fault: &PeerInputError) -> String {
    let (id, method) = (&skill.id, &skill.method);
    format!(
        "the peer's card gives its skill {id:?} the method {method:?}, which {}",
        fault.problem
    )
}

fn missing(skill: &PeerSkill, name: &str, remedy: &str) -> Failure {
    let text = format!(
        "skill {:?} of the peer needs parameter {name:?} for its path {}: {remedy}",
        skill.id, skill.path
    );
    Failure::new(Reason::Invalid, text)
}

/// Returns the names in braces, each once.
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
