//! Shrinking a card to a size limit. The least important contents are removed first, and the description
//! states the number of removed skills.

use std::cmp::Reverse;

use serde::Serialize;

use super::{PeerCard, PeerSkill};
use crate::p2p::{MAX_SKILLS, cut};

/// Length limits in bytes for descriptions, tried one after the other.
const SHORTER: [usize; 6] = [1024, 512, 256, 128, 64, 0];

impl PeerCard {
    /// Returns the card as JSON of at most `max` bytes, always the same for the same card.
    ///
    /// Schemas are removed first, the largest first; then descriptions are shortened; then skills are removed
    /// from the end. Skills beyond [`MAX_SKILLS`], which readers refuse, are always removed. If any skill is
    /// missing, the description states how many and ends with `hint`, which should name the place of the full
    /// list.
    pub fn fit(&self, max: usize, hint: &str) -> String {
        let mut fit = ShrinkingCard {
            card: self.clone(),
            total: self.skills.len(),
            max,
            hint,
        };
        fit.card.skills.truncate(MAX_SKILLS);
        if let Some(json) = fit.json() {
            return json;
        }
        for at in fit.by_schema_size() {
            fit.card.skills[at].drop_schemas();
            if let Some(json) = fit.json() {
                return json;
            }
        }
        for length in SHORTER {
            fit.shorten_descriptions(length);
            if let Some(json) = fit.json() {
                return json;
            }
        }
        while fit.card.skills.pop().is_some() {
            if let Some(json) = fit.json() {
                return json;
            }
        }
        fit.only_a_name()
    }
}

/// A card that is being shrunk.
struct ShrinkingCard<'a> {
    /// The remaining card. Its description has no hint yet.
    card: PeerCard,
    /// Number of skills at the start.
    total: usize,
    max: usize,
    hint: &'a str,
}

impl ShrinkingCard<'_> {
    /// Returns the card as JSON, if it fits now.
    fn json(&self) -> Option<String> {
        let json = json_with_description(&self.card, &self.description());
        (json.len() <= self.max).then_some(json)
    }

    /// Returns the description, with the number of missing skills.
    fn description(&self) -> String {
        let mut description = self.card.description.clone();
        let missing = self.total - self.card.skills.len();
        if missing > 0 {
            if !description.is_empty() {
                description.push(' ');
            }
            let skills = if missing == 1 { "skill" } else { "skills" };
            let hint = self.hint;
            description.push_str(&format!("({missing} more {skills}: {hint})"));
        }
        description
    }

    /// Returns the indexes of the skills with schemas, largest first.
    fn by_schema_size(&self) -> Vec<usize> {
        let skills = self.card.skills.iter().enumerate();
        let mut sizes: Vec<_> = skills
            .map(|(at, skill)| (Reverse(skill.schema_size()), at))
            .filter(|(Reverse(size), _)| *size > 0)
            .collect();
        sizes.sort_unstable();
        sizes.into_iter().map(|(_, at)| at).collect()
    }

    fn shorten_descriptions(&mut self, length: usize) {
        shorten(&mut self.card.description, length);
        for skill in &mut self.card.skills {
            shorten(&mut skill.description, length);
        }
    }

    /// Returns a card with only a name, for a hint, version or name longer than reasonable.
    fn only_a_name(mut self) -> String {
        self.card.version.clear();
        loop {
            let json = json_with_description(&self.card, "");
            if json.len() <= self.max {
                return json;
            }
            if self.card.name.is_empty() {
                return "{}".to_owned();
            }
            let half = self.card.name.len() / 2;
            self.card.name.truncate(cut(&self.card.name, half).len());
        }
    }
}

/// Returns the card as JSON, with a different description.
fn json_with_description(card: &PeerCard, description: &str) -> String {
    #[derive(Serialize)]
    struct CardJson<'a> {
        name: &'a str,
        version: &'a str,
        description: &'a str,
        skills: &'a [PeerSkill],
    }
    let card = CardJson {
        name: &card.name,
        version: &card.version,
        description,
        skills: &card.skills,
    };
    // Texts and JSON can always be serialised.
    serde_json::to_string(&card).unwrap_or_default()
}

/// Cuts a text to `length` bytes, with an ellipsis where possible.
fn shorten(text: &mut String, length: usize) {
    const SIGN: &str = "…";
    if text.len() <= length {
        return;
    }
    let room = length.saturating_sub(SIGN.len());
    let kept = cut(text, room).trim_end().len();
    text.truncate(kept);
    if kept > 0 {
        text.push_str(SIGN);
    }
}
