//! Every limit of an agent behind HTTP in one place, each with its reason.

use std::time::Duration;

/// Interval of fetches of a card: skills change rarely.
pub const CARD_EVERY: Duration = Duration::from_secs(60);

/// How long a peer waits for a card to be fetched, as in the seed.
pub const CARD_WAIT: Duration = Duration::from_secs(2);

/// Least interval of fetches, however many peers ask for a missing card.
pub const CARD_APART: Duration = Duration::from_secs(1);

/// Longest silence of a streamed answer, as of any live call.
pub const STREAM_SILENT: Duration = Duration::from_secs(120);

/// Longest duration of a streamed answer.
pub const STREAM_MOST: Duration = Duration::from_secs(60 * 60);
