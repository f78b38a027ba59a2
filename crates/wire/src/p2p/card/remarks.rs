//! What is wrong with a card that can be read: what nobody could ever call, said to whoever wrote it.

use super::{Card, Skill};
use crate::p2p::Method;

impl Card {
    /// What its author should know, a sentence each; mostly nothing.
    pub fn remarks(&self) -> Vec<String> {
        if self.skills.is_empty() {
            let text = "field \"skills\" is empty: a peer without skills is no agent that others could call";
            return vec![text.to_owned()];
        }
        let skills = self.skills.iter().enumerate();
        skills.flat_map(|(at, skill)| skill.remarks(at)).collect()
    }
}

impl Skill {
    fn remarks(&self, at: usize) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Err(fault) = Method::from_name(&self.method) {
            remarks.push(fault.within(&format!("skills[{at}].method")).to_string());
        }
        let colon = self.path.split('/').find_map(|it| it.strip_prefix(':'));
        if let Some(name) = colon.filter(|name| !name.is_empty()) {
            remarks.push(format!(
                "field \"skills[{at}].path\" has \":{}\", which is taken as it is written: a gap is {{{0}}}",
                name.escape_debug()
            ));
        }
        remarks
    }
}
