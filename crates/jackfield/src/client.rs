//! The flags that all clients of a hub share, and the hub they lead to.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result};
use clap::Args;
use http::Method;
use jackfield_kit::guard::is_loopback;
use jackfield_model::AgentId;
use jackfield_sdk::{Address, Error, Hub, Trust};
use serde_json::Value;

use jackfield_hub::{
    assembly::ADMIN_TOKEN,
    config::{Config, DEFAULT_LISTEN, Overrides, local_addr},
};

use crate::{
    config_file,
    exit::{About, Code, Stop, WhatAbout},
    local::LocalHub,
    output, shell,
    shown::{self, Shown, Unproved},
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
    /// The hub [default: the one that runs with this user's data directory, else this user's at http://127.0.0.1:7411]
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
        let data_dir = own_data_dir()?;
        match self.named() {
            Some(url) => self.at(url, &data_dir).await,
            None => {
                let here = format!("http://{DEFAULT_LISTEN}");
                self.local(&here, &data_dir).await
            }
        }
    }

    /// The hub at this address, which an earlier command used. Whoever means another user's hub names it again.
    pub(crate) async fn connect_to(&self, url: &str) -> Result<Hub> {
        let data_dir = own_data_dir()?;
        if self.named().is_some() || !is_here(url) {
            return self.at(url, &data_dir).await;
        }
        let found = LocalHub::at(&data_dir, self.trust()?, url)?;
        self.checked(found, &data_dir).await
    }

    /// The hub that was named, else the one that runs here with this configuration.
    pub(crate) async fn connect_or_local(&self, config: &Config) -> Result<Hub> {
        match self.named() {
            Some(url) => self.at(url, &config.data_dir).await,
            None => {
                let configured = config.own_url(local_addr(config.listen));
                self.local(&configured, &config.data_dir).await
            }
        }
    }

    /// The hub that runs with this data directory; the one at `otherwise` if none does. Nobody named it, so it has to prove
    /// itself or be this user's own.
    async fn local(&self, otherwise: &str, data_dir: &Path) -> Result<Hub> {
        let found = LocalHub::find(data_dir, self.trust()?, otherwise)?;
        self.checked(found, data_dir).await
    }

    async fn checked(&self, found: (Arc<LocalHub>, Address), data_dir: &Path) -> Result<Hub> {
        let (local, address) = found;
        let proof = match local.admin_token() {
            Some(token) => Some(local.prove(&address, &token).await.map(|()| token)),
            None => None,
        };
        if address.base().starts_with("https://") {
            local.precheck(&address).await?;
        }
        Self::show_token(
            address.with_discovery(local),
            data_dir,
            self.given()?,
            proof,
        )
    }

    /// The hub at this address, which somebody named.
    async fn at(&self, url: &str, data_dir: &Path) -> Result<Hub> {
        let address = Address::new(url)?.with_trust(self.trust()?);
        let given = self.given()?;
        let proof = match shown::admin_token(data_dir) {
            // One that was given is shown instead.
            Some(token) if given.is_none() => {
                let hub = Hub::new(address.clone())?;
                Some(shown::prove(&hub, &token).await.map(|()| token))
            }
            _ => None,
        };
        Self::show_token(address, data_dir, given, proof)
    }

    /// The hub at this address, shown the token that was given, else the administrator's of this data directory, if the hub
    /// has proved to be the one with it.
    fn show_token(
        address: Address,
        data_dir: &Path,
        given: Option<(String, String)>,
        proof: Option<Result<String, Unproved>>,
    ) -> Result<Hub> {
        if let Some((token, from)) = given {
            shown::note(Shown::Given(from));
            warn_if_readable(&address);
            return Ok(Hub::new(address.with_token(token))?);
        }
        let file = data_dir.join(ADMIN_TOKEN);
        // Whoever may read the hub's own files is its administrator; another hub must not see that token.
        let address = match proof {
            Some(Ok(token)) => {
                shown::note(Shown::Admin { file });
                address.with_token(token)
            }
            Some(Err(why)) => {
                shown::note(Shown::Withheld { file, why });
                address
            }
            None => {
                shown::note(Shown::Nothing { file });
                address
            }
        };
        Ok(Hub::new(address)?)
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
        let from_env = std::env::var_os("JACKFIELD_TOKEN_FILE").map(PathBuf::from);
        let token = match &self.token_file {
            Some(file) if from_env.as_ref() != Some(file) => {
                format!(" --token-file {}", shell::word(&file.to_string_lossy()))
            }
            _ => String::new(),
        };
        self.hub_flags() + &token
    }

    /// The same without the token: for somebody who has another.
    pub(crate) fn hub_flags(&self) -> String {
        let mut flags = String::new();
        let from_env = std::env::var("JACKFIELD_HUB").ok();
        let from_env = from_env.and_then(|hub| hub_url(&hub).ok());
        if let Some(hub) = &self.hub
            && from_env.as_ref() != Some(hub)
        {
            flags += &format!(" --hub {}", shell::word(hub));
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

/// Warns, once, of a token that goes unencrypted to another machine.
pub(crate) fn warn_if_readable(address: &Address) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if is_readable_on_the_way(address.base()) && !WARNED.swap(true, Ordering::Relaxed) {
        output::chat(&format!(
            "warning: the token goes to {} unencrypted, so that whoever is on the way can read it; use https://",
            output::clean(address.base())
        ));
    }
}

/// Whether what is sent to this URL leaves the machine unencrypted.
fn is_readable_on_the_way(url: &str) -> bool {
    url.starts_with("http://") && !is_here(url)
}

/// Whether a URL leads to a loopback address of this machine.
pub(crate) fn is_here(url: &str) -> bool {
    let uri: Option<http::Uri> = url.parse().ok();
    uri.is_some_and(|uri| uri.host().is_some_and(is_loopback))
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
pub(crate) fn own_data_dir() -> Result<PathBuf, Stop> {
    let named = std::env::var_os("JACKFIELD_DATA_DIR").map(PathBuf::from);
    data_dir(named.as_ref())
}

/// The data directory of the hub that would be started here.
pub(crate) fn data_dir(named: Option<&PathBuf>) -> Result<PathBuf, Stop> {
    let overrides = Overrides {
        data_dir: named.cloned(),
        ..Overrides::default()
    };
    let file = std::env::var_os("JACKFIELD_CONFIG").filter(|file| !file.is_empty());
    match config_file::load(file.as_ref().map(Path::new), overrides) {
        Ok(config) => Ok(config.data_dir),
        Err(error) => match error.downcast::<Stop>() {
            // A file that is not to be believed decides nothing.
            Ok(stop) => Err(stop),
            // The file is somebody else's trouble: `config check` tells.
            Err(_) => Ok(named.cloned().unwrap_or_else(|| Config::default().data_dir)),
        },
    }
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
            cause: None,
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

    #[test]
    fn addresses_that_lead_here_only_are_known() {
        for here in [
            "http://127.0.0.1:7411/x",
            "http://[::1]:1/x",
            "http://localhost/x",
        ] {
            assert!(is_here(here), "{here}");
        }
        for elsewhere in [
            "https://hub.example/x",
            "http://10.0.0.5:7411/x",
            "http://[2a00::1]/x",
        ] {
            assert!(!is_here(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn only_what_leaves_the_machine_unencrypted_can_be_read_on_the_way() {
        for (url, is_readable) in [
            ("http://hub.lan:7411", true),
            ("http://192.168.1.5:7411", true),
            ("https://hub.lan", false),
            ("http://127.0.0.1:7411", false),
            ("http://localhost:7411", false),
            ("http://[::1]:7411", false),
        ] {
            assert_eq!(is_readable_on_the_way(url), is_readable, "{url}");
        }
    }
}
