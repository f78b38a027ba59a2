//! The flags that all clients of a hub share, and the hub they lead to.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use clap::Args;
use http::Method;
use jackfield_model::AgentId;
use jackfield_sdk::{Address, Error, Hub, Trust};
use serde_json::Value;

use jackfield_hub::{
    address,
    assembly::ADMIN_TOKEN,
    config::{Config, DEFAULT_LISTEN, Overrides, local_addr},
};

use crate::{
    exit::{About, Code, Stop, WhatAbout},
    output, shell,
    shown::{self, Shown},
};

/// How long a hub may take for an answer that is no stream.
const PATIENCE: Duration = Duration::from_secs(30);

/// The flags of [`Client`] where they stand before the verb, from where they come to the verb that takes them.
#[derive(Debug, Args)]
#[allow(dead_code, reason = "what it reads comes to the verb")]
pub(crate) struct Early {
    #[arg(long, global = true, hide = true, value_parser = hub_url)]
    hub: Option<String>,
    #[arg(long, global = true, hide = true)]
    token_file: Option<PathBuf>,
    #[arg(long, global = true, hide = true)]
    ca: Option<String>,
    #[arg(long, global = true, hide = true)]
    json: bool,
}

/// Which hub, as whom, and how to answer.
#[derive(Debug, Args)]
#[command(next_help_heading = "Hub")]
pub(crate) struct Client {
    /// The hub [default: the one that runs with this user's data directory, else http://127.0.0.1:7411]
    #[arg(
        long,
        env = "JACKFIELD_HUB",
        value_name = "URL",
        hide_env_values = true,
        value_parser = hub_url
    )]
    hub: Option<String>,
    /// A file with the token to show; JACKFIELD_TOKEN holds one without a file
    #[arg(
        long,
        env = "JACKFIELD_TOKEN_FILE",
        value_name = "FILE",
        hide_env_values = true
    )]
    token_file: Option<PathBuf>,
    /// The hub's own CA, besides those that the system trusts: a PEM file; or sha256:HEX, the fingerprint of the only CA or
    /// certificate to trust
    #[arg(
        long,
        env = "JACKFIELD_CA",
        value_name = "FILE",
        hide_env_values = true
    )]
    ca: Option<String>,
    /// Print JSON: one object, or one per line where it streams
    #[arg(long)]
    pub(crate) json: bool,
}

impl Client {
    /// The hub. Nothing is asked of it yet, but to prove that it is the one with this machine's data directory.
    pub(crate) async fn connect(&self) -> Result<Hub> {
        let data_dir = own_data_dir();
        match self.named() {
            Some(url) => self.at(url, &data_dir, self.trust()?).await,
            None => {
                let here = format!("http://{DEFAULT_LISTEN}");
                self.local(&here, &data_dir).await
            }
        }
    }

    /// The hub at this address.
    pub(crate) async fn connect_to(&self, url: &str) -> Result<Hub> {
        self.at(url, &own_data_dir(), self.trust()?).await
    }

    /// The hub that was named, else the one that runs here with this configuration.
    pub(crate) async fn connect_or_local(&self, config: &Config) -> Result<Hub> {
        match self.named() {
            Some(url) => self.at(url, &config.data_dir, self.trust()?).await,
            None => {
                let configured = config.own_url(local_addr(config.listen));
                self.local(&configured, &config.data_dir).await
            }
        }
    }

    /// The hub that runs with this data directory; the one at `otherwise` if none does.
    async fn local(&self, otherwise: &str, data_dir: &Path) -> Result<Hub> {
        let trust = self.trust()?;
        let Some(found) = address::find(data_dir) else {
            return self.at(otherwise, data_dir, trust).await;
        };
        let trust = match &found.certificate {
            Some(fingerprint) => Trust::from_ca(fingerprint)?,
            None => trust,
        };
        self.at(&found.url, data_dir, trust).await
    }

