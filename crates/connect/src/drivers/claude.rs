//! `claude`: Claude Code without its screen. One process for each message, which goes on with the conversation that it
//! had. What it asks for on its way (may I use this tool, a question) is answered on its standard input, as its published
//! SDKs do.

pub mod lines;
mod mcp;

use std::{future::pending, pin::Pin, time::Duration};

use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use jackfield_sdk::Failure;
use serde_json::{Value, json};
use tokio::{process::ChildStdout, time};
use tokio_util::sync::CancellationToken;

use self::lines::{Heard, Permission, Reader};
use crate::{
    Driver, Line, Lines, Output, Process, Reaper, Said, Spec, Turn, Voice, Working,
    inlet::Inlet,
    process::{CRASHED, too_long},
};

/// What is always said to it. The last two make it ask us, on standard output, and listen, on standard input.
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
/// Makes it ask nobody.
const SKIP: &str = "--dangerously-skip-permissions";
/// The tool with which it asks the caller something.
const QUESTION: &str = "AskUserQuestion";
/// How long it may take to write down the conversation once it is done.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Claude Code.
#[derive(Debug)]
pub struct Claude {
    /// What to start, with what the operator says to it besides; the turn says where.
    spec: Spec,
    is_trusted: bool,
    reaper: Reaper,
}

/// How an attempt went.
enum Attempt {
    Done,
    /// It does not know the conversation that it should go on with.
    Forgotten,
}

/// A decision on its way: the request that it belongs to, and what to answer.
type Deciding<'a> = Pin<Box<dyn Future<Output = Result<Option<Value>, Failure>> + Send + 'a>>;

impl Claude {
    /// The program of this name, with what is said to it besides our own flags. Only a trusted one asks nobody.
    pub fn new(spec: Spec, is_trusted: bool, reaper: Reaper) -> Self {
        Self {
            spec,
            is_trusted,
            reaper,
        }
    }

    /// Whether these arguments would make it ask nobody, which only `--trust` may.
    pub fn skips_permissions(args: &[String]) -> bool {
        args.iter().any(|arg| {
            arg.contains("dangerously-skip-permissions") || arg.contains("bypassPermissions")
        })
    }

    fn spec_for(&self, turn: &Turn, resume: Option<&str>, mcp: Option<&mcp::Config>) -> Spec {
        let mut args: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
        if self.is_trusted {
            args.push(SKIP.to_owned());
        }
        if let Some(id) = resume {
            // In one piece, so that no id can be taken for a flag.
            args.push(format!("--resume={id}"));
        }
        if let Some(mcp) = mcp {
            args.extend(mcp.flags());
        }
        args.extend(self.spec.args.iter().cloned());
        Spec {
            args,
            dir: turn.dir.clone(),
            env: turn.env.clone(),
            ..self.spec.clone()
        }
    }

    async fn run(&self, turn: Turn, voice: Voice) -> Result<(), Failure> {
        let mcp = turn.mcp.as_ref().map(mcp::Config::write).transpose()?;
        if let Some(native) = turn.native_session.as_deref() {
            match self
                .attempt(&turn, Some(native), mcp.as_ref(), &voice)
                .await?
            {
                Attempt::Done => return Ok(()),
                Attempt::Forgotten => {
                    let text =
                        "claude does not know the conversation any more; this begins a new one";
                    voice.say(Said::Status(text.to_owned())).await?;
                }
            }
        }
        match self.attempt(&turn, None, mcp.as_ref(), &voice).await? {
            Attempt::Done => Ok(()),
            Attempt::Forgotten => Err(Failure::new(CRASHED, "claude cannot begin a conversation")),
        }
    }

    async fn attempt(
        &self,
        turn: &Turn,
        resume: Option<&str>,
        mcp: Option<&mcp::Config>,
        voice: &Voice,
    ) -> Result<Attempt, Failure> {
        let mut process = Process::start(&self.spec_for(turn, resume, mcp), &self.reaper)?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Failure::new(CRASHED, "claude cannot be spoken to"));
        };
        let mut talk = Talk {
            inlet: Inlet::new(stdin),
            stdout: Lines::new(stdout),
            reader: Reader::default(),
            deciding: FuturesUnordered::new(),
            open: Vec::new(),
            voice,
        };
        talk.inlet.put(&lines::initialize());
        talk.inlet.put(&lines::user(&turn.prompt()));
        let end = talk.listen().await?;
        let has_spoken = talk.reader.has_spoken();
        // The end of its input tells it that nothing more comes; then it writes the conversation down.
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
                Err(Failure::new(failure.code, text))
            }
        }
    }
}

impl Driver for Claude {
    fn kind(&self) -> &'static str {
        "claude"
    }

    fn check(&self) -> Working<'_> {
        Box::pin(async { self.spec.find().map(drop) })
    }

    fn work(&self, turn: Turn, voice: Voice) -> Working<'_> {
        Box::pin(self.run(turn, voice))
    }
}

/// A conversation with the process.
struct Talk<'a> {
    inlet: Inlet,
    stdout: Lines<Output<ChildStdout>>,
    reader: Reader,
    /// What it asked for and nobody decided yet.
    deciding: FuturesUnordered<Deciding<'a>>,
    /// What withdraws each of them.
    open: Vec<(String, CancellationToken)>,
    voice: &'a Voice,
}

impl Talk<'_> {
    /// Listens until it says that it is done, or ends without.
    async fn listen(&mut self) -> Result<Option<Result<(), Failure>>, Failure> {
        loop {
            tokio::select! {
                line = self.stdout.next() => {
                    let heard = match line.map_err(|error| unreadable(&error))? {
                        None => return Ok(None),
                        Some(Line::Text(line)) => self.reader.read(&line),
                        Some(Line::TooLong { bytes }) => vec![Heard::Said(Said::Status(too_long(bytes)))],
                    };
                    for heard in heard {
                        if let Some(end) = self.hear(heard).await? {
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

    async fn hear(&mut self, heard: Heard) -> Result<Option<Result<(), Failure>>, Failure> {
        match heard {
            Heard::Said(said) => self.voice.say(said).await?,
            Heard::Permission(permission) => self.decide(permission),
            Heard::Withdrawn(request) => {
                self.open.retain(|(open, withdrawn)| {
                    if *open == request {
                        withdrawn.cancel();
                    }
                    *open != request
                });
            }
            Heard::Unknown { request, what } => {
                self.inlet.put(&lines::unsupported(&request, &what));
            }
            Heard::End(end) => return Ok(Some(end)),
        }
        Ok(None)
    }

    /// Lets somebody decide, while it goes on.
    fn decide(&mut self, permission: Permission) {
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

/// The next decision. Never, while nothing is to be decided.
async fn decided(deciding: &mut FuturesUnordered<Deciding<'_>>) -> Result<Option<Value>, Failure> {
    match deciding.next().await {
        Some(answer) => answer,
        None => pending().await,
    }
}

/// What it is told about a tool that it wants to use.
async fn answer(permission: Permission, voice: &Voice) -> Result<Value, Failure> {
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

/// Asks the caller what it wants to know; the answers go into the input of its tool.
async fn ask_caller(mut input: Value, voice: &Voice) -> Result<Value, Failure> {
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

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::new(CRASHED, format!("claude's output cannot be read: {error}"))
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
