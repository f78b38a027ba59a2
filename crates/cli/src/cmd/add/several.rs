//! Servers with several agents: the command lists the agents, and adds those that the operator picks.

use std::process::ExitCode;

use anyhow::Result;
use http::Method;
use jackfield_sdk::{Error, Hub};
use serde_json::{Value, json};

use super::{Add, PATIENCE, facts, hub_peer, next_step};
use crate::{
    client,
    exit::{CliError, ExitKind},
    output::{self, Table, items, text},
    prompt, shell,
};

/// Longest description in the list, in characters.
const SHOWN: usize = 60;

/// What became of the picked agents.
#[derive(Debug, Default)]
struct Outcome {
    /// Remotes as the hub shows them.
    added: Vec<Value>,
    /// Agents that were added before.
    known: Vec<Value>,
    /// Agents that could not be added: `url`, `id`, `error` and `message`.
    failed: Vec<Value>,
}

impl Add {
    /// Returns whether the operator picks among several agents by options.
    pub(super) fn picks(&self) -> bool {
        self.all || !self.only.is_empty()
    }

    /// Lists the agents of a server that has several. On a terminal, asks which to add; elsewhere, fails with the
    /// commands to type.
    pub(super) async fn offer(&self, hub: &Hub, body: &Value) -> Result<ExitCode> {
        let found = self.discover(hub, body).await?;
        let is_asked = prompt::is_interactive() && !self.client.json;
        if self.client.json {
            output::json(&found)?;
        } else {
            output::print_message(&self.sentence(&found));
            table(&found, is_asked).print()?;
        }
        if usable(&found).next().is_none() {
            let why = "none of its agents can be added";
            return Err(CliError::new(ExitKind::Missing, why, text(&found, "hint")).into());
        }
        if !is_asked {
            return Err(self.unpicked(&found).await.into());
        }
        output::print_message_part("which of them? numbers or ids, or all [none] ");
        let typed = prompt::line().await.ok().flatten().unwrap_or_default();
        let names = split(&typed);
        if names.is_empty() || names == ["none"] {
            output::print_message("nothing was added");
            return Ok(ExitKind::Ok.into());
        }
        let picked = match names == ["all"] {
            true => usable(&found).cloned().collect(),
            false => pick(&found, &names, true)?,
        };
        self.add_all(hub, body, picked).await
    }

    /// Adds the agents that `--all` or `--only` picks.
    pub(super) async fn add_picked(&self, hub: &Hub, body: &Value) -> Result<ExitCode> {
        output::print_message(&format!("looking for agents at {} …", self.target));
        let found = self.discover(hub, body).await?;
        let picked: Vec<Value> = match self.all {
            true => usable(&found).cloned().collect(),
            false => pick(&found, &self.only, false)?,
        };
        if self.all {
            for unusable in items(&found, "remotes").iter().filter(|it| !is_usable(it)) {
                output::print_message(&output::clean(&format!(
                    "left out: {} ({})",
                    text(unusable, "name"),
                    text(unusable, "error")
                )));
            }
        }
        if picked.is_empty() {
            let why = format!("{}; none of them can be added", self.sentence(&found));
            return Err(CliError::new(ExitKind::Missing, why, text(&found, "hint")).into());
        }
        if found["truncated"] == true {
            output::print_message(
                "the server lists more agents than these; add others by their URL",
            );
        }
        self.add_all(hub, body, picked).await
    }

    async fn discover(&self, hub: &Hub, body: &Value) -> Result<Value> {
        let mut wanted = body.clone();
        if let Some(wanted) = wanted.as_object_mut() {
            wanted.remove("keep");
            wanted.remove("id");
        }
        let path = "/v1/discover";
        let found = client::request_within(PATIENCE, hub, Method::POST, path, Some(&wanted)).await;
        match found {
            Ok(found) => Ok(found),
            Err(error) => Err(self.refused(&error).into()),
        }
    }

    /// Says what stands at the address.
    fn sentence(&self, found: &Value) -> String {
        let count = items(found, "remotes").len();
        let more = if found["truncated"] == true {
            "more than "
        } else {
            ""
        };
        let agents = if count == 1 { "agent" } else { "agents" };
        let server = match text(found, "server") {
            "" => "a server",
            server => server,
        };
        format!("{} is {server} with {more}{count} {agents}", self.target)
    }

