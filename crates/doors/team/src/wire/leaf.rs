//! The innermost part of a published envelope, found without judging it: `read_envelopes` has done so before.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::outgoing::SourceType;
use jackfield_wire::json::Members;

/// What a published envelope is about, and where.
#[derive(Debug)]
pub(super) struct Leaf<'a> {
    /// The nodes that its wrappers name, outermost first.
    pub(super) nodes: Vec<Cow<'a, str>>,
    /// Who said it.
    pub(super) source: SourceType,
    /// What was said.
    pub(super) data: Members<'a>,
}

impl<'a> Leaf<'a> {
    /// Looks for it; `None` if `raw` is no envelope.
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        let mut nodes = Vec::new();
        let mut raw = raw;
        loop {
            let envelope = Members::of(raw)?;
            let source = SourceType::from_name(&envelope.text("event_source_type")?)?;
            let data = Members::of(envelope.get("data")?)?;
            if source != SourceType::SubTeam {
                return Some(Leaf {
                    nodes,
                    source,
                    data,
                });
            }
            nodes.push(data.text("sub_team_node_name")?);
            raw = data.get("sub_team_event")?;
        }
    }
}
