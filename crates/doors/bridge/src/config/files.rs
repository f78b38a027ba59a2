//! Section `[files]`: file transfers between agents and their callers.

use std::fmt;

use jackfield_core::units::Size;
use jackfield_kit::door::ConfigError;
use serde::{Deserialize, Serialize, Serializer};

use crate::{FileRules, IceServer};

/// Replacement for a credential in displayed configuration.
const HIDDEN: &str = "(hidden)";
/// Allowed schemes of a server's address.
const SCHEMES: [&str; 4] = ["stun:", "stuns:", "turn:", "turns:"];

/// Settings for file transfers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilesConfig {
    /// Maximum size of an archive, announced to an agent or relayed through the hub.
    pub max_size: Size,
    /// Maximum number of archives relayed through the hub at once.
    pub max_relayed: usize,
    /// ICE servers for direct connections between the two parties of a transfer.
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

/// An ICE server for direct connections. Its credential is never displayed.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IceServerConfig {
    /// Addresses of the server, such as `stun:stun.example.com:3478`.
    pub urls: Vec<String>,
    /// User name at the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Password at the server.
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
    /// Checks the settings beyond the checks of serde.
    pub fn check(&self) -> Result<(), ConfigError> {
        for server in &self.ice_servers {
            let has_scheme = |url: &String| SCHEMES.iter().any(|scheme| url.starts_with(scheme));
            let wrong = server.urls.iter().find(|url| !has_scheme(url));
            let problem = if let Some(url) = wrong {
                format!(
                    "{url:?} in files.ice_servers must begin with stun:, stuns:, turn: or turns:"
                )
            } else if server.urls.is_empty() {
                "each of files.ice_servers needs urls".to_owned()
            } else if server.credential.as_deref() == Some(HIDDEN) {
                format!(
                    "the credential of {:?} in files.ice_servers was hidden by `jackfield config show`; write it again",
                    server.urls
                )
            } else {
                continue;
            };
            return Err(ConfigError(problem));
        }
        Ok(())
    }

    /// Converts the settings into [`FileRules`].
    pub(super) fn rules(&self) -> FileRules {
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
    use super::*;

    fn server(url: &str, credential: &str) -> FilesConfig {
        FilesConfig {
            ice_servers: vec![IceServerConfig {
                urls: vec![url.to_owned()],
                username: None,
                credential: Some(credential.to_owned()),
            }],
            ..FilesConfig::default()
        }
    }

    #[test]
    fn a_credential_goes_to_the_door_and_is_shown_to_nobody() {
        let config = server("turn:t.example.com", "hunter2");
        config.check().unwrap();
        let rules = config.rules();
        assert_eq!(rules.ice_servers[0].credential.as_deref(), Some("hunter2"));
        let json = serde_json::to_string(&config).unwrap();
        for shown in [format!("{config:?}"), format!("{rules:?}"), json.clone()] {
            assert!(shown.contains("turn:t.example.com"), "{shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        let read: FilesConfig = serde_json::from_str(&json).unwrap();
        let again = read.check().unwrap_err();
        assert!(again.to_string().contains("write it again"), "{again}");
    }

    #[test]
    fn servers_that_cannot_be_meant_are_refused_by_name() {
        let refused = server("http://x", "c").check().unwrap_err();
        assert!(refused.to_string().contains("must begin with"), "{refused}");
        let mut config = server("turn:t", "c");
        config.ice_servers[0].urls.clear();
        let refused = config.check().unwrap_err();
        assert!(refused.to_string().contains("needs urls"), "{refused}");
    }
}
