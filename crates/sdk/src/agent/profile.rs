//! An agent's description besides its name: skills, media types, extensions.

use jackfield_model::{Extension, Skill};
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
