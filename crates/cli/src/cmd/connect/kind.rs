//! Kinds of agents that can be connected, with their arguments and drivers.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use jackfield_connect::{
    CommandSpec, Driver, Reaper,
    drivers::{
        a2a::{A2aDriver, A2aSettings},
        acp::Acp,
        claude::Claude,
        exec::{Exec, Format, is_read_as_commands},
        http::{Http, HttpSettings},
        openai::{OpenAi, OpenAiSettings},
    },
};
use jackfield_sdk::AgentFailure;

use crate::exit::CliError;

/// Our flags that hardly any program has; a user who types such a flag after a program means us.
const OURS: [&str; 8] = [
    "--as",
    "--hub",
    "--token-file",
    "--setup",
    "--skill",
    "--trust",
    "--no-mcp",
    "--allow-private",
];

/// Placeholders for a command and for an address in printed command lines.
pub(crate) const COMMAND: &str = "COMMAND";
pub(crate) const URL: &str = "URL";

/// Maximum length of each name in a generated id.
const LONGEST: usize = 48;

#[derive(Debug, Subcommand)]
pub(super) enum ConnectKind {
    /// Connect Claude Code; arguments after -- are passed to Claude Code
    Claude {
        /// Pass these flags to Claude Code, such as --model
        #[arg(last = true, value_name = "FLAGS")]
        args: Vec<String>,
    },
    /// Connect a program that speaks the Agent Client Protocol on standard input and output
    Acp {
        #[command(flatten)]
        command: ProgramArgs,
    },
    /// Connect any command: it gets the prompt on standard input, or in place of {prompt} in an argument
    Exec {
        /// Exchange text, or one JSON object per line
        #[arg(long, value_enum, default_value_t)]
        format: ExecFormat,
        #[command(flatten)]
        command: ProgramArgs,
    },
    /// Connect an agent behind HTTP: with a card that lists skills, or with one URL that accepts messages
    Http {
        /// Use the agent at this URL
        url: String,
        #[command(flatten)]
        key: KeyArgs,
    },
    /// Connect a server with OpenAI's chat completions API, such as Ollama or vLLM
    Openai {
        /// Use the API at this URL, with or without /v1
        url: String,
        /// Use this model [default: the first that the server lists]
        #[arg(long)]
        model: Option<String>,
        /// Start each conversation with this system prompt
        #[arg(long, value_name = "TEXT")]
        system: Option<String>,
        #[command(flatten)]
        key: KeyArgs,
    },
    /// Connect an A2A server that the hub cannot reach by itself
    A2a {
        /// Use the server, or its card, at this URL
        url: String,
        #[command(flatten)]
        key: KeyArgs,
    },
}

/// A program with its arguments; our own flags come before.
#[derive(Debug, Args)]
pub(super) struct ProgramArgs {
    /// Run this program
    #[arg(value_name = "COMMAND")]
    program: String,
    /// Pass these arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    args: Vec<String>,
}

/// Location of the key for a server.
#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    /// Send the key in this environment variable
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ExecFormat {
    #[default]
    Text,
    Jsonl,
}

/// Common settings for all drivers.
pub(super) struct DriverSettings<'a> {
    pub(super) dir: PathBuf,
    pub(super) pass: Vec<String>,
    pub(super) is_trusted: bool,
    pub(super) allow_private: bool,
    pub(super) state: &'a Path,
    pub(super) reaper: &'a Reaper,
}

impl ConnectKind {
    /// Creates the [`Driver`]. Starts no process yet.
    pub(super) fn driver(&self, with: &DriverSettings<'_>) -> Result<Arc<dyn Driver>> {
        if let Some(wanted) = self.unreplaced() {
            return Err(CliError::usage(wanted).into());
        }
        let wrong = |failure: AgentFailure| CliError::usage(failure.message);
        let reaper = with.reaper.clone();
        Ok(match self {
            Self::Claude { args } => {
                if !with.is_trusted && Claude::skips_permissions(args) {
                    let text =
                        "Claude Code would use tools without approval; add --trust to allow this";
                    return Err(CliError::usage(text).into());
                }
                let spec = with.spec("claude", args);
                Arc::new(Claude::new(spec, with.is_trusted, reaper))
            }
            Self::Acp { command } => {
                let spec = with.spec(&command.program, &command.args);
                Arc::new(Acp::new(spec, with.is_trusted, reaper))
            }
            Self::Exec { format, command } => {
                let format = match format {
                    ExecFormat::Text => Format::Text,
                    ExecFormat::Jsonl => Format::Jsonl,
                };
                let spec = with.spec(&command.program, &command.args);
                Arc::new(Exec::new(spec, format, reaper))
            }
            Self::Http { url, key } => {
                let settings = HttpSettings {
                    url: url.clone(),
                    key_env: key.key_env.clone(),
                };
                Arc::new(Http::new(settings).map_err(wrong)?)
            }
            Self::Openai {
                url,
                model,
                system,
                key,
            } => {
                let settings = OpenAiSettings {
                    url: url.clone(),
                    model: model.clone(),
                    system: system.clone(),
                    key_env: key.key_env.clone(),
                    histories: with.state.join("histories"),
                };
                Arc::new(OpenAi::new(settings).map_err(wrong)?)
            }
            Self::A2a { url, key } => {
                let settings = A2aSettings {
                    url: url.clone(),
                    key_env: key.key_env.clone(),
                    allow_private: with.allow_private,
                };
                Arc::new(A2aDriver::new(settings).map_err(wrong)?)
            }
        })
    }

