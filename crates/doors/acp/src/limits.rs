//! Limits of the ACP door, each with its reason.

use std::time::Duration;

/// Sessions that a connection may have open. Editors have a handful; a session costs some hundred bytes.
pub(crate) const SESSIONS: usize = 256;

/// Bytes of updates that wait for the socket of an editor. A prompt whose editor reads slowly waits for room, and reads its
/// reply from the task's log meanwhile.
pub(crate) const OUTBOX: usize = 256 << 10;

/// Time to collect the pieces of a tool's input or result before an update: each update repeats the whole.
pub(crate) const TOOL_PIECES: Duration = Duration::from_millis(100);
/// Bytes of input or result that are shown of one tool call, about what a person looks at.
pub(crate) const TOOL_TEXT: usize = 64 << 10;
/// Bytes of input and results that are kept of the tool calls of one turn.
pub(crate) const TOOLS_TEXT: usize = 1 << 20;
/// Tool calls of one turn that are shown.
pub(crate) const TOOLS: usize = 4096;

/// Turns of a session that `session/load` replays, the newest ones: more than a person reads.
pub(crate) const REPLAY: usize = 500;

/// Time for the prompts of a lost connection to be cancelled at their agents. After that, the tasks are cancelled because
/// nobody reads them.
pub(crate) const CLOSING: Duration = Duration::from_secs(10);
