//! Envelopes that outside runtimes publish: read, checked down to the innermost event, and kept whole.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::event_type::EventType;
use super::fields::{self, Fields, text};
use super::outgoing::SourceType;
use super::segment::Step;
use super::{AgentStatus, Fault, Limits, TeamStatus};
use jackfield_wire::a2a::official::time;
use jackfield_wire::echo;
use jackfield_wire::json;

/// One envelope of an outside runtime.
#[derive(Debug, Clone)]
pub struct Published<'a> {
    /// The envelope as it was written.
    pub raw: &'a RawValue,
    /// Its id.
    pub event_id: Option<Cow<'a, str>>,
    /// When it happened.
    pub timestamp: Option<Cow<'a, str>>,
    /// The teams that it names, outermost first, `None` where an envelope names none; one more than `nodes`.
    pub team_ids: Vec<Option<Cow<'a, str>>>,
    /// The nodes that its wrappers name, outermost first.
    pub nodes: Vec<Cow<'a, str>>,
    /// What it says.
    pub said: Said<'a>,
}

/// What a published envelope says, as far as the hub acts on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said<'a> {
    /// The state of a team changed.
    Team {
        /// What the team does now.
        new: TeamStatus,
    },
    /// A member said something.
    Agent {
        /// The member's name in its team.
        name: Cow<'a, str>,
        /// The agent that it is said to be.
        agent_id: Option<Cow<'a, str>>,
        /// What it does now, if it said that and it is one of the known states.
        status: Option<AgentStatus>,
    },
    /// A task board changed.
    TaskPlan,
}

/// Reads one envelope, or an array of them. Either all are good or the first mistake is told.
pub fn read_envelopes<'a>(text: &'a str, limits: &Limits) -> Result<Vec<Published<'a>>, Fault> {
    let raw = fields::value(text, limits)?;
    if json::is_array(raw) {
        return fields::list(raw, |raw| read_envelope(raw, limits));
    }
    Ok(vec![read_envelope(raw, limits)?])
}

fn read_envelope<'a>(raw: &'a RawValue, limits: &Limits) -> Result<Published<'a>, Fault> {
    let mut published = Published {
        raw,
        event_id: None,
        timestamp: None,
        team_ids: Vec::new(),
        nodes: Vec::new(),
        said: Said::TaskPlan,
    };
    // Where the envelope at hand stands in the outermost one.
    let mut place = String::new();
    let mut level = raw;
    loop {
        let step = read_level(level, limits, &mut published);
        match step.map_err(|fault| within(fault, &place))? {
            Some(inner) => level = inner,
            None => return Ok(published),
        }
        if !place.is_empty() {
            place.push('.');
        }
        place.push_str("data.sub_team_event");
    }
}

fn within(fault: Fault, place: &str) -> Fault {
    match place {
        "" => fault,
        place => fault.within(place),
    }
}

/// Reads one level; returns the envelope inside, if there is one.
fn read_level<'a>(
    raw: &'a RawValue,
    limits: &Limits,
    published: &mut Published<'a>,
) -> Result<Option<&'a RawValue>, Fault> {
    let envelope = Fields::of(raw)?;
    let event_id = envelope.word("event_id")?;
    let timestamp = envelope.read("timestamp", moment)?;
    if published.team_ids.is_empty() {
        published.event_id = event_id;
        published.timestamp = timestamp;
    }
    published.team_ids.push(envelope.word("team_id")?);
    let source = envelope.require("event_source_type", |raw| {
        SourceType::from_name(&text(raw)?)
            .ok_or_else(|| Fault::here("must be TEAM, AGENT, SUB_TEAM or TASK_PLAN"))
    })?;
    let data = envelope.require_object("data")?;
    let inner = match source {
        SourceType::SubTeam => read_wrapper(&data, limits, published).map(Some),
        other => {
            let said = match other {
                SourceType::Team => read_team(&data),
                SourceType::Agent => read_agent(&data),
                SourceType::SubTeam | SourceType::TaskPlan => read_plan(&data),
            };
            said.map(|said| {
                published.said = said;
                None
            })
        }
    };
    inner.map_err(|fault| fault.within("data"))
}

fn read_wrapper<'a>(
    data: &Fields<'a>,
    limits: &Limits,
    published: &mut Published<'a>,
) -> Result<&'a RawValue, Fault> {
    published
        .nodes
        .push(data.require_word("sub_team_node_name")?);
    let inner = data.require("sub_team_event", Ok)?;
    if published.nodes.len() > limits.max_nesting {
        let max = limits.max_nesting;
        let problem = format!("is nested deeper than {max} teams");
        return Err(Fault::at("sub_team_event", problem));
    }
    Ok(inner)
}

