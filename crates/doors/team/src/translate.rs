//! Pure conversions between [`FeedEvent`] events and the types of the protocol.

mod tasks;

use jackfield_model::{File, Message, Part};
use jiff::Timestamp;

use self::tasks::WireTasks;
pub(crate) use self::tasks::{BoardForm, deliverable, snapshot_tasks};
use crate::{
    team::{
        board::{BoardChange, BoardStatus, BoardTask},
        event::{EventBody, MemberArtifact, MemberEvent, StatusChange, SubTeam, ToolInvocation},
        feed::FeedEvent,
    },
    wire,
};

/// Node id of the hub, for clients that distinguish several nodes.
const NODE: &str = "hub";
/// `message_type` of a message between members, as defined by the protocol. Runtimes may use other values.
const DIRECT_MESSAGE: &str = "direct_message";

/// `message_type` of a message from outside the team, defined by Jackfield. The protocol has no event for
/// such messages.
const USER_MESSAGE: &str = "user_message";

/// Formats a time for the protocol.
pub(crate) fn time(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Returns the WebSocket message of an event for viewers of a team. Empty if the event has none.
pub(crate) fn flat(told: &FeedEvent, team: &str, form: BoardForm) -> String {
    with_event(told, team, form, |event, stamp| {
        wire::flatten(event, Some(stamp)).unwrap_or_default()
    })
}

/// Writes the current status, from `now`, of all tasks that had begun when other tasks were added: the web
/// client forgets their status with every addition. The messages have no sequence numbers, so a reconnecting
/// client accepts them again. The old status would revert later changes, hence the current status.
pub(crate) fn begun(told: &FeedEvent, team: &str, now: &[BoardTask], each: &mut dyn FnMut(&str)) {
    let EventBody::Board(BoardChange::Created { all, .. }) = &*told.body else {
        return;
    };
    let was_begun = |task: &&BoardTask| {
        let mut all = all.iter();
        all.any(|it| it.id == task.id && it.status != BoardStatus::NotStarted)
    };
    let begun: Vec<_> = now.iter().filter(was_begun).cloned().collect();
    let place = SnapshotRenderer::new(team, &told.path, told.at);
    tasks::each_status(&begun, &mut |source| each(&place.flat(source)));
}

/// Returns the WebSocket message of an event for viewers of a single agent. Empty if the event has none.
pub(crate) fn single(told: &FeedEvent) -> String {
    // The client displays the messages of its user itself.
    if let EventBody::Member { event, .. } = &*told.body
        && matches!(event, MemberEvent::OutsideMessage { .. })
    {
        return String::new();
    }
    with_event(told, "", BoardForm::Added, |event, _| {
        wire::flatten_single(event).unwrap_or_default()
    })
}

/// Returns the event as an envelope of the seed.
pub(crate) fn envelope(told: &FeedEvent, team: &str) -> String {
    with_event(told, team, BoardForm::Added, |event, stamp| {
        wire::write_envelope(event, stamp)
    })
}

fn nodes(path: &[SubTeam]) -> Vec<wire::SubTeamNode<'_>> {
    let nodes = path.iter().map(|node| wire::SubTeamNode {
        name: &node.name,
        team_id: node.team.as_str(),
    });
    nodes.collect()
}

/// Converts an event and its number, and passes both to `write`.
fn with_event(
    told: &FeedEvent,
    team: &str,
    form: BoardForm,
    write: impl FnOnce(&wire::OutgoingEvent<'_>, &wire::Stamp<'_>) -> String,
) -> String {
    let at = time(told.at);
    let path = nodes(&told.path);
    let plan = match &*told.body {
        EventBody::Board(change) => WireTasks::of(change, form),
        EventBody::Team { .. } | EventBody::Member { .. } | EventBody::Published(_) => {
            WireTasks::default()
        }
    };
    let tasks = plan.tasks();
    let source = match &*told.body {
        EventBody::Team { new, old, error } => wire::EventSource::Team {
            new: *new,
            old: *old,
            error_message: error.as_deref(),
        },
        EventBody::Member { name, agent, event } => wire::EventSource::Agent {
            name,
            agent_id: agent.as_str(),
            event: member_event(event),
        },
        EventBody::Board(BoardChange::Created { .. }) => {
            wire::EventSource::TasksCreated { tasks: &tasks }
        }
        EventBody::Board(BoardChange::Status { task, new, by, .. }) => {
            wire::EventSource::TaskStatus {
                task_id: task,
                new_status: new.name(),
                agent_name: by,
                deliverables: plan.given(),
            }
        }
        EventBody::Published(json) => wire::EventSource::Published(json.raw()),
    };
    let origin = match &*told.body {
        EventBody::Published(_) => "remote",
        EventBody::Team { .. } | EventBody::Member { .. } | EventBody::Board(_) => "local",
    };
    let event = wire::OutgoingEvent {
        team_id: team,
        path: &path,
        event_id: told.id,
        at: &at,
        source,
    };
    let stamp = wire::Stamp {
        team_run_id: &told.run.id,
        run_version: told.run.version,
        sequence: told.sequence,
        source_node_id: NODE,
        origin,
        received_at: &at,
    };
    write(&event, &stamp)
}

