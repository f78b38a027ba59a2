//! Message of `jackfield demo` at the start: the agents, and commands to try. The same at every start.

use serde_json::{Value, json};

use super::{CAST, DemoAgent, TEAM, editor, researcher};
use jackfield_hub::config::DEFAULT_LISTEN;

use crate::output::{self, Style};

/// A command to try, with a description.
#[derive(Debug)]
struct DemoCommand {
    shows: &'static str,
    command: String,
}

/// Message at the start of the demo.
#[derive(Debug)]
pub(crate) struct Greeting {
    url: String,
    /// Reason for an unusual port.
    moved: Option<String>,
    hints: Vec<DemoCommand>,
}

impl Greeting {
    /// Creates the message for a demo at this URL. `named` is the hub that commands find without `--hub`, if
    /// any.
    pub(crate) fn new(url: &str, moved: Option<String>, named: Option<&str>) -> Self {
        let found = named.map_or_else(|| format!("http://{DEFAULT_LISTEN}"), str::to_owned);
        let hub = if found.trim_end_matches('/') == url {
            String::new()
        } else {
            format!(" --hub {url}")
        };
        Self {
            url: url.to_owned(),
            moved,
            hints: hints(url, &hub),
        }
    }

    /// Prints the message. Write errors are ignored.
    pub(crate) fn print(&self) {
        let lines = self.lines(Style::stdout());
        output::line(&lines.join("\n")).ok();
    }

    /// Prints the message as JSON.
    pub(crate) fn print_json(&self) {
        output::json(&self.json()).ok();
    }

    fn lines(&self, style: Style) -> Vec<String> {
        let url = style.bold(&self.url);
        let mut lines = vec![format!("jackfield demo: a newsroom at {url}")];
        lines.extend(self.moved.as_ref().map(|why| style.yellow(why)));
        lines.push(String::new());
        let width = |of: fn(&DemoAgent) -> &str| {
            let widths = CAST.iter().map(|player| of(player).len());
            widths.max().unwrap_or_default()
        };
        let (ids, protocols) = (width(|it| it.id), width(|it| it.protocol));
        lines.extend(CAST.iter().map(|player| {
            let id = style.agent(player.id, &format!("{:ids$}", player.id));
            let protocol = format!("{:protocols$}", player.protocol);
            format!("  {id}  {protocol}  {}", style.dim(player.does))
        }));
        lines.push(String::new());
        lines.push(
            "They are scripted: no model, no keys, no network. Try in another terminal:".to_owned(),
        );
        for hint in &self.hints {
            lines.push(format!("  {}", style.dim(hint.shows)));
            lines.push(format!("    {}", hint.command));
        }
        lines.push(String::new());
        lines.push("ready; ctrl-c stops the demo and removes its data".to_owned());
        lines
    }

    fn json(&self) -> Value {
        let player =
            |it: &DemoAgent| json!({"id": it.id, "protocol": it.protocol, "does": it.does});
        let members = CAST.iter().filter(|it| it.id != TEAM);
        let members: Vec<_> = members.map(|it| it.id).collect();
        let hints = self.hints.iter();
        let hints = hints.map(|it| json!({"shows": it.shows, "command": it.command}));
        json!({
            "url": self.url,
            "moved": self.moved,
            "agents": CAST.iter().map(player).collect::<Vec<_>>(),
            "team": {"id": TEAM, "coordinator": editor::ID, "members": members},
            "commands": hints.collect::<Vec<_>>(),
        })
    }
}

/// Returns the commands to try ([`DemoCommand`]). Each works as printed.
fn hints(url: &str, hub: &str) -> Vec<DemoCommand> {
    let far = CAST
        .iter()
        .rfind(|it| it.id != TEAM)
        .map_or(TEAM, |it| it.id);
    let hint = |shows, command| DemoCommand { shows, command };
    let body = json!({"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Why is it called a jack?"}]}});
    let (press, lead) = ("Publish the story of the first exchange", editor::ID);
    vec![
        hint("who is here", format!("jackfield ls{hub}")),
        hint(
            "all of them answer as one",
            format!("jackfield call {TEAM} \"Who worked the first switchboards?\"{hub}"),
        ),
        hint(
            "what they do for each other, a lane for each; q quits",
            format!("jackfield watch {TEAM}{hub}"),
        ),
        hint(
            "an agent that asks you before it uses a tool; say y",
            format!("jackfield call {lead} \"{press}\"{hub}"),
        ),
        hint(
            "what passes between two protocols, and as what",
            format!("jackfield show --calls {lead} {far}{hub}"),
        ),
        hint(
            "any A2A client calls any of them, here the one that speaks Agora",
            format!(
                "curl -N {url}/a2a/agents/{}/message:stream -H 'Content-Type: application/json' -d '{body}'",
                researcher::ID
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(greeting: &Greeting) -> Vec<&str> {
        greeting
            .hints
            .iter()
            .map(|it| it.command.as_str())
            .collect()
    }

    #[test]
    fn the_hub_is_named_where_clients_would_look_elsewhere() {
        let usual = Greeting::new("http://127.0.0.1:7411", None, None);
        assert_eq!(commands(&usual)[0], "jackfield ls");
        for (url, named) in [
            ("http://127.0.0.1:9", None),
            ("http://127.0.0.1:7411", Some("http://hub.example:7411")),
        ] {
            let moved = Greeting::new(url, None, named);
            let named = |it: &&str| {
                it.ends_with(&format!(" --hub {url}")) || it.contains(&format!("curl -N {url}/"))
            };
            assert!(commands(&moved).iter().all(named), "{moved:?}");
        }
        let named = Greeting::new("http://127.0.0.1:9", None, Some("http://127.0.0.1:9/"));
        assert_eq!(commands(&named)[0], "jackfield ls");
    }

    #[test]
    fn plain_lines_have_no_colours_and_end_with_ready() {
        let greeting = Greeting::new("http://127.0.0.1:9", Some("7411 is taken".to_owned()), None);
        let lines = greeting.lines(Style::plain());
        assert!(
            lines.iter().all(|line| !line.contains('\u{1b}')),
            "{lines:?}"
        );
        assert!(lines[1].contains("taken") && lines.last().unwrap().starts_with("ready"));
    }
}