    /// Returns an error text if the user copied a placeholder without replacing it.
    fn unreplaced(&self) -> Option<String> {
        match self {
            Self::Acp { command } | Self::Exec { command, .. } if command.program == COMMAND => {
                Some(format!(
                    "{COMMAND} is a placeholder: replace it by the command that runs the agent, such as exec tr a-z A-Z"
                ))
            }
            Self::Http { url, .. } | Self::Openai { url, .. } | Self::A2a { url, .. }
                if url == URL =>
            {
                Some(format!(
                    "{URL} is a placeholder: replace it by the address of the server, such as http://127.0.0.1:8000"
                ))
            }
            _ => None,
        }
    }

    /// Returns the program and one of our flags that was passed to the program by mistake.
    pub(super) fn misplaced(&self) -> Option<(&str, &str)> {
        let (Self::Acp { command } | Self::Exec { command, .. }) = self else {
            return None;
        };
        let mut flags = command.args.iter().filter_map(|arg| arg.split('=').next());
        let flag = flags.find(|flag| OURS.contains(flag))?;
        Some((command.name(), flag))
    }

    /// Returns whether a shell would interpret the caller's text as commands.
    pub(super) fn lets_callers_command(&self) -> bool {
        let Self::Exec { command, .. } = self else {
            return false;
        };
        is_read_as_commands(&command.program, &command.args)
    }

    /// Returns the default id: the program or the kind, and the machine's name.
    pub(super) fn default_id(&self) -> String {
        let what = match self {
            Self::Claude { .. } => "claude",
            Self::Acp { command } | Self::Exec { command, .. } => command.name(),
            Self::Http { .. } => "http",
            Self::Openai { .. } => "openai",
            Self::A2a { .. } => "a2a",
        };
        let uname = rustix::system::uname();
        let host = uname.nodename().to_string_lossy();
        let host = host.split('.').next().unwrap_or_default();
        id_of(what, host)
    }
}

impl ProgramArgs {
    /// Returns the name of the program, without path.
    fn name(&self) -> &str {
        let name = Path::new(&self.program).file_stem();
        name.and_then(|name| name.to_str()).unwrap_or("command")
    }
}

impl DriverSettings<'_> {
    fn spec(&self, program: &str, args: &[String]) -> CommandSpec {
        CommandSpec {
            program: program.to_owned(),
            args: args.to_vec(),
            dir: self.dir.clone(),
            pass: self.pass.clone(),
            ..CommandSpec::default()
        }
    }
}

/// Builds an id of two names; invalid characters become dashes.
fn id_of(what: &str, host: &str) -> String {
    let clean = |name: &str| {
        let name: String = name
            .chars()
            .take(LONGEST)
            .map(|c| match c {
                'a'..='z' | '0'..='9' | '.' | '_' | '-' => c,
                'A'..='Z' => c.to_ascii_lowercase(),
                _ => '-',
            })
            .collect();
        name.trim_matches(['-', '.', '_']).to_owned()
    };
    let names = [clean(what), clean(host)];
    let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
    match names.is_empty() {
        true => "agent".to_owned(),
        false => names.join("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client;

    #[test]
    fn an_id_is_made_of_whatever_the_machine_is_called() {
        for (what, host, id) in [
            ("claude", "laptop", "claude-laptop"),
            ("my agent.py", "B\u{fc}ro", "my-agent.py-b-ro"),
            ("", "", "agent"),
            ("--", "x", "x"),
        ] {
            assert_eq!(id_of(what, host), id);
            client::agent_id(id).unwrap();
        }
        let long = id_of(&"x".repeat(500), &"y".repeat(500));
        client::agent_id(&long).unwrap();
    }
}
