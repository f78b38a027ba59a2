//! Reading and checking of an agent's profile at registration.

use jackfield_core::agent::Profile;
use jackfield_model::{AgentId, Extension, Skill};
use jackfield_wire::bridge::uplink::Register;
use serde::Deserialize;

/// Longest text in a profile, in bytes.
const MAX_WORDS: usize = 4096;
/// Maximum number of entries in a list of a profile.
const MAX_LISTED: usize = 256;

/// Additional profile of agents with the extension `meta`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MetaProfile {
    version: Option<String>,
    input_modes: Vec<String>,
    output_modes: Vec<String>,
    /// Details of the capabilities, matched by id.
    skills: Vec<Skill>,
    extensions: Vec<Extension>,
}

/// Reads the [`Profile`] of an agent; the error is the text for the agent. The additional profile counts only
/// `with_meta`: otherwise the field may have a different meaning.
pub(super) fn profile_from(
    register: &Register<'_>,
    id: &AgentId,
    with_meta: bool,
) -> Result<Profile, String> {
    let besides = match register.profile.filter(|_| with_meta) {
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|error| format!("field \"profile\" cannot be read: {error}"))?,
        None => MetaProfile::default(),
    };
    listed("capabilities", register.capabilities.len())?;
    let mut skills = Vec::new();
    for capability in &register.capabilities {
        skills.extend(words("capabilities", Some(capability))?.map(|id| Skill {
            id,
            ..Skill::default()
        }));
    }
    besides.check()?;
    for skill in besides.skills {
        match skills.iter_mut().find(|known| known.id == skill.id) {
            Some(known) => *known = skill,
            None => skills.push(skill),
        }
    }
    Ok(Profile {
        name: words("name", register.name.as_deref())?.unwrap_or_else(|| id.to_string()),
        description: words("description", register.description.as_deref())?,
        agent_type: words("agent_type", register.agent_type.as_deref())?,
        skills,
        endpoint: None,
        version: besides.version,
        input_modes: besides.input_modes,
        output_modes: besides.output_modes,
        extensions: besides.extensions,
        extra: None,
    })
}

impl MetaProfile {
    /// Refuses values that are too long or have no name.
    fn check(&self) -> Result<(), String> {
        for (field, count) in [
            ("profile.input_modes", self.input_modes.len()),
            ("profile.output_modes", self.output_modes.len()),
            ("profile.skills", self.skills.len()),
            ("profile.extensions", self.extensions.len()),
        ] {
            listed(field, count)?;
        }
        words("profile.version", self.version.as_deref())?;
        for mode in self.input_modes.iter().chain(&self.output_modes) {
            words("profile.modes", Some(mode))?;
        }
        for skill in &self.skills {
            let id = words("profile.skills.id", Some(&skill.id))?;
            id.ok_or("field \"profile.skills.id\" is empty")?;
            words("profile.skills.name", skill.name.as_deref())?;
            words("profile.skills.description", skill.description.as_deref())?;
        }
        for extension in &self.extensions {
            let uri = words("profile.extensions.uri", Some(&extension.uri))?;
            uri.ok_or("field \"profile.extensions.uri\" is empty")?;
            let description = extension.description.as_deref();
            words("profile.extensions.description", description)?;
        }
        Ok(())
    }
}

/// Returns a text that is present, not empty and not too long.
fn words(field: &str, text: Option<&str>) -> Result<Option<String>, String> {
    match text {
        Some(text) if text.len() > MAX_WORDS => Err(format!(
            "field {field:?} may have at most {MAX_WORDS} bytes"
        )),
        text => Ok(text.filter(|text| !text.is_empty()).map(str::to_owned)),
    }
}

fn listed(field: &str, count: usize) -> Result<(), String> {
    if count > MAX_LISTED {
        return Err(format!("field {field:?} may list at most {MAX_LISTED}"));
    }
    Ok(())
}
