//! `jackfield add`: adds a remote to the hub. The command sends the address and the options; the hub chooses the
//! protocol, and the protocol refuses options that it does not have. A server with several agents lists them, and
//! the operator picks.

mod hub_peer;
mod several;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_a2a::{Auth, OAuth, SecretLocation};
use jackfield_core::units::Span;
use jackfield_model::{Cause, Reason};
use jackfield_sdk::{Error, Hub};
use serde_json::{Value, json};

use super::show::{peer_facts, remote_facts};
use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, ExitKind},
    output::{self, items, text},
    shell,
};

/// Time limit for the hub: the card is searched in several places, and so are the keys of its signature.
const PATIENCE: Duration = Duration::from_secs(120);

/// Add a remote agent to the hub, by its address; the hub chooses the protocol. A URL is an A2A server, which
/// becomes an agent of the hub; jackfield share lets other users call it. A server with several agents lists them:
/// --all adds all, --only picks, and on a terminal the command asks. The hub reads secrets from its own environment
/// or files, each time they are sent. A multiaddr that ends in /p2p/ID is a libp2p peer, whose agents
/// are agents of the hub while the peer is connected. To let the peer call the hub, add its id to p2p.allowed in
/// the hub's configuration. Needs an admin token.
#[derive(Debug, Args)]
#[command(
    after_long_help = "A peer's address is a multiaddr that ends in /p2p/ID: a host, then tcp or udp/quic-v1, optionally a relay. The hub keeps the\nconnection, after restarts too, and the peer's agents are agents of the hub while it is connected. The hub may then call\nthe peer; p2p.allowed lets the peer call the hub. Credentials, --as and --timeout are for servers; jackfield rm\n/p2p/ID removes the peer.\n\nAgno AgentOS, LangGraph, Google ADK, other hubs and servers with a catalog have several agents. Each gets an id made\nfrom its name; agents that share a name also get their id on the server. If some cannot be added, the others are.\n\nExamples:\n  jackfield add https://agents.example.com/travel\n  jackfield add http://127.0.0.1:7777 --only planner,writer\n  jackfield add /dns4/hub.example.com/tcp/7412/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN\n  jackfield add http://127.0.0.1:9000 --as books --bearer-env BOOKS_TOKEN\n  jackfield add https://agents.example.com --header X-Api-Key=env:API_KEY"
)]
pub(crate) struct Add {
    /// Add the remote at this address: the URL of an A2A server, its agent or its card, or the multiaddr of a peer
    #[arg(value_name = "URL|MULTIADDR")]
    target: String,
    /// Dial by this protocol, such as a2a [default: the protocol that the address belongs to]
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
    /// Give the agent this id on the hub [default: made from the name on the card]
    #[arg(long = "as", value_name = "ID", value_parser = client::agent_id)]
    id: Option<String>,
    /// Add all agents of a server that has several
    #[arg(long, conflicts_with = "only")]
    all: bool,
    /// Add the agent with this id, name or URL in the server's list; may be repeated, or separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Send the bearer token in this variable of the hub's environment
    #[arg(long, value_name = "VAR", conflicts_with_all = ["bearer_file", "oauth_token_url"])]
    bearer_env: Option<String>,
    /// Send the bearer token in this file on the hub's machine
    #[arg(long, value_name = "FILE", conflicts_with = "oauth_token_url")]
    bearer_file: Option<PathBuf>,
    /// Send a header whose value is in the hub's environment (NAME=env:VAR) or in a file there
    /// (NAME=file:PATH); may be repeated
    #[arg(long, value_name = "NAME=SOURCE", value_parser = header)]
    header: Vec<(String, SecretLocation)>,
    /// Fetch a bearer token at this URL, with OAuth 2.0 client credentials
    #[arg(
        long,
        value_name = "URL",
        requires = "oauth_client_id",
        requires = "oauth_client_secret"
    )]
    oauth_token_url: Option<String>,
    /// Use this client id for OAuth: env:VAR or file:PATH
    #[arg(long, value_name = "SOURCE", value_parser = source, requires = "oauth_token_url")]
    oauth_client_id: Option<SecretLocation>,
    /// Use this client secret for OAuth: env:VAR or file:PATH
    #[arg(long, value_name = "SOURCE", value_parser = source, requires = "oauth_token_url")]
    oauth_client_secret: Option<SecretLocation>,
    /// Request this OAuth scope
    #[arg(long, value_name = "SCOPE", requires = "oauth_token_url")]
    oauth_scope: Option<String>,
    /// Fail a call after this long without any data from the server, such as 90s or 10m
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Add the server or peer even if it cannot be reached now
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    client: Client,
}

