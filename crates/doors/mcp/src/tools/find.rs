//! `find_agents`: lists the agents visible to the caller.

use jackfield_core::{entry::AgentView, hub::Wanted};
use jackfield_model::{Failure, Skill};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::{Deserialize, Serialize};

use crate::{
    limits::{DESCRIPTION, LIST, LIST_MAX},
    outcome::cut,
    tool_request::{ToolRequest, arguments},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindArguments {
    query: Option<String>,
    skill: Option<String>,
    #[serde(default)]
    online: bool,
    limit: Option<usize>,
}

#[derive(Debug, Serialize)]
struct AgentListing {
    agents: Vec<AgentListItem>,
    /// Number of matching agents, including agents not shown.
    total: usize,
}

#[derive(Debug, Serialize)]
struct AgentListItem {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    skills: Vec<Skill>,
    state: &'static str,
    door: String,
}

pub(super) fn run(
    asked: &ToolRequest<'_>,
    given: Option<JsonObject>,
) -> Result<CallToolResult, Failure> {
    let given: FindArguments = arguments(given)?;
    let wanted = Wanted {
        online: given.online,
        ..Wanted::default()
    };
    let mut views = asked.hub().agents().discover(asked.principal(), &wanted);
    views.retain(|view| given.matches(view));
    let total = views.len();
    // Online agents first. The sort is stable, so ids stay in order.
    views.sort_by_key(|view| !view.online);
    views.truncate(given.limit.unwrap_or(LIST).min(LIST_MAX));
    let agents = views.into_iter().map(AgentListItem::from).collect();
    Ok(AgentListing { agents, total }.into_result())
}

impl FindArguments {
    fn matches(&self, view: &AgentView) -> bool {
        let has_skill = |wanted: &String| {
            let is_it = |name: &str| name.eq_ignore_ascii_case(wanted.trim());
            let skills = view.profile.skills.iter();
            let mut skills =
                skills.filter(|skill| is_it(&skill.id) || skill.name.as_deref().is_some_and(is_it));
            skills.next().is_some()
        };
        let has_words = |query: &String| {
            let text = words(view);
            let query = query.to_lowercase();
            query.split_whitespace().all(|word| text.contains(word))
        };
        self.skill.as_ref().is_none_or(has_skill) && self.query.as_ref().is_none_or(has_words)
    }
}

/// Returns the searchable text of an agent's profile.
fn words(view: &AgentView) -> String {
    let profile = &view.profile;
    let mut words = vec![view.id.as_str(), &profile.name];
    words.extend(profile.description.as_deref());
    words.extend(profile.agent_type.as_deref());
    for skill in &profile.skills {
        words.push(&skill.id);
        words.extend(skill.name.as_deref());
        words.extend(skill.description.as_deref());
    }
    words.join("\n").to_lowercase()
}

fn shortened(mut text: String) -> String {
    let length = cut(&text, &mut DESCRIPTION.clone()).len();
    if length < text.len() {
        text.truncate(length);
        text.push('…');
    }
    text
}

impl From<AgentView> for AgentListItem {
    fn from(view: AgentView) -> Self {
        let profile = view.profile;
        let mut skills = profile.skills;
        for skill in &mut skills {
            skill.description = skill.description.take().map(shortened);
        }
        Self {
            id: view.id.to_string(),
            name: profile.name,
            description: profile.description.map(shortened),
            skills,
            state: if view.online { "online" } else { "offline" },
            door: view.door,
        }
    }
}

impl AgentListing {
    fn into_result(self) -> CallToolResult {
        let mut text = match (self.agents.len(), self.total) {
            (_, 0) => "No agent matches; leave out query and skill to see all of them.".to_owned(),
            (shown, total) if shown < total => format!("{shown} of {total} agents:"),
            (_, total) => format!("{total} agents:"),
        };
        for agent in &self.agents {
            text += &agent.line();
        }
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = serde_json::to_value(&self).ok();
        result
    }
}

impl AgentListItem {
    fn line(&self) -> String {
        let mut line = format!("\n- {} ({}, {})", self.id, self.state, self.door);
        if self.name != self.id {
            line += &format!(", {}", self.name);
        }
        if let Some(description) = &self.description {
            line += &format!(": {description}");
        }
        let skills: Vec<_> = self.skills.iter().map(|skill| &*skill.id).collect();
        if !skills.is_empty() {
            line += &format!(" [skills: {}]", skills.join(", "));
        }
        line
    }
}
