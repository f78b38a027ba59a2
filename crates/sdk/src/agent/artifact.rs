//! Something an agent makes: a whole thing at once, or piece by piece.

use serde_json::Value;

use crate::{File, Part};

/// Something an agent made, or a piece of it. Whole unless [`open`](Self::open) or [`append`](Self::append) say
/// otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) parts: Vec<Part>,
    pub(crate) append: bool,
    pub(crate) last: bool,
}

impl Artifact {
    /// An artifact with this id, which is the agent's own and joins its pieces.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: None,
            parts: Vec::new(),
            append: false,
            last: true,
        }
    }

    /// A name for people.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// With these words.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.part(Part::Text(text.into()))
    }

    /// With this file.
    pub fn file(self, file: File) -> Self {
        self.part(Part::File(file))
    }

    /// With this data.
    pub fn data(self, data: impl Into<Value>) -> Self {
        self.part(Part::Data(data.into()))
    }

    /// With this part.
    pub fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// More of it will come under this id.
    pub fn open(mut self) -> Self {
        self.last = false;
        self
    }

    /// It continues what came before under this id.
    pub fn append(mut self) -> Self {
        self.append = true;
        self
    }
}
