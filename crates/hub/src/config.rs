//! Configuration of the hub. Flags override the environment, the environment overrides `jackfield.toml`, and
//! the file overrides the defaults. Unknown keys are errors, to reveal misspelt keys.

mod default_file;
#[cfg(not(feature = "p2p"))]
mod p2p;
mod team;

use std::{
    collections::HashSet,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use jackfield_bridge::SharedSecret;
use jackfield_core::limits::Limits;
use jackfield_kit::{
    auth::TokenlessAccess,
    dial::{self, DialTarget},
    door::{ConfigError, check_url},
    guard::{check_origin, is_loopback},
};
use serde::{Deserialize, Serialize};

use crate::doors::REMOTE_PROTOCOLS;

#[cfg(not(feature = "p2p"))]
pub use self::p2p::P2pConfig;
pub use self::{default_file::UntrustedConfigFile, team::TeamConfig};
pub use jackfield_a2a::Config as A2aConfig;
pub use jackfield_bridge::{BridgeLimits, FilesConfig};
pub use jackfield_openai::Config as OpenAiConfig;
#[cfg(feature = "p2p")]
pub use jackfield_p2p::Config as P2pConfig;
pub use jackfield_team::TeamLimits;

/// Default listen address: reachable from this machine only.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:7411";
/// Configuration file that is read from the working directory, if present.
pub const DEFAULT_FILE: &str = "jackfield.toml";

/// Keys of `[limits]` that stand in the section of their protocol now: the old key, the section, the new key.
const MOVED_LIMITS: [(&str, &str, &str); 9] = [
    ("team_ring", "teams", "ring"),
    ("team_tail", "teams", "tail"),
    ("team_rings", "teams", "rings"),
    ("team_rest", "teams", "rest"),
    ("team_members", "teams", "members"),
    ("board_tasks", "teams", "tasks"),
    ("relay_body", "bridge", "relay_body"),
    ("frame_of_end", "bridge", "frame_of_end"),
    ("session_pause", "bridge", "session_pause"),
];

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Human-readable lines.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Files of a certificate and its key, in PEM.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// Certificate chain.
    pub cert: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

/// Settings of the hub, one field per key of `jackfield.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HubConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Folder of the database and the secrets.
    pub data_dir: PathBuf,
    /// URL under which other machines reach the hub, if different from the listen address. A URL that leads
    /// beyond this machine makes tokens required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// Web origins that may use the hub from a browser.
    pub allowed_origins: Vec<String>,
    /// Further host names of the hub. A name beyond this machine makes tokens required.
    pub allowed_hosts: Vec<String>,
    /// Whether local programs need a token too.
    pub require_token: bool,
    /// Allows every client that can connect to do everything, on any address.
    pub insecure: bool,
    /// Base URL for every `callback_url` without a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_base: Option<String>,
    /// Origins that receive the platform's secret with callbacks.
    pub callback_trusted_origins: Vec<String>,
    /// Allows URLs from callers and agents to lead to this machine and to private networks.
    pub allow_private_outbound: bool,
    /// Accepted secrets of the platform, newest first, instead of those in the data directory. Not part of
    /// the file, because other users may read the file.
    #[serde(skip)]
    pub platform_secrets: Vec<SharedSecret>,
    /// Log filter, in the syntax of `tracing` filters.
    pub log: String,
    /// Format of log lines.
    pub log_format: LogFormat,
    /// TLS files; without them the hub serves plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsFiles>,
    /// Settings of the A2A protocol.
    pub a2a: A2aConfig,
    /// Settings of the OpenAI API.
    pub openai: OpenAiConfig,
    /// Settings of the hub as a libp2p peer.
    pub p2p: P2pConfig,
    /// Settings of file transfers.
    pub files: FilesConfig,
    /// [`Limits`] of the hub.
    pub limits: Limits,
    /// Limits of the bridge.
    #[serde(rename = "bridge")]
    pub bridge_limits: BridgeLimits,
    /// Limits of teams.
    #[serde(rename = "teams")]
    pub team_limits: TeamLimits,
    /// Remotes that the hub dials, by any protocol that dials. They belong to the owner `local`.
    #[serde(rename = "agent", skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<DialTarget>,
    /// Teams of the owner `local`.
    #[serde(rename = "team", skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<TeamConfig>,
}

