//! `claude`: Claude Code in its non-interactive mode. One process per message, which resumes the
//! conversation. Its requests (permission for a tool, a question) are answered on standard input, as in its
//! published SDKs.

pub mod lines;
mod mcp;

use std::{future::pending, pin::Pin, time::Duration};

use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use jackfield_sdk::AgentFailure;
use serde_json::{Value, json};
use tokio::{process::ChildStdout, time};
use tokio_util::sync::CancellationToken;

use self::lines::{ClaudeEvent, ClaudeReader, PermissionRequest};
use crate::{
    ChildProcess, CommandSpec, Driver, DriverFuture, DriverOutput, LineReader, OutputItem,
    OutputLine, ProcessOutput, Reaper, Turn,
    process::{CRASHED, too_long},
    stdin_writer::StdinWriter,
};

/// Fixed arguments. The last four make the program read messages from standard input and send permission
/// requests to standard output.
const FLAGS: [&str; 9] = [
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--input-format",
    "stream-json",
    "--permission-prompt-tool",
    "stdio",
];
/// Argument that disables permission requests.
const SKIP: &str = "--dangerously-skip-permissions";
/// Tool with which the agent asks the caller.
const QUESTION: &str = "AskUserQuestion";
/// Time limit for saving the conversation after the end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// [`Driver`] for Claude Code.
#[derive(Debug)]
pub struct Claude {
    /// The command, with the operator's further arguments; each turn sets the working folder.
    spec: CommandSpec,
    is_trusted: bool,
    reaper: Reaper,
}

/// Outcome of an attempt.
enum Attempt {
    Done,
    /// The program does not know the conversation to resume.
    Forgotten,
}

/// Future of a response to a permission request; `None` if the request was withdrawn.
type PermissionFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Value>, AgentFailure>> + Send + 'a>>;

impl Claude {
    /// Creates a driver for a command, with the operator's further arguments. Only a trusted agent runs
    /// without permission requests.
    pub fn new(spec: CommandSpec, is_trusted: bool, reaper: Reaper) -> Self {
        Self {
            spec,
            is_trusted,
            reaper,
        }
    }

    /// Returns whether these arguments disable permission requests, which requires `--trust`.
    pub fn skips_permissions(args: &[String]) -> bool {
        args.iter().any(|arg| {
            arg.contains("dangerously-skip-permissions") || arg.contains("bypassPermissions")
        })
    }

    fn spec_for(
        &self,
        turn: &Turn,
        resume: Option<&str>,
        mcp: Option<&mcp::McpConfigFile>,
    ) -> CommandSpec {
        let mut args: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
        if self.is_trusted {
            args.push(SKIP.to_owned());
        }
        if let Some(id) = resume {
            // A single argument, so that an id cannot be taken for a flag.
            args.push(format!("--resume={id}"));
        }
        if let Some(mcp) = mcp {
            args.extend(mcp.flags());
        }
        args.extend(self.spec.args.iter().cloned());
        CommandSpec {
            args,
            dir: turn.dir.clone(),
            env: turn.env.clone(),
            ..self.spec.clone()
        }
    }

    async fn run(&self, turn: Turn, voice: DriverOutput) -> Result<(), AgentFailure> {
        let mcp = turn
            .mcp
            .as_ref()
            .map(mcp::McpConfigFile::write)
            .transpose()?;
        if let Some(native) = turn.native_session.as_deref() {
            match self
                .attempt(&turn, Some(native), mcp.as_ref(), &voice)
                .await?
            {
                Attempt::Done => return Ok(()),
                Attempt::Forgotten => {
                    let text =
                        "claude does not know the conversation any more; this begins a new one";
                    voice.send(OutputItem::Status(text.to_owned())).await?;
                }
            }
        }
        match self.attempt(&turn, None, mcp.as_ref(), &voice).await? {
            Attempt::Done => Ok(()),
            Attempt::Forgotten => Err(AgentFailure::new(
                CRASHED,
                "claude cannot begin a conversation",
            )),
        }
    }

    async fn attempt(
        &self,
        turn: &Turn,
        resume: Option<&str>,
        mcp: Option<&mcp::McpConfigFile>,
        voice: &DriverOutput,
    ) -> Result<Attempt, AgentFailure> {
        let mut process = ChildProcess::start(&self.spec_for(turn, resume, mcp), &self.reaper)?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(AgentFailure::new(CRASHED, "claude cannot be spoken to"));
        };
        let mut talk = ClaudeExchange {
            inlet: StdinWriter::new(stdin),
            stdout: LineReader::new(stdout),
            reader: ClaudeReader::default(),
            deciding: FuturesUnordered::new(),
            open: Vec::new(),
            voice,
        };
        talk.inlet.put(&lines::initialize());
        talk.inlet.put(&lines::user(&turn.prompt()));
        let end = talk.listen().await?;
        let has_spoken = talk.reader.has_spoken();
        // Closing its input ends the process, which then saves the conversation.
        drop(talk);
        let is_forgotten =
            |text: &str| resume.is_some() && !has_spoken && text.contains("No conversation found");
        match end {
            Some(Ok(())) => {
                time::timeout(LAST_WORDS, process.exit()).await.ok();
                Ok(Attempt::Done)
            }
            Some(Err(failure)) if is_forgotten(&failure.message) => Ok(Attempt::Forgotten),
            Some(Err(failure)) => {
                time::timeout(LAST_WORDS, process.exit()).await.ok();
                Err(failure)
            }
            None => {
                let failure = process.crash("claude").await;
                if is_forgotten(&failure.message) {
                    return Ok(Attempt::Forgotten);
                }
                let text = format!("{}; it did not say that it was done", failure.message);
                Err(AgentFailure::new(failure.code, text))
            }
        }
    }
}

