//! [`ArtifactExtra`]: fields of an artifact and of its parts that only the agent's protocol knows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Json;

/// Name of the member with the fields of parts.
const PARTS: &str = "parts";

/// Fields of an artifact and of its parts that only the agent's protocol knows: for A2A, descriptions,
/// metadata, media types of texts, extensions.
///
/// In JSON it is an object. Its member `parts` is a list of `[index, fields]`, one for each part that has
/// fields of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Json>", into = "BTreeMap<String, Json>")]
pub struct ArtifactExtra {
    fields: BTreeMap<String, ExtraField>,
    /// Fields of parts by the index of the part, in the order of the indices.
    parts: Vec<(usize, Json)>,
}

/// A field, as it came or merged from several pieces.
#[derive(Debug, Clone, PartialEq)]
enum ExtraField {
    Whole(Json),
    Merged(BTreeMap<String, Json>),
}

impl ArtifactExtra {
    /// Reads the fields from an object. Returns `None` for any other value.
    pub fn read(json: &Json) -> Option<Self> {
        serde_json::from_str(json.get()).ok()
    }

    /// Returns the fields as an object.
    pub fn to_json(&self) -> Option<Json> {
        Json::of(self).ok()
    }

    /// Returns whether the part with this index has fields of its own.
    pub fn is_on_part(&self, index: usize) -> bool {
        let found = self.parts.binary_search_by_key(&index, |(at, _)| *at);
        found.is_ok()
    }

    /// Returns true if there is no field.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.parts.is_empty()
    }

    /// Takes the fields of all parts, with their indices.
    pub(crate) fn take_parts(&mut self) -> Vec<(usize, Json)> {
        std::mem::take(&mut self.parts)
    }

    /// Adds the fields of a part, whose index is larger than those before.
    pub(crate) fn push_part(&mut self, index: usize, fields: Json) {
        self.parts.push((index, fields));
    }

    /// Adds the fields of a later piece. Objects are merged by their members; for the same name, the later
    /// value counts.
    pub(crate) fn merge_fields(&mut self, piece: Self) {
        for (name, new) in piece.fields {
            match self.fields.get_mut(&name) {
                Some(had) => had.merge(new),
                None => drop(self.fields.insert(name, new)),
            }
        }
    }

    pub(crate) fn weight(&self) -> usize {
        let fields = self.fields.iter();
        let fields: usize = fields
            .map(|(name, field)| name.len() + field.weight())
            .sum();
        let parts: usize = self.parts.iter().map(|(_, json)| json.get().len()).sum();
        fields + parts
    }
}

impl ExtraField {
    fn merge(&mut self, new: Self) {
        let had = std::mem::replace(self, Self::Merged(BTreeMap::new()));
        *self = match (had.members(), new.members()) {
            (Ok(mut had), Ok(new)) => {
                had.extend(new);
                Self::Merged(had)
            }
            (_, Ok(new)) => Self::Merged(new),
            (_, Err(new)) => Self::Whole(new),
        };
    }

    /// Returns the members of an object, or the value if it is none.
    fn members(self) -> Result<BTreeMap<String, Json>, Json> {
        match self {
            Self::Merged(members) => Ok(members),
            Self::Whole(json) => serde_json::from_str(json.get()).map_err(|_| json),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Whole(json) => json.get().len(),
            Self::Merged(members) => {
                let members = members.iter();
                members
                    .map(|(name, json)| name.len() + json.get().len())
                    .sum()
            }
        }
    }
}

impl From<BTreeMap<String, Json>> for ArtifactExtra {
    fn from(mut members: BTreeMap<String, Json>) -> Self {
        let parts = members.get(PARTS);
        let parts = parts.and_then(|json| serde_json::from_str(json.get()).ok());
        let mut parts: Vec<(usize, Json)> = parts.unwrap_or_default();
        if !parts.is_empty() {
            members.remove(PARTS);
        }
        parts.sort_by_key(|(index, _)| *index);
        parts.dedup_by_key(|(index, _)| *index);
        let fields = members.into_iter();
        let fields = fields.map(|(name, json)| (name, ExtraField::Whole(json)));
        Self {
            fields: fields.collect(),
            parts,
        }
    }
}

impl From<ArtifactExtra> for BTreeMap<String, Json> {
    fn from(extra: ArtifactExtra) -> Self {
        let written = |field: ExtraField| match field {
            ExtraField::Whole(json) => Some(json),
            ExtraField::Merged(members) => Json::of(&members).ok(),
        };
        let fields = extra.fields.into_iter();
        let mut members: Self = fields
            .filter_map(|(name, field)| Some((name, written(field)?)))
            .collect();
        if !extra.parts.is_empty()
            && let Ok(parts) = Json::of(&extra.parts)
        {
            members.insert(PARTS.to_owned(), parts);
        }
        members
    }
}
