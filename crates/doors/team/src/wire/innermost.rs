//! Innermost part of a published envelope, found without validation:
//! [`read_envelopes`](super::read_envelopes) has validated the envelope.

use jackfield_wire::read::read_part;
use serde_json::value::RawValue;

use super::outgoing::SourceType;
use super::publish::{EnvelopeIn, SubTeamData};

/// Innermost event of a published envelope.
#[derive(Debug)]
pub(super) struct InnermostEvent<'a> {
    /// Node names of the wrappers, outermost first.
    pub(super) nodes: Vec<String>,
    /// Source type of the event.
    pub(super) source: SourceType,
    /// Data of the innermost envelope.
    pub(super) data: &'a RawValue,
}

impl<'a> InnermostEvent<'a> {
    /// Finds the innermost envelope; `None` if `raw` is not an envelope.
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        let mut nodes = Vec::new();
        let mut raw = raw;
        loop {
            let level: EnvelopeIn<'_> = read_part(raw).ok()?;
            if level.event_source_type != SourceType::SubTeam {
                return Some(InnermostEvent {
                    nodes,
                    source: level.event_source_type,
                    data: level.data,
                });
            }
            let wrapper: SubTeamData<'_> = read_part(level.data).ok()?;
            nodes.push(wrapper.sub_team_node_name.0);
            raw = wrapper.sub_team_event?;
        }
    }
}
