//! What an agent says of itself besides its name: what it can do, and what it takes and gives.

use serde::Serialize;

/// What an agent says of itself besides its name, as the hub reads it.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Profile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) input_modes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) output_modes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) skills: Vec<Skill>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) extensions: Vec<Extension>,
}

impl Profile {
    /// Whether the ids of its skills say all of it.
    pub(crate) fn is_plain(&self) -> bool {
        let is_plain = |skill: &Skill| skill.name.is_none() && skill.description.is_none();
        self.version.is_none()
            && self.input_modes.is_empty()
            && self.output_modes.is_empty()
            && self.extensions.is_empty()
            && self.skills.iter().all(is_plain)
    }
}

/// Something that an agent can do; a text is its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skill {
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl Skill {
    /// A skill with this id, by which the agent is found.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: None,
            description: None,
        }
    }

    /// A name for people.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What it does.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

impl<T: Into<String>> From<T> for Skill {
    fn from(id: T) -> Self {
        Self::new(id)
    }
}

/// A protocol extension that an agent knows; a text is its URI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extension {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    required: bool,
}

impl Extension {
    /// The extension with this URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            description: None,
            required: false,
        }
    }

    /// What the agent does with it.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Only those may call who declare it too, where their protocol can.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

impl<T: Into<String>> From<T> for Extension {
    fn from(uri: T) -> Self {
        Self::new(uri)
    }
}
