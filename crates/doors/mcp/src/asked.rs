//! One request for a tool: who asks, of which hub, and how they are told of progress.

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

/// One request for a tool.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) mcp: &'a Mcp,
    pub(crate) asker: &'a Asker,
    context: &'a RequestContext<RoleServer>,
    /// The task that it began or waits for, which ends with it if the client cancels.
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

    /// Notes the task that it began or waits for.
    pub(crate) fn is_about(&self, task: TaskId) {
        self.task.get_or_init(|| task);
    }

    /// The task that it began or waits for.
    pub(crate) fn task(&self) -> Option<TaskId> {
        self.task.get().copied()
    }

    /// What ends the waiting before its time.
    pub(crate) fn leash(&self) -> Leash {
        Leash::until_stop(self.principal(), &self.mcp.stop)
    }

    /// How the client is told of progress, if it wants to be.
    pub(crate) fn progress(&self, task: TaskId) -> Progress {
        let token = self.context.meta.get_progress_token();
        Progress::new(self.context.peer.clone(), token, task)
    }

    /// A request to an agent on the asker's behalf, made for the call that the headers name.
    pub(crate) fn request(&self, agent: AgentId, message: Message) -> Result<Request, Failure> {
        let mut request = Request::new(self.principal().clone(), DOOR, agent, message);
        trace::follow(&mut request, &self.asker.headers)?;
        Ok(request)
    }
}

/// Reads the arguments of a tool; a refusal names the one that is wrong.
pub(crate) fn arguments<T: DeserializeOwned>(given: Option<JsonObject>) -> Result<T, Failure> {
    let given = serde_json::to_vec(&given.unwrap_or_default()).unwrap_or_default();
    json::read(&given).map_err(|Misread { field, error }| {
        // Where in the text it stands says nothing to somebody who sent no text.
        let error = error.to_string();
        let error = error.split(" at line ").next().unwrap_or_default();
        invalid(match &*field {
            "" => format!("the arguments are wrong: {error}"),
            field => format!("argument {field:?}: {error}"),
        })
    })
}

/// The task that was named.
pub(crate) fn task_id(text: &str) -> Result<TaskId, Failure> {
    TaskId::parse(text.trim()).ok_or_else(no_such_task)
}

/// The one answer for unknown and foreign tasks.
pub(crate) fn no_such_task() -> Failure {
    let text = "no such task of yours; use the `task` of a result of call_agent (a task is kept for a day)";
    Failure::new(Reason::SessionUnknown, text)
}
