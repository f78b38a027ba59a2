//! Tool request of an MCP client: the caller, the hub, and progress notifications.

use std::sync::{Arc, OnceLock};

use jackfield_core::{
    hub::{Hub, Request},
    principal::Principal,
    task::Task,
};
use jackfield_kit::{
    api::{invalid, lifetime::RequestLifetime},
    json::{self, JsonFieldError},
    trace,
};
use jackfield_model::{AgentId, Failure, Message, Reason, TaskId};
use jackfield_wire::bridge::{FREE_CLIENT_ID_RULE, is_free_client_id};
use rmcp::{
    RoleServer,
    model::{ClientCapabilities, JsonObject, ProtocolVersion},
    service::RequestContext,
};
use serde::de::DeserializeOwned;

use crate::{McpState, progress::ProgressReporter, serve::RequestCaller};

/// Key of `_meta` with the client id for which an agent is to offer its files. `jackfield mcp` sets it.
const FILES: &str = "jackfield/files";

/// Tool request of an MCP client.
#[derive(Debug)]
pub(crate) struct ToolRequest<'a> {
    pub(crate) mcp: &'a McpState,
    pub(crate) asker: &'a RequestCaller,
    /// Task that an earlier request of the client began, if the door answered that request with questions.
    pub(crate) resumed: Option<Arc<Task>>,
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
            resumed: None,
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

    /// Returns whether the client takes a task in place of a result.
    pub(crate) fn takes_tasks(&self) -> bool {
        self.context
            .client_capabilities()
            .is_some_and(|it| it.supports_tasks())
    }

    /// Returns whether the client asks its user, and repeats the request with the answers: from version 2026-07-28 on.
    /// Every request says so itself.
    pub(crate) fn takes_questions(&self) -> bool {
        let capabilities = self.context.client_capabilities();
        is_modern(self.context) && capabilities.is_some_and(|it| takes_forms(&it))
    }

    /// Adds to a message that its sender wants the agent's files, if the request says so in [`FILES`]. Bridge agents know
    /// the two fields.
    pub(crate) fn want_files(&self, message: &mut Message) -> Result<(), Failure> {
        let Some(client_id) = self.context.meta.get(FILES) else {
            return Ok(());
        };
        let client_id = client_id.as_str().filter(|id| is_free_client_id(id));
        let client_id = client_id.ok_or_else(|| {
            let text = format!("field \"_meta[{FILES:?}]\" {FREE_CLIENT_ID_RULE}");
            Failure::new(Reason::Invalid, text)
        })?;
        let wanted = serde_json::json!({"client_id": client_id, "with_files": true});
        message.metadata = Some(wanted.into());
        Ok(())
    }

    /// Builds a [`Request`] to an agent on behalf of the caller. The parent is the call named in the headers.
    /// The trace is that of the message, else that of the headers.
    pub(crate) fn request(&self, agent: AgentId, message: Message) -> Result<Request, Failure> {
        let mut request = self.asker.request(agent, message)?;
        trace::set_trace(&mut request, self.context.meta.get_traceparent());
        Ok(request)
    }
}

/// Returns whether the request has version 2026-07-28 or later, in which every request stands for itself.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns whether the client shows forms to its user. An empty capability means forms.
pub(crate) fn takes_forms(capabilities: &ClientCapabilities) -> bool {
    let elicitation = capabilities.elicitation.as_ref();
    elicitation.is_some_and(|it| it.form.is_some() || it.url.is_none())
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

/// Finds a task of the caller by its id.
pub(crate) async fn find_task(
    hub: &Hub,
    principal: &Principal,
    id: &str,
) -> Result<Arc<Task>, Failure> {
    let found = hub.tasks().find(principal, task_id(id)?).await;
    found.map_err(|failure| match failure.reason {
        Reason::NotFound => no_such_task(),
        _ => failure,
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