impl Default for HubConfig {
    fn default() -> Self {
        Self {
            listen: DEFAULT_LISTEN.parse().expect("the default is an address"),
            data_dir: default_data_dir(),
            public_url: None,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            require_token: false,
            insecure: false,
            callback_base: None,
            callback_trusted_origins: Vec::new(),
            allow_private_outbound: false,
            platform_secrets: Vec::new(),
            log: "info".to_owned(),
            log_format: LogFormat::default(),
            tls: None,
            a2a: A2aConfig::default(),
            openai: OpenAiConfig::default(),
            p2p: P2pConfig::default(),
            files: FilesConfig::default(),
            limits: Limits::default(),
            bridge_limits: BridgeLimits::default(),
            team_limits: TeamLimits::default(),
            agents: Vec::new(),
            teams: Vec::new(),
        }
    }
}

/// Values from flags and environment, which override the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// See [`HubConfig::listen`].
    pub listen: Option<SocketAddr>,
    /// See [`HubConfig::data_dir`].
    pub data_dir: Option<PathBuf>,
    /// See [`HubConfig::public_url`].
    pub public_url: Option<String>,
    /// See [`HubConfig::require_token`].
    pub require_token: bool,
    /// See [`HubConfig::insecure`].
    pub insecure: bool,
    /// See [`HubConfig::allow_private_outbound`].
    pub allow_private_outbound: bool,
    /// See [`HubConfig::platform_secrets`].
    pub platform_secrets: Vec<SharedSecret>,
    /// See [`P2pConfig::relay`].
    pub relay: bool,
    /// See [`HubConfig::log`].
    pub log: Option<String>,
    /// See [`HubConfig::log_format`].
    pub log_format: Option<LogFormat>,
}

impl HubConfig {
    /// Reads the file and applies `overrides`. An explicitly named file must exist. The default file must
    /// belong to this user, else [`UntrustedConfigFile`] is returned.
    pub fn load(file: Option<&Path>, overrides: Overrides) -> Result<Self> {
        let here = Path::new(DEFAULT_FILE);
        let path = file.or_else(|| here.exists().then_some(here));
        let mut config = match path {
            Some(path) => {
                let text = match file {
                    Some(_) => std::fs::read_to_string(path),
                    None => default_file::read_trusted(path)?,
                };
                let text = text.with_context(|| format!("cannot read {}", path.display()))?;
                Self::parse(&text).with_context(|| format!("in {}", path.display()))?
            }
            None => Self::default(),
        };
        config.apply(overrides);
        config.check()?;
        Ok(config)
    }

    /// Parses the text of a configuration file.
    pub fn parse(text: &str) -> Result<Self> {
        refuse_moved_keys(text)?;
        toml::from_str(text).map_err(Into::into)
    }

    fn apply(&mut self, overrides: Overrides) {
        let Overrides {
            listen,
            data_dir,
            public_url,
            require_token,
            insecure,
            allow_private_outbound,
            platform_secrets,
            relay,
            log,
            log_format,
        } = overrides;
        self.listen = listen.unwrap_or(self.listen);
        self.data_dir = data_dir.unwrap_or_else(|| std::mem::take(&mut self.data_dir));
        self.public_url = public_url.or(self.public_url.take());
        self.require_token |= require_token;
        self.insecure |= insecure;
        self.allow_private_outbound |= allow_private_outbound;
        self.platform_secrets = platform_secrets;
        self.p2p.relay |= relay;
        self.log = log.unwrap_or_else(|| std::mem::take(&mut self.log));
        self.log_format = log_format.unwrap_or(self.log_format);
    }

