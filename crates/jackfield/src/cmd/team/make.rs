//! `jackfield team create`, `change` and `rm`.

use anyhow::Result;
use clap::Args;
use http::Method;
use serde_json::{Map, Value, json};

use super::{list, path};
use crate::{
    client::{self, Client},
    exit::{About, Code, Stop, WhatAbout},
    output, prompt,
};

/// A member as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    name: String,
    id: String,
}

/// `NAME=ID`, or an id that is also the name.
fn named(text: &str) -> Result<Named, String> {
    let (name, id) = text.split_once('=').unwrap_or((text, text));
    if name.is_empty() {
        return Err("say NAME=ID, or only the id".to_owned());
    }
    Ok(Named {
        name: name.to_owned(),
        id: client::agent_id(id)?,
    })
}

/// What a team is described with.
#[derive(Debug, Args)]
#[command(next_help_heading = "Team")]
struct Described {
    /// A team that is a member, and its name here if it has another; may be repeated
    #[arg(long = "team", value_name = "[NAME=]TEAM", value_parser = named)]
    teams: Vec<Named>,
    /// A name for people
    #[arg(long)]
    name: Option<String>,
    /// What it is for
    #[arg(long)]
    description: Option<String>,
}

impl Described {
    /// What the hub is told; members only if any were named.
    fn body(self, members: Vec<Named>, coordinator: Option<String>) -> Map<String, Value> {
        let mut body = Map::new();
        let mut say = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                body.insert(key.to_owned(), json!(value));
            }
        };
        say("name", self.name);
        say("description", self.description);
        say("coordinator", coordinator);
        let agents = members
            .into_iter()
            .map(|member| json!({"name": member.name, "agent": member.id}));
        let teams = self
            .teams
            .into_iter()
            .map(|member| json!({"name": member.name, "team": member.id}));
        let members: Vec<_> = agents.chain(teams).collect();
        if !members.is_empty() {
            body.insert("members".to_owned(), json!(members));
        }
        body
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Whoever calls the team calls its coordinator. Members are agents of any door, or other teams.\n\n\
                       Examples:\n  jackfield team create shop --member lead=claude --member writer --team backend\n  \
                       jackfield team create shop --member ann --member bob --coordinator bob"
)]
pub(super) struct Create {
    /// The team's id, by which it is called like an agent
    #[arg(value_name = "ID", value_parser = client::agent_id)]
    team: String,
    /// An agent that is a member, and its name here if it has another; may be repeated
    #[arg(long = "member", value_name = "[NAME=]AGENT", required = true, value_parser = named)]
    members: Vec<Named>,
    /// The name of the member that calls go to [default: the first --member]
    #[arg(long, value_name = "NAME")]
    coordinator: Option<String>,
    #[command(flatten)]
    described: Described,
    #[command(flatten)]
    client: Client,
}

impl Create {
    pub(super) async fn run(self) -> Result<()> {
        let hub = self.client.connect()?;
        let first = self.members.first().map(|member| member.name.clone());
        let coordinator = self.coordinator.or(first);
        let mut body = self.described.body(self.members, coordinator);
        body.insert("id".to_owned(), json!(self.team));
        let body = Value::Object(body);
        let team = client::ask(&hub, Method::POST, "/v1/teams", Some(&body))
            .await
            .about(About::Team)?;
        list::print(&team, self.client.json)?;
        if !self.client.json {
            let (id, flags) = (&self.team, self.client.flags());
            output::chat(&format!(
                "call it with: jackfield call {id} TEXT{flags}\nsee it with: jackfield watch {id}{flags}"
            ));
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Members that are named here take the place of all that were there.\n\n\
                       Examples:\n  jackfield team change shop --description \"sells things\"\n  \
                       jackfield team change shop --member lead=claude --member bob --coordinator lead"
)]
pub(super) struct Change {
    /// The team's id
    #[arg(value_name = "ID", value_parser = client::agent_id)]
    team: String,
    /// An agent that is a member, and its name here if it has another; may be repeated
    #[arg(long = "member", value_name = "[NAME=]AGENT", value_parser = named)]
    members: Vec<Named>,
    /// The name of the member that calls go to
    #[arg(long, value_name = "NAME")]
    coordinator: Option<String>,
    #[command(flatten)]
    described: Described,
    #[command(flatten)]
    client: Client,
}

impl Change {
    pub(super) async fn run(self) -> Result<()> {
        let hub = self.client.connect()?;
        let body = self.described.body(self.members, self.coordinator);
        if body.is_empty() {
            return Err(Stop::new(
                Code::Usage,
                "there is nothing to change",
                "name it with --member, --team, --coordinator, --name or --description",
            )
            .into());
        }
        let body = Value::Object(body);
        let team = client::ask(&hub, Method::PATCH, &path(&self.team), Some(&body))
            .await
            .about(About::Team)?;
        list::print(&team, self.client.json)
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  jackfield team rm shop --yes")]
pub(super) struct Rm {
    /// The team's id
    #[arg(value_name = "ID", value_parser = client::agent_id)]
    team: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: Client,
}

impl Rm {
    pub(super) async fn run(self) -> Result<()> {
        let hub = self.client.connect()?;
        let question = format!(
            "remove {} and its board? Its members stay; what it is doing is stopped.",
            self.team
        );
        if !self.yes && prompt::somebody_is_there() && !prompt::confirm(&question) {
            return Err(
                Stop::new(Code::Cancelled, "nothing was done", "--yes does not ask").into(),
            );
        }
        client::ask(&hub, Method::DELETE, &path(&self.team), None)
            .await
            .about(About::Team)?;
        if self.client.json {
            output::json(&json!({"id": self.team, "removed": true}))?;
        } else {
            output::chat(&format!("{} is removed", self.team));
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
