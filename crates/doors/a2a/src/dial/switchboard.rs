//! Refusal of another hub's own address. The card of a hub lists agents as skills, so a call to the hub would
//! have no definite agent. Each agent of the hub has an address and card of its own, which can be dialled.

use jackfield_kit::api::invalid;
use jackfield_model::{Cause, Failure};

use super::find::FoundCard;
use crate::card::is_of_hub;

/// Largest number of agents to name.
const NAMED: usize = 3;

/// Refuses a card that belongs to a hub.
pub(super) fn refuse(found: &FoundCard) -> Result<(), Failure> {
    let (profile, base) = (&found.profile, &found.place.url);
    let description = profile.description.as_deref().unwrap_or_default();
    if !is_of_hub(&profile.name, description) {
        return Ok(());
    }
    let skills = profile.skills.iter();
    let agents: Vec<_> = skills.filter(|it| it.id != "switchboard").collect();
    let (first, more) = agents.split_at(agents.len().min(NAMED));
    let mut urls: Vec<_> = first
        .iter()
        .map(|it| format!("{base}/agents/{}", it.id))
        .collect();
    if !more.is_empty() {
        urls.push(format!("{} more", more.len()));
    }
    let text = match agents.len() {
        0 => "this is a hub, and shows no agents; nothing was added".to_owned(),
        1 => format!("this is a hub; add its agent: {}", urls.join(", ")),
        count => format!(
            "this is a hub with {count} agents; add one of them: {}",
            urls.join(", ")
        ),
    };
    Err(invalid(text).because(Cause::OtherAddress))
}
