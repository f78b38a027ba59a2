//! Exit codes of the program, and the advice that follows each error.

use std::{error::Error as _, fmt, io, process::ExitCode};

use jackfield_model::{Cause, Reason};
use jackfield_sdk::Error;

use crate::{client::is_loopback_url, local, shell};

/// Exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// Success.
    Ok = 0,
    /// Failure without a more specific code.
    Failed = 1,
    /// Invalid arguments or configuration.
    Usage = 2,
    /// Hub, agent or task not found or not reachable.
    Missing = 3,
    /// Missing token, or insufficient rights.
    Auth = 4,
    /// Timeout.
    Timeout = 5,
    /// The agent failed or refused.
    Agent = 6,
    /// The call was cancelled.
    Cancelled = 7,
    /// Ctrl-c.
    Interrupted = 130,
}

impl From<ExitKind> for ExitCode {
    fn from(code: ExitKind) -> Self {
        Self::from(code as u8)
    }
}

/// Kind of object that a command worked on. Selects the advice in an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorSubject {
    Agent,
    /// A peer stored in the hub.
    Contact,
    /// A direct handoff to a peer, without a hub.
    #[cfg(feature = "p2p")]
    Handoff,
    Remote,
    Task,
    Team,
    Token,
}

/// An error with an exit [`ExitKind`], a text, and advice on the next step.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) code: ExitKind,
    pub(crate) text: String,
    pub(crate) next: Option<String>,
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.next {
            Some(next) => write!(f, "\n{next}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CliError {}

impl CliError {
    /// Creates a [`CliError`] with advice.
    pub(crate) fn new(code: ExitKind, text: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
            next: Some(next.into()),
        }
    }

    /// Creates a [`CliError`] for wrong usage or configuration; the text includes the advice.
    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Self {
            code: ExitKind::Usage,
            text: text.to_string(),
            next: None,
        }
    }

    /// Replaces the placeholder `word` (AGENT, TASK) in the advice by the quoted `name`. The placeholder is
    /// part of a command.
    pub(crate) fn fill_in(mut self, word: &str, name: &str) -> Self {
        if !name.is_empty() {
            self.next = self.next.map(|next| next.replace(word, &shell::word(name)));
        }
        self
    }

    /// Converts an [`Error`] of the hub, or of the connection to the hub.
    pub(crate) fn from_hub(error: &Error, about: ErrorSubject) -> Self {
        let (code, next) = classify(error, about);
        let text = match error {
            Error::Unreachable { url, .. } => {
                let why = root(error).map(|root| format!(" ({root})"));
                instead_of(url, format!("{error}{}", why.unwrap_or_default()))
            }
            Error::Untrusted { url, .. } => instead_of(url, error.to_string()),
            // The agent's own code says more than the text alone.
            Error::Failed { code: name, .. } if code == ExitKind::Agent => {
                format!("the agent failed: {error} ({name})")
            }
            _ => error.to_string(),
        };
        let next = match (code, error) {
            (ExitKind::Auth, _) if next == TOKEN => crate::sent_token::explain(),
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

/// Prefixes the error text with the address of this user's killed hub, if there was one before `url` was
/// tried.
fn instead_of(url: &str, text: String) -> String {
    let Some(left) = local::killed_hub_address() else {
        return text;
    };
    let dead = format!("the hub at {left} is not running (was it killed?)");
    match left == url && text.starts_with("cannot reach") {
        true => dead,
        false => format!("{dead}; {text}"),
    }
}

/// Returns the innermost cause, which is the informative one.
fn root(error: &Error) -> Option<String> {
    let mut cause = error.source()?;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Some(cause.to_string())
}

/// Returns the exit [`ExitKind`] of an [`Error`], and the advice.
pub(crate) fn classify(error: &Error, about: ErrorSubject) -> (ExitKind, &'static str) {
    match error {
        Error::Address(_) => (
            ExitKind::Usage,
            "give one with --hub URL, or set JACKFIELD_HUB",
        ),
        Error::Unreachable { source, .. } if is_not_http(&**source) => (
            ExitKind::Missing,
            "the server there does not speak HTTP; try https://, or name the hub with --hub URL. A hub's libp2p port is one above its HTTP port",
        ),
        Error::Unreachable { source, .. } if !is_refused(&**source) => (
            ExitKind::Missing,
            "check the address, and whether this machine can reach it; --hub URL names another hub",
        ),
        Error::Unreachable { url, .. } if !is_loopback_url(url) => (
            ExitKind::Missing,
            "nothing listens there: is the address right, and does the hub run? --hub URL names another hub",
        ),
        Error::Unreachable { .. } => (
            ExitKind::Missing,
            "start one with: jackfield serve (or name another with --hub URL)",
        ),
        // The remedy contains the address, and is part of the error.
        Error::Untrusted { .. } => (ExitKind::Missing, "--hub URL names a hub"),
        Error::Tls { why, .. } => (ExitKind::Missing, why.remedy()),
        Error::NoWebSocket { .. } => (
            ExitKind::Missing,
            "a proxy in front of the hub must forward WebSockets at /ws",
        ),
        Error::Broken => (
            ExitKind::Failed,
            "the hub may have stopped; run: jackfield doctor",
        ),
        Error::Unreadable(_) => (
            ExitKind::Failed,
            "is it a Jackfield hub of this version? run: jackfield doctor",
        ),
        Error::Closed { code: 4002, .. } => (ExitKind::Auth, TOKEN),
        Error::Closed { .. } => (ExitKind::Failed, "jackfield ls lists the agents"),
        Error::Cancelled => (ExitKind::Cancelled, "call again if you did not cancel it"),
        Error::Refused { code, .. } if code == "unknown" => (
            ExitKind::Failed,
            "is it a Jackfield hub? run: jackfield doctor",
        ),
        Error::Failed { cause, .. } if cause.as_deref() == Some(Cause::Unanswered.name()) => (
            ExitKind::Timeout,
            "with --detach a call waits a day for the answer; jackfield task wait then prints the command to answer",
        ),
        // The agent was online when the call began.
        Error::Failed { code, .. } if code == "offline" && about == ErrorSubject::Agent => (
            ExitKind::Missing,
            "call again once jackfield ls shows the agent online; with --keep or --detach a call outlives this command",
        ),
        Error::Refused { code, .. } | Error::Failed { code, .. } => {
            of_reason(&Reason::from_name(code), about)
        }
    }
}

/// Returns whether a server accepted the connection but did not speak HTTP.
pub(crate) fn is_not_http(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<reqwest::Error>();
    error.is_some_and(|error| error.is_request() && !error.is_connect() && !error.is_timeout())
}

/// Returns whether no process listens at the address. Any other connection problem does not mean that no hub
/// runs.
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

const TOKEN: &str = "an admin creates a token with: jackfield token create; pass it with --token-file FILE or JACKFIELD_TOKEN";

fn of_reason(reason: &Reason, about: ErrorSubject) -> (ExitKind, &'static str) {
    match (reason, about) {
        (Reason::NotFound, ErrorSubject::Agent | ErrorSubject::Remote) => {
            (ExitKind::Missing, "jackfield ls lists the agents")
        }
        #[cfg(feature = "p2p")]
        (reason, ErrorSubject::Handoff) => of_handoff(reason),
        (Reason::NotFound | Reason::SessionUnknown, ErrorSubject::Task) => {
            (ExitKind::Missing, "jackfield task ls lists your tasks")
        }
        (Reason::NotFound, ErrorSubject::Team) => {
            (ExitKind::Missing, "jackfield team ls lists the teams")
        }
        (Reason::NotFound, ErrorSubject::Token) => {
            (ExitKind::Missing, "jackfield token ls lists the tokens")
        }
        (Reason::NotFound, ErrorSubject::Contact) => (
            ExitKind::Missing,
            "jackfield show AGENT shows the peer of an agent, and whether the hub stores that peer",
        ),
        (Reason::SessionUnknown, _) => (ExitKind::Missing, "call without -c and --session"),
        (Reason::Offline, ErrorSubject::Remote) => (
            ExitKind::Missing,
            "is the URL right, and does the server run? --keep adds it anyway",
        ),
        (Reason::Offline, ErrorSubject::Contact) => (
            ExitKind::Missing,
            "is the address right, and does the peer run? --keep adds it anyway",
        ),
        (Reason::Offline, _) => (
            ExitKind::Missing,
            "jackfield ls shows which agents are online; jackfield call --wait-online 8h waits for one",
        ),
        (Reason::Stopping, _) => (
            ExitKind::Missing,
            "try again in a moment; jackfield task ls lists your tasks",
        ),
        (Reason::Unauthorized, _) => (ExitKind::Auth, TOKEN),
        (Reason::Timeout, _) => (
            ExitKind::Timeout,
            "allow more time with --timeout, or let it run in the background with --detach",
        ),
        (Reason::Cancelled, _) => (ExitKind::Cancelled, "call again if you did not cancel it"),
        (Reason::Crashed | Reason::Agent(_), _) => (
            ExitKind::Agent,
            "jackfield watch AGENT --raw shows the agent's messages; the agent's log may say why",
        ),
        (Reason::Invalid, _) => (ExitKind::Usage, "jackfield help COMMAND shows the usage"),
        (Reason::Unsupported, _) => (
            ExitKind::Failed,
            "jackfield show AGENT shows what it can do",
        ),
        (Reason::TooLarge, _) => (
            ExitKind::Failed,
            "send a smaller message, or a link to the file",
        ),
        (Reason::Busy | Reason::RateLimited, _) => (
            ExitKind::Failed,
            "try again in a moment; jackfield ls shows the open calls",
        ),
        (Reason::Loop, _) => (
            ExitKind::Failed,
            "the agents call each other in a circle; jackfield watch shows who calls whom",
        ),
        (Reason::Conflict, ErrorSubject::Task) => {
            (ExitKind::Failed, "jackfield task show TASK shows its state")
        }
        (Reason::Conflict, ErrorSubject::Remote) => (
            ExitKind::Failed,
            "--as ID chooses another id; jackfield rm ID removes that agent",
        ),
        (Reason::Conflict, ErrorSubject::Contact) => (
            ExitKind::Failed,
            "jackfield p2p unblock PEER unblocks a peer; peers in the hub's configuration file are changed there",
        ),
        (Reason::Conflict, ErrorSubject::Team) => (
            ExitKind::Failed,
            "jackfield team ls lists the teams, and jackfield ls all ids in use",
        ),
        (Reason::Conflict, _) => (ExitKind::Failed, "jackfield ls shows the current state"),
        (Reason::SlowReader, _) => (
            ExitKind::Failed,
            "read faster, or run the call with --detach",
        ),
        (Reason::Internal, _) => (
            ExitKind::Failed,
            "the hub's log says why; run: jackfield doctor",
        ),
    }
}

/// Returns the exit [`ExitKind`] and the advice for a direct handoff to a peer.
#[cfg(feature = "p2p")]
fn of_handoff(reason: &Reason) -> (ExitKind, &'static str) {
    match reason {
        Reason::NotFound | Reason::SessionUnknown => (
            ExitKind::Missing,
            "jackfield p2p card PEER shows what it can do",
        ),
        Reason::Offline | Reason::Stopping => (
            ExitKind::Missing,
            "is the address right, and does the peer run? jackfield p2p peers lists the registered peers",
        ),
        Reason::Unauthorized => (
            ExitKind::Auth,
            "it accepts only peers that it knows: use a permanent key with --key FILE, and have its operator allow your peer id",
        ),
        Reason::Timeout => (
            ExitKind::Timeout,
            "allow more time with --timeout; without streaming, the peer's own deadline applies",
        ),
        Reason::Cancelled => (
            ExitKind::Cancelled,
            "hand it off again if you did not cancel it",
        ),
        Reason::Crashed | Reason::Agent(_) => (ExitKind::Agent, "the peer's own log may say why"),
        Reason::Invalid => (
            ExitKind::Usage,
            "jackfield p2p card PEER shows its methods and paths",
        ),
        Reason::Unsupported => (
            ExitKind::Failed,
            "jackfield p2p card PEER shows what it can do",
        ),
        Reason::TooLarge => (
            ExitKind::Failed,
            "send a smaller message, or a link to the file",
        ),
        Reason::Busy | Reason::RateLimited | Reason::Conflict => {
            (ExitKind::Failed, "try again in a moment")
        }
        Reason::Loop => (ExitKind::Failed, "the agents call each other in a circle"),
        Reason::SlowReader | Reason::Internal => (
            ExitKind::Failed,
            "try again; the peer's own log may say why",
        ),
    }
}

/// Prints the error and returns the [`ExitCode`]. A closed standard output (`| head`) is a success. `command` is
/// the typed command, in the form that `help` accepts.
pub(crate) fn explain(error: &anyhow::Error, command: &str) -> ExitCode {
    // Only for our own output: a broken connection to the hub is a failure, and has a different error type.
    let output = error.downcast_ref::<io::Error>();
    if output.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        return ExitKind::Ok.into();
    }
    let stop = match (
        error.downcast_ref::<CliError>(),
        error.downcast_ref::<Error>(),
    ) {
        (Some(_), _) => None,
        (None, Some(hub)) => Some(CliError::from_hub(hub, ErrorSubject::Agent)),
        (None, None) => Some(CliError {
            code: ExitKind::Failed,
            text: format!("{error:#}"),
            next: None,
        }),
    };
    let stop = stop.as_ref().or_else(|| error.downcast_ref());
    let Some(stop) = stop else {
        return ExitKind::Failed.into();
    };
    let told = stop
        .to_string()
        .replace("help COMMAND", &format!("help {command}"));
    crate::output::print_message(&format!("jackfield: {told}"));
    stop.code.into()
}

/// Adds the kind of object ([`ErrorSubject`]) to a result of the hub, so that the error gives matching advice.
pub(crate) trait WithErrorSubject<T> {
    fn about(self, about: ErrorSubject) -> Result<T, CliError>;
}

impl<T> WithErrorSubject<T> for Result<T, Error> {
    fn about(self, about: ErrorSubject) -> Result<T, CliError> {
        self.map_err(|error| CliError::from_hub(&error, about))
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
            ("not_found", ExitKind::Missing),
            ("offline", ExitKind::Missing),
            ("unauthorized", ExitKind::Auth),
            ("timeout", ExitKind::Timeout),
            ("cancelled", ExitKind::Cancelled),
            ("crashed", ExitKind::Agent),
            ("quota", ExitKind::Agent),
            ("busy", ExitKind::Failed),
            ("invalid", ExitKind::Usage),
        ] {
            assert_eq!(
                classify(&failed(name), ErrorSubject::Agent).0,
                code,
                "{name}"
            );
        }
        assert_eq!(
            classify(&Error::Cancelled, ErrorSubject::Task).0,
            ExitKind::Cancelled
        );
    }

    #[test]
    fn the_next_step_fits_what_was_looked_for() {
        let next = |about| classify(&failed("not_found"), about).1;
        assert!(next(ErrorSubject::Agent).contains("jackfield ls"));
        assert!(next(ErrorSubject::Task).contains("task ls"));
        assert!(next(ErrorSubject::Team).contains("team ls"));
        assert!(next(ErrorSubject::Token).contains("token ls"));
    }

    #[test]
    fn what_was_typed_stands_where_a_word_stood_for_it() {
        let stop = CliError::from_hub(&failed("quota"), ErrorSubject::Agent);
        let next = stop.fill_in("AGENT", "bob").next.unwrap();
        assert!(next.contains("jackfield watch bob --raw"), "{next}");
        let stop = CliError::from_hub(&failed("quota"), ErrorSubject::Agent);
        let next = stop.fill_in("AGENT", "$(id)").next.unwrap();
        assert!(next.contains("jackfield watch '$(id)' --raw"), "{next}");
    }

    #[test]
    fn an_approval_that_nobody_gave_names_the_remedy() {
        let error = Error::Failed {
            code: "timeout".to_owned(),
            cause: Some("unanswered".to_owned()),
            message: "nobody answered the agent's question within 600 seconds".to_owned(),
        };
        let (code, next) = classify(&error, ErrorSubject::Agent);
        assert_eq!(code, ExitKind::Timeout);
        assert!(next.contains("--detach") && next.contains("task wait"));
    }

    #[test]
    fn what_an_agent_says_cannot_steer_the_terminal() {
        let error = Error::Failed {
            code: "x".to_owned(),
            cause: None,
            message: "a\u{1b}[2Jb".to_owned(),
        };
        assert!(
            !CliError::from_hub(&error, ErrorSubject::Agent)
                .text
                .contains('\u{1b}')
        );
    }
}
