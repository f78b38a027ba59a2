//! Section `[[agent]]` of the configuration file: a remote server.

use std::{collections::BTreeMap, path::PathBuf};

use jackfield_core::{agent::Share, units::Span};
use jackfield_kit::door::{ConfigError, check_url};
use jackfield_model::AgentId;
use serde::{Deserialize, Serialize};

use crate::{Auth, OAuth, RemoteSpec, SecretLocation};

/// Remote server. The configuration names the secrets and never contains them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteConfig {
    /// Agent id.
    pub id: AgentId,
    /// URL of the remote's card, or the address above the card.
    pub url: String,
    /// Headers for the remote, by the environment variables that contain the values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers_env: BTreeMap<String, String>,
    /// Headers for the remote, by the files that contain the values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers_file: BTreeMap<String, PathBuf>,
    /// Environment variable that contains a bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_env: Option<String>,
    /// File that contains a bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_file: Option<PathBuf>,
    /// Settings for fetching a bearer token, see [`OAuth`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OAuth>,
    /// Sharing of the agent with other owners, see [`Share`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Timeout for a silent remote during a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

impl RemoteConfig {
    /// Checks conditions that serde cannot express.
    pub fn check(&self) -> Result<(), ConfigError> {
        let id = &self.id;
        check_url(&format!("url of [[agent]] {id}"), &self.url)?;
        let tokens = [
            self.bearer_env.is_some(),
            self.bearer_file.is_some(),
            self.oauth.is_some(),
        ];
        if tokens.iter().filter(|is_said| **is_said).count() > 1 {
            let text = format!(
                "[[agent]] {id} needs one of bearer_env, bearer_file and oauth, not several"
            );
            return Err(ConfigError(text));
        }
        if self.timeout.is_some_and(|timeout| timeout.0.is_zero()) {
            let text = format!("timeout of [[agent]] {id} must be longer than nothing");
            return Err(ConfigError(text));
        }
        Ok(())
    }

    /// Returns the agent id and the description for dialling.
    pub(super) fn remote(&self) -> (AgentId, RemoteSpec) {
        let bearer_env = self.bearer_env.clone().map(SecretLocation::Env);
        let bearer_file = self.bearer_file.clone().map(SecretLocation::File);
        let from_env = self.headers_env.iter();
        let from_env =
            from_env.map(|(name, variable)| (name, SecretLocation::Env(variable.clone())));
        let from_file = self.headers_file.iter();
        let from_file = from_file.map(|(name, file)| (name, SecretLocation::File(file.clone())));
        let headers = from_env.chain(from_file);
        let spec = RemoteSpec {
            url: self.url.clone(),
            auth: Auth {
                bearer: bearer_env.or(bearer_file),
                headers: headers.map(|(name, it)| (name.clone(), it)).collect(),
                oauth: self.oauth.clone(),
            },
            timeout: self.timeout,
            share: self.share.clone(),
        };
        (self.id.clone(), spec)
    }
}
