//! How the program ends: the exit codes, and what to do next after each error.

use std::{error::Error as _, fmt, io, process::ExitCode};

use jackfield_model::{Cause, Reason};
use jackfield_sdk::Error;

use crate::{client::is_here, local, shell};

/// An exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// It worked.
    Ok = 0,
    /// It did not, and no other code fits.
    Failed = 1,
    /// What was typed or configured cannot be meant.
    Usage = 2,
    /// The hub, the agent or the task is not there.
    Missing = 3,
    /// A token is needed, or this one may not.
    Auth = 4,
    /// A clock ran out.
    Timeout = 5,
    /// The agent failed or refused.
    Agent = 6,
    /// Somebody cancelled.
    Cancelled = 7,
    /// Ctrl-c.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// What a command was looking for, so that the next step fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Agent,
    /// A peer that the hub keeps.
    Contact,
    /// Work for a peer, without a hub between.
    #[cfg(feature = "p2p")]
    Handoff,
    Remote,
    Task,
    Team,
    Token,
}

/// An end with its own code: what happened and what to do next.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) code: Code,
    pub(crate) text: String,
    pub(crate) next: Option<String>,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.next {
            Some(next) => write!(f, "\n{next}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Stop {}

impl Stop {
    /// An end with a next step.
    pub(crate) fn new(code: Code, text: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
            next: Some(next.into()),
        }
    }

    /// Something that was typed or configured wrong; the text says what to do.
    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Self {
            code: Code::Usage,
            text: text.to_string(),
            next: None,
        }
    }

    /// The same with what was typed, or found out, in the place of the word that stands for it: AGENT, TASK. It stands
    /// in commands.
    pub(crate) fn naming(mut self, word: &str, name: &str) -> Self {
        if !name.is_empty() {
            self.next = self.next.map(|next| next.replace(word, &shell::word(name)));
        }
        self
    }

    /// What the hub said, or that it said nothing.
    pub(crate) fn from_hub(error: &Error, about: About) -> Self {
        let (code, next) = verdict(error, about);
        let text = match error {
            Error::Unreachable { url, .. } => {
                let why = root(error).map(|root| format!(" ({root})"));
                instead_of(url, format!("{error}{}", why.unwrap_or_default()))
            }
            Error::Untrusted { url, .. } => instead_of(url, error.to_string()),
            // An agent's own code says more than its text alone.
            Error::Failed { code: name, .. } if code == Code::Agent => {
                format!("the agent failed: {error} ({name})")
            }
            _ => error.to_string(),
        };
        let next = match (code, error) {
            (Code::Auth, _) if next == TOKEN => crate::shown::explain(),
            (_, Error::Untrusted { why, .. }) => Some(why.remedy.clone()),
            _ => None,
        }
        .unwrap_or_else(|| next.to_owned());
        Self {
            code,
            text: crate::output::clean_lines(&text),
            next: Some(next),
        }
    }
}

/// What is said of a hub at `url` that is none, after the hub of this user that was there before, if one was killed.
fn instead_of(url: &str, text: String) -> String {
    let Some(left) = local::left_behind() else {
        return text;
    };
    let dead = format!("the hub at {left} is not running (was it killed?)");
    match left == url && text.starts_with("cannot reach") {
        true => dead,
        false => format!("{dead}; {text}"),
    }
}

/// The innermost cause, which is the one that says something.
fn root(error: &Error) -> Option<String> {
    let mut cause = error.source()?;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Some(cause.to_string())
}

