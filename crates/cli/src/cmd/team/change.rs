//! `jackfield team change`: changes the given settings only. The hub replaces all members at once, so the
//! current members are read first.

use anyhow::Result;
use clap::Args;
use http::Method;
use serde_json::{Value, json};

use super::{
    list,
    make::{MemberArg, TeamDescription, named},
    path,
};
use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, ExitKind, WithErrorSubject},
    output::{items, text},
    shell,
};

#[derive(Debug, Args)]
#[command(
    after_long_help = "--member replaces all agents in the team, --team all teams in it; the other members stay.\n\
                       The work of a removed member for the team is stopped.\n\n\
                       Examples:\n  jackfield team change shop --description \"sells things\"\n  \
                       jackfield team change shop --add writer=ann --remove bob\n  \
                       jackfield team change shop --member lead=claude --member bob --coordinator lead"
)]
pub(super) struct Change {
    /// Change the team with this id
    #[arg(value_name = "ID", value_parser = client::agent_id)]
    team: String,
    /// Add an agent or team, optionally under another name; may be repeated
    #[arg(long = "add", value_name = "[NAME=]ID", value_parser = named)]
    added: Vec<MemberArg>,
    /// Add a team, optionally under another name; may be repeated
    #[arg(long = "add-team", value_name = "[NAME=]TEAM", value_parser = named)]
    added_teams: Vec<MemberArg>,
    /// Remove the member with this name; may be repeated
    #[arg(long = "remove", value_name = "NAME")]
    removed: Vec<String>,
    /// Replace all agents by this agent or team, optionally under another name; may be repeated
    #[arg(long = "member", value_name = "[NAME=]ID", value_parser = named)]
    members: Vec<MemberArg>,
    /// Send calls to the member with this name
    #[arg(long, value_name = "NAME")]
    coordinator: Option<String>,
    #[command(flatten)]
    described: TeamDescription,
    #[command(flatten)]
    client: Client,
}

impl Change {
    pub(super) async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let path = path(&self.team);
        let members = if self.changes_members() {
            let team = client::get(&hub, &path, ErrorSubject::Team).await?;
            Some(self.members_of(items(&team, "members"))?)
        } else {
            None
        };
        let mut body = self.described.body(self.coordinator);
        if let Some(members) = members {
            body.insert("members".to_owned(), json!(members));
        }
        if body.is_empty() {
            return Err(CliError::new(
                ExitKind::Usage,
                "there is nothing to change",
                "name it with --add, --remove, --member, --team, --coordinator, --name or --description",
            )
            .into());
        }
        let body = Value::Object(body);
        let team = client::request(&hub, Method::PATCH, &path, Some(&body))
            .await
            .about(ErrorSubject::Team)?;
        list::print(&team, self.client.json)
    }

    fn changes_members(&self) -> bool {
        !(self.added.is_empty()
            && self.added_teams.is_empty()
            && self.removed.is_empty()
            && self.members.is_empty()
            && self.described.teams.is_empty())
    }

    /// Returns the new members, given the current ones.
    fn members_of(&self, there: &[Value]) -> Result<Vec<Value>, CliError> {
        let teams = &self.described.teams;
        let stays = |member: &&Value| match member["team"] {
            Value::Null => self.members.is_empty(),
            _ => teams.is_empty(),
        };
        let mut members: Vec<_> = there.iter().filter(stays).cloned().collect();
        members.extend(self.members.iter().map(MemberArg::agent));
        members.extend(teams.iter().map(MemberArg::team));
        for name in &self.removed {
            let at = members.iter().position(|it| text(it, "name") == name);
            let at = at.ok_or_else(|| self.refuse(&format!("has no member {name:?}"), &members))?;
            members.remove(at);
        }
        let added = self.added.iter().map(|it| (&it.name, it.agent()));
        let added_teams = self.added_teams.iter().map(|it| (&it.name, it.team()));
        for (name, member) in added.chain(added_teams) {
            if members.iter().any(|it| text(it, "name") == name) {
                let text = format!("has a member {name:?} already");
                return Err(self.refuse(&text, &members));
            }
            members.push(member);
        }
        Ok(members)
    }

    fn refuse(&self, what: &str, members: &[Value]) -> CliError {
        let names: Vec<_> = members.iter().map(|it| text(it, "name")).collect();
        CliError::new(
            ExitKind::Usage,
            format!("team {} {what}; it has {}", self.team, names.join(", ")),
            shell::command("team show", &[&self.team], "", ""),
        )
    }
}
