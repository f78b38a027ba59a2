//! Problems of a readable card, reported to its author: skipped skills, and skills that cannot be called.

use super::{PeerCard, PeerSkill};
use crate::p2p::{MAX_SKILLS, Method, PeerInputError};

impl PeerCard {
    /// Returns the problems that the author of the card should know, a sentence each; usually empty.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.flaws.clone();
        if self.skills.is_empty() && remarks.is_empty() {
            let text = "field \"skills\" is empty: a peer without skills is no agent that others could call";
            remarks.push(text.to_owned());
        }
        remarks.extend(self.skills.iter().flat_map(PeerSkill::remarks));
        remarks
    }
}

/// Returns the remark about a skill that cannot be read.
pub(super) fn skipped_skill(at: usize, fault: PeerInputError) -> String {
    let fault = fault.within(&format!("[{at}]")).within("skills");
    format!("{fault}: this skill is passed over")
}

/// Returns the remark about too many skills, if the card has more than [`MAX_SKILLS`].
pub(super) fn too_many_skills(count: usize) -> Option<String> {
    let text =
        format!("field \"skills\" has {count} entries: only the first {MAX_SKILLS} are taken");
    (count > MAX_SKILLS).then_some(text)
}

impl PeerSkill {
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let id = self.id.escape_debug();
        if let Err(fault) = Method::from_name(&self.method) {
            remarks.push(format!("skill \"{id}\": {}", fault.within("method")));
        }
        let colon = self.path.split('/').find_map(|it| it.strip_prefix(':'));
        if let Some(name) = colon.filter(|name| !name.is_empty()) {
            remarks.push(format!(
                "skill \"{id}\": field \"path\" has \":{}\", which is taken as it is written: a gap is {{{0}}}",
                name.escape_debug()
            ));
        }
        remarks
    }
}
