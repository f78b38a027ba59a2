//! What is looked for in the registry: a name, a skill, or words.

use super::Registered;

/// What is looked for. All that is given must fit; nothing given finds everybody.
#[derive(Debug, Clone, Default)]
pub struct Sought {
    /// This name.
    pub name: Option<String>,
    /// This skill, by id or name.
    pub skill: Option<String>,
    /// Any of these words; who has more of them comes first.
    pub text: Option<String>,
}

/// What is known of whoever might be found.
#[derive(Debug, Default)]
pub(super) struct Subject<'a> {
    pub(super) name: &'a str,
    pub(super) skills: Vec<&'a str>,
    /// All that words may be found in, besides.
    pub(super) texts: Vec<&'a str>,
}

impl<'a> From<&'a Registered> for Subject<'a> {
    fn from(registered: &'a Registered) -> Self {
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

/// How many words of a goal count, and how many of what somebody says of itself: each is held against each, for every
/// peer that is known.
const SOUGHT: usize = 32;
const KNOWN: usize = 512;

impl Sought {
    /// Somebody for a goal.
    pub fn goal(goal: &str) -> Self {
        Self {
            text: Some(goal.to_owned()),
            ..Self::default()
        }
    }

    /// How well somebody fits; nothing if not at all.
    pub(super) fn score(&self, subject: &Subject<'_>) -> Option<usize> {
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

/// The words of a text in lower case; short ones, which every text has, do not count unless there is nothing else.
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

/// Whether two words are the same but for their ends: `translation` and `translate`, `poem` and `poems`.
fn is_like(had: &str, sought: &str) -> bool {
    let common = had
        .chars()
        .zip(sought.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let longer = had.chars().count().max(sought.chars().count());
    had == sought || (common >= 4 && common + 3 >= longer)
}
