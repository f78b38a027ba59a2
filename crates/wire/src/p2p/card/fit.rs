//! Making a card small enough: what matters least goes first, and what is missing is said.

use std::cmp::Reverse;

use serde::Serialize;

use super::{Card, Skill};
use crate::p2p::{MAX_SKILLS, cut};

/// To how many bytes descriptions are shortened, one step after the other.
const SHORTER: [usize; 6] = [1024, 512, 256, 128, 64, 0];

impl Card {
    /// The card as JSON of at most `max` bytes, always the same for the same card.
    ///
    /// First the schemas go, the largest first; then descriptions are shortened; then skills are left out from the end,
    /// as are those beyond [`MAX_SKILLS`], which readers refuse. If any are, the description says how many and ends with
    /// `hint`, which should say where all of them are.
    pub fn fit(&self, max: usize, hint: &str) -> String {
        let mut fit = Fit {
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

/// A card on its way to fewer bytes.
struct Fit<'a> {
    /// What is left of it. Its description has no hint yet.
    card: Card,
    /// How many skills it had.
    total: usize,
    max: usize,
    hint: &'a str,
}

impl Fit<'_> {
    /// The card, if it fits now.
    fn json(&self) -> Option<String> {
        let json = described(&self.card, &self.description());
        (json.len() <= self.max).then_some(json)
    }

    /// The description, which says what is missing.
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

    /// The places of the skills that have schemas, the largest first.
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

    /// The end of it: a hint, a version or a name is longer than any should be.
    fn only_a_name(mut self) -> String {
        self.card.version.clear();
        loop {
            let json = described(&self.card, "");
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

/// The card as JSON, with another description.
fn described(card: &Card, description: &str) -> String {
    #[derive(Serialize)]
    struct Described<'a> {
        name: &'a str,
        version: &'a str,
        description: &'a str,
        skills: &'a [Skill],
    }
    let card = Described {
        name: &card.name,
        version: &card.version,
        description,
        skills: &card.skills,
    };
    // Texts and JSON cannot fail to be written.
    serde_json::to_string(&card).unwrap_or_default()
}

/// Cuts a text to `length` bytes, with a sign that it was cut where there is room for one.
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
