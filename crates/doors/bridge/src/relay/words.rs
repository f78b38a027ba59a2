//! The sentences of the original hub, which platforms show to people and some look for.

use std::borrow::Cow;

use jackfield_core::call::Life;
use jackfield_model::{Failure, Reason};
use jiff::Timestamp;

/// What the reader of a cancelled request is told.
pub(crate) const CANCELLED: &str = "Request cancelled";

/// What is said of an agent that will not do it; the protocol has no word for that.
pub(crate) const REJECTED: &str = "The agent refused the request";

/// How the core says that an agent was silent for too long.
const SILENT: &str = "the agent did not respond within ";

/// A failure at the end of a call.
pub(crate) fn failure(failure: &Failure, life: Life) -> Cow<'_, str> {
    match failure.reason {
        Reason::Offline if has_left(failure) => "Agent disconnected".into(),
        Reason::Offline if *failure == Failure::agent_offline() => "Agent is not connected".into(),
        Reason::Timeout => silence(&failure.text, life).unwrap_or_else(|| (&*failure.text).into()),
        Reason::Cancelled => CANCELLED.into(),
        _ => (&*failure.text).into(),
    }
}

/// Whether the agent is gone, for whatever reason: the original has one sentence for that.
fn has_left(failure: &Failure) -> bool {
    let gone = [
        Failure::agent_left(),
        Failure::agent_left_unheard(),
        Failure::agent_replaced(),
    ];
    gone.contains(failure)
}

/// A failure before a call began.
pub(crate) fn refusal(failure: &Failure) -> Cow<'static, str> {
    match failure.reason {
        // An agent that is not the platform's to call looks like one that is away.
        Reason::NotFound => "Agent is not connected".into(),
        _ => self::failure(failure, Life::Live).into_owned().into(),
    }
}

fn silence(text: &str, life: Life) -> Option<Cow<'static, str>> {
    let span = text.strip_prefix(SILENT)?;
    let seconds: Option<u64> = span
        .strip_suffix(" seconds")
        .and_then(|text| text.parse().ok());
    Some(match (life, seconds) {
        (Life::Durable, Some(seconds)) if seconds % 60 == 0 && seconds > 60 => {
            format!("No activity for {} minutes", seconds / 60).into()
        }
        (Life::Durable, _) => format!("No activity for {span}").into(),
        (Life::Live, _) => format!("Agent did not respond within {span}").into(),
    })
}

/// A time as the original hub writes it: ISO 8601 with milliseconds and `Z`.
pub(crate) fn time(at: Timestamp) -> String {
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_in_the_words_of_the_original_hub() {
        let silent = |text: &'static str| Failure::new(Reason::Timeout, text);
        let idle = silent("the agent did not respond within 120 seconds");
        let kept = silent("the agent did not respond within 300 seconds");
        let odd = silent("the agent did not respond within 90 seconds");
        let agents = Failure::new(Reason::Crashed, "boom");
        for (told, life, words) in [
            (
                &idle,
                Life::Live,
                "Agent did not respond within 120 seconds",
            ),
            (&kept, Life::Durable, "No activity for 5 minutes"),
            (&odd, Life::Durable, "No activity for 90 seconds"),
            (&silent("own words"), Life::Live, "own words"),
            (&Failure::agent_left(), Life::Live, "Agent disconnected"),
            (
                &Failure::agent_left_unheard(),
                Life::Live,
                "Agent disconnected",
            ),
            (
                &Failure::agent_offline(),
                Life::Durable,
                "Agent is not connected",
            ),
            (&agents, Life::Live, "boom"),
        ] {
            assert_eq!(failure(told, life), words);
        }
        assert_eq!(
            refusal(&Failure::no_such_agent("x")),
            "Agent is not connected"
        );
    }

    #[test]
    fn times_have_milliseconds_and_a_z() {
        let at: Timestamp = "2026-03-04T05:06:07Z".parse().unwrap();
        assert_eq!(time(at), "2026-03-04T05:06:07.000Z");
    }
}