impl Add {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        let body = self.body()?;
        if self.picks() {
            return self.add_picked(&hub, &body).await;
        }
        let remote = match self.same(&hub, &body).await? {
            Some(remote) => {
                output::print_message(&format!(
                    "{} is added already, as {}; --as ID adds it under another id",
                    self.target,
                    text(&remote, "id")
                ));
                remote
            }
            None => {
                output::print_message(&format!("looking for {} …", self.target));
                let added = client::request_within(
                    PATIENCE,
                    &hub,
                    Method::POST,
                    "/v1/remotes",
                    Some(&body),
                );
                match added.await {
                    Ok(remote) => remote,
                    Err(error) if has_several(&error) => return self.offer(&hub, &body).await,
                    Err(error) => return Err(self.refused(&error).into()),
                }
            }
        };
        if self.client.json {
            output::json(&remote)?;
            return Ok(ExitKind::Ok.into());
        }
        output::facts(&facts(&remote))?;
        output::print_message(&next_step(&remote, &self.client.flags()));
        Ok(ExitKind::Ok.into())
    }

    /// Returns the remote if it was added before and the command has no further options.
    async fn same(&self, hub: &Hub, body: &Value) -> Result<Option<Value>> {
        if *body != json!({ "url": self.target, "keep": self.keep }) {
            return Ok(None);
        }
        let known = client::get(hub, "/v1/remotes", ErrorSubject::Remote).await?;
        let known = output::items(&known, "remotes").iter();
        let url = |url: &str| url.trim_end_matches('/').to_owned();
        let mut same = known.filter(|remote| url(text(remote, "url")) == url(&self.target));
        Ok(same.next().cloned())
    }

    /// Returns the typed options, each with the field of the request that the option is sent as.
    fn options(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let options = [
            ("--as", "id", self.id.is_some()),
            ("--protocol", "protocol", self.protocol.is_some()),
            ("--bearer-env", "auth.bearer", self.bearer_env.is_some()),
            ("--bearer-file", "auth.bearer", self.bearer_file.is_some()),
            ("--header", "auth.headers", !self.header.is_empty()),
            (
                "--oauth-token-url",
                "auth.oauth",
                self.oauth_token_url.is_some(),
            ),
            ("--timeout", "timeout", self.timeout.is_some()),
        ];
        let typed = options.into_iter().filter(|(_, _, is_typed)| *is_typed);
        typed.map(|(option, field, _)| (option, field))
    }

    /// Returns the typed option that a refused field comes from, if any. The field may be a part of what the
    /// option is sent as, or the whole that it is a part of.
    fn option_of(&self, refused: &str) -> Option<&'static str> {
        let is_part = |part: &str, whole: &str| {
            let rest = part.strip_prefix(whole);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.options()
            .find(|(_, field)| is_part(field, refused) || is_part(refused, field))
            .map(|(option, _)| option)
    }

    /// Converts an error of the hub, with advice.
    fn refused(&self, error: &Error) -> CliError {
        let mut stop = CliError::from_hub(error, ErrorSubject::Remote);
        let Error::Refused { code, field, .. } = error else {
            return stop;
        };
        if let Some(option) = field.as_deref().and_then(|field| self.option_of(field)) {
            let text = format!("{option} cannot be used for {}: {}", self.target, stop.text);
            return CliError::new(stop.code, text, "correct or remove the option");
        }
        if code == Reason::NotFound.name() {
            stop.next = Some("--hub URL names another hub".to_owned());
            return stop;
        }
        if self.target.contains("://") {
            self.hint(&mut stop);
        }
        stop
    }

    /// Adds advice to an error: the URL may belong to a different kind of agent.
    fn hint(&self, stop: &mut CliError) {
        if cfg!(feature = "p2p") && stop.code == ExitKind::Missing {
            let next = stop.next.take().map(|next| format!("{next}\n"));
            stop.next = Some(format!(
                "{}an agent that speaks HTTP and has its card at /card needs: jackfield p2p sidecar --agent-url {}",
                next.unwrap_or_default(),
                shell::word(&self.target)
            ));
        }
    }

    fn body(&self) -> Result<Value> {
        let bearer_env = self.bearer_env.clone().map(SecretLocation::Env);
        let bearer_file = self.bearer_file.as_deref().map(file).transpose();
        let bearer_file = bearer_file.map_err(CliError::usage)?;
        let oauth = match (
            &self.oauth_token_url,
            &self.oauth_client_id,
            &self.oauth_client_secret,
        ) {
            (Some(token_url), Some(client_id), Some(client_secret)) => Some(OAuth {
                token_url: token_url.clone(),
                client_id: client_id.clone(),
                client_secret: client_secret.clone(),
                scope: self.oauth_scope.clone(),
            }),
            _ => None,
        };
        let auth = Auth {
            bearer: bearer_env.or(bearer_file),
            headers: self.header.clone(),
            oauth,
        };
        let mut body = json!({ "url": self.target, "keep": self.keep });
        // Only what was typed is sent: a protocol refuses options that it does not have.
        if auth != Auth::default() {
            body["auth"] = json!(auth);
        }
        if let Some(id) = &self.id {
            body["id"] = json!(id);
        }
        if let Some(protocol) = &self.protocol {
            body["protocol"] = json!(protocol);
        }
        if let Some(timeout) = self.timeout {
            body["timeout"] = json!(timeout);
        }
        Ok(body)
    }
}