fn read_team(data: &Fields<'_>) -> Result<Said<'static>, Fault> {
    data.text("old_status")?;
    data.text("error_message")?;
    let new = data.require("new_status", |raw| {
        let name = text(raw)?;
        let names = TeamStatus::ALL.map(TeamStatus::seed_name);
        TeamStatus::from_name(&name).ok_or_else(|| unknown("state of a team", &name, &names))
    })?;
    Ok(Said::Team { new })
}

fn read_plan(data: &Fields<'_>) -> Result<Said<'static>, Fault> {
    data.text("team_id")?;
    let tasks = data.read("tasks", |raw| fields::list(raw, Fields::of))?;
    if tasks.is_none() {
        if data.raw("task_id").is_none() {
            return Err(Fault::here("must have \"tasks\" or \"task_id\""));
        }
        data.require_word("task_id")?;
        data.require_word("new_status")?;
        data.text("agent_name")?;
    }
    Ok(Said::TaskPlan)
}

fn read_agent<'a>(data: &Fields<'a>) -> Result<Said<'a>, Fault> {
    let name = data.require_word("agent_name")?;
    let event = data.require_object("agent_event")?;
    let read = || {
        event.text("event_id")?;
        // The seed's own example has no time here that one could read.
        event.text("timestamp")?;
        let event_type = event.require("event_type", |raw| {
            let name = text(raw)?;
            EventType::from_name(&name).ok_or_else(|| {
                unknown("type of event", &name, &EventType::ALL.map(EventType::name))
            })
        })?;
        let data = event.require_object("data")?;
        let status = read_event(event_type, &data).map_err(|fault| fault.within("data"))?;
        Ok((event.word("agent_id")?, status))
    };
    let (agent_id, status) = read().map_err(|fault: Fault| fault.within("agent_event"))?;
    Ok(Said::Agent {
        name,
        agent_id,
        status,
    })
}

/// Checks what an event of this type must have; returns the agent's new state, if it tells a known one.
fn read_event(event_type: EventType, data: &Fields<'_>) -> Result<Option<AgentStatus>, Fault> {
    let (words, texts): (&[&str], &[&str]) = match event_type {
        EventType::Segment => return read_segment(data).map(|()| None),
        EventType::Status => {
            data.text("old_status")?;
            let new = data.require_word("new_status")?;
            return Ok(AgentStatus::from_name(&new));
        }
        EventType::Chunk => {
            data.require("is_complete", flag)?;
            (&[], &["content"])
        }
        EventType::Complete => (&[], &["content"]),
        EventType::ApprovalRequested => {
            data.require("arguments", Ok)?;
            (&["invocation_id", "tool_name"], &[])
        }
        EventType::Denied => {
            // Viewers tell why; the runtime says it under either name.
            if data.text("reason")?.is_none() && data.text("error")?.is_none() {
                return Err(Fault::at("reason", fields::REQUIRED));
            }
            (&["invocation_id", "tool_name"], &[])
        }
        EventType::Approved | EventType::ToolStarted | EventType::ToolSucceeded => {
            (&["invocation_id", "tool_name"], &[])
        }
        EventType::ToolFailed => (&["invocation_id", "tool_name"], &["error"]),
        EventType::ToolLog => (&["tool_invocation_id", "tool_name"], &["log_entry"]),
        EventType::SystemNotification => (&["sender_id"], &["content"]),
        EventType::InterAgent => (
            &["sender_agent_id", "message_type"],
            &["recipient_role_name", "content"],
        ),
        EventType::TodoList => {
            data.require("todos", |raw| fields::list(raw, Fields::of))?;
            (&[], &[])
        }
        EventType::ArtifactPersisted => (&["artifact_id", "path", "type"], &["agent_id"]),
        EventType::ArtifactUpdated => (&["path", "type"], &["agent_id"]),
        EventType::Error => (&["code"], &["message"]),
    };
    for name in words {
        data.require_word(name)?;
    }
    for name in texts {
        data.require_text(name)?;
    }
    Ok(None)
}

/// Checks a segment. Its id may be missing, as in the seed's example; then the payload's, or the member's name, serves.
fn read_segment(data: &Fields<'_>) -> Result<(), Fault> {
    let (kind, other) = (data.text("type")?, data.text("event_type")?);
    let name = match (&kind, &other) {
        (Some(kind), Some(other)) if kind != other => {
            return Err(Fault::at("event_type", "differs from \"type\""));
        }
        (Some(kind), _) => kind,
        (None, Some(other)) => other,
        (None, None) => return Err(Fault::at("type", fields::REQUIRED)),
    };
    let field = if kind.is_some() { "type" } else { "event_type" };
    let step = Step::from_name(name);
    let step = step.ok_or_else(|| {
        let names = ["SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END"];
        unknown("kind of segment event", name, &names).within(field)
    })?;
    data.text("segment_id")?;
    data.text("segment_type")?;
    let payload = data.read("payload", Fields::of)?;
    match (step, payload) {
        // Viewers drop content without it, and nobody would learn of that.
        (Step::Content, None) => Err(Fault::at("payload", fields::REQUIRED)),
        (Step::Content, Some(payload)) => {
            let delta = payload.require_text("delta");
            delta.map(drop).map_err(|fault| fault.within("payload"))
        }
        (Step::Start | Step::End, _) => Ok(()),
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> Fault {
    let name = echo(name);
    let (name, known) = (name.escape_debug(), known.join(", "));
    Fault::here(format!(
        "is no known {what}: \"{name}\"; use one of {known}"
    ))
}

/// A point in time.
fn moment(raw: &RawValue) -> Result<Cow<'_, str>, Fault> {
    let text = text(raw)?;
    match time::to_utc(&text) {
        Some(_) => Ok(text),
        None => Err(Fault::here("must be a time in RFC 3339")),
    }
}

fn flag(raw: &RawValue) -> Result<bool, Fault> {
    match raw.get() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Fault::here("must be true or false")),
    }
}
