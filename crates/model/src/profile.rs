//! Parts of an agent's description of itself: [`Skill`] and [`Extension`].

use serde::{Deserialize, Serialize};

/// A skill of an agent. A string converts into a skill with that id.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Skill {
    /// Id of the skill; capability tags of simpler protocols are skills with an id only.
    pub id: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub name: Option<String>,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub description: Option<String>,
}

impl Skill {
    /// Creates a skill with this id. Callers find the agent by skill id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ..Self::default()
        }
    }

    /// Sets the display name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the description.
    #[must_use]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extension {
    /// URI of the extension.
    pub uri: String,
    /// Use that the agent makes of the extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether callers must declare the extension too, where their protocol can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

impl Extension {
    /// Creates the extension with this URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            ..Self::default()
        }
    }

    /// Sets the description of how the agent uses the extension.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Requires callers to declare the extension too, if their protocol has extensions.
    #[must_use]
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
