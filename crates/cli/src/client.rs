//! Flags that all clients of a hub share ([`Client`]), and the connection to the hub.

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
use jackfield_sdk::{Error, Hub, HubAddress, TlsTrust};
use serde_json::Value;

use jackfield_hub::{
    assembly::ADMIN_TOKEN,
    config::{DEFAULT_LISTEN, HubConfig, Overrides, local_addr},
};

use crate::{
    config_file,
    exit::{CliError, ErrorSubject, ExitKind, WithErrorSubject},
    local::LocalHub,
    output,
    sent_token::{self, ProofFailure, SentToken},
    shell,
};

/// Time limit for a response that is not a stream.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Flags of [`Client`] that were typed before the command name. clap passes them on to the command.
#[derive(Debug, Args)]
#[allow(dead_code, reason = "what it reads comes to the verb")]
pub(crate) struct LeadingFlags {
    #[arg(long, global = true, hide = true, value_parser = hub_url)]
    hub: Option<String>,
    #[arg(long, global = true, hide = true)]
    token_file: Option<PathBuf>,
    #[arg(long, global = true, hide = true)]
    ca: Option<String>,
    #[arg(long, global = true, hide = true)]
    json: bool,
}

/// Which hub to use, which token to send, and how to print.
#[derive(Debug, Args)]
#[command(next_help_heading = "Hub")]
pub(crate) struct Client {
    /// Use this hub [default: the hub of this user's data directory, else http://127.0.0.1:7411 if it is run
    /// by this user]
    #[arg(
        long,
        env = "JACKFIELD_HUB",
        value_name = "URL",
        hide_env_values = true,
        value_parser = hub_url
    )]
    hub: Option<String>,
    /// Send the token in this file; JACKFIELD_TOKEN holds a token without a file
    #[arg(
        long,
        env = "JACKFIELD_TOKEN_FILE",
        value_name = "FILE",
        hide_env_values = true
    )]
    token_file: Option<PathBuf>,
    /// Trust the hub's own CA, besides the system's: a PEM file; or sha256:HEX, the fingerprint of the only
    /// CA or certificate to trust
    #[arg(
        long,
        env = "JACKFIELD_CA",
        value_name = "FILE",
        hide_env_values = true
    )]
    ca: Option<String>,
    /// Print JSON: one object, or one per line for streams
    #[arg(long)]
    pub(crate) json: bool,
}

impl Client {
    /// Returns the [`Hub`]. No request is sent yet, except for the proof that the hub uses this machine's
    /// data directory.
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

    /// Returns the [`Hub`] at the address that an earlier command used. The hub of another user must be named
    /// again with `--hub`.
    pub(crate) async fn connect_to(&self, url: &str) -> Result<Hub> {
        let data_dir = own_data_dir()?;
        if self.named().is_some() || !is_loopback_url(url) {
            return self.at(url, &data_dir).await;
        }
        let found = LocalHub::at(&data_dir, self.trust()?, url)?;
        self.checked(found, &data_dir).await
    }

    /// Returns the named [`Hub`], else the hub that runs here with this configuration.
    pub(crate) async fn connect_or_local(&self, config: &HubConfig) -> Result<Hub> {
        match self.named() {
            Some(url) => self.at(url, &config.data_dir).await,
            None => {
                let configured = config.own_url(local_addr(config.listen));
                self.local(&configured, &config.data_dir).await
            }
        }
    }

    /// Returns the [`Hub`] that runs with this data directory, or the hub at `otherwise` if none runs. The user
    /// did not name the hub, so the hub must prove its identity or run as this user.
    async fn local(&self, otherwise: &str, data_dir: &Path) -> Result<Hub> {
        let found = LocalHub::find(data_dir, self.trust()?, otherwise)?;
        self.checked(found, data_dir).await
    }

