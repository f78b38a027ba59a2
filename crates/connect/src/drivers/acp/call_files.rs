//! Current call of each conversation. An agent starts its MCP servers when a conversation opens, but every
//! turn is a new call. An MCP server therefore reads the call's id from a file, each time.

use std::{collections::HashMap, fs, io};

use parking_lot::Mutex;
use tempfile::TempDir;

use crate::Turn;

/// Environment variable with the call's id.
const CALL: &str = "JACKFIELD_CALL";
/// Environment variable with the path of the file that contains the call's id.
const CALL_FILE: &str = "JACKFIELD_CALL_FILE";

/// Files with the current call of each conversation, in a folder that is removed on drop.
#[derive(Debug, Default)]
pub(super) struct CallFiles(Mutex<CallFilesState>);

#[derive(Debug, Default)]
struct CallFilesState {
    /// Created with the first conversation; accessible to the owner only.
    folder: Option<TempDir>,
    /// File number of each conversation. A conversation has one turn at a time.
    files: HashMap<String, usize>,
}

impl CallFiles {
    /// Writes the call of a turn to a file and points the turn's MCP server to the file. If writing fails,
    /// the server knows this call only.
    pub(super) fn note(&self, turn: &mut Turn) {
        let (Some(call), Some(server)) = (&turn.message.call, &mut turn.mcp) else {
            return;
        };
        match self.0.lock().write(&turn.message.session, call) {
            Ok(file) => {
                server.env.retain(|(name, _)| name != CALL);
                server.env.push((CALL_FILE.to_owned(), file));
            }
            Err(error) => {
                tracing::warn!(%error, "later turns will not know for which call they call others");
            }
        }
    }
}

impl CallFilesState {
    fn write(&mut self, session: &str, call: &str) -> io::Result<String> {
        let folder = match &self.folder {
            Some(folder) => folder,
            None => self.folder.insert(
                tempfile::Builder::new()
                    .prefix("jackfield-calls-")
                    .tempdir()?,
            ),
        };
        let next = self.files.len();
        let number = *self.files.entry(session.to_owned()).or_insert(next);
        let file = folder.path().join(number.to_string());
        // Renamed into place, so that readers never see half of it.
        let new = folder.path().join("new");
        fs::write(&new, call)?;
        fs::rename(&new, &file)?;
        Ok(file.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use jackfield_sdk::Message;

    use super::*;
    use crate::McpServer;

    fn turn(session: &str, call: &str) -> Turn {
        let mut message = Message::default();
        message.session = session.to_owned();
        message.call = Some(call.to_owned());
        Turn {
            message,
            files: Vec::new(),
            native_session: None,
            dir: PathBuf::new(),
            env: Vec::new(),
            mcp: Some(McpServer {
                name: "jackfield".to_owned(),
                command: PathBuf::new(),
                args: Vec::new(),
                env: vec![(CALL.to_owned(), call.to_owned())],
            }),
        }
    }

    fn noted(calls: &CallFiles, session: &str, call: &str) -> String {
        let mut turn = turn(session, call);
        calls.note(&mut turn);
        let env = turn.mcp.unwrap().env;
        let [(name, file)] = &env[..] else {
            panic!("{env:?}");
        };
        assert_eq!(name, CALL_FILE);
        file.clone()
    }

    #[test]
    fn the_file_of_a_conversation_names_the_call_of_its_last_turn() {
        let calls = CallFiles::default();
        let first = noted(&calls, "s-1", "c-1");
        let other = noted(&calls, "s-2", "c-2");
        assert_ne!(first, other);
        assert_eq!(noted(&calls, "s-1", "c-3"), first);
        assert_eq!(fs::read_to_string(&first).unwrap(), "c-3");
        assert_eq!(fs::read_to_string(&other).unwrap(), "c-2");
        drop(calls);
        assert!(!fs::exists(first).unwrap());
    }
}
