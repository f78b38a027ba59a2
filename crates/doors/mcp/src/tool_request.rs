//! Tool request of an MCP client: the caller, the hub, and progress notifications.

use std::sync::OnceLock;

use jackfield_core::{
    hub::{Hub, Request},
    principal::Principal,
};
use jackfield_kit::{
    api::{invalid, lifetime::RequestLifetime},
    json::{self, JsonFieldError},
    trace,
};
use jackfield_model::{AgentId, Failure, Message, Reason, TaskId};
use rmcp::{RoleServer, model::JsonObject, service::RequestContext};
use serde::de::DeserializeOwned;

use crate::{DOOR, McpState, progress::ProgressReporter, serve::RequestCaller};

/// Tool request of an MCP client.
#[derive(Debug)]
pub(crate) struct ToolRequest<'a> {
    pub(crate) mcp: &'a McpState,
    pub(crate) asker: &'a RequestCaller,
    context: &'a RequestContext<RoleServer>,
    /// Task that the request started or waits for. Cancelling the request cancels the task.
    task: OnceLock<TaskId>,
}

impl<'a> ToolRequest<'a> {
    pub(crate) fn new(
        mcp: &'a McpState,
        asker: &'a RequestCaller,
        context: &'a RequestContext<RoleServer>,
    ) -> Self {
        Self {
            mcp,
            asker,
            context,
            task: OnceLock::new(),
        }
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.mcp.hub
    }

    pub(crate) fn principal(&self) -> &Principal {
        &self.asker.principal
    }

    /// Sets the task that the request started or waits for.
    pub(crate) fn set_task(&self, task: TaskId) {
        self.task.get_or_init(|| task);
    }

    /// Returns the task that the request started or waits for.
    pub(crate) fn task(&self) -> Option<TaskId> {
        self.task.get().copied()
    }

    /// Returns the [`RequestLifetime`] that ends a wait early.
    pub(crate) fn lifetime(&self) -> RequestLifetime {
        RequestLifetime::until_stop(self.principal(), &self.mcp.stop)
    }

    /// Returns the [`ProgressReporter`] reporter. Reports only if the client asked for progress.
    pub(crate) fn progress(&self, task: TaskId) -> ProgressReporter {
        let token = self.context.meta.get_progress_token();
        ProgressReporter::new(self.context.peer.clone(), token, task)
    }

    /// Builds a [`Request`] to an agent on behalf of the caller. The parent is the call named in the headers.
    pub(crate) fn request(&self, agent: AgentId, message: Message) -> Result<Request, Failure> {
        let mut request = Request::new(self.principal().clone(), DOOR, agent, message);
        trace::set_origin(&mut request, &self.asker.headers)?;
        Ok(request)
    }
}

/// Reads the arguments of a tool. A failure names the wrong argument.
pub(crate) fn arguments<T: DeserializeOwned>(given: Option<JsonObject>) -> Result<T, Failure> {
    let given = serde_json::to_vec(&given.unwrap_or_default()).unwrap_or_default();
    json::read(&given).map_err(|JsonFieldError { field, error }| {
        // Drop the position in the text: the client sent an object, not text.
        let error = error.to_string();
        let error = error.split(" at line ").next().unwrap_or_default();
        invalid(match &*field {
            "" => format!("the arguments are wrong: {error}"),
            field => format!("argument {field:?}: {error}"),
        })
    })
}

/// Parses a task id.
pub(crate) fn task_id(text: &str) -> Result<TaskId, Failure> {
    TaskId::parse(text.trim()).ok_or_else(no_such_task)
}

/// Returns the failure for unknown tasks and for tasks of other callers.
pub(crate) fn no_such_task() -> Failure {
    let text = "no such task of yours; use the `task` of a result of call_agent (a task is kept for a day)";
    Failure::new(Reason::SessionUnknown, text)
}