    /// The hub at this address, shown the token that was given, else the administrator's of the hub with this data
    /// directory, if it is that hub.
    async fn at(&self, url: &str, data_dir: &Path, trust: Trust) -> Result<Hub> {
        let address = Address::new(url)?.with_trust(trust);
        if let Some((token, from)) = self.given()? {
            shown::note(Shown::Given(from));
            return Ok(Hub::new(address.with_token(token))?);
        }
        let hub = Hub::new(address.clone())?;
        let file = data_dir.join(ADMIN_TOKEN);
        // Whoever may read the hub's own files is its administrator; another hub must not see that token.
        let Some(token) = admin_token(&file) else {
            shown::note(Shown::Nothing { file });
            return Ok(hub);
        };
        match shown::prove(&hub, &token).await {
            Ok(()) => {
                shown::note(Shown::Admin { file });
                Ok(Hub::new(address.with_token(token))?)
            }
            Err(why) => {
                shown::note(Shown::Withheld { file, why });
                Ok(hub)
            }
        }
    }

    /// The token that was given, and how.
    fn given(&self) -> Result<Option<(String, String)>> {
        let file = self.token_file.as_ref();
        if let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read the token in {}", file.display()))
                .map_err(|error| Stop::usage(format!("{error:#}; name a file that holds one")))?;
            let token = text.trim();
            if token.is_empty() || token.contains(char::is_whitespace) {
                let text = format!(
                    "{} does not hold one token and nothing else",
                    file.display()
                );
                return Err(Stop::new(
                    Code::Usage,
                    text,
                    "jackfield token create prints one that can be saved there",
                )
                .into());
            }
            warn_if_shared(file);
            let from_env = std::env::var_os("JACKFIELD_TOKEN_FILE").map(PathBuf::from);
            let how = if from_env.as_ref() == Some(file) {
                "JACKFIELD_TOKEN_FILE names"
            } else {
                "--token-file names"
            };
            return Ok(Some((
                token.to_owned(),
                format!("in {}, which {how}", file.display()),
            )));
        }
        let from_env = std::env::var("JACKFIELD_TOKEN").ok();
        let token = from_env.filter(|token| !token.trim().is_empty());
        Ok(token.map(|token| (token.trim().to_owned(), "in JACKFIELD_TOKEN".to_owned())))
    }

    /// Which certificates of the hub are trusted.
    pub(crate) fn trust(&self) -> Result<Trust> {
        match self.ca.as_deref().filter(|ca| !ca.trim().is_empty()) {
            None => Ok(Trust::default()),
            Some(ca) => Ok(Trust::from_ca(ca).map_err(|error| {
                let text = format!("--ca (or JACKFIELD_CA): {error}");
                Stop::new(Code::Usage, text, error.remedy())
            })?),
        }
    }

    /// The hub that somebody named.
    pub(crate) fn named(&self) -> Option<&str> {
        self.hub.as_deref().filter(|hub| !hub.is_empty())
    }

    /// The flags to repeat in a command that somebody is told to type.
    pub(crate) fn flags(&self) -> String {
        let mut flags = String::new();
        let from_env = std::env::var("JACKFIELD_HUB").ok();
        let from_env = from_env.and_then(|hub| hub_url(&hub).ok());
        if let Some(hub) = &self.hub
            && from_env.as_ref() != Some(hub)
        {
            flags += &format!(" --hub {}", shell::word(hub));
        }
        let from_env = std::env::var_os("JACKFIELD_TOKEN_FILE").map(PathBuf::from);
        if let Some(file) = &self.token_file
            && from_env.as_ref() != Some(file)
        {
            flags += &format!(" --token-file {}", shell::word(&file.to_string_lossy()));
        }
        let from_env = std::env::var("JACKFIELD_CA").ok();
        if let Some(ca) = &self.ca
            && from_env.as_ref() != Some(ca)
        {
            flags += &format!(" --ca {}", shell::word(ca));
        }
        flags
    }
}