/// The exit code of an error, and the next step.
pub(crate) fn verdict(error: &Error, about: About) -> (Code, &'static str) {
    match error {
        Error::Address(_) => (Code::Usage, "give one with --hub URL, or set JACKFIELD_HUB"),
        Error::Unreachable { source, .. } if answers(&**source) => (
            Code::Missing,
            "something answers there, but not as a hub does; is it https://? A hub's libp2p port is one above its own (--hub URL names a hub)",
        ),
        Error::Unreachable { source, .. } if !is_refused(&**source) => (
            Code::Missing,
            "check the address, and whether this machine can reach it; --hub URL names another hub",
        ),
        Error::Unreachable { url, .. } if !is_here(url) => (
            Code::Missing,
            "nothing listens there: is the address right, and does the hub run? --hub URL names another hub",
        ),
        Error::Unreachable { .. } => (
            Code::Missing,
            "start one with: jackfield serve (or name another with --hub URL)",
        ),
        // The remedy names the address, and stands in the error.
        Error::Untrusted { .. } => (Code::Missing, "--hub URL names a hub"),
        Error::Tls { why, .. } => (Code::Missing, why.remedy()),
        Error::NoWebSocket { .. } => (
            Code::Missing,
            "a proxy before the hub must pass WebSockets on, at /ws",
        ),
        Error::Broken => (
            Code::Failed,
            "the hub may have stopped; jackfield doctor looks into it",
        ),
        Error::Unreadable(_) => (
            Code::Failed,
            "is it a Jackfield hub of this version? jackfield doctor looks into it",
        ),
        Error::Closed { code: 4002, .. } => (Code::Auth, TOKEN),
        Error::Closed { .. } => (Code::Failed, "jackfield ls shows who is here"),
        Error::Cancelled => (Code::Cancelled, "call again if it was not you"),
        Error::Refused { code, .. } if code == "unknown" => (
            Code::Failed,
            "is it a Jackfield hub? jackfield doctor looks into it",
        ),
        Error::Failed { cause, .. } if cause.as_deref() == Some(Cause::Unanswered.name()) => (
            Code::Timeout,
            "a call with --detach waits a day for the answer; jackfield task wait prints the command that gives it",
        ),
        // It was online when the call began.
        Error::Failed { code, .. } if code == "offline" && about == About::Agent => (
            Code::Missing,
            "call again; with --keep or --detach a call outlives this command, and jackfield ls shows whether the agent is back",
        ),
        Error::Refused { code, .. } | Error::Failed { code, .. } => {
            of_reason(&Reason::from_name(code), about)
        }
    }
}

/// Whether somebody took the connection and then did not speak HTTP.
pub(crate) fn answers(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<reqwest::Error>();
    error.is_some_and(|error| error.is_request() && !error.is_connect() && !error.is_timeout())
}

/// Whether nothing listens at the address. Anything else that keeps us from a hub does not mean that none runs.
fn is_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = error.source();
    }
    false
}

const TOKEN: &str = "an admin makes a token with: jackfield token create; show it with --token-file FILE or JACKFIELD_TOKEN";

