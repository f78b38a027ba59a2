//! The card of a peer: who it is, and its skills, each a path with a method and its schemas.
//!
//! The original writes the schemas as `…_model` or as `…_schema`, depending on who serialises, and reads the latter only;
//! so both are read and the latter is written. `fit.rs` makes a card small enough for peers that read once, `remarks.rs` says
//! what its author should know.

mod fit;
mod remarks;

use serde_json::value::RawValue;

use super::fields::{self, Fields, REQUIRED};
use super::{
    Answer, ErrorBody, Fault, Limits, MAX_DESCRIPTION, MAX_NAME, MAX_PATH, MAX_SKILLS, Method,
    read_answer,
};
use crate::json::{ObjectWriter, is_container};

/// Who a peer is and what it can do.
#[derive(Debug, Clone, Default)]
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
    pub flaws: Vec<String>,
}

/// Something that a peer can do.
#[derive(Debug, Clone, Default)]
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
    pub params_schema: Option<Box<RawValue>>,
    /// The JSON schema of the input.
    pub input_schema: Option<Box<RawValue>>,
    /// The JSON schema of the answer.
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
            let raw = fields::value(bytes, &Limits::SMALL);
            raw.and_then(Card::from_value).map_err(NoCard::Fault)
        }
    }
}

impl Card {
    /// Reads a card that is part of something else. Names and descriptions are cut to a length that can be shown. Skills
    /// that cannot be read are passed over, as are those after the first [`MAX_SKILLS`]: the others can be called.
    pub fn from_value(raw: &RawValue) -> Result<Self, Fault> {
        let fields = Fields::of(raw)?;
        let name = fields.cut_text("name", MAX_NAME)?;
        if name.trim().is_empty() {
            return Err(Fault::at("name", REQUIRED));
        }
        let (skills, flaws) = fields.read("skills", Skill::list)?.unwrap_or_default();
        Ok(Card {
            name,
            version: fields.cut_text("version", MAX_NAME)?,
            description: fields.cut_text("description", MAX_DESCRIPTION)?,
            skills,
            flaws,
        })
    }

    /// The whole card as JSON.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.push_json(&mut out);
        out
    }

    /// Appends the card as JSON.
    pub(super) fn push_json(&self, out: &mut String) {
        self.push_described(out, &self.description);
    }

    /// Appends the card as JSON, with another description.
    fn push_described(&self, out: &mut String, description: &str) {
        let mut object = ObjectWriter::open(out);
        object
            .text("name", &*self.name)
            .text("version", &*self.version)
            .text("description", description)
            .list("skills", &self.skills, |out, skill| skill.push_json(out));
        object.close();
    }
}

impl Skill {
    /// The skills of a list, and what is wrong with the others in it.
    fn list(raw: &RawValue) -> Result<(Vec<Self>, Vec<String>), Fault> {
        let (mut skills, mut flaws) = (Vec::new(), Vec::new());
        let elements = fields::elements(raw)?;
        for (at, raw) in elements.iter().take(MAX_SKILLS).enumerate() {
            match Self::from_value(raw) {
                Ok(skill) => skills.push(skill),
                Err(fault) => flaws.push(remarks::passed_over(at, fault)),
            }
        }
        flaws.extend(remarks::too_many(elements.len()));
        Ok((skills, flaws))
    }

    fn from_value(raw: &RawValue) -> Result<Self, Fault> {
        let fields = Fields::of(raw)?;
        let name = fields.cut_text("name", MAX_NAME)?;
        let id = match fields.read("id", |raw| fields::word(raw, MAX_NAME))? {
            Some(id) => id,
            None if name.trim().is_empty() => {
                return Err(Fault::at("id", "is required, or \"name\" instead of it"));
            }
            None => name.clone(),
        };
        let method = fields.read("method", |raw| fields::word(raw, MAX_NAME))?;
        let method = method.map(|method| method.to_ascii_uppercase());
        Ok(Skill {
            name: if name.trim().is_empty() {
                id.clone()
            } else {
                name
            },
            id,
            description: fields.cut_text("description", MAX_DESCRIPTION)?,
            path: fields.require("path", |raw| fields::word(raw, MAX_PATH))?,
            method: method.unwrap_or_else(|| Method::Post.name().to_owned()),
            params_schema: fields.any_of(&["params_schema", "params_model"], schema)?,
            input_schema: fields.any_of(&["input_schema", "input_model"], schema)?,
            output_schema: fields.any_of(&["output_schema", "output_model"], schema)?,
        })
    }

    fn push_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object
            .text("id", &*self.id)
            .text("name", &*self.name)
            .text("description", &*self.description)
            .text("path", &*self.path)
            .text("method", &*self.method)
            .maybe_raw("params_schema", self.params_schema.as_deref())
            .maybe_raw("input_schema", self.input_schema.as_deref())
            .maybe_raw("output_schema", self.output_schema.as_deref());
        object.close();
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

/// A JSON schema: an object, or a boolean as newer drafts have it.
fn schema(raw: &RawValue) -> Result<Box<RawValue>, Fault> {
    let is_schema = match raw.get() {
        "true" | "false" => true,
        text => is_container(text) && !text.starts_with('['),
    };
    match is_schema {
        true => Ok(raw.to_owned()),
        false => Err(Fault::here("must be a JSON schema")),
    }
}
