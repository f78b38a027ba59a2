//! `session/request_permission`: the editor's user approves a step of the agent, or not.

use jackfield_model::Json;
use jackfield_wire::read::{FieldError, read_part};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{ToolContent, ToolStatus, request};

/// Id of the option that allows the step.
const ALLOW: &str = "allow";
/// Id of the option that does not.
const REJECT: &str = "reject";

/// A request for permission. An approval of the hub is for one step, so there are no options for longer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionRequest<'a> {
    session_id: &'a str,
    tool_call: PermissionTool<'a>,
    options: [PermissionOption; 2],
}

/// The step: a tool call that the editor may not know yet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionTool<'a> {
    pub(crate) tool_call_id: &'a str,
    pub(crate) title: &'a str,
    pub(crate) status: ToolStatus,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) content: Vec<ToolContent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_input: Option<&'a Json>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PermissionOption {
    option_id: &'static str,
    name: &'static str,
    kind: &'static str,
}

impl<'a> PermissionRequest<'a> {
    pub(crate) fn new(session_id: &'a str, tool_call: PermissionTool<'a>) -> Self {
        let option = |option_id, name, kind| PermissionOption {
            option_id,
            name,
            kind,
        };
        Self {
            session_id,
            tool_call,
            options: [
                option(ALLOW, "Allow", "allow_once"),
                option(REJECT, "Reject", "reject_once"),
            ],
        }
    }

    pub(crate) fn frame(&self, id: u64) -> String {
        request(id, "session/request_permission", self)
    }
}

/// What the user decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermissionOutcome {
    Allowed,
    Rejected,
    /// The user closed the dialogue, or the prompt is being cancelled.
    Dismissed,
}

impl PermissionOutcome {
    /// Reads the result of the request.
    pub(crate) fn read(result: &RawValue) -> Result<Self, FieldError> {
        #[derive(Deserialize)]
        struct Answer {
            outcome: Outcome,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Outcome {
            outcome: String,
            option_id: Option<String>,
        }
        let outcome = read_part::<Answer>(result)?.outcome;
        match (&*outcome.outcome, outcome.option_id.as_deref()) {
            ("cancelled", _) => Ok(Self::Dismissed),
            ("selected", Some(ALLOW)) => Ok(Self::Allowed),
            ("selected", Some(REJECT)) => Ok(Self::Rejected),
            ("selected", _) => Err(FieldError::invalid(
                "outcome.optionId",
                "must be one of the offered options",
            )),
            _ => Err(FieldError::invalid(
                "outcome.outcome",
                "must be selected or cancelled",
            )),
        }
    }
}
