//! The sentences of the original hub. Platforms display these sentences, and some platforms search for them.

use std::borrow::Cow;

use jackfield_core::call::Life;
use jackfield_model::{Failure, Reason};
use jiff::Timestamp;

/// Text for the reader of a cancelled request.
pub(crate) const CANCELLED: &str = "Request cancelled";

/// Text for a request refused by the agent; the protocol has no code for a refusal.
pub(crate) const REJECTED: &str = "The agent refused the request";

/// Text for a failed request whose failure is no longer stored.
pub(crate) const FAILED: &str = "The request failed";

/// Prefix of the core's text for a silent agent.
const SILENT: &str = "the agent did not respond within ";

/// Returns the text for a [`Failure`] at the end of a call.
pub(crate) fn failure(failure: &Failure, life: Life) -> Cow<'_, str> {
    match failure.reason {
        Reason::Offline if has_left(failure) => "Agent disconnected".into(),
        Reason::Offline if *failure == Failure::agent_offline() => "Agent is not connected".into(),
        Reason::Timeout => silence(&failure.text, life).unwrap_or_else(|| (&*failure.text).into()),
        Reason::Cancelled => CANCELLED.into(),
        _ => (&*failure.text).into(),
    }
}

/// Returns whether the agent is gone, for any reason: the original hub uses one sentence for all of them.
fn has_left(failure: &Failure) -> bool {
    let gone = [
        Failure::agent_left(),
        Failure::agent_left_silent(),
        Failure::agent_replaced(),
    ];
    gone.contains(failure)
}

/// Returns the text for a [`Failure`] before the start of a call.
pub(crate) fn refusal(failure: &Failure) -> Cow<'static, str> {
    match failure.reason {
        // An agent that the platform may not call looks like an offline one.
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

/// Formats a time like the original hub: ISO 8601 with milliseconds and `Z`.
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
                &Failure::agent_left_silent(),
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
