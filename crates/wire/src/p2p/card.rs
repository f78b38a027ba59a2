//! The card of a peer: who it is, and its skills, each a path with a method and its schemas.
//!
//! The original writes the schemas as `…_model` or as `…_schema`, depending on who serialises, and reads the latter only;
//! so both are read and the latter is written. `fit.rs` makes a card small enough for peers that read once, `remarks.rs` says
//! what its author should know.

mod fit;
mod remarks;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Answer, ErrorBody, Fault, Limits, MAX_DESCRIPTION, MAX_NAME, MAX_PATH, MAX_SKILLS, Method, cut,
    read_answer, read_body, word,
};
use crate::read::{Misread, or_default, read_part};

/// Who a peer is and what it can do.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Card {
    /// What it is called.
    pub name: String,
    /// Its version; may be empty.
    pub version: String,
    /// What it is, for people and models; may be empty.
    pub description: String,
    /// What it can do.
    pub skills: Vec<Skill>,
    /// What was passed over when it was read, a sentence each; see [`Card::remarks`].
    #[serde(skip)]
    pub flaws: Vec<String>,
}

/// Something that a peer can do.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Skill {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
    /// Where it is, with `{name}` where a parameter goes.
    pub path: String,
    /// How it is called, in upper case; see [`Method::from_name`], since cards may name others than requests may have.
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

/// Why there is no card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoCard {
    /// The peer said that something is wrong.
    Error(ErrorBody),
    /// What it said is no card.
    Fault(Fault),
}

/// Reads what a peer wrote on a card stream.
pub fn read_card(bytes: &[u8]) -> Result<Card, NoCard> {
    match read_answer(bytes) {
        Answer::Error(error) => Err(NoCard::Error(error)),
        Answer::Body(bytes) => {
            let raw: Result<&RawValue, _> = read_body(bytes, &Limits::SMALL);
            raw.and_then(Card::from_value).map_err(NoCard::Fault)
        }
    }
}

/// A card as peers write it.
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

/// A skill as peers write it.
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

impl Card {
    /// Reads a card that is part of something else. Names and descriptions are cut to a length that can be shown. Skills
    /// that cannot be read are passed over, as are those after the first [`MAX_SKILLS`]: the others can be called.
    pub fn from_value(raw: &RawValue) -> Result<Self, Fault> {
        let body: CardBody<'_> = read_part(raw)?;
        if body.name.trim().is_empty() {
            return Err(Misread::missing("name").into());
        }
        let (mut skills, mut flaws) = (Vec::new(), Vec::new());
        for (at, raw) in body.skills.iter().take(MAX_SKILLS).enumerate() {
            match Skill::from_value(raw) {
                Ok(skill) => skills.push(skill),
                Err(fault) => flaws.push(remarks::passed_over(at, fault)),
            }
        }
        flaws.extend(remarks::too_many(body.skills.len()));
        Ok(Card {
            name: cut(&body.name, MAX_NAME).to_owned(),
            version: cut(&body.version, MAX_NAME).to_owned(),
            description: cut(&body.description, MAX_DESCRIPTION).to_owned(),
            skills,
            flaws,
        })
    }

    /// The whole card as JSON.
    pub fn to_json(&self) -> String {
        // Texts and JSON cannot fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Skill {
    fn from_value(raw: &RawValue) -> Result<Self, Fault> {
        let body: SkillBody<'_> = read_part(raw)?;
        let name = cut(&body.name, MAX_NAME).to_owned();
        let is_unnamed = name.trim().is_empty();
        let id = match body.id {
            Some(id) => word("id", id, MAX_NAME)?,
            None if is_unnamed => {
                return Err(Fault::at("id", "is required, or \"name\" instead of it"));
            }
            None => name.clone(),
        };
        let method = body.method.map(|method| word("method", method, MAX_NAME));
        let method = method
            .transpose()?
            .map(|method| method.to_ascii_uppercase());
        Ok(Skill {
            name: if is_unnamed { id.clone() } else { name },
            id,
            description: cut(&body.description, MAX_DESCRIPTION).to_owned(),
            path: word("path", body.path, MAX_PATH)?,
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

    /// How many bytes the schemas have.
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

/// The first JSON schema that is given: an object, or a boolean as newer drafts have it.
fn schema(spellings: [(&str, Option<&RawValue>); 2]) -> Result<Option<Box<RawValue>>, Fault> {
    let given = spellings
        .into_iter()
        .find_map(|(name, raw)| Some((name, raw?)));
    let Some((name, raw)) = given else {
        return Ok(None);
    };
    match raw.get() {
        "true" | "false" => Ok(Some(raw.to_owned())),
        text if text.starts_with('{') => Ok(Some(raw.to_owned())),
        _ => Err(Fault::at(name, "must be a JSON schema")),
    }
}