fn of_reason(reason: &Reason, about: About) -> (Code, &'static str) {
    match (reason, about) {
        (Reason::NotFound, About::Agent | About::Remote) => {
            (Code::Missing, "jackfield ls shows who is here")
        }
        #[cfg(feature = "p2p")]
        (reason, About::Handoff) => of_handoff(reason),
        (Reason::NotFound | Reason::SessionUnknown, About::Task) => {
            (Code::Missing, "jackfield task ls shows your tasks")
        }
        (Reason::NotFound, About::Team) => (Code::Missing, "jackfield team ls shows them"),
        (Reason::NotFound, About::Token) => (Code::Missing, "jackfield token ls shows them"),
        (Reason::NotFound, About::Contact) => (
            Code::Missing,
            "jackfield show AGENT tells from which peer an agent is, and whether that is kept",
        ),
        (Reason::SessionUnknown, _) => (Code::Missing, "call without -c and --session"),
        (Reason::Offline, About::Remote) => (
            Code::Missing,
            "is the URL right, and does the server run? --keep adds it all the same",
        ),
        (Reason::Offline, About::Contact) => (
            Code::Missing,
            "is the address right, and does the peer run? --keep keeps it all the same",
        ),
        (Reason::Offline, _) => (
            Code::Missing,
            "jackfield ls shows who is online; jackfield call --wait-online 8h waits for it",
        ),
        (Reason::Stopping, _) => (
            Code::Missing,
            "try again in a moment; jackfield task ls shows what is kept",
        ),
        (Reason::Unauthorized, _) => (Code::Auth, TOKEN),
        (Reason::Timeout, _) => (
            Code::Timeout,
            "give it longer with --timeout, or let it work on its own with --detach",
        ),
        (Reason::Cancelled, _) => (Code::Cancelled, "call again if it was not you"),
        (Reason::Crashed | Reason::Agent(_), _) => (
            Code::Agent,
            "jackfield watch AGENT --raw shows what it says; its own log may say why",
        ),
        (Reason::Invalid, _) => (Code::Usage, "jackfield help COMMAND shows what it takes"),
        (Reason::Unsupported, _) => (Code::Failed, "jackfield show AGENT tells what it can do"),
        (Reason::TooLarge, _) => (Code::Failed, "send less, or a link to it"),
        (Reason::Busy | Reason::RateLimited, _) => (
            Code::Failed,
            "try again in a moment; jackfield ls shows the open calls",
        ),
        (Reason::Loop, _) => (
            Code::Failed,
            "the agents call each other in a circle; jackfield watch shows who calls whom",
        ),
        (Reason::Conflict, About::Task) => {
            (Code::Failed, "jackfield task show TASK tells its state")
        }
        (Reason::Conflict, About::Remote) => (
            Code::Failed,
            "--as ID chooses another id; jackfield rm ID removes that agent",
        ),
        (Reason::Conflict, About::Contact) => (
            Code::Failed,
            "jackfield p2p unblock PEER lets a peer in again; the hub's configuration file names those that always stay",
        ),
        (Reason::Conflict, About::Team) => (
            Code::Failed,
            "jackfield team ls shows the teams, and jackfield ls all ids that are taken",
        ),
        (Reason::Conflict, _) => (Code::Failed, "jackfield ls shows how things stand"),
        (Reason::SlowReader, _) => (Code::Failed, "read faster, or let it be kept with --detach"),
        (Reason::Internal, _) => (
            Code::Failed,
            "the hub's log says why; jackfield doctor looks into it",
        ),
    }
}

/// The same for work that was handed to a peer without a hub between.
#[cfg(feature = "p2p")]
fn of_handoff(reason: &Reason) -> (Code, &'static str) {
    match reason {
        Reason::NotFound | Reason::SessionUnknown => (
            Code::Missing,
            "jackfield p2p card PEER shows what it can do",
        ),
        Reason::Offline | Reason::Stopping => (
            Code::Missing,
            "is the address right, and does the peer run? jackfield p2p peers shows who is registered",
        ),
        Reason::Unauthorized => (
            Code::Auth,
            "it lets in only peers that it knows: keep a key for --key FILE, and have its operator allow your id",
        ),
        Reason::Timeout => (
            Code::Timeout,
            "give it longer with --timeout; what comes in one piece has the peer's own deadline",
        ),
        Reason::Cancelled => (Code::Cancelled, "hand it over again if it was not you"),
        Reason::Crashed | Reason::Agent(_) => (Code::Agent, "the peer's own log may say why"),
        Reason::Invalid => (Code::Usage, "jackfield p2p card PEER shows what it takes"),
        Reason::Unsupported => (Code::Failed, "jackfield p2p card PEER shows what it can do"),
        Reason::TooLarge => (Code::Failed, "send less, or a link to it"),
        Reason::Busy | Reason::RateLimited | Reason::Conflict => {
            (Code::Failed, "try again in a moment")
        }
        Reason::Loop => (Code::Failed, "the agents call each other in a circle"),
        Reason::SlowReader | Reason::Internal => {
            (Code::Failed, "try again; the peer's own log may say why")
        }
    }
}

