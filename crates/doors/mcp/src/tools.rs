//! Tools of the MCP door. `tools.json` contains the descriptions for models and the schemas; each submodule
//! implements a tool.

mod call;
mod cancel;
mod find;
mod task;

use std::{sync::LazyLock, time::Duration};

use jackfield_model::Failure;
use rmcp::model::{CallToolResponse, JsonObject, Tool};

use crate::{limits::WAIT, tool_request::ToolRequest};

/// Tools as listed to clients.
pub(crate) static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("tools.json")).expect("the file is part of this program")
});

/// Tool of the door.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToolName {
    Find,
    Call,
    Task,
    Cancel,
}

impl ToolName {
    /// Returns the tool with the given name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "find_agents" => Self::Find,
            "call_agent" => Self::Call,
            "task" => Self::Task,
            "cancel" => Self::Cancel,
            _ => return None,
        })
    }

    /// Runs the tool.
    pub(crate) async fn run(
        self,
        asked: &ToolRequest<'_>,
        arguments: Option<JsonObject>,
    ) -> Result<CallToolResponse, Failure> {
        match self {
            Self::Find => find::run(asked, arguments).map(CallToolResponse::from),
            Self::Call => call::run(asked, arguments).await,
            Self::Task => task::run(asked, arguments).await,
            Self::Cancel => cancel::run(asked, arguments)
                .await
                .map(CallToolResponse::from),
        }
    }
}

/// Returns the waiting time, at most [`WAIT`]. A client that needs more time waits again.
fn wait_time(seconds: Option<u64>) -> Duration {
    seconds.map_or(WAIT, Duration::from_secs).min(WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_that_is_told_of_is_there() {
        let names: Vec<_> = TOOLS.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["find_agents", "call_agent", "task", "cancel"]);
        assert!(names.iter().all(|name| ToolName::from_name(name).is_some()));
    }

    #[test]
    fn nobody_waits_longer_than_clients_do() {
        assert_eq!(wait_time(None), WAIT);
        assert_eq!(wait_time(Some(0)), Duration::ZERO);
        assert_eq!(wait_time(Some(u64::MAX)), WAIT);
    }
}
