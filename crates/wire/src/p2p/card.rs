//! The card of a peer: its name and description, and its skills, each a path with a method and schemas.
//!
//! The original writes the schemas as `…_model` or as `…_schema`, depending on the serialiser, and reads only
//! `…_schema`. Therefore both are read and `…_schema` is written. `fit.rs` shrinks a card for peers that read
//! once, `remarks.rs` lists problems for the author of a card.

mod fit;
mod remarks;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    BodyLimits, MAX_DESCRIPTION, MAX_NAME, MAX_PATH, MAX_SKILLS, Method, PeerAnswer, PeerErrorBody,
    PeerInputError, checked_text, cut, read_answer, read_body,
};
use crate::read::{FieldError, or_default, read_part};

/// The card of a peer: its name and its skills.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PeerCard {
    /// Name of the peer.
    pub name: String,
    /// Version of the peer; may be empty.
    pub version: String,
    /// Description of the peer, for people and models; may be empty.
    pub description: String,
    /// Skills of the peer.
    pub skills: Vec<PeerSkill>,
    /// Problems found while reading, a sentence each; see [`PeerCard::remarks`].
    #[serde(skip)]
    pub flaws: Vec<String>,
}

/// A skill of a peer.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PeerSkill {
    /// Id of the skill.
    pub id: String,
    /// Name of the skill.
    pub name: String,
    /// Description of the skill; may be empty.
    pub description: String,
    /// Path of the skill, with `{name}` placeholders for parameters.
    pub path: String,
    /// Method of the skill, in upper case. A card may name a method that requests cannot use; see
    /// [`Method::from_name`].
    pub method: String,
    /// The JSON schema of the parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params_schema: Option<Box<RawValue>>,
    /// The JSON schema of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Box<RawValue>>,
    /// The JSON schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
}

/// Error of [`read_card`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardError {
    /// The peer sent an error.
    Error(PeerErrorBody),
    /// The peer sent a malformed card.
    Fault(PeerInputError),
}

/// Reads the bytes of a card stream.
pub fn read_card(bytes: &[u8]) -> Result<PeerCard, CardError> {
    match read_answer(bytes) {
        PeerAnswer::Error(error) => Err(CardError::Error(error)),
        PeerAnswer::Body(bytes) => {
            let raw: Result<&RawValue, _> = read_body(bytes, &BodyLimits::SMALL);
            raw.and_then(PeerCard::from_value).map_err(CardError::Fault)
        }
    }
}

/// The JSON form of a [`PeerCard`].
#[derive(Deserialize)]
struct CardBody<'a> {
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    version: String,
    #[serde(default, deserialize_with = "or_default")]
    description: String,
    #[serde(borrow, default, deserialize_with = "or_default")]
    skills: Vec<&'a RawValue>,
}

/// The JSON form of a [`PeerSkill`].
#[derive(Deserialize)]
struct SkillBody<'a> {
    id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    description: String,
    path: String,
    method: Option<String>,
    #[serde(borrow)]
    params_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    params_model: Option<&'a RawValue>,
    #[serde(borrow)]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    input_model: Option<&'a RawValue>,
    #[serde(borrow)]
    output_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    output_model: Option<&'a RawValue>,
}

impl PeerCard {
    /// Reads a card inside another document. Names and descriptions are cut to a displayable length.
    /// Malformed skills and skills after the first [`MAX_SKILLS`] are skipped, so that the remaining skills
    /// can be called; [`PeerCard::flaws`] lists the problems.
    pub fn from_value(raw: &RawValue) -> Result<Self, PeerInputError> {
        let body: CardBody<'_> = read_part(raw)?;
        if body.name.trim().is_empty() {
            return Err(FieldError::missing("name").into());
        }
        let (mut skills, mut flaws) = (Vec::new(), Vec::new());
        for (at, raw) in body.skills.iter().take(MAX_SKILLS).enumerate() {
            match PeerSkill::from_value(raw) {
                Ok(skill) => skills.push(skill),
                Err(fault) => flaws.push(remarks::skipped_skill(at, fault)),
            }
        }
        flaws.extend(remarks::too_many_skills(body.skills.len()));
        Ok(PeerCard {
            name: cut(&body.name, MAX_NAME).to_owned(),
            version: cut(&body.version, MAX_NAME).to_owned(),
            description: cut(&body.description, MAX_DESCRIPTION).to_owned(),
            skills,
            flaws,
        })
    }

    /// Returns the whole card as JSON.
    pub fn to_json(&self) -> String {
        // Texts and JSON can always be serialised.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl PeerSkill {
    fn from_value(raw: &RawValue) -> Result<Self, PeerInputError> {
        let body: SkillBody<'_> = read_part(raw)?;
        let name = cut(&body.name, MAX_NAME).to_owned();
        let is_unnamed = name.trim().is_empty();
        let id = match body.id {
            Some(id) => checked_text("id", id, MAX_NAME)?,
            None if is_unnamed => {
                return Err(PeerInputError::in_field(
                    "id",
                    "is required, or \"name\" instead of it",
                ));
            }
            None => name.clone(),
        };
        let method = body
            .method
            .map(|method| checked_text("method", method, MAX_NAME));
        let method = method
            .transpose()?
            .map(|method| method.to_ascii_uppercase());
        Ok(PeerSkill {
            name: if is_unnamed { id.clone() } else { name },
            id,
            description: cut(&body.description, MAX_DESCRIPTION).to_owned(),
            path: checked_text("path", body.path, MAX_PATH)?,
            method: method.unwrap_or_else(|| Method::Post.name().to_owned()),
            params_schema: schema([
                ("params_schema", body.params_schema),
                ("params_model", body.params_model),
            ])?,
            input_schema: schema([
                ("input_schema", body.input_schema),
                ("input_model", body.input_model),
            ])?,
            output_schema: schema([
                ("output_schema", body.output_schema),
                ("output_model", body.output_model),
            ])?,
        })
    }

    /// Returns the size of the schemas in bytes.
    fn schema_size(&self) -> usize {
        let schemas = [&self.params_schema, &self.input_schema, &self.output_schema];
        let sizes = schemas.into_iter().flatten();
        sizes.map(|schema| schema.get().len()).sum()
    }

    fn drop_schemas(&mut self) {
        self.params_schema = None;
        self.input_schema = None;
        self.output_schema = None;
    }
}

/// Returns the first given JSON schema: an object, or a boolean as in newer drafts.
fn schema(
    spellings: [(&str, Option<&RawValue>); 2],
) -> Result<Option<Box<RawValue>>, PeerInputError> {
    let given = spellings
        .into_iter()
        .find_map(|(name, raw)| Some((name, raw?)));
    let Some((name, raw)) = given else {
        return Ok(None);
    };
    match raw.get() {
        "true" | "false" => Ok(Some(raw.to_owned())),
        text if text.starts_with('{') => Ok(Some(raw.to_owned())),
        _ => Err(PeerInputError::in_field(name, "must be a JSON schema")),
    }
}
