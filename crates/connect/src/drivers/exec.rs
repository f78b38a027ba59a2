//! `exec`: any command. One process per message; its standard output is the reply.
//!
//! The prompt is written to standard input, which is then closed, or replaces `{prompt}` in an argument,
//! where it must not become an option. Standard output is streamed as text, standard error as status. An exit
//! code other than 0 is a crash. With [`Format::Jsonl`] the command reads and prints lines of JSON instead,
//! see [`lines`].

pub mod lines;

use jackfield_sdk::AgentFailure;
use serde_json::Value;
use tokio::{
    io::AsyncWriteExt as _,
    process::{ChildStdin, ChildStdout},
};

use self::lines::CommandOutput;
use crate::{
    ChildProcess, CommandSpec, Driver, DriverFuture, DriverOutput, LineReader, OutputItem,
    OutputLine, ProcessExit, ProcessOutput, Reaper, TextReader, Turn,
    process::{CRASHED, too_long},
    stdin_writer::StdinWriter,
};

/// Placeholder for the prompt in an argument.
const PROMPT: &str = "{prompt}";

/// Programs that interpret a whole argument as commands.
const SHELLS: [&str; 7] = ["sh", "ash", "bash", "dash", "fish", "ksh", "zsh"];

/// Input and output format of a command of [`Exec`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// The prompt as input, text as output.
    #[default]
    Text,
    /// Lines of JSON in both directions.
    Jsonl,
}

/// [`Driver`] for any command.
#[derive(Debug)]
pub struct Exec {
    /// The command; each turn sets the working folder.
    spec: CommandSpec,
    format: Format,
    reaper: Reaper,
}

impl Exec {
    /// Creates a driver for a command.
    pub fn new(spec: CommandSpec, format: Format, reaper: Reaper) -> Self {
        Self {
            spec: CommandSpec {
                complaints: true,
                ..spec
            },
            format,
            reaper,
        }
    }

    /// Returns whether a caller could pass options to the command: the message starts an argument, and no
    /// earlier `--` ends the options.
    fn takes_options(&self) -> bool {
        let args = self.spec.args.iter();
        let mut open = args.take_while(|arg| *arg != "--");
        open.any(|arg| arg.starts_with(PROMPT))
    }

    /// Returns the command for a turn.
    fn spec_for(&self, turn: &Turn) -> CommandSpec {
        let prompt = turn.prompt();
        let args = self.spec.args.iter();
        CommandSpec {
            args: args.map(|arg| arg.replace(PROMPT, &prompt)).collect(),
            dir: turn.dir.clone(),
            env: turn.env.clone(),
            ..self.spec.clone()
        }
    }

    /// Returns the standard input, which is empty if the prompt is an argument.
    fn stdin_text(&self, turn: &Turn) -> String {
        let is_argument = self.spec.args.iter().any(|arg| arg.contains(PROMPT));
        match is_argument {
            true => String::new(),
            false => turn.prompt(),
        }
    }

    async fn run(&self, turn: Turn, voice: DriverOutput) -> Result<(), AgentFailure> {
        if self.takes_options() && turn.prompt().starts_with('-') {
            let why = "a message that begins with \"-\" would be an option of the command; begin it with another character, or \
                       have the agent's owner put -- before {prompt}";
            return Err(AgentFailure::new("invalid_message", why));
        }
        let mut process = ChildProcess::start(&self.spec_for(&turn), &self.reaper)?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(AgentFailure::new(
                CRASHED,
                "the command cannot be spoken to",
            ));
        };
        let exited = process.exited();
        let answer = async {
            match self.format {
                Format::Text => {
                    let words = self.stdin_text(&turn);
                    let ((), said) =
                        tokio::join!(write_prompt(stdin, &words), text(stdout, &voice));
                    said
                }
                Format::Jsonl => {
                    let mut inlet = StdinWriter::new(stdin);
                    inlet.put(&lines::message(&turn));
                    converse(inlet, stdout, exited, &voice).await
                }
            }
        };
        tokio::try_join!(answer, forward_stderr(&mut process, &voice))?;
        if process.exit().await.is_success() {
            return Ok(());
        }
        Err(process.crash("the command").await)
    }
}

/// Returns whether a shell would interpret the message as commands: `{prompt}` is part of a script after
/// `-c`.
pub fn is_read_as_commands(program: &str, args: &[String]) -> bool {
    let is_shell = |word: &str| {
        let name = word.rsplit('/').next();
        name.is_some_and(|name| SHELLS.contains(&name))
    };
    let mut words = std::iter::once(program).chain(args.iter().map(String::as_str));
    // Other programs start shells too, such as env and timeout.
    while words.by_ref().any(is_shell) {
        let mut has_script = false;
        while let Some(word) = words.next() {
            if !word.starts_with(['-', '+']) {
                if has_script && word.contains(PROMPT) {
                    return true;
                }
                break;
            }
            has_script |= word.contains('c') && !word.starts_with("--");
            // The next word is an option's value, not a script.
            if matches!(word, "-o" | "+o" | "-O" | "+O") {
                words.next();
            }
        }
    }
    false
}