fn member_event(event: &MemberEvent) -> wire::AgentEventData<'_> {
    match event {
        MemberEvent::SegmentStart { id, kind, tool } => {
            wire::AgentEventData::Segment(wire::SegmentEvent::Start {
                id,
                kind: *kind,
                metadata: tool.as_deref().map(|tool| wire::SegmentMetadata {
                    tool_name: Some(tool),
                    arguments: None,
                }),
            })
        }
        MemberEvent::SegmentContent { id, kind, delta } => {
            let kind = Some(*kind);
            wire::AgentEventData::Segment(wire::SegmentEvent::Content { id, kind, delta })
        }
        MemberEvent::SegmentEnd {
            id,
            tool,
            arguments,
        } => wire::AgentEventData::Segment(wire::SegmentEvent::End {
            id,
            metadata: (tool.is_some() || arguments.is_some()).then(|| wire::SegmentMetadata {
                tool_name: tool.as_deref(),
                arguments: arguments.as_ref().map(|json| json.raw()),
            }),
        }),
        MemberEvent::Status(StatusChange {
            new,
            old,
            tool,
            error,
        }) => wire::AgentEventData::Status {
            new: *new,
            old: *old,
            trigger: None,
            tool_name: tool.as_deref(),
            error_message: error.as_deref(),
        },
        MemberEvent::Complete {
            content,
            is_cut,
            usage,
        } => wire::AgentEventData::Complete {
            content,
            is_cut: *is_cut,
            usage: usage.as_ref().map(|json| json.raw()),
            reasoning: None,
            image_urls: &[],
            audio_urls: &[],
            video_urls: &[],
        },
        MemberEvent::ApprovalRequested {
            of,
            arguments,
            text,
        } => wire::AgentEventData::ApprovalRequested {
            invocation_id: &of.id,
            tool_name: &of.tool,
            arguments: arguments.raw(),
            turn_id: None,
            message: (!text.is_empty()).then_some(text),
        },
        MemberEvent::Approved {
            of: ToolInvocation { id, tool },
            reason,
        } => wire::AgentEventData::Approved {
            invocation_id: id,
            tool_name: tool,
            reason: reason.as_deref(),
        },
        MemberEvent::Denied {
            of: ToolInvocation { id, tool },
            reason,
        } => wire::AgentEventData::Denied {
            invocation_id: id,
            tool_name: tool,
            reason,
            error: reason,
        },
        MemberEvent::ToolStarted {
            of: ToolInvocation { id, tool },
            arguments,
        } => wire::AgentEventData::ToolStarted {
            invocation_id: id,
            tool_name: tool,
            arguments: arguments.as_ref().map(|json| json.raw()),
        },
        MemberEvent::ToolSucceeded {
            of: ToolInvocation { id, tool },
            result,
        } => wire::AgentEventData::ToolSucceeded {
            invocation_id: id,
            tool_name: tool,
            result: result.as_ref().map(|json| json.raw()),
        },
        MemberEvent::ToolFailed {
            of: ToolInvocation { id, tool },
            error,
        } => wire::AgentEventData::ToolFailed {
            invocation_id: id,
            tool_name: tool,
            error,
        },
        MemberEvent::Log {
            of: ToolInvocation { id, tool },
            entry,
        } => wire::AgentEventData::ToolLog {
            entry,
            tool_invocation_id: id,
            tool_name: tool,
        },
        MemberEvent::MemberMessage {
            sender,
            recipient,
            content,
        } => wire::AgentEventData::InterAgent {
            sender_agent_id: sender.as_str(),
            recipient_role_name: recipient,
            content,
            message_type: DIRECT_MESSAGE,
        },
        MemberEvent::OutsideMessage {
            sender,
            recipient,
            content,
            ..
        } => wire::AgentEventData::InterAgent {
            sender_agent_id: sender,
            recipient_role_name: recipient,
            content,
            message_type: USER_MESSAGE,
        },
        MemberEvent::Artifact(made) => artifact(made),
        MemberEvent::Error { code, message } => wire::AgentEventData::Error {
            code,
            message,
            details: None,
        },
    }
}

fn artifact(made: &MemberArtifact) -> wire::AgentEventData<'_> {
    let MemberArtifact {
        id,
        path,
        kind,
        url,
        is_whole,
    } = made;
    if *is_whole {
        wire::AgentEventData::ArtifactPersisted {
            artifact_id: id,
            path,
            agent_id: None,
            kind,
            url: url.as_deref(),
        }
    } else {
        wire::AgentEventData::ArtifactUpdated {
            artifact_id: Some(id),
            path,
            agent_id: None,
            kind,
        }
    }
}

/// Writer of snapshot messages for a position in a team. Snapshot messages have no sequence number.
#[derive(Debug)]
pub(crate) struct SnapshotRenderer<'a> {
    team: &'a str,
    path: Vec<wire::SubTeamNode<'a>>,
    at: String,
}

impl<'a> SnapshotRenderer<'a> {
    pub(crate) fn new(team: &'a str, path: &'a [SubTeam], at: Timestamp) -> Self {
        Self {
            team,
            path: nodes(path),
            at: time(at),
        }
    }

    fn event<'e>(&'e self, source: wire::EventSource<'e>) -> wire::OutgoingEvent<'e> {
        wire::OutgoingEvent {
            team_id: self.team,
            path: &self.path,
            event_id: 0,
            at: &self.at,
            source,
        }
    }

    /// Returns the WebSocket message for `source`.
    pub(crate) fn flat(&self, source: wire::EventSource<'_>) -> String {
        wire::flatten(&self.event(source), None).unwrap_or_default()
    }
}

/// Builds the [`Message`] of a viewer to a member.
pub(crate) fn message(content: String, files: &[String], image_urls: Vec<String>) -> Message {
    let mut text = content;
    if !files.is_empty() {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str("Context files:");
        for path in files {
            text.push_str("\n- ");
            text.push_str(path);
        }
    }
    let mut parts = vec![Part::Text(text)];
    let images = image_urls.into_iter();
    parts.extend(images.map(|url| Part::File(File::from_url(url, None, None))));
    Message {
        parts,
        ..Message::default()
    }
}