impl Driver for Claude {
    fn kind(&self) -> &'static str {
        "claude"
    }

    fn check(&self) -> DriverFuture<'_> {
        Box::pin(async { self.spec.find().map(drop) })
    }

    fn work(&self, turn: Turn, voice: DriverOutput) -> DriverFuture<'_> {
        Box::pin(self.run(turn, voice))
    }
}

/// Exchange of lines with the process.
struct ClaudeExchange<'a> {
    inlet: StdinWriter,
    stdout: LineReader<ProcessOutput<ChildStdout>>,
    reader: ClaudeReader,
    /// Undecided permission requests.
    deciding: FuturesUnordered<PermissionFuture<'a>>,
    /// Cancellation token of each open request, by id.
    open: Vec<(String, CancellationToken)>,
    voice: &'a DriverOutput,
}

impl ClaudeExchange<'_> {
    /// Handles output until the process reports its end, or exits without a report.
    async fn listen(&mut self) -> Result<Option<Result<(), AgentFailure>>, AgentFailure> {
        loop {
            tokio::select! {
                line = self.stdout.next() => {
                    let heard = match line.map_err(|error| unreadable(&error))? {
                        None => return Ok(None),
                        Some(OutputLine::Text(line)) => self.reader.read(&line),
                        Some(OutputLine::TooLong { bytes }) => vec![ClaudeEvent::Said(OutputItem::Status(too_long(bytes)))],
                    };
                    for heard in heard {
                        if let Some(end) = self.handle_event(heard).await? {
                            return Ok(Some(end));
                        }
                    }
                }
                answer = decided(&mut self.deciding) => {
                    if let Some(answer) = answer? {
                        self.inlet.put(&answer);
                    }
                }
                () = self.inlet.write() => {}
            }
        }
    }

    async fn handle_event(
        &mut self,
        heard: ClaudeEvent,
    ) -> Result<Option<Result<(), AgentFailure>>, AgentFailure> {
        match heard {
            ClaudeEvent::Said(said) => self.voice.send(said).await?,
            ClaudeEvent::Permission(permission) => self.decide(permission),
            ClaudeEvent::Withdrawn(request) => {
                self.open.retain(|(open, withdrawn)| {
                    if *open == request {
                        withdrawn.cancel();
                    }
                    *open != request
                });
            }
            ClaudeEvent::Unknown { request, what } => {
                self.inlet.put(&lines::unsupported(&request, &what));
            }
            ClaudeEvent::End(end) => return Ok(Some(end)),
        }
        Ok(None)
    }

    /// Starts a decision while the process continues.
    fn decide(&mut self, permission: PermissionRequest) {
        let withdrawn = CancellationToken::new();
        self.open
            .push((permission.request.clone(), withdrawn.clone()));
        let voice = self.voice;
        let deciding = async move {
            tokio::select! {
                answer = answer(permission, voice) => answer.map(Some),
                () = withdrawn.cancelled() => Ok(None),
            }
        };
        self.deciding.push(deciding.boxed());
    }
}

/// Waits for the next decision; forever if none is open.
async fn decided(
    deciding: &mut FuturesUnordered<PermissionFuture<'_>>,
) -> Result<Option<Value>, AgentFailure> {
    match deciding.next().await {
        Some(answer) => answer,
        None => pending().await,
    }
}

/// Builds the response to a permission request.
async fn answer(
    permission: PermissionRequest,
    voice: &DriverOutput,
) -> Result<Value, AgentFailure> {
    if permission.tool == QUESTION {
        let input = ask_caller(permission.input, voice).await?;
        return Ok(lines::allow(&permission.request, &input));
    }
    let decision = voice
        .approve(&permission.tool, permission.input.clone())
        .await?;
    Ok(if decision.approved {
        lines::allow(&permission.request, &permission.input)
    } else {
        let reason = decision.reason.as_deref();
        lines::deny(&permission.request, reason.unwrap_or("the owner said no"))
    })
}

/// Asks the caller the tool's questions; the answers go into the tool's input.
async fn ask_caller(mut input: Value, voice: &DriverOutput) -> Result<Value, AgentFailure> {
    let questions = input["questions"].as_array().cloned().unwrap_or_default();
    let mut answers = serde_json::Map::new();
    for question in &questions {
        let heard = voice.ask(lines::question(question)).await?;
        let name = question["question"].as_str().unwrap_or_default();
        answers.insert(name.to_owned(), json!(heard.text));
    }
    if let Some(input) = input.as_object_mut() {
        input.insert("answers".to_owned(), answers.into());
    }
    Ok(input)
}

fn unreadable(error: &std::io::Error) -> AgentFailure {
    AgentFailure::new(CRASHED, format!("claude's output cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trust_skips_permissions() {
        let args = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for skips in [
            "--dangerously-skip-permissions",
            "--allow-dangerously-skip-permissions",
            "--model opus --permission-mode bypassPermissions",
            "--permission-mode=bypassPermissions",
        ] {
            assert!(Claude::skips_permissions(&args(skips)), "{skips}");
        }
        assert!(!Claude::skips_permissions(&args("--permission-mode plan")));
    }
}
