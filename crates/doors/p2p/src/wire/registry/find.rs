//! Searching by goal: `{"goal"}` in, a bare list out, which is all that the original's client understands.

use serde_json::value::RawValue;

use crate::wire::{Fault, Limits, MAX_DESCRIPTION};
use jackfield_wire::json::ObjectWriter;
use jackfield_wire::p2p::fields::{self, Fields};

/// Reads the body of `POST /agents/find` and `POST /tools/find`.
pub fn read_goal(bytes: &[u8]) -> Result<String, Fault> {
    let fields = Fields::of(fields::value(bytes, &Limits::SMALL)?)?;
    fields.require("goal", |raw| fields::word(raw, MAX_DESCRIPTION))
}

/// An agent that may serve the goal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundAgent {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Its version.
    pub version: String,
    /// Where it is called.
    pub endpoint: String,
    /// The peer that it is, or that it is behind.
    pub peer_id: String,
}

/// A skill that may serve the goal.
#[derive(Debug, Clone, Default)]
pub struct FoundTool {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The version of its agent.
    pub version: String,
    /// The JSON schema of what it takes.
    pub parameters: Option<Box<RawValue>>,
}

/// Writes the answer of `POST /agents/find`.
pub fn write_agents(agents: &[FoundAgent]) -> String {
    let mut out = String::new();
    super::push_list(&mut out, agents, |agent, out| {
        let mut object = ObjectWriter::open(out);
        object
            .text("name", &*agent.name)
            .text("description", &*agent.description)
            .text("version", &*agent.version)
            .text("endpoint", &*agent.endpoint)
            .text("peer_id", &*agent.peer_id);
        object.close();
    });
    out
}

/// Writes the answer of `POST /tools/find`. A tool that takes nothing in particular has an empty schema.
pub fn write_tools(tools: &[FoundTool]) -> String {
    let mut out = String::new();
    super::push_list(&mut out, tools, |tool, out| {
        let parameters = |object: &mut ObjectWriter<'_>, name: &str| {
            match tool.parameters.as_deref() {
                Some(schema) => object.raw(name, schema),
                None => object.object(name, |_| {}),
            };
        };
        let mut object = ObjectWriter::open(out);
        object
            .text("name", &*tool.name)
            .text("version", &*tool.version)
            .object("default_parameters", |_| {});
        parameters(&mut object, "parameters_spec");
        object.object("openai_function_spec", |spec| {
            spec.text("type", "function")
                .object("function", |function| {
                    function
                        .text("name", &*tool.name)
                        .text("description", &*tool.description);
                    parameters(function, "parameters");
                });
        });
        object.close();
    });
    out
}
