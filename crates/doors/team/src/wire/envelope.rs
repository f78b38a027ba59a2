//! The seed's envelope: an event with its ids, inside one wrapper for each team around it.

use serde_json::value::RawValue;

use super::event_id::EventId;
use super::outgoing::SourceType;
use super::splice::{End, Splice};
use super::{Outgoing, Source, Stamp, TeamStatus, task};
use jackfield_wire::json::{ObjectWriter, push_string};

const SEQUENCE: &str = "sequence";
const TEAM_RUN_ID: &str = "team_run_id";

/// Appends the envelope of an event.
///
/// Each level has an id of its own, made of `event_id`; the same event gets the same ids. The outermost level carries
/// `sequence` and `team_run_id` after the seed's own fields. What an outside runtime published stays as it is, byte for
/// byte; only these two are added, or replaced, where it is the outermost level itself.
pub fn write_envelope(event: &Outgoing<'_>, stamp: &Stamp<'_>, out: &mut String) {
    if let (Source::Published(raw), []) = (event.source, event.path) {
        return write_stamped(raw, stamp, out);
    }
    let mut object = ObjectWriter::open(out);
    put_level(&mut object, event, 0);
    object
        .number(SEQUENCE, stamp.sequence)
        .text(TEAM_RUN_ID, stamp.team_run_id);
    object.close();
}

/// Appends a published envelope with the hub's stamp: what the runtime says of these fields does not count.
fn write_stamped(raw: &RawValue, stamp: &Stamp<'_>, out: &mut String) {
    let mut team_run_id = String::new();
    push_string(&mut team_run_id, stamp.team_run_id);
    let fields = [
        (SEQUENCE, stamp.sequence.to_string()),
        (TEAM_RUN_ID, team_run_id),
    ];
    let mut splice = Splice::of(raw);
    splice.set(raw, &fields, End::Last);
    splice.finish(out);
}

/// Writes the fields of the envelope at one level, 0 being the outermost.
fn put_level(object: &mut ObjectWriter<'_>, event: &Outgoing<'_>, level: usize) {
    let above = &event.path[..level];
    let team_id = above.last().map_or(event.team_id, |node| node.team_id);
    let node = event.path.get(level);
    let source_type = match node {
        Some(_) => SourceType::SubTeam,
        None => event.source.source_type(),
    };
    object
        .text("event_id", EventId::at(event.event_id, level).as_str())
        .text("timestamp", event.at)
        .text("team_id", team_id)
        .text("event_source_type", source_type.name())
        .object("data", |data| match node {
            None => put_data(data, event, team_id),
            Some(node) => {
                data.text("sub_team_node_name", node.name);
                let inner = "sub_team_event";
                match event.source {
                    Source::Published(raw) if level + 1 == event.path.len() => {
                        data.raw(inner, raw);
                    }
                    _ => {
                        data.object(inner, |inner| put_level(inner, event, level + 1));
                    }
                }
            }
        });
}

/// Writes the `data` of the innermost envelope, which is that of `team_id`.
fn put_data(data: &mut ObjectWriter<'_>, event: &Outgoing<'_>, team_id: &str) {
    match event.source {
        Source::Team {
            new,
            old,
            error_message,
        } => {
            data.text("new_status", new.seed_name())
                .maybe_text("old_status", old.map(TeamStatus::seed_name))
                .maybe_text("error_message", error_message);
        }
        Source::Agent {
            name,
            agent_id,
            event: said,
        } => {
            let event_id = EventId::at(event.event_id, event.path.len() + 1);
            data.text("agent_name", name)
                .object("agent_event", |object| {
                    object
                        .text("event_id", event_id.as_str())
                        .text("timestamp", event.at)
                        .text("agent_id", agent_id)
                        .text("event_type", said.event_type().name())
                        .object("data", |data| said.put_data(data, Some(agent_id)));
                });
        }
        Source::TasksCreated { .. } | Source::TaskStatus { .. } => {
            task::put_plan(data, &event.source, team_id);
        }
        // It is an envelope itself and stands in the place of this one.
        Source::Published(_) => {}
    }
}