    /// The error for a program that did not pick, with the commands to type.
    async fn unpicked(&self, found: &Value) -> CliError {
        let flags = self.client.flags();
        let first: Vec<_> = usable(found).map(|it| text(it, "id")).collect();
        let some = first.iter().take(2).copied().collect::<Vec<_>>().join(",");
        let all = shell::command("add", &[&self.target], "--all", &flags);
        let only = format!("--only {}", shell::word(&some));
        let only = shell::command("add", &[&self.target], &only, &flags);
        let mut next = format!("add all of them: {all}\nor some of them: {only}");
        if text(found, "server") == "a hub"
            && let Some(address) = hub_peer::address_of_hub(&self.target).await
        {
            let add = shell::command("add", &[&address], "", &flags);
            next += &format!("\nor add the hub itself, with all of its agents, as a peer: {add}");
        }
        let why = format!("{}; nothing was added", self.sentence(found));
        CliError::new(ExitKind::Usage, why, next)
    }

    /// Adds agents one by one; a failure does not keep the others from being added.
    async fn add_all(&self, hub: &Hub, body: &Value, picked: Vec<Value>) -> Result<ExitCode> {
        if let Some(id) = self.id.as_ref().filter(|_| picked.len() > 1) {
            let count = picked.len();
            let why = format!("--as {id} names one agent, and {count} were picked");
            let next =
                "pick one with --only, or leave --as out: each agent gets the id in the list";
            return Err(CliError::new(ExitKind::Usage, why, next).into());
        }
        let is_one = picked.len() == 1;
        let mut outcome = Outcome::default();
        for remote in picked {
            self.add_one(hub, body, remote, &mut outcome).await?;
        }
        self.tell(&outcome, is_one)
    }

    async fn add_one(
        &self,
        hub: &Hub,
        body: &Value,
        remote: Value,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let (name, id) = (text(&remote, "name"), text(&remote, "id"));
        if remote["state"] == "added" && self.id.is_none() {
            let line = format!("{name} is added already, as {id}");
            output::print_message(&output::clean(&line));
            outcome.known.push(remote);
            return Ok(());
        }
        let mut wanted = body.clone();
        wanted["url"] = remote["url"].clone();
        if self.id.is_none() && !id.is_empty() {
            wanted["id"] = remote["id"].clone();
        }
        let path = "/v1/remotes";
        let added = client::request_within(PATIENCE, hub, Method::POST, path, Some(&wanted)).await;
        match added {
            Ok(added) => outcome.added.push(added),
            Err(Error::Refused { code, message, .. }) => {
                let line = format!("{name} was not added: {message}");
                output::print_message(&output::clean(&line));
                outcome.failed.push(json!({
                    "url": remote["url"], "id": remote["id"], "error": code, "message": message
                }));
            }
            Err(error) => return Err(self.refused(&error).into()),
        }
        Ok(())
    }

    /// Prints what was added, and returns the exit code.
    fn tell(&self, outcome: &Outcome, is_one: bool) -> Result<ExitCode> {
        let Outcome {
            added,
            known,
            failed,
        } = outcome;
        let code = match failed.is_empty() {
            true => ExitKind::Ok,
            false => ExitKind::Failed,
        };
        if self.client.json {
            output::json(&json!({"added": added, "known": known, "failed": failed}))?;
            return Ok(code.into());
        }
        match added.as_slice() {
            [remote] if is_one => output::facts(&facts(remote))?,
            remotes => {
                let mut table = Table::new(["id", "state", "url"]);
                for remote in remotes {
                    table.row(["id", "state", "url"].map(|key| text(remote, key).to_owned()));
                }
                table.print()?;
            }
        }
        if let Some(first) = added.first() {
            output::print_message(&next_step(first, &self.client.flags()));
        }
        Ok(code.into())
    }
}

fn is_usable(remote: &Value) -> bool {
    remote["state"] != "unusable"
}

fn usable(found: &Value) -> impl Iterator<Item = &Value> {
    items(found, "remotes").iter().filter(|it| is_usable(it))
}

