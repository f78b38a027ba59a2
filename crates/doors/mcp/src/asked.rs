//! Tool request of an MCP client: the caller, the hub, and progress notifications.

use std::sync::OnceLock;

use jackfield_core::{
    hub::{Hub, Request},
    principal::Principal,
};
use jackfield_kit::{
    api::{invalid, leash::Leash},
    json::{self, Misread},
    trace,
};
use jackfield_model::{AgentId, Failure, Message, Reason, TaskId};
use rmcp::{RoleServer, model::JsonObject, service::RequestContext};
use serde::de::DeserializeOwned;

use crate::{DOOR, Mcp, progress::Progress, serve::Asker};

/// Tool request of an MCP client.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) mcp: &'a Mcp,
    pub(crate) asker: &'a Asker,
    context: &'a RequestContext<RoleServer>,
    /// Task that the request started or waits for. Cancelling the request cancels the task.
    task: OnceLock<TaskId>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(
        mcp: &'a Mcp,
        asker: &'a Asker,
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
    pub(crate) fn is_about(&self, task: TaskId) {
        self.task.get_or_init(|| task);
    }

    /// Returns the task that the request started or waits for.
    pub(crate) fn task(&self) -> Option<TaskId> {
        self.task.get().copied()
    }

    /// Returns the [`Leash`] that ends a wait early.
    pub(crate) fn leash(&self) -> Leash {
        Leash::until_stop(self.principal(), &self.mcp.stop)
    }

    /// Returns the [`Progress`] reporter. Reports only if the client asked for progress.
    pub(crate) fn progress(&self, task: TaskId) -> Progress {
        let token = self.context.meta.get_progress_token();
        Progress::new(self.context.peer.clone(), token, task)
    }

    /// Builds a [`Request`] to an agent on behalf of the caller. The parent is the call named in the headers.
    pub(crate) fn request(&self, agent: AgentId, message: Message) -> Result<Request, Failure> {
        let mut request = Request::new(self.principal().clone(), DOOR, agent, message);
        trace::follow(&mut request, &self.asker.headers)?;
        Ok(request)
    }
}

/// Reads the arguments of a tool. A failure names the wrong argument.
pub(crate) fn arguments<T: DeserializeOwned>(given: Option<JsonObject>) -> Result<T, Failure> {
    let given = serde_json::to_vec(&given.unwrap_or_default()).unwrap_or_default();
    json::read(&given).map_err(|Misread { field, error }| {
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
