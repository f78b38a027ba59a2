//! An agent's description besides its name: skills, media types, extensions.

use serde::Serialize;

/// An agent's description besides its name, as the hub reads it.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ProfileDetails {
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

impl ProfileDetails {
    /// Returns whether the profile contains nothing but skill ids.
    pub(crate) fn has_only_skill_ids(&self) -> bool {
        let is_plain = |skill: &Skill| skill.name.is_none() && skill.description.is_none();
        self.version.is_none()
            && self.input_modes.is_empty()
            && self.output_modes.is_empty()
            && self.extensions.is_empty()
            && self.skills.iter().all(is_plain)
    }
}

/// A skill of an agent. A string converts into a skill with that id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skill {
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl Skill {
    /// Creates a skill with this id. Callers find the agent by skill id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: None,
            description: None,
        }
    }

    /// Sets the display name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the description.
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

/// A protocol extension that an agent supports. A string converts into an extension with that URI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extension {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    required: bool,
}

impl Extension {
    /// Creates the extension with this URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            description: None,
            required: false,
        }
    }

    /// Sets the description of how the agent uses the extension.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Requires callers to declare the extension too, if their protocol has extensions.
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
