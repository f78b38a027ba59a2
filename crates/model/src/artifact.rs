//! [`Artifact`]: a result that an agent produces besides its text.

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::Message;
use crate::{
    ArtifactExtra, File, Json, Part,
    weight::{parts_weight, text_weight},
};

/// A result that an agent produces, or a piece of a result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Artifact {
    /// The artifact's id within the task.
    pub id: String,
    /// The artifact's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub name: Option<String>,
    /// The contents.
    pub parts: Vec<Part>,
    /// Whether the parts continue an earlier piece with the same id.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub append: bool,
    /// Whether no further piece with the same id follows.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub last: bool,
    /// Fields of the agent's protocol that this model does not know, as in [`Message::extra`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub extra: Option<Box<ArtifactExtra>>,
}

/// The effect of [`Artifact::merge_into`], with the index of the artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergedArtifact {
    /// The piece extended an artifact.
    Extended(usize),
    /// The piece replaced an artifact.
    Replaced(usize),
    /// The piece is a new artifact, the last of the list.
    Added,
}

impl Artifact {
    /// Creates a complete artifact without contents. The agent chooses the id; pieces with the same id belong
    /// together.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            last: true,
            ..Self::default()
        }
    }

    /// Sets the name that people see.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds text.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.part(Part::Text(text.into()))
    }

    /// Adds a file.
    pub fn file(self, file: File) -> Self {
        self.part(Part::File(file))
    }

    /// Adds structured data.
    pub fn data(self, data: impl Into<Json>) -> Self {
        self.part(Part::Data(data.into()))
    }

    /// Adds a part.
    pub fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Marks the artifact as incomplete: more pieces with the same id follow.
    pub fn open(mut self) -> Self {
        self.last = false;
        self
    }

    /// Marks the artifact as a continuation of an earlier piece with the same id.
    pub fn append(mut self) -> Self {
        self.append = true;
        self
    }

    /// Adds a piece to a list of artifacts. A piece with `append` set extends the artifact with the same id:
    /// its text continues the text before, unless one of them has fields of its own; it may rename the
    /// artifact and add to its [fields](Self::extra). Any other piece replaces the artifact with the same id,
    /// or becomes a new artifact.
    pub fn merge_into(artifacts: &mut Vec<Self>, piece: Self) -> MergedArtifact {
        let known = artifacts.iter().position(|known| known.id == piece.id);
        match known {
            Some(index) if piece.append => {
                artifacts[index].extend(piece);
                MergedArtifact::Extended(index)
            }
            Some(index) => {
                artifacts[index] = piece;
                MergedArtifact::Replaced(index)
            }
            None => {
                artifacts.push(piece);
                MergedArtifact::Added
            }
        }
    }

    fn extend(&mut self, piece: Self) {
        let mut extra = self.extra.take().unwrap_or_default();
        let mut new = piece.extra.unwrap_or_default();
        let mut new_fields = new.take_parts().into_iter().peekable();
        for (index, part) in piece.parts.into_iter().enumerate() {
            let fields = new_fields.next_if(|(at, _)| *at == index);
            let place = self.parts.len();
            let is_plain = fields.is_none() && !extra.is_on_part(place.saturating_sub(1));
            match (self.parts.last_mut(), part) {
                // Streamed text becomes a single part, however many pieces it arrives in.
                (Some(Part::Text(last)), Part::Text(next)) if is_plain => last.push_str(&next),
                (_, part) => {
                    self.parts.push(part);
                    if let Some((_, fields)) = fields {
                        extra.push_part(place, fields);
                    }
                }
            }
        }
        extra.merge_fields(*new);
        self.extra = Some(extra).filter(|extra| !extra.is_empty());
        self.name = piece.name.or(self.name.take());
        self.last = piece.last;
    }

    /// Returns the size of the artifact in bytes.
    pub fn weight(&self) -> usize {
        let names = self.id.len() + text_weight(&self.name);
        let extra = self.extra.as_ref().map_or(0, |extra| extra.weight());
        names + parts_weight(&self.parts) + extra
    }
}