/// Splits what a user typed into names.
fn split(typed: &str) -> Vec<String> {
    let words = typed.split(|c: char| c == ',' || c.is_whitespace());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Picks agents by id, name or URL, or also by their number in the list. Fails for a name that is none of them.
fn pick(found: &Value, names: &[String], has_numbers: bool) -> Result<Vec<Value>, CliError> {
    let remotes = items(found, "remotes");
    let mut picked: Vec<usize> = Vec::new();
    for name in names {
        let number = name.parse::<usize>().ok().filter(|_| has_numbers);
        let by_number = number.and_then(|it| it.checked_sub(1));
        let by_number = by_number.filter(|at| *at < remotes.len());
        let is_it = |key: &str| {
            let mut all = remotes.iter();
            all.position(|it| text(it, key).eq_ignore_ascii_case(name))
        };
        let found = is_it("id")
            .or_else(|| is_it("name"))
            .or_else(|| is_it("url"));
        let Some(at) = found.or(by_number) else {
            let ids: Vec<_> = remotes.iter().map(|it| text(it, "id")).collect();
            let why = format!(
                "there is no agent {:?} at this address",
                output::clean(name)
            );
            let next = format!("its agents are: {}", output::clean(&ids.join(", ")));
            return Err(CliError::new(ExitKind::Usage, why, next));
        };
        if !picked.contains(&at) {
            picked.push(at);
        }
    }
    Ok(picked.into_iter().map(|at| remotes[at].clone()).collect())
}

fn table(found: &Value, is_numbered: bool) -> Table {
    let mut header = vec!["id", "name", "protocol", "state", "description"];
    if is_numbered {
        header.insert(0, "#");
    }
    let mut table = Table::new(header);
    for (at, remote) in items(found, "remotes").iter().enumerate() {
        let speaks = match text(remote, "speaks") {
            "" => text(found, "protocol"),
            speaks => speaks,
        };
        let about = match text(remote, "error") {
            "" => shortened(text(remote, "description")),
            error => error.to_owned(),
        };
        let mut row = vec![
            text(remote, "id").to_owned(),
            text(remote, "name").to_owned(),
            speaks.to_owned(),
            text(remote, "state").to_owned(),
            about,
        ];
        if is_numbered {
            row.insert(0, (at + 1).to_string());
        }
        table.row(row);
    }
    table
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> Value {
        json!({"remotes": [
            {"id": "dice", "name": "Dice", "url": "http://h/a2a/dice", "state": "new"},
            {"id": "7", "name": "Seven", "url": "http://h/a2a/7", "state": "new"},
            {"id": "late", "name": "Late", "url": "http://h/a2a/late", "state": "unusable"},
        ]})
    }

    fn picked(typed: &str, has_numbers: bool) -> Result<Vec<String>, String> {
        let picked = pick(&found(), &split(typed), has_numbers);
        let ids = |picked: Vec<Value>| picked.iter().map(|it| text(it, "id").to_owned()).collect();
        picked.map(ids).map_err(|error| error.to_string())
    }

    #[test]
    fn agents_are_picked_by_id_name_url_or_number() {
        for (typed, ids) in [
            ("dice", vec!["dice"]),
            ("DICE, seven dice", vec!["dice", "7"]),
            ("http://h/a2a/7", vec!["7"]),
            ("late", vec!["late"]),
        ] {
            assert_eq!(picked(typed, false).unwrap(), ids, "{typed}");
        }
        assert_eq!(picked("1 3", true).unwrap(), ["dice", "late"]);
        // An id comes before a number.
        assert_eq!(picked("7", true).unwrap(), ["7"]);
    }

    #[test]
    fn a_name_that_nobody_has_is_an_error_with_the_names_that_there_are() {
        for (typed, has_numbers) in [("dize", false), ("1", false), ("0", true), ("4", true)] {
            let error = picked(typed, has_numbers).unwrap_err();
            assert!(error.contains("dice, 7, late"), "{error}");
        }
    }

    #[test]
    fn a_long_description_is_cut_between_letters() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"é".repeat(61)).chars().count(), 61);
    }
}
