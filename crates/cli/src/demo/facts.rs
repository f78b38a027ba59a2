//! Facts of the newsroom: five facts about telephone switchboards, each found by keywords.

/// A fact.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fact {
    /// Place and year.
    pub(super) headline: &'static str,
    /// Event.
    pub(super) story: &'static str,
    /// Keywords in a question that select this fact.
    words: &'static [&'static str],
}

/// All facts. If a question matches several facts, the first one counts.
pub(super) const FACTS: [Fact; 5] = [
    Fact {
        headline: "Boston, 1878",
        story: "Emma Nutt becomes the first woman to work as a telephone operator. She stays for 33 years.",
        words: &[
            "boston",
            "emma",
            "nutt",
            "who",
            "operator",
            "operators",
            "woman",
            "people",
            "worked",
        ],
    },
    Fact {
        headline: "Chicago, 1878",
        story: "Charles Scribner files a patent for the spring-jack, a switch that opens when a plug goes in. Plugs go into jacks to this day.",
        words: &[
            "chicago",
            "scribner",
            "jack",
            "jacks",
            "jackfield",
            "plug",
            "plugs",
            "cord",
            "name",
        ],
    },
    Fact {
        headline: "Kansas City, 1889",
        story: "Almon Strowger, an undertaker, files a patent for a switch that needs no operator. La Porte, Indiana, is the first town to use it, in 1892.",
        words: &[
            "kansas",
            "strowger",
            "automatic",
            "machine",
            "machines",
            "robot",
            "computer",
            "undertaker",
        ],
    },
    Fact {
        headline: "Bryant Pond, 1983",
        story: "The last hand-cranked telephones of the United States go silent as this town in Maine gets dials.",
        words: &["bryant", "maine", "last", "end", "ended", "gone", "today"],
    },
    Fact {
        headline: "New Haven, 1878",
        story: "The first commercial telephone exchange opens. It has 21 subscribers.",
        words: &[
            "haven", "first", "exchange", "oldest", "began", "begin", "start", "started",
        ],
    },
];

/// Returns the [`Fact`] that matches a text.
pub(super) fn about(text: &str) -> Option<&'static Fact> {
    let text = text.to_lowercase();
    let quoted = |fact: &&Fact| text.contains(&fact.headline.to_lowercase());
    let said: Vec<_> = text.split(|it: char| !it.is_alphanumeric()).collect();
    let meant = |fact: &&Fact| fact.words.iter().any(|word| said.contains(word));
    FACTS
        .iter()
        .find(quoted)
        .or_else(|| FACTS.iter().find(meant))
}

/// Returns the [`Fact`] that matches a text ([`about`]), else an arbitrary one; always the same for the same text.
pub(super) fn about_or_any(text: &str) -> &'static Fact {
    let sum: usize = text.bytes().map(usize::from).sum();
    about(text).unwrap_or(&FACTS[sum % FACTS.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_found_by_its_words_and_by_its_headline() {
        let found = |text| about(text).map(|fact| fact.headline);
        assert_eq!(found("Who worked the first ones?"), Some("Boston, 1878"));
        assert_eq!(found("why a JACK?"), Some("Chicago, 1878"));
        assert_eq!(found("the first exchange"), Some("New Haven, 1878"));
        assert_eq!(found("the blackjack table"), None);
        for fact in &FACTS {
            let quoted = format!("{}: {}", fact.headline, fact.story);
            assert_eq!(about(&quoted), Some(fact));
        }
    }

    #[test]
    fn any_question_has_an_answer_and_always_the_same() {
        for text in ["", "blackjack", "\u{1f980}"] {
            assert_eq!(about_or_any(text), about_or_any(text));
        }
    }
}