    fn check(&self) -> Result<()> {
        let named = |key| move |url| (key, url);
        let urls = self.public_url.iter().map(named("public_url"));
        let urls = urls.chain(self.callback_base.iter().map(named("callback_base")));
        let origins = self.callback_trusted_origins.iter();
        for (key, url) in urls.chain(origins.map(named("callback_trusted_origins"))) {
            check_url(key, url)?;
        }
        for origin in &self.allowed_origins {
            check_origin("allowed_origins", origin)?;
        }
        if self.require_token && self.insecure {
            bail!("require_token and insecure exclude each other; remove one of them");
        }
        let mut ids = HashSet::new();
        self.remotes()?;
        for id in self.agents.iter().filter_map(|agent| agent.id.as_ref()) {
            if !ids.insert(id) {
                bail!("two [[agent]] have the id {id}; each needs its own");
            }
        }
        for team in &self.teams {
            team.to_spec()?;
            if !ids.insert(&team.id) {
                bail!(
                    "two of [[agent]] and [[team]] have the id {}; each needs its own",
                    team.id
                );
            }
        }
        self.p2p.check()?;
        self.files.check()?;
        let limits = &self.limits;
        if limits.pipe_low.0 >= limits.pipe_full.0 || limits.pipe_full.0 >= limits.pipe_overrun.0 {
            bail!(
                "limits.pipe_low must be below limits.pipe_full, and limits.pipe_full below limits.pipe_overrun"
            );
        }
        Ok(())
    }

    /// Returns the configuration of the bridge door.
    pub(crate) fn bridge(&self) -> jackfield_bridge::Config {
        jackfield_bridge::Config {
            platform_secrets: self.platform_secrets.clone(),
            callback_base: self.callback_base.clone(),
            callback_trusted_origins: self.callback_trusted_origins.clone(),
            files: self.files.clone(),
            limits: self.bridge_limits.clone(),
        }
    }

    /// Returns the remotes that the hub dials, each with its protocol named.
    pub(crate) fn remotes(&self) -> Result<Vec<DialTarget>, ConfigError> {
        dial::check_configured(REMOTE_PROTOCOLS, &self.agents)
    }

    /// Returns the URL under which other machines reach a hub that listens on `addr`.
    pub fn url(&self, addr: SocketAddr) -> String {
        let public = self.public_url.clone();
        public.unwrap_or_else(|| self.own_url(addr))
    }

    /// Returns the URL of the listen address itself. A proxy in front of the hub may have a different URL.
    pub fn own_url(&self, addr: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{addr}")
    }

    /// Returns which clients count as the owner `local` without a token. A hub with a name beyond this
    /// machine has a proxy or a tunnel in front, and forwarded requests look as if they came from this
    /// machine.
    pub fn trust(&self) -> TokenlessAccess {
        if self.insecure {
            TokenlessAccess::Everybody
        } else {
            let is_here_only = self.listen.ip().is_loopback() && !self.has_remote_name();
            (is_here_only && !self.require_token).into()
        }
    }

    /// Returns whether clients without a token count as the owner `local`; see [`HubConfig::trust`].
    pub fn allows_missing_token(&self) -> bool {
        self.trust() != TokenlessAccess::Nobody
    }

    fn has_remote_name(&self) -> bool {
        let uri = self.public_url.as_ref().map(|url| url.parse::<http::Uri>());
        let public = uri.map(|uri| uri.is_ok_and(|uri| uri.host().is_some_and(is_loopback)));
        let others = self.allowed_hosts.iter().map(|host| is_loopback(host));
        !public.into_iter().chain(others).all(|is_here| is_here)
    }
}

/// Refuses keys that stand in another section now, and names the new key.
fn refuse_moved_keys(text: &str) -> Result<()> {
    // Text that is no TOML is refused by the parser, with the place.
    let Ok(table) = text.parse::<toml::Table>() else {
        return Ok(());
    };
    let limits = table.get("limits").and_then(toml::Value::as_table);
    for (old, section, new) in MOVED_LIMITS {
        if limits.is_some_and(|limits| limits.contains_key(old)) {
            bail!("limits.{old} is {section}.{new} now; write {new} under [{section}]");
        }
    }
    Ok(())
}

