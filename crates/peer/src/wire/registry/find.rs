//! Search by goal: `{"goal"}` in, a bare list out, the only shape that the original's client understands.

use jackfield_wire::p2p::{checked_text, read_body};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::json_of;
use crate::wire::{BodyLimits, MAX_DESCRIPTION, PeerInputError};

/// Reads the body of `POST /agents/find` and `POST /tools/find`.
pub fn read_goal(bytes: &[u8]) -> Result<String, PeerInputError> {
    #[derive(Deserialize)]
    struct Search {
        goal: String,
    }
    let search: Search = read_body(bytes, &BodyLimits::SMALL)?;
    checked_text("goal", search.goal, MAX_DESCRIPTION)
}

/// An agent that may serve the goal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct FoundAgent {
    /// Name of the agent.
    pub name: String,
    /// Description of the agent.
    pub description: String,
    /// Version of the agent.
    pub version: String,
    /// Address at which the agent is called.
    pub endpoint: String,
    /// Peer id of the agent, or of the hub in front of it.
    pub peer_id: String,
}

/// A skill that may serve the goal.
#[derive(Debug, Clone, Default)]
pub struct FoundTool {
    /// Name of the skill.
    pub name: String,
    /// Description of the skill.
    pub description: String,
    /// Version of the skill's agent.
    pub version: String,
    /// JSON schema of the input.
    pub parameters: Option<Box<RawValue>>,
}

/// Writes the answer of `POST /agents/find`.
pub fn write_agents(agents: &[FoundAgent]) -> String {
    json_of(&agents)
}

/// Writes the answer of `POST /tools/find`.
pub fn write_tools(tools: &[FoundTool]) -> String {
    let tools = tools.iter().map(|tool| ToolFields {
        name: &tool.name,
        version: &tool.version,
        default_parameters: Schema(None),
        parameters_spec: Schema(tool.parameters.as_deref()),
        openai_function_spec: FunctionSpec {
            r#type: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: Schema(tool.parameters.as_deref()),
            },
        },
    });
    json_of(&tools.collect::<Vec<_>>())
}

#[derive(Serialize)]
struct ToolFields<'a> {
    name: &'a str,
    version: &'a str,
    default_parameters: Schema<'a>,
    parameters_spec: Schema<'a>,
    openai_function_spec: FunctionSpec<'a>,
}

#[derive(Serialize)]
struct FunctionSpec<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Schema<'a>,
}

/// A JSON schema; empty for a tool with unspecified input.
struct Schema<'a>(Option<&'a RawValue>);

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(schema) => schema.serialize(serializer),
            None => serializer.collect_map::<&str, &str, _>([]),
        }
    }
}
