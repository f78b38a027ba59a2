//! Limits of the OpenAI door, each with its reason.

/// Maximum number of live calls that wait for an answer of their callers. Each one holds a place at its agent and
/// the unread rest of a reply. Beyond it, the principal that holds most loses its oldest.
pub(crate) const PARKED: usize = 1024;

/// Maximum number of conversations of which the door remembers that their agent has had the beginning: about 1 MB.
/// The agent of a forgotten one gets the transcript again.
pub(crate) const CONVERSATIONS: usize = 16_384;

/// Maximum bytes of a line that tells of a tool or a status: it is for people who read along.
pub(crate) const LINE: usize = 400;

/// Maximum characters of a title that the door makes for a conversation, as many as a list of chats shows.
pub(crate) const TITLE: usize = 60;

/// Maximum bytes of the fields that are passed on to the agent as metadata: settings of a model are short.
pub(crate) const SETTINGS: usize = 64 << 10;

/// Maximum characters of a client's own text in an error message.
pub(crate) const ECHO: usize = 80;

/// Maximum number of tool calls in a response. Later ones are left out of its output.
pub(crate) const TOOL_ITEMS: usize = 1024;
