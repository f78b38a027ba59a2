//! Fields of a remote agent's card that a [`Profile`] has no place for. The profile's `extra` stores the
//! fields, and the hub's card for the agent shows them again.

use jackfield_core::agent::Profile;
use jackfield_kit::outbound::Url;
use jackfield_model::Json;
use jackfield_wire::json::{self, RawMembers};
use serde::{Deserialize, Serialize};

use crate::wire::{
    card::{ForeignCard, ForeignSkill, Provider},
    official::model::Raw,
};

/// Longest text, in bytes. A longer text is left out, because half an example or half a URL is useless.
const MAX_WORDS: usize = 4096;
/// Largest number of entries per list.
const MAX_LISTED: usize = 256;
/// Largest depth of an extension's settings.
const MAX_DEPTH: usize = 16;
/// Largest total size in bytes. From a card with more, no field is stored.
const MAX_BYTES: usize = 256 << 10;

/// Fields of a card beyond the profile.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ExtraCardFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) documentation_url: Option<String>,
    /// Name and URL of the agent's provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<(String, String)>,
    /// Fields of skills, by the index of the skill in the profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skills: Vec<(usize, ExtraSkillFields)>,
    /// Settings of extensions, by the index of the extension in the profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    params: Vec<(usize, Raw)>,
}

/// Fields of a skill beyond the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ExtraSkillFields {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) examples: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) input_modes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) output_modes: Vec<String>,
}

impl ExtraCardFields {
    /// Collects the fields of a card as JSON for the profile; `None` if empty or too large.
    pub(crate) fn of_card(card: &ForeignCard) -> Option<Json> {
        let skills = card
            .skills
            .iter()
            .take(MAX_LISTED)
            .map(ExtraSkillFields::of);
        let skills = skills.enumerate();
        let extensions = card.extensions.iter().take(MAX_LISTED).enumerate();
        let params = extensions.filter_map(|(place, extension)| {
            let params = extension.params.clone()?;
            is_fine(&params).then_some((place, params))
        });
        let besides = Self {
            documentation_url: card.documentation_url.as_deref().and_then(web),
            provider: card.provider.as_ref().and_then(|provider| {
                let name = Some(&provider.organization).filter(|it| it.len() <= MAX_WORDS)?;
                Some((name.clone(), web(&provider.url)?))
            }),
            skills: skills
                .filter(|(_, skill)| *skill != ExtraSkillFields::default())
                .collect(),
            params: params.collect(),
        };
        let is_empty = besides.documentation_url.is_none()
            && besides.provider.is_none()
            && besides.skills.is_empty()
            && besides.params.is_empty();
        let kept = Json::of(&besides).ok().filter(|_| !is_empty);
        kept.filter(|kept| kept.get().len() <= MAX_BYTES)
    }

    /// Reads the fields from a profile. The extra of another door gives an empty value.
    pub(super) fn of(profile: &Profile) -> Self {
        let kept = profile.extra.as_ref();
        kept.and_then(|kept| serde_json::from_str(kept.get()).ok())
            .unwrap_or_default()
    }

    pub(super) fn provider(&self) -> Option<Provider> {
        let (organization, url) = self.provider.clone()?;
        Some(Provider { organization, url })
    }

    pub(super) fn skill(&self, place: usize) -> ExtraSkillFields {
        let mut skills = self.skills.iter();
        let found = skills.find(|(at, _)| *at == place);
        found.map(|(_, skill)| skill.clone()).unwrap_or_default()
    }

    pub(super) fn params(&self, place: usize) -> Option<Raw> {
        let found = self.params.iter().find(|(at, _)| *at == place)?;
        Some(found.1.clone())
    }
}

impl ExtraSkillFields {
    fn of(skill: &ForeignSkill) -> Self {
        let listed = |texts: &[String]| -> Vec<String> {
            let texts = texts.iter().filter(|text| text.len() <= MAX_WORDS);
            texts.take(MAX_LISTED).cloned().collect()
        };
        Self {
            tags: listed(&skill.tags),
            examples: listed(&skill.examples),
            input_modes: listed(&skill.input_modes),
            output_modes: listed(&skill.output_modes),
        }
    }
}

/// Returns the URL if HTTP or HTTPS. People may follow the URL, and the hub signs the card that contains the
/// URL.
fn web(url: &str) -> Option<String> {
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
    let is_fine = url.len() <= MAX_WORDS && Url::parse(url).ok().as_ref().is_some_and(is_web);
    is_fine.then(|| url.to_owned())
}

/// Returns true for valid settings: an object within the limits of size and depth.
fn is_fine(params: &Raw) -> bool {
    let text = params.get();
    text.len() <= MAX_WORDS
        && !json::depth_exceeds(text, MAX_DEPTH)
        && RawMembers::of(params).is_some()
}