impl Driver for Exec {
    fn kind(&self) -> &'static str {
        "exec"
    }

    fn check(&self) -> DriverFuture<'_> {
        Box::pin(async { self.spec.find().map(drop) })
    }

    fn work(&self, turn: Turn, voice: DriverOutput) -> DriverFuture<'_> {
        Box::pin(self.run(turn, voice))
    }
}

/// Writes the prompt and closes the input. The command need not read all of it.
async fn write_prompt(mut stdin: ChildStdin, words: &str) {
    stdin.write_all(words.as_bytes()).await.ok();
}

async fn text(
    stdout: ProcessOutput<ChildStdout>,
    voice: &DriverOutput,
) -> Result<(), AgentFailure> {
    let mut pieces = TextReader::new(stdout);
    while let Some(piece) = pieces.next().await.map_err(|error| unreadable(&error))? {
        voice.send(OutputItem::Text(piece)).await?;
    }
    Ok(())
}

async fn forward_stderr(
    process: &mut ChildProcess,
    voice: &DriverOutput,
) -> Result<(), AgentFailure> {
    while let Some(line) = process.next_stderr_line().await {
        if !line.trim().is_empty() {
            voice.send(OutputItem::Status(line)).await?;
        }
    }
    Ok(())
}

/// Reads lines of JSON and writes the answers to questions in them.
async fn converse(
    mut inlet: StdinWriter,
    stdout: ProcessOutput<ChildStdout>,
    exited: impl Future<Output = ProcessExit>,
    voice: &DriverOutput,
) -> Result<(), AgentFailure> {
    let mut source = LineReader::new(stdout);
    let mut failed = None;
    tokio::pin!(exited);
    loop {
        let line = tokio::select! {
            line = source.next() => line.map_err(|error| unreadable(&error))?,
            () = inlet.write() => continue,
        };
        let spoken = match line {
            None => return failed.map_or(Ok(()), Err),
            Some(OutputLine::Text(line)) => lines::read(&line),
            Some(OutputLine::TooLong { bytes }) => {
                CommandOutput::Said(OutputItem::Status(too_long(bytes)))
            }
        };
        let asked = match spoken {
            CommandOutput::Nothing => continue,
            CommandOutput::Said(said) => {
                voice.send(said).await?;
                continue;
            }
            CommandOutput::Failed(failure) => {
                failed.get_or_insert(failure);
                continue;
            }
            asked => asked,
        };
        // A command that has exited needs no answer.
        tokio::select! {
            answer = answer(asked, voice) => inlet.put(&answer?),
            _ = &mut exited => {}
        }
    }
}

/// Asks a command's question and returns the answer as a line.
async fn answer(asked: CommandOutput, voice: &DriverOutput) -> Result<Value, AgentFailure> {
    match asked {
        CommandOutput::Approval { tool, arguments } => {
            let decision = voice.approve(&tool, arguments).await?;
            Ok(lines::decision(&decision))
        }
        CommandOutput::Ask(question) => Ok(lines::answer(&voice.ask(question).await?)),
        CommandOutput::Said(_) | CommandOutput::Failed(_) | CommandOutput::Nothing => {
            Ok(Value::Null)
        }
    }
}

fn unreadable(error: &std::io::Error) -> AgentFailure {
    AgentFailure::new(
        CRASHED,
        format!("the command's output cannot be read: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_read_as_commands_are_found() {
        let is_read = |line: &[&str]| {
            let args: Vec<_> = line[1..].iter().map(|&arg| arg.to_owned()).collect();
            is_read_as_commands(line[0], &args)
        };
        for bad in [
            &["sh", "-c", "grep {prompt} notes.txt"][..],
            &["/bin/bash", "-ec", "echo \"{prompt}\""],
            &["bash", "-e", "-o", "pipefail", "-c", "echo {prompt}"],
            &["env", "A=b", "zsh", "-c", "echo {prompt}", "zsh"],
        ] {
            assert!(is_read(bad), "{bad:?}");
        }
        for good in [
            &["sh", "-c", "grep -- \"$1\" notes.txt", "sh", "{prompt}"][..],
            &["sh", "-c", "cat"],
            &["bash", "script.sh", "{prompt}"],
            &["grep", "-c", "{prompt}"],
            &["echo", "{prompt}"],
            &["sh"],
        ] {
            assert!(!is_read(good), "{good:?}");
        }
    }
}
