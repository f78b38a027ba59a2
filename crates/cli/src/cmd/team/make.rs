//! `jackfield team create` and `rm`.

use anyhow::Result;
use clap::Args;
use http::Method;
use serde_json::{Map, Value, json};

use super::{list, path};
use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, ExitKind, WithErrorSubject},
    output, prompt, shell,
};

/// A member as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemberArg {
    pub(super) name: String,
    id: String,
}

impl MemberArg {
    /// Returns the member as an agent, in the hub's format.
    pub(super) fn agent(&self) -> Value {
        json!({"name": self.name, "agent": self.id})
    }

    /// Returns the member as a team, in the hub's format.
    pub(super) fn team(&self) -> Value {
        json!({"name": self.name, "team": self.id})
    }
}

/// Parses `NAME=ID` into [`MemberArg`], or an id that is also the name.
pub(super) fn named(text: &str) -> Result<MemberArg, String> {
    let (name, id) = text.split_once('=').unwrap_or((text, text));
    if name.is_empty() {
        return Err("write NAME=ID, or only the id".to_owned());
    }
    Ok(MemberArg {
        name: name.to_owned(),
        id: client::agent_id(id)?,
    })
}

/// Description of a team.
#[derive(Debug, Args)]
#[command(next_help_heading = "Team")]
pub(super) struct TeamDescription {
    /// Add a team as a member, optionally under another name; may be repeated
    #[arg(long = "team", value_name = "[NAME=]TEAM", value_parser = named)]
    pub(super) teams: Vec<MemberArg>,
    /// Set a display name
    #[arg(long)]
    name: Option<String>,
    /// Describe the team's purpose
    #[arg(long)]
    description: Option<String>,
}

impl TeamDescription {
    /// Returns the request body, without the members.
    pub(super) fn body(self, coordinator: Option<String>) -> Map<String, Value> {
        let mut body = Map::new();
        let mut say = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                body.insert(key.to_owned(), json!(value));
            }
        };
        say("name", self.name);
        say("description", self.description);
        say("coordinator", coordinator);
        body
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Calls to the team go to its coordinator. Members are agents of any protocol, or other teams.\n\n\
                       Examples:\n  jackfield team create shop --member lead=claude --member writer --team backend\n  \
                       jackfield team create shop --member ann --member bob --coordinator bob"
)]
pub(super) struct Create {
    /// Create the team with this id, under which it can be called like an agent
    #[arg(value_name = "ID", value_parser = client::agent_id)]
    team: String,
    /// Add an agent or team as a member, optionally under another name; may be repeated
    #[arg(long = "member", value_name = "[NAME=]ID", required = true, value_parser = named)]
    members: Vec<MemberArg>,
    /// Send calls to the member with this name [default: the first agent]
    #[arg(long, value_name = "NAME")]
    coordinator: Option<String>,
    #[command(flatten)]
    described: TeamDescription,
    #[command(flatten)]
    client: Client,
}

impl Create {
    pub(super) async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let agents = self.members.iter().map(MemberArg::agent);
        let members: Vec<_> = agents
            .chain(self.described.teams.iter().map(MemberArg::team))
            .collect();
        let mut body = self.described.body(self.coordinator);
        body.insert("id".to_owned(), json!(self.team));
        body.insert("members".to_owned(), json!(members));
        let body = Value::Object(body);
        let team = client::request(&hub, Method::POST, "/v1/teams", Some(&body))
            .await
            .about(ErrorSubject::Team)?;
        list::print(&team, self.client.json)?;
        if !self.client.json {
            let (id, flags) = (&self.team, self.client.flags());
            output::print_message(&format!(
                "call it with: {}\nwatch it with: {}",
                shell::command("call", &[id], "TEXT", &flags),
                shell::command("watch", &[id], "", &flags)
            ));
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  jackfield team rm shop --yes")]
pub(super) struct Rm {
    /// Remove the team with this id
    #[arg(value_name = "ID", value_parser = client::agent_id)]
    team: String,
    /// Remove without asking
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: Client,
}

impl Rm {
    pub(super) async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let question = format!(
            "remove {} and its board? Its members stay; its work is stopped.",
            self.team
        );
        if !self.yes && prompt::is_interactive() && !prompt::confirm(&question) {
            return Err(CliError::new(
                ExitKind::Cancelled,
                "nothing was done",
                "--yes removes without asking",
            )
            .into());
        }
        client::request(&hub, Method::DELETE, &path(&self.team), None)
            .await
            .about(ErrorSubject::Team)?;
        if self.client.json {
            output::json(&json!({"id": self.team, "removed": true}))?;
        } else {
            output::print_message(&format!("{} is removed", self.team));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_named_like_its_agent_unless_told_otherwise() {
        let of = |text: &str| named(text).map(|member| (member.name, member.id));
        let pair = |name: &str, id: &str| Ok((name.to_owned(), id.to_owned()));
        assert_eq!(of("claude"), pair("claude", "claude"));
        assert_eq!(of("lead=claude"), pair("lead", "claude"));
        assert_eq!(of("the lead=claude:1"), pair("the lead", "claude:1"));
        assert!(of("=claude").is_err());
        assert!(of("lead=").is_err());
        assert!(of("lead=a b").is_err());
    }
}
