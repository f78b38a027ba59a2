//! The innermost part of a published envelope, found without judging it: `read_envelopes` has done so before.

use jackfield_wire::read::read_part;
use serde_json::value::RawValue;

use super::outgoing::SourceType;
use super::publish::{Level, Wrapper};

/// What a published envelope is about, and where.
#[derive(Debug)]
pub(super) struct Leaf<'a> {
    /// The nodes that its wrappers name, outermost first.
    pub(super) nodes: Vec<String>,
    /// What kind of source it is of.
    pub(super) source: SourceType,
    /// The data of the innermost envelope.
    pub(super) data: &'a RawValue,
}

impl<'a> Leaf<'a> {
    /// Finds the innermost envelope; `None` if `raw` is no envelope.
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        let mut nodes = Vec::new();
        let mut raw = raw;
        loop {
            let level: Level<'_> = read_part(raw).ok()?;
            if level.event_source_type != SourceType::SubTeam {
                return Some(Leaf {
                    nodes,
                    source: level.event_source_type,
                    data: level.data,
                });
            }
            let wrapper: Wrapper<'_> = read_part(level.data).ok()?;
            nodes.push(wrapper.sub_team_node_name.0);
            raw = wrapper.sub_team_event?;
        }
    }
}
