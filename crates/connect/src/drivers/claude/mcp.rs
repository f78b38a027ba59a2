//! Configuration file for Claude Code's MCP server, readable by the owner only and removed afterwards.

use std::io::Write as _;

use jackfield_sdk::AgentFailure;
use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

use crate::McpServer;

/// A temporary MCP configuration file; removed on drop.
#[derive(Debug)]
pub(super) struct McpConfigFile {
    file: NamedTempFile,
    server: String,
}

impl McpConfigFile {
    /// Writes the file. Temporary files are created readable by the owner only.
    pub(super) fn write(server: &McpServer) -> Result<Self, AgentFailure> {
        let write = || {
            let mut file = tempfile::Builder::new()
                .prefix("jackfield-mcp-")
                .suffix(".json")
                .tempfile()?;
            file.write_all(content(server).to_string().as_bytes())?;
            Ok(file)
        };
        let file = write().map_err(|error: std::io::Error| {
            let text = format!("cannot write the file that names the MCP server: {error}");
            AgentFailure::new("internal_error", text)
        })?;
        Ok(Self {
            file,
            server: server.name.clone(),
        })
    }

    /// Returns the arguments for Claude Code. Tools of this server need no approval: the owner connected the
    /// agent so that it can call other agents.
    pub(super) fn flags(&self) -> [String; 4] {
        [
            "--mcp-config".to_owned(),
            self.file.path().display().to_string(),
            "--allowedTools".to_owned(),
            format!("mcp__{}", self.server),
        ]
    }
}

fn content(server: &McpServer) -> Value {
    let env: Map<String, Value> = server
        .env
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let command = &server.command;
    json!({"mcpServers": {(&server.name): {"type": "stdio", "command": command, "args": server.args, "env": env}}})
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_file_is_the_owners_and_goes_with_the_turn() {
        let server = McpServer {
            name: "jackfield".to_owned(),
            command: "/bin/jackfield".into(),
            args: vec!["mcp".to_owned()],
            env: vec![("JACKFIELD_CALL".to_owned(), "c1".to_owned())],
        };
        let config = McpConfigFile::write(&server).unwrap();
        let [flag, path, ..] = config.flags();
        assert_eq!(flag, "--mcp-config");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let written: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(
            written,
            json!({"mcpServers": {"jackfield": {
                "type": "stdio", "command": "/bin/jackfield", "args": ["mcp"], "env": {"JACKFIELD_CALL": "c1"},
            }}})
        );
        drop(config);
        assert!(!std::path::Path::new(&path).exists());
    }
}
