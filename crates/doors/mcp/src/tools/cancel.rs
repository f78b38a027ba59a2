//! `cancel`: cancels a task and notifies its agent immediately.

use jackfield_model::{Failure, Reason};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Deserialize;
use serde_json::json;

use crate::tool_request::{ToolRequest, arguments, no_such_task, task_id};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelArguments {
    task: String,
}

pub(super) async fn run(
    asked: &ToolRequest<'_>,
    given: Option<JsonObject>,
) -> Result<CallToolResult, Failure> {
    let given: CancelArguments = arguments(given)?;
    let id = task_id(&given.task)?;
    let cancelled = asked.hub().tasks().cancel(asked.principal(), id).await;
    cancelled.map_err(|failure| match failure.reason {
        Reason::NotFound => no_such_task(),
        _ => failure,
    })?;
    let text = format!("Task {id} is cancelled; its agent was told.");
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!({"task": id.to_string(), "state": "cancelled"}));
    Ok(result)
}