/// Warns of a file with a token that other users of this machine can read. It is used all the same: what mounts secrets
/// into containers often makes them so.
fn warn_if_shared(file: &Path) {
    let metadata = std::fs::metadata(file)
        .ok()
        .filter(std::fs::Metadata::is_file);
    if metadata.is_some_and(|it| it.permissions().mode() & 0o077 != 0) {
        let file = shell::word(&file.display().to_string());
        output::chat(&format!(
            "warning: other users can read the token in {file}; run: chmod 600 {file}"
        ));
    }
}

/// The URL of a hub as it was typed: also `HOST:PORT`, and the address that agents connect to. What is none is told
/// when the hub is needed.
#[allow(
    clippy::unnecessary_wraps,
    reason = "a parser of arguments may refuse them"
)]
fn hub_url(text: &str) -> Result<String, std::convert::Infallible> {
    let text = text.trim();
    let mut schemes = [("ws://", "http://"), ("wss://", "https://")].into_iter();
    let socket = schemes.find_map(|(ws, http)| Some((text.strip_prefix(ws)?, http)));
    if let Some((rest, http)) = socket {
        let rest = rest.split('?').next().unwrap_or_default();
        let rest = rest.trim_end_matches('/');
        return Ok(format!(
            "{http}{}",
            rest.strip_suffix("/ws").unwrap_or(rest)
        ));
    }
    let port = text.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    let is_bare = !text.contains('/') && matches!(port, Some(Ok(_)));
    Ok(if is_bare {
        format!("http://{text}")
    } else {
        text.to_owned()
    })
}

/// The data directory of the hub that `jackfield serve` would start here.
pub(crate) fn own_data_dir() -> PathBuf {
    let named = std::env::var_os("JACKFIELD_DATA_DIR").map(PathBuf::from);
    data_dir(named.as_ref())
}

/// The data directory of the hub that would be started here.
pub(crate) fn data_dir(named: Option<&PathBuf>) -> PathBuf {
    let overrides = Overrides {
        data_dir: named.cloned(),
        ..Overrides::default()
    };
    let file = std::env::var_os("JACKFIELD_CONFIG").filter(|file| !file.is_empty());
    match Config::load(file.as_ref().map(Path::new), overrides) {
        Ok(config) => config.data_dir,
        // The file is somebody else's trouble: `config check` tells.
        Err(_) => named.cloned().unwrap_or_else(|| Config::default().data_dir),
    }
}

fn admin_token(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

/// Asks a hub for JSON, once and not for ever.
pub(crate) async fn ask(
    hub: &Hub,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, Error> {
    ask_within(PATIENCE, hub, method, path, body).await
}

/// Asks a hub for JSON, where it may take its time.
pub(crate) async fn ask_within(
    patience: Duration,
    hub: &Hub,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, Error> {
    match tokio::time::timeout(patience, hub.request(method, path, body)).await {
        Ok(answer) => answer,
        Err(_) => Err(Error::Failed {
            code: "timeout".to_owned(),
            message: format!("the hub did not answer within {} s", patience.as_secs()),
        }),
    }
}

/// Asks a hub for JSON that is about something.
pub(crate) async fn get(hub: &Hub, path: &str, about: About) -> Result<Value> {
    Ok(ask(hub, Method::GET, path, None).await.about(about)?)
}

/// An agent's id as it was typed. What cannot be one is refused before the hub is asked.
pub(crate) fn agent_id(text: &str) -> Result<String, String> {
    AgentId::parse(text)
        .map(|id| id.to_string())
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_may_be_named_by_host_and_port_or_by_its_socket() {
        for (typed, url) in [
            ("127.0.0.1:21100", "http://127.0.0.1:21100"),
            ("[::1]:7411", "http://[::1]:7411"),
            ("hub.lan:80", "http://hub.lan:80"),
            ("ws://127.0.0.1:21100/ws", "http://127.0.0.1:21100"),
            (
                "wss://hub.example.com/base/ws?agent_id=x",
                "https://hub.example.com/base",
            ),
            (
                "https://hub.example.com/base",
                "https://hub.example.com/base",
            ),
            ("nonsense", "nonsense"),
            ("", ""),
        ] {
            assert_eq!(hub_url(typed).unwrap(), url);
        }
    }
}
