//! `[files]`: transfers of files between agents and their callers.

use std::fmt;

use anyhow::{Result, bail};
use jackfield_bridge::{FileRules, IceServer};
use jackfield_core::units::Size;
use serde::{Deserialize, Serialize, Serializer};

/// What stands in place of a credential where the configuration is shown.
const HIDDEN: &str = "(hidden)";
/// What the address of a server begins with.
const SCHEMES: [&str; 4] = ["stun:", "stuns:", "turn:", "turns:"];

/// Transfers of files.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilesConfig {
    /// The largest archive that is announced to an agent or goes through the hub.
    pub max_size: Size,
    /// How many archives go through the hub at once.
    pub max_relayed: usize,
    /// Servers that help two parties to a direct way.
    pub ice_servers: Vec<IceServerConfig>,
}

impl Default for FilesConfig {
    fn default() -> Self {
        let FileRules {
            max_size,
            max_relayed,
            ..
        } = FileRules::default();
        Self {
            max_size,
            max_relayed,
            ice_servers: Vec::new(),
        }
    }
}

/// A server that helps two parties to a direct way. Its credential is not shown.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IceServerConfig {
    /// Its addresses, such as `stun:stun.example.com:3478`.
    pub urls: Vec<String>,
    /// Who one is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// How one proves it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "hidden")]
    pub credential: Option<String>,
}

fn hidden<S: Serializer>(_: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(HIDDEN)
}

impl fmt::Debug for IceServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IceServerConfig")
            .field("urls", &self.urls)
            .finish_non_exhaustive()
    }
}

impl FilesConfig {
    pub(super) fn check(&self) -> Result<()> {
        for server in &self.ice_servers {
            let is_one = |url: &String| SCHEMES.iter().any(|scheme| url.starts_with(scheme));
            match server.urls.iter().find(|url| !is_one(url)) {
                Some(url) => bail!(
                    "{url:?} in files.ice_servers must begin with stun:, stuns:, turn: or turns:"
                ),
                None if server.urls.is_empty() => {
                    bail!("each of files.ice_servers needs urls");
                }
                None => {}
            }
            if server.credential.as_deref() == Some(HIDDEN) {
                bail!(
                    "the credential of {:?} in files.ice_servers was hidden by `jackfield config show`; write it again",
                    server.urls
                );
            }
        }
        Ok(())
    }

    /// What the door is told.
    pub(crate) fn rules(&self) -> FileRules {
        let servers = self.ice_servers.iter().cloned();
        FileRules {
            max_size: self.max_size,
            max_relayed: self.max_relayed,
            ice_servers: servers
                .map(|server| IceServer {
                    urls: server.urls,
                    username: server.username,
                    credential: server.credential,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    const TURN: &str = "[files]\nice_servers = [{ urls = [\"turn:t.example.com\"], username = \"u\", credential = \"hunter2\" }]";

    #[test]
    fn a_credential_goes_to_the_door_and_is_shown_to_nobody() {
        let config = Config::parse(TURN).unwrap();
        config.check().unwrap();
        let rules = config.files.rules();
        assert_eq!(rules.ice_servers[0].credential.as_deref(), Some("hunter2"));
        let shown = toml::to_string(&config).unwrap();
        for shown in [format!("{config:?}"), format!("{rules:?}"), shown.clone()] {
            assert!(shown.contains("turn:t.example.com"), "{shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        let again = Config::parse(&shown).unwrap().check().unwrap_err();
        assert!(again.to_string().contains("write it again"), "{again}");
    }

    #[test]
    fn servers_that_cannot_be_meant_are_refused_by_name() {
        for (text, why) in [
            ("urls = [\"http://x\"]", "must begin with"),
            ("urls = []", "needs urls"),
        ] {
            let text = format!("[files]\nice_servers = [{{ {text} }}]");
            let refused = Config::parse(&text).unwrap().check().unwrap_err();
            assert!(refused.to_string().contains(why), "{refused}");
        }
    }
}
