//! Limits of the MCP door, each with its reason.

use std::time::Duration;

/// Default and maximum waiting time of a tool. Clients abandon a request after 60 s, so the tool responds
/// before.
pub(crate) const WAIT: Duration = Duration::from_secs(45);

/// Maximum bytes of text and artifacts in a result: about 25,000 tokens, paid for by the model.
pub(crate) const RESULT: usize = 100 << 10;

/// Time to collect text before a progress notification: short enough for reading along, without a
/// notification per token.
pub(crate) const PROGRESS: Duration = Duration::from_millis(100);

/// Default number of agents in a list.
pub(crate) const LIST: usize = 20;
/// Maximum number of agents in a list: about the size of a full result.
pub(crate) const LIST_MAX: usize = 100;
/// Maximum bytes of an agent's description in a list.
pub(crate) const DESCRIPTION: usize = 500;

/// Interval at which a client polls a task: soon enough for a person who waits, and one short read per second for the hub.
pub(crate) const POLL: Duration = Duration::from_secs(1);
/// Time to read the log of a task whose turn ended, for the result in `tasks/get`, and to store the end of a cancelled one.
/// Both take milliseconds.
pub(crate) const READ: Duration = Duration::from_secs(10);
/// Maximum bytes of an agent's text in a question to the client's user, who has a dialog and not a page.
pub(crate) const QUESTION: usize = 4 << 10;
/// Maximum number of questions that wait to be written to a client. More questions are left to the model.
pub(crate) const QUESTIONS: usize = 16;