    async fn checked(&self, found: (Arc<LocalHub>, HubAddress), data_dir: &Path) -> Result<Hub> {
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
            self.given_token()?,
            proof,
        )
    }

    /// Returns the [`Hub`] at the address that the user named.
    async fn at(&self, url: &str, data_dir: &Path) -> Result<Hub> {
        let address = HubAddress::new(url)?.with_trust(self.trust()?);
        let given = self.given_token()?;
        let proof = match sent_token::admin_token(data_dir) {
            // An explicitly given token takes precedence.
            Some(token) if given.is_none() => {
                let hub = Hub::new(address.clone())?;
                Some(sent_token::prove(&hub, &token).await.map(|()| token))
            }
            _ => None,
        };
        Self::show_token(address, data_dir, given, proof)
    }

    /// Returns the [`Hub`] at this address, with a token: the given token, else the administrator's token of this
    /// data directory if the hub has proved its identity.
    fn show_token(
        address: HubAddress,
        data_dir: &Path,
        given: Option<(String, String)>,
        proof: Option<Result<String, ProofFailure>>,
    ) -> Result<Hub> {
        if let Some((token, from)) = given {
            sent_token::record(SentToken::Given(from));
            warn_if_readable(&address);
            return Ok(Hub::new(address.with_token(token))?);
        }
        let file = data_dir.join(ADMIN_TOKEN);
        // A user who may read the hub's own files is an administrator. A different hub must not see the
        // token.
        let address = match proof {
            Some(Ok(token)) => {
                sent_token::record(SentToken::Admin { file });
                address.with_token(token)
            }
            Some(Err(why)) => {
                sent_token::record(SentToken::Withheld { file, why });
                address
            }
            None => {
                sent_token::record(SentToken::Nothing { file });
                address
            }
        };
        Ok(Hub::new(address)?)
    }

    /// Returns the explicitly given token, with a description of the source.
    fn given_token(&self) -> Result<Option<(String, String)>> {
        let file = self.token_file.as_ref();
        if let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read the token in {}", file.display()))
                .map_err(|error| {
                    CliError::usage(format!("{error:#}; name a file that holds a token"))
                })?;
            let token = text.trim();
            if token.is_empty() || token.contains(char::is_whitespace) {
                let text = format!("{} must hold one token and nothing else", file.display());
                return Err(CliError::new(
                    ExitKind::Usage,
                    text,
                    "save the output of jackfield token create there",
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

    /// Returns which certificates of the hub are trusted, as [`TlsTrust`].
    pub(crate) fn trust(&self) -> Result<TlsTrust> {
        match self.ca.as_deref().filter(|ca| !ca.trim().is_empty()) {
            None => Ok(TlsTrust::default()),
            Some(ca) => Ok(TlsTrust::from_ca(ca).map_err(|error| {
                let text = format!("--ca (or JACKFIELD_CA): {error}");
                CliError::new(ExitKind::Usage, text, error.remedy())
            })?),
        }
    }

    /// Returns the hub's URL that the user named.
    pub(crate) fn named(&self) -> Option<&str> {
        self.hub.as_deref().filter(|hub| !hub.is_empty())
    }

    /// Returns the flags to repeat in a command that the user is told to type.
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

    /// Returns [`Client::flags`] without the token, for a different user with a different token.
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

/// Warns of a token file that other users of this machine can read. The token is used all the same, because
/// mounted secrets in containers often have such a mode.
fn warn_if_shared(file: &Path) {
    let metadata = std::fs::metadata(file)
        .ok()
        .filter(std::fs::Metadata::is_file);
    if metadata.is_some_and(|it| it.permissions().mode() & 0o077 != 0) {
        let file = shell::word(&file.display().to_string());
        output::print_message(&format!(
            "warning: other users can read the token in {file}; run: chmod 600 {file}"
        ));
    }
}

/// Warns, once, of a token that is sent unencrypted to a different machine.
pub(crate) fn warn_if_readable(address: &HubAddress) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if is_readable_on_the_way(address.base()) && !WARNED.swap(true, Ordering::Relaxed) {
        output::print_message(&format!(
            "warning: the token is sent to {} unencrypted, so others on the network can read it; use https://",
            output::clean(address.base())
        ));
    }
}

/// Returns whether data to this URL leave the machine unencrypted.
fn is_readable_on_the_way(url: &str) -> bool {
    url.starts_with("http://") && !is_loopback_url(url)
}

/// Returns whether a URL leads to a loopback address of this machine.
pub(crate) fn is_loopback_url(url: &str) -> bool {
    let uri: Option<http::Uri> = url.parse().ok();
    uri.is_some_and(|uri| uri.host().is_some_and(is_loopback))
}

/// Parses the URL of a hub as typed. Also accepts `HOST:PORT`, and the WebSocket address that agents connect
/// to. An invalid URL is reported later, when the hub is needed.
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

/// Returns the data directory of the hub that `jackfield serve` would start here.
pub(crate) fn own_data_dir() -> Result<PathBuf, CliError> {
    let named = std::env::var_os("JACKFIELD_DATA_DIR").map(PathBuf::from);
    data_dir(named.as_ref())
}

/// Returns the data directory of the hub that would be started here; `named` overrides the configuration.
pub(crate) fn data_dir(named: Option<&PathBuf>) -> Result<PathBuf, CliError> {
    let overrides = Overrides {
        data_dir: named.cloned(),
        ..Overrides::default()
    };
    let file = std::env::var_os("JACKFIELD_CONFIG").filter(|file| !file.is_empty());
    match config_file::load(file.as_ref().map(Path::new), overrides) {
        Ok(config) => Ok(config.data_dir),
        Err(error) => match error.downcast::<CliError>() {
            // An untrusted configuration file must decide nothing.
            Ok(stop) => Err(stop),
            // A broken configuration file is not this command's concern; `config check` reports the problem.
            Err(_) => Ok(named
                .cloned()
                .unwrap_or_else(|| HubConfig::default().data_dir)),
        },
    }
}

/// Requests JSON from a [`Hub`], with the usual time limit.
pub(crate) async fn request(
    hub: &Hub,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, Error> {
    request_within(REQUEST_TIMEOUT, hub, method, path, body).await
}

/// Requests JSON from a [`Hub`], with a time limit of `patience`.
pub(crate) async fn request_within(
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

/// Requests JSON from a [`Hub`]; `about` selects the advice in an error.
pub(crate) async fn get(hub: &Hub, path: &str, about: ErrorSubject) -> Result<Value> {
    Ok(request(hub, Method::GET, path, None).await.about(about)?)
}

/// Parses an [`AgentId`] as typed. An invalid id is refused before any request to the hub.
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
            assert!(is_loopback_url(here), "{here}");
        }
        for elsewhere in [
            "https://hub.example/x",
            "http://10.0.0.5:7411/x",
            "http://[2a00::1]/x",
        ] {
            assert!(!is_loopback_url(elsewhere), "{elsewhere}");
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