/// Returns the address by which commands of this machine reach a hub that listens on `addr`.
pub fn local_addr(mut addr: SocketAddr) -> SocketAddr {
    if addr.ip().is_unspecified() {
        addr.set_ip(match addr {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    addr
}

/// Returns `$XDG_DATA_HOME/jackfield`, else `~/.local/share/jackfield`, else a folder in the working
/// directory.
fn default_data_dir() -> PathBuf {
    let from = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    from("XDG_DATA_HOME")
        .or_else(|| from("HOME").map(|home| home.join(".local/share")))
        .map_or_else(
            || PathBuf::from(".jackfield"),
            |data| data.join("jackfield"),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "p2p")]
    #[test]
    fn the_example_file_is_loaded_and_says_the_defaults() {
        let text = include_str!("../../../jackfield.example.toml");
        let example = HubConfig::parse(text).unwrap();
        assert_eq!(
            toml::to_string(&example).unwrap(),
            toml::to_string(&HubConfig::default()).unwrap()
        );
    }

    #[test]
    fn every_key_of_the_example_is_shown_commented_or_not() {
        let text = include_str!("../../../jackfield.example.toml");
        let config: toml::Table =
            toml::from_str(&toml::to_string(&HubConfig::default()).unwrap()).unwrap();
        let limits = config["limits"].as_table().unwrap();
        let p2p = config["p2p"].as_table().unwrap();
        let files = config["files"].as_table().unwrap();
        let teams = config["teams"].as_table().unwrap();
        let openai = config["openai"].as_table().unwrap();
        let tables = limits.keys().chain(p2p.keys()).chain(files.keys());
        let tables = tables.chain(openai.keys());
        let bridge = config["bridge"].as_table().unwrap();
        let tables = tables.chain(teams.keys()).chain(bridge.keys());
        for key in config.keys().chain(tables).chain(
            [
                "public_url",
                "callback_base",
                "tls",
                "cert",
                "key",
                "[[agent]]",
                "headers_env",
                "headers_file",
                "bearer_env",
                "bearer_file",
                "oauth",
                "share",
                "timeout",
                "[[p2p.endpoint]]",
            ]
            .map(String::from)
            .iter(),
        ) {
            assert!(text.contains(key), "{key} is not in the example file");
        }
    }

    #[test]
    fn a_limit_of_a_protocol_is_refused_in_its_old_place_with_the_new_one() {
        for (old, section, new) in MOVED_LIMITS {
            let text = format!("[limits]\n{old} = 1");
            let error = HubConfig::parse(&text).unwrap_err().to_string();
            let place = format!("{section}.{new}");
            assert!(error.contains(old) && error.contains(&place), "{error}");
        }
        let config = HubConfig::parse("[teams]\nmembers = 3").unwrap();
        assert_eq!(config.team_limits.members, 3);
        assert_eq!(config.team_limits.tasks, TeamLimits::default().tasks);
        assert!(HubConfig::parse("[teams]\nteam_ring = 1").is_err());
        let config = HubConfig::parse("[bridge]\nsession_pause = \"0s\"").unwrap();
        assert!(config.bridge_limits.session_pause.0.is_zero());
    }

    #[cfg(feature = "p2p")]
    #[test]
    fn the_silence_that_ends_words_of_peers_is_the_doors_own() {
        let silence = HubConfig::default().p2p.words_silence.0;
        assert_eq!(silence, jackfield_p2p::WORDS_SILENCE);
        let none = HubConfig::parse("[p2p]\nwords_silence = \"0s\"").unwrap();
        let error = none.check().unwrap_err().to_string();
        assert!(error.contains("p2p.words_silence"), "{error}");
    }

    #[cfg(not(feature = "p2p"))]
    #[test]
    fn a_program_without_libp2p_says_so_where_the_file_wants_it() {
        let checked = |text| HubConfig::parse(text).and_then(|config| config.check());
        let error = checked("[p2p]\nrelay = true").unwrap_err().to_string();
        assert!(error.contains("feature p2p"), "{error}");
        checked("").unwrap();
        checked("[p2p]\nenabled = false").unwrap();
    }

    #[test]
    fn a_hub_that_is_known_elsewhere_trusts_nobody_without_a_token() {
        for (text, trust) in [
            ("", TokenlessAccess::ThisMachine),
            ("listen = \"[::1]:7411\"", TokenlessAccess::ThisMachine),
            (
                "public_url = \"http://localhost:7411\"",
                TokenlessAccess::ThisMachine,
            ),
            (
                "public_url = \"http://[::1]:7411/x\"",
                TokenlessAccess::ThisMachine,
            ),
            (
                "allowed_hosts = [\"localhost\", \"127.0.0.1:80\"]",
                TokenlessAccess::ThisMachine,
            ),
            ("require_token = true", TokenlessAccess::Nobody),
            ("listen = \"0.0.0.0:7411\"", TokenlessAccess::Nobody),
            (
                "public_url = \"https://hub.example.com\"",
                TokenlessAccess::Nobody,
            ),
            (
                "public_url = \"http://localhost.example.com\"",
                TokenlessAccess::Nobody,
            ),
            (
                "public_url = \"http://192.168.1.2:7411\"",
                TokenlessAccess::Nobody,
            ),
            (
                "allowed_hosts = [\"localhost\", \"hub.lan\"]",
                TokenlessAccess::Nobody,
            ),
            (
                "public_url = \"https://hub.example.com\"\ninsecure = true",
                TokenlessAccess::Everybody,
            ),
        ] {
            assert_eq!(HubConfig::parse(text).unwrap().trust(), trust, "{text}");
        }
    }

    #[test]
    fn a_misspelt_key_is_named() {
        let error = HubConfig::parse("lisen = \"127.0.0.1:1\"")
            .unwrap_err()
            .to_string();
        assert!(error.contains("lisen"), "{error}");
        let error = HubConfig::parse("[limits]\npipe_fill = \"1MiB\"")
            .unwrap_err()
            .to_string();
        assert!(error.contains("pipe_fill"), "{error}");
        let error = HubConfig::parse("[limits]\nping = \"soon\"")
            .unwrap_err()
            .to_string();
        assert!(error.contains("duration"), "{error}");
    }

    #[test]
    fn the_remotes_of_the_example_are_as_shown() {
        let text = include_str!("../../../jackfield.example.toml");
        let shown = text.lines().skip_while(|line| *line != "# [[agent]]");
        let shown = shown.take_while(|line| !line.is_empty());
        let config = shown_by(shown);
        assert_eq!(config.agents.len(), 2, "{config:?}");
    }

    /// Parses lines of the example file after removing their comment marks.
    fn shown_by<'a>(lines: impl Iterator<Item = &'a str>) -> HubConfig {
        let lines = lines.map(|line| line.strip_prefix("# ").unwrap_or(line));
        let shown: String = lines.map(|line| format!("{line}\n")).collect();
        let config = HubConfig::parse(&shown).unwrap();
        config.check().unwrap();
        config
    }

    #[test]
    fn the_team_of_the_example_is_as_shown() {
        let text = include_str!("../../../jackfield.example.toml");
        let config = shown_by(text.lines().skip_while(|line| *line != "# [[team]]"));
        let [team] = &config.teams[..] else {
            panic!("{config:?}")
        };
        let (id, spec) = team.to_spec().unwrap();
        assert_eq!((id.as_str(), spec.members.len()), ("research", 3));
    }

    #[test]
    fn teams_that_cannot_be_meant_are_refused_by_name() {
        let refused = |text: &str| {
            let parsed = HubConfig::parse(text).and_then(|config| config.check());
            format!("{:#}", parsed.unwrap_err())
        };
        let team = |member: &str| {
            format!("[[team]]\nid = \"t\"\ncoordinator = \"a\"\nmembers = [{member}]\n")
        };
        let good = team("{ name = \"a\", agent = \"x\" }");
        for (text, why) in [
            (team("{ name = \"a\" }"), "one of agent and team"),
            (
                team("{ name = \"a\", agent = \"x\", team = \"y\" }"),
                "one of agent and team",
            ),
            (team("{ name = \"a\", agnt = \"x\" }"), "agnt"),
            (format!("{good}{good}"), "have the id t"),
        ] {
            let error = refused(&text);
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn remotes_that_cannot_be_meant_are_refused_by_name() {
        let refused = |text: &str| {
            let parsed = HubConfig::parse(text).and_then(|config| config.check());
            format!("{:#}", parsed.unwrap_err())
        };
        let url = "url = \"https://a.example\"";
        for (text, why) in [
            (format!("[[agent]]\n{url}"), "id"),
            (format!("[[agent]]\nid = \"a b\"\n{url}"), "a b"),
            (
                "[[agent]]\nid = \"far\"\nurl = \"a.example\"".to_owned(),
                "far",
            ),
            (
                format!("[[agent]]\nid = \"far\"\n{url}\ntoken = \"s3cret\""),
                "token",
            ),
            (
                format!("[[agent]]\nid = \"far\"\n{url}\nbearer_env = \"A\"\nbearer_file = \"b\""),
                "bearer_file",
            ),
            (
                format!("[[agent]]\nid = \"far\"\n{url}\n[[agent]]\nid = \"far\"\n{url}"),
                "two",
            ),
            (
                format!("[[agent]]\nid = \"far\"\n{url}\ntimeout = \"0s\""),
                "timeout",
            ),
        ] {
            let error = refused(&text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn flags_win_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        std::fs::write(&file, "listen = \"127.0.0.1:1\"\nlog = \"debug\"\n").unwrap();
        let listen = "127.0.0.1:2".parse().unwrap();
        let overrides = Overrides {
            listen: Some(listen),
            ..Overrides::default()
        };
        let config = HubConfig::load(Some(&file), overrides).unwrap();
        assert_eq!((config.listen, config.log.as_str()), (listen, "debug"));
    }

    #[test]
    fn origins_that_cannot_be_meant_are_refused_with_the_reason() {
        for (origin, why) in [
            ("*", "every web page"),
            ("https://a.example/app", "no path"),
        ] {
            let config = HubConfig::parse(&format!("allowed_origins = [{origin:?}]"));
            let error = config.unwrap().check().unwrap_err().to_string();
            assert!(
                error.contains("allowed_origins") && error.contains(why),
                "{error}"
            );
        }
        let config = HubConfig::parse("allowed_origins = [\"http://localhost:8000\"]");
        config.unwrap().check().unwrap();
    }

    #[test]
    fn nonsense_is_refused_before_the_start() {
        let overrides = |url: &str| Overrides {
            public_url: Some(url.to_owned()),
            ..Overrides::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        std::fs::write(&file, "").unwrap();
        assert!(HubConfig::load(Some(&file), overrides("not a url")).is_err());
        assert!(HubConfig::load(Some(&file), overrides("ftp://x")).is_err());
        assert!(HubConfig::load(Some(&file), overrides("https://hub.example.com/base")).is_ok());
        std::fs::write(&file, "callback_base = \"/hooks\"").unwrap();
        assert!(HubConfig::load(Some(&file), Overrides::default()).is_err());
        std::fs::write(&file, "require_token = true\ninsecure = true").unwrap();
        assert!(HubConfig::load(Some(&file), Overrides::default()).is_err());
        std::fs::write(&file, "[limits]\npipe_low = \"2MiB\"").unwrap();
        assert!(HubConfig::load(Some(&file), Overrides::default()).is_err());
    }
}
