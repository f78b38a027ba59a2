//! The limits of this door, each with its reason.

use std::time::Duration;

/// How long a tool waits for an agent, if not said, and at most. Clients give up a request after 60 s; what is not done
/// by then is told before.
pub(crate) const WAIT: Duration = Duration::from_secs(45);

/// How many bytes of an agent's words and artifacts one result has: some 25,000 tokens, which a model pays for.
pub(crate) const RESULT: usize = 100 << 10;

/// How long words are gathered before they are told as progress: quick enough to be read along, and not a notification
/// per token.
pub(crate) const PROGRESS: Duration = Duration::from_millis(100);

/// How many agents a list has, if not said.
pub(crate) const LIST: usize = 20;
/// How many agents a list may have: about as much as a result.
pub(crate) const LIST_MAX: usize = 100;
/// How much of an agent's description a list shows.
pub(crate) const DESCRIPTION: usize = 500;
