//! Envelopes published by outside runtimes: read, validated down to the innermost event, and kept unchanged.

use jackfield_wire::{
    json,
    read::{FieldError, blank_is_absent, read, read_part},
};
use jiff::{Timestamp, civil::DateTime};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::value::RawValue;

use super::outgoing::SourceType;
use super::read::{IgnoredObject, NonBlankText, object};
use super::{AgentStatus, EnvelopeLimits, MessageFault, TeamStatus};

mod event;

pub(super) use event::AgentEventIn;

/// Envelope of an outside runtime.
#[derive(Debug, Clone)]
pub struct PublishedEnvelope<'a> {
    /// Original text of the envelope.
    pub raw: &'a RawValue,
    /// Id of the event.
    pub event_id: Option<String>,
    /// Time of the event.
    pub timestamp: Option<String>,
    /// Ids of the teams, outermost first, `None` where a level names no team. Has an element more than
    /// `nodes`.
    pub team_ids: Vec<Option<String>>,
    /// Node names of the wrappers, outermost first.
    pub nodes: Vec<String>,
    /// Content that the hub acts on.
    pub said: PublishedSource,
}

/// Content of a [`PublishedEnvelope`] envelope, as far as the hub acts on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishedSource {
    /// Changed status of a team.
    Team {
        /// New status.
        new: TeamStatus,
    },
    /// Event of a member.
    Agent {
        /// Name of the member in its team.
        name: String,
        /// Claimed agent id.
        agent_id: Option<String>,
        /// New status, if the event reports a known status.
        status: Option<AgentStatus>,
    },
    /// Change of a task board.
    TaskPlan,
}

/// Level of an envelope.
#[derive(Deserialize)]
pub(super) struct EnvelopeIn<'a> {
    #[serde(default, deserialize_with = "blank_is_absent")]
    event_id: Option<String>,
    #[serde(default, deserialize_with = "moment")]
    timestamp: Option<String>,
    #[serde(default, deserialize_with = "blank_is_absent")]
    team_id: Option<String>,
    pub(super) event_source_type: SourceType,
    #[serde(borrow)]
    pub(super) data: &'a RawValue,
}

/// Data of a level with a nested level.
#[derive(Deserialize)]
pub(super) struct SubTeamData<'a> {
    pub(super) sub_team_node_name: NonBlankText,
    #[serde(borrow)]
    pub(super) sub_team_event: Option<&'a RawValue>,
}

/// Data of a team's own event.
#[derive(Deserialize)]
struct TeamData {
    #[serde(deserialize_with = "TeamStatus::deserialize_name")]
    new_status: TeamStatus,
    #[serde(rename = "old_status")]
    _old_status: Option<String>,
    #[serde(rename = "error_message")]
    _error_message: Option<String>,
}

/// Data of a member's event.
#[derive(Deserialize)]
pub(super) struct AgentData<'a> {
    pub(super) agent_name: NonBlankText,
    #[serde(borrow)]
    pub(super) agent_event: Option<&'a RawValue>,
}

/// Data of a board change. With `tasks`, tasks were added; otherwise a task changed its status.
#[derive(Deserialize)]
struct TaskPlanIn<'a> {
    #[serde(rename = "team_id")]
    _team_id: Option<String>,
    #[serde(borrow)]
    tasks: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    task_id: Option<&'a RawValue>,
}

/// Data of a task's status change.
#[derive(Deserialize)]
struct TaskStatusIn {
    #[serde(rename = "task_id")]
    _task_id: NonBlankText,
    #[serde(rename = "new_status")]
    _new_status: NonBlankText,
    #[serde(rename = "agent_name")]
    _agent_name: Option<String>,
}

/// Reads a [`PublishedEnvelope`] envelope, or an array. Fails with the first error if any envelope is invalid.
pub fn read_envelopes<'a>(
    text: &'a str,
    limits: &EnvelopeLimits,
) -> Result<Vec<PublishedEnvelope<'a>>, MessageFault> {
    let raw: &RawValue = read(text, limits.max_depth)?;
    if !json::is_array(raw) {
        return Ok(vec![read_envelope(raw, limits)?]);
    }
    let envelopes: Vec<&RawValue> = read_part(raw)?;
    let envelopes = envelopes.into_iter().enumerate().map(|(index, raw)| {
        read_envelope(raw, limits).map_err(|misread| misread.within(&format!("[{index}]")))
    });
    Ok(envelopes.collect::<Result<_, _>>()?)
}

