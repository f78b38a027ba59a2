//! Every limit of an agent behind HTTP in one place, each with its reason.

use std::time::Duration;

/// How often the card of an agent behind HTTP is looked at: what it can do changes rarely.
pub const CARD_EVERY: Duration = Duration::from_secs(60);

/// How long a peer waits for the card of such an agent, as in the seed.
pub const CARD_WAIT: Duration = Duration::from_secs(2);

/// How often such an agent is asked at most, however many peers want its card while it shows none.
pub const CARD_APART: Duration = Duration::from_secs(1);

/// How long the streamed answer of an agent behind HTTP may be silent, as long as that of any live call.
pub const STREAM_SILENT: Duration = Duration::from_secs(120);

/// How long such an answer may take in all.
pub const STREAM_MOST: Duration = Duration::from_secs(60 * 60);