/// Says what went wrong and returns the code for it. A reader that went away (`| head`) is nothing wrong.
/// `command` is what was typed, as `help` takes it.
pub(crate) fn explain(error: &anyhow::Error, command: &str) -> ExitCode {
    // Only our own output: a broken connection to the hub is something wrong, and is wrapped in an error of its own.
    let output = error.downcast_ref::<io::Error>();
    if output.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        return Code::Ok.into();
    }
    let stop = match (error.downcast_ref::<Stop>(), error.downcast_ref::<Error>()) {
        (Some(_), _) => None,
        (None, Some(hub)) => Some(Stop::from_hub(hub, About::Agent)),
        (None, None) => Some(Stop {
            code: Code::Failed,
            text: format!("{error:#}"),
            next: None,
        }),
    };
    let stop = stop.as_ref().or_else(|| error.downcast_ref());
    let Some(stop) = stop else {
        return Code::Failed.into();
    };
    let told = stop
        .to_string()
        .replace("help COMMAND", &format!("help {command}"));
    crate::output::chat(&format!("jackfield: {told}"));
    stop.code.into()
}

/// Says what a result of the hub was about, so that its error names the right next step.
pub(crate) trait WhatAbout<T> {
    fn about(self, about: About) -> Result<T, Stop>;
}

impl<T> WhatAbout<T> for Result<T, Error> {
    fn about(self, about: About) -> Result<T, Stop> {
        self.map_err(|error| Stop::from_hub(&error, about))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: &str) -> Error {
        Error::Failed {
            code: code.to_owned(),
            cause: None,
            message: "it did".to_owned(),
        }
    }

    #[test]
    fn every_failure_has_its_code() {
        for (name, code) in [
            ("not_found", Code::Missing),
            ("offline", Code::Missing),
            ("unauthorized", Code::Auth),
            ("timeout", Code::Timeout),
            ("cancelled", Code::Cancelled),
            ("crashed", Code::Agent),
            ("quota", Code::Agent),
            ("busy", Code::Failed),
            ("invalid", Code::Usage),
        ] {
            assert_eq!(verdict(&failed(name), About::Agent).0, code, "{name}");
        }
        assert_eq!(verdict(&Error::Cancelled, About::Task).0, Code::Cancelled);
    }

    #[test]
    fn the_next_step_fits_what_was_looked_for() {
        let next = |about| verdict(&failed("not_found"), about).1;
        assert!(next(About::Agent).contains("jackfield ls"));
        assert!(next(About::Task).contains("task ls"));
        assert!(next(About::Team).contains("team ls"));
        assert!(next(About::Token).contains("token ls"));
    }

    #[test]
    fn what_was_typed_stands_where_a_word_stood_for_it() {
        let stop = Stop::from_hub(&failed("quota"), About::Agent);
        let next = stop.naming("AGENT", "bob").next.unwrap();
        assert!(next.contains("jackfield watch bob --raw"), "{next}");
        let stop = Stop::from_hub(&failed("quota"), About::Agent);
        let next = stop.naming("AGENT", "$(id)").next.unwrap();
        assert!(next.contains("jackfield watch '$(id)' --raw"), "{next}");
    }

    #[test]
    fn an_approval_that_nobody_gave_names_the_remedy() {
        let error = Error::Failed {
            code: "timeout".to_owned(),
            cause: Some("unanswered".to_owned()),
            message: "nobody answered the agent's question within 600 seconds".to_owned(),
        };
        let (code, next) = verdict(&error, About::Agent);
        assert_eq!(code, Code::Timeout);
        assert!(next.contains("--detach") && next.contains("task wait"));
    }

    #[test]
    fn what_an_agent_says_cannot_steer_the_terminal() {
        let error = Error::Failed {
            code: "x".to_owned(),
            cause: None,
            message: "a\u{1b}[2Jb".to_owned(),
        };
        assert!(!Stop::from_hub(&error, About::Agent).text.contains('\u{1b}'));
    }
}