fn read_envelope<'a>(
    raw: &'a RawValue,
    limits: &EnvelopeLimits,
) -> Result<PublishedEnvelope<'a>, FieldError> {
    let level: EnvelopeIn<'_> = object(raw)?;
    let mut published = PublishedEnvelope {
        raw,
        event_id: level.event_id.clone(),
        timestamp: level.timestamp.clone(),
        team_ids: Vec::new(),
        nodes: Vec::new(),
        said: PublishedSource::TaskPlan,
    };
    read_level(level, limits, &mut published)?;
    Ok(published)
}

/// Reads a level and all nested levels, up to [`EnvelopeLimits::max_nesting`].
fn read_level(
    level: EnvelopeIn<'_>,
    limits: &EnvelopeLimits,
    published: &mut PublishedEnvelope<'_>,
) -> Result<(), FieldError> {
    published.team_ids.push(level.team_id);
    let data = level.data;
    let read = match level.event_source_type {
        SourceType::SubTeam => read_wrapper(data, limits, published),
        SourceType::Team => object(data).map(|team: TeamData| {
            published.said = PublishedSource::Team {
                new: team.new_status,
            };
        }),
        SourceType::Agent => read_agent(data).map(|said| published.said = said),
        SourceType::TaskPlan => check_plan(data),
    };
    read.map_err(|misread| misread.within("data"))
}

fn read_wrapper(
    data: &RawValue,
    limits: &EnvelopeLimits,
    published: &mut PublishedEnvelope<'_>,
) -> Result<(), FieldError> {
    const INNER: &str = "sub_team_event";
    let wrapper: SubTeamData<'_> = object(data)?;
    let inner = wrapper
        .sub_team_event
        .ok_or_else(|| FieldError::missing(INNER))?;
    published.nodes.push(wrapper.sub_team_node_name.0);
    if published.nodes.len() > limits.max_nesting {
        let problem = format!("is nested deeper than {} teams", limits.max_nesting);
        return Err(FieldError::invalid(INNER, problem));
    }
    let inner = object(inner).and_then(|level| read_level(level, limits, published));
    inner.map_err(|misread| misread.within(INNER))
}

fn read_agent(data: &RawValue) -> Result<PublishedSource, FieldError> {
    const EVENT: &str = "agent_event";
    let agent: AgentData<'_> = object(data)?;
    let event = agent
        .agent_event
        .ok_or_else(|| FieldError::missing(EVENT))?;
    let event = object(event).and_then(|event: AgentEventIn<'_>| {
        let status = event.check();
        let status = status.map_err(|misread| misread.within("data"))?;
        Ok((event.agent_id, status))
    });
    let (agent_id, status) = event.map_err(|misread| misread.within(EVENT))?;
    Ok(PublishedSource::Agent {
        name: agent.agent_name.0,
        agent_id,
        status,
    })
}

fn check_plan(data: &RawValue) -> Result<(), FieldError> {
    let plan: TaskPlanIn<'_> = object(data)?;
    match (plan.tasks, plan.task_id) {
        (Some(tasks), _) => check_objects("tasks", &tasks),
        (None, Some(_)) => object(data).map(|_: TaskStatusIn| ()),
        (None, None) => Err(FieldError::invalid(
            "",
            "must have \"tasks\" or \"task_id\"",
        )),
    }
}

/// Checks that all elements of a list field are objects.
fn check_objects(field: &str, list: &[&RawValue]) -> Result<(), FieldError> {
    for (index, raw) in list.iter().enumerate() {
        let within = |misread: FieldError| misread.within(&format!("{field}[{index}]"));
        object::<IgnoredObject>(raw).map_err(within)?;
    }
    Ok(())
}

/// Reads a time in RFC 3339. A time without a zone counts as UTC.
fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    match text {
        Some(text) if !is_moment(&text) => Err(D::Error::custom("must be a time in RFC 3339")),
        text => Ok(text),
    }
}

fn is_moment(text: &str) -> bool {
    // jiff accepts more formats than the standard, and viewers accept fewer.
    let is_standard = matches!(
        text.as_bytes(),
        [
            _,
            _,
            _,
            _,
            b'-',
            _,
            _,
            b'-',
            _,
            _,
            b'T' | b't' | b' ',
            _,
            _,
            b':',
            _,
            _,
            b':',
            ..
        ]
    ) && !text.contains([',', '[']);
    is_standard && (text.parse::<Timestamp>().is_ok() || text.parse::<DateTime>().is_ok())
}
