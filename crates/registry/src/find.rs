//! A search in the registry: by name, skill, or words. Pure.

use super::RegisteredPeer;

/// A search. All given criteria must match; a search without criteria matches every peer.
#[derive(Debug, Clone, Default)]
pub struct PeerQuery {
    /// Name of the agent.
    pub name: Option<String>,
    /// Skill, by id or name.
    pub skill: Option<String>,
    /// Words, any of which may match; more matches rank higher.
    pub text: Option<String>,
}

/// The searchable texts of a peer or an agent.
#[derive(Debug, Default)]
pub(super) struct SearchSubject<'a> {
    pub(super) name: &'a str,
    pub(super) skills: Vec<&'a str>,
    /// Further texts to search for words.
    pub(super) texts: Vec<&'a str>,
}

impl<'a> From<&'a RegisteredPeer> for SearchSubject<'a> {
    fn from(registered: &'a RegisteredPeer) -> Self {
        let card = registered.card.as_deref();
        let skills = card.into_iter().flat_map(|card| &card.skills);
        let names = skills.clone().map(|skill| skill.name.as_str());
        let told = skills.map(|skill| skill.description.as_str());
        Self {
            name: &registered.name,
            skills: registered
                .capabilities
                .iter()
                .map(String::as_str)
                .chain(names)
                .collect(),
            texts: card
                .map(|card| card.description.as_str())
                .into_iter()
                .chain(told)
                .collect(),
        }
    }
}

/// Most words of a goal, and most words of a candidate, that are compared: each with each, for every peer.
const SOUGHT: usize = 32;
const KNOWN: usize = 512;

impl PeerQuery {
    /// Creates a search for a goal.
    pub fn goal(goal: &str) -> Self {
        Self {
            text: Some(goal.to_owned()),
            ..Self::default()
        }
    }

    /// Returns how well a [`SearchSubject`] matches; `None` without a match.
    pub(super) fn score(&self, subject: &SearchSubject<'_>) -> Option<usize> {
        if self.name.as_ref().is_some_and(|name| name != subject.name) {
            return None;
        }
        let has_skill = |skill: &String| {
            let mut skills = subject.skills.iter();
            skills.any(|had| had.eq_ignore_ascii_case(skill))
        };
        if !self.skill.as_ref().is_none_or(has_skill) {
            return None;
        }
        let Some(text) = &self.text else {
            return Some(0);
        };
        let known = [&[subject.name][..], &subject.skills, &subject.texts].concat();
        let known: Vec<_> = known.into_iter().flat_map(words).take(KNOWN).collect();
        let mut sought: Vec<_> = words(text).take(SOUGHT).collect();
        sought.sort_unstable();
        sought.dedup();
        let score = sought
            .iter()
            .filter(|word| known.iter().any(|had| is_like(had, word)))
            .count();
        (score > 0).then_some(score)
    }
}

/// Returns the words of a text in lower case. Short words, which every text has, are left out unless there
/// are no others.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<_> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let has_long = words.iter().any(|word| word.chars().count() > 3);
    words
        .into_iter()
        .filter(move |word| !has_long || word.chars().count() > 3)
}

/// Returns whether two words differ only at their ends: `translation` and `translate`, `poem` and `poems`.
fn is_like(had: &str, sought: &str) -> bool {
    let common = had
        .chars()
        .zip(sought.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let longer = had.chars().count().max(sought.chars().count());
    had == sought || (common >= 4 && common + 3 >= longer)
}