/// Returns whether the address is that of a server with several agents, none of which was added.
fn has_several(error: &Error) -> bool {
    matches!(error, Error::Refused { cause: Some(cause), .. } if cause == Cause::OtherAddress.name())
}

/// Returns the facts about an added remote.
fn facts(remote: &Value) -> Vec<(&'static str, String)> {
    // A peer brings agents, and is none itself.
    if text(remote, "protocol") == "p2p" {
        return peer_facts(remote);
    }
    let mut facts = vec![("id", text(remote, "id").to_owned())];
    if remote["card"].is_object() {
        facts.push(("name", text(&remote["card"], "name").to_owned()));
    }
    facts.extend(remote_facts(remote));
    facts
}

/// Returns what to do with an added remote.
fn next_step(remote: &Value, flags: &str) -> String {
    let first = items(remote, "agents").first().and_then(Value::as_str);
    match (text(remote, "state"), first) {
        ("online", Some(agent)) => {
            let call = shell::command("call", &[agent], "hello", flags);
            format!("try it: {call}")
        }
        ("online", None) => {
            "it brought no agents: it may have none, or not let this hub call them".to_owned()
        }
        (_, Some(agent)) => {
            let show = shell::command("show", &[agent], "", flags);
            format!("the hub keeps retrying; {show} shows its state")
        }
        (_, None) => {
            let rm = shell::command("rm", &[text(remote, "url")], "", flags);
            format!("the hub keeps dialling it; {rm} removes it")
        }
    }
}

/// Returns an absolute path, because the hub runs in a different folder.
fn file(path: &Path) -> Result<SecretLocation, String> {
    let whole = std::path::absolute(path);
    let whole = whole.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(SecretLocation::File(whole))
}

/// Parses the location of a secret.
fn source(text: &str) -> Result<SecretLocation, String> {
    let (kind, rest) = text.split_once(':').unwrap_or_default();
    match kind.to_ascii_lowercase().as_str() {
        "env" if !rest.is_empty() => Ok(SecretLocation::Env(rest.to_owned())),
        "file" if !rest.is_empty() => file(Path::new(rest)),
        // The text is not repeated, because it may be the secret itself.
        _ => Err("write env:VAR or file:PATH; the secret itself does not belong here".to_owned()),
    }
}

fn header(text: &str) -> Result<(String, SecretLocation), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), source(value)?)),
        _ => Err("write NAME=env:VAR or NAME=file:PATH".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_named_and_not_typed() {
        let env = SecretLocation::Env("A".to_owned());
        assert_eq!(source("env:A"), Ok(env.clone()));
        assert_eq!(header("X-Key=ENV:A"), Ok(("X-Key".to_owned(), env)));
        assert_eq!(source("file:/a b"), Ok(SecretLocation::File("/a b".into())));
        assert!(matches!(source("file:a"), Ok(SecretLocation::File(path)) if path.is_absolute()));
        for bad in ["s3cret", "env:", "file:", "", "value:s3cret"] {
            let error = source(bad).unwrap_err();
            assert!(!error.contains("s3cret"), "{error}");
        }
        assert!(header("=env:A").is_err() && header("X").is_err());
    }
}
