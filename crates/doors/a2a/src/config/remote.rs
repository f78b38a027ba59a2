//! `[[agent]]`: a server that the hub dials.

use std::{collections::BTreeMap, path::PathBuf};

use jackfield_core::{agent::Share, units::Span};
use jackfield_kit::door::{ConfigError, check_url};
use jackfield_model::AgentId;
use serde::{Deserialize, Serialize};

use crate::{Auth, OAuth, RemoteSpec, Source};

/// A server that the hub dials. Secrets are named here, never held.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteConfig {
    /// The agent's id.
    pub id: AgentId,
    /// Its card, or the address below which that is.
    pub url: String,
    /// Headers that it is shown, by the variables of the environment that hold them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers_env: BTreeMap<String, String>,
    /// Headers that it is shown, by the files that hold them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers_file: BTreeMap<String, PathBuf>,
    /// The variable of the environment that holds a bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_env: Option<String>,
    /// The file that holds a bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_file: Option<PathBuf>,
    /// How a bearer token is fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OAuth>,
    /// Who else may see and call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// How long it may stay silent on a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

impl RemoteConfig {
    /// Checks what serde cannot.
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

    /// The agent and how it is dialled.
    pub(super) fn remote(&self) -> (AgentId, RemoteSpec) {
        let bearer_env = self.bearer_env.clone().map(Source::Env);
        let bearer_file = self.bearer_file.clone().map(Source::File);
        let from_env = self.headers_env.iter();
        let from_env = from_env.map(|(name, variable)| (name, Source::Env(variable.clone())));
        let from_file = self.headers_file.iter();
        let from_file = from_file.map(|(name, file)| (name, Source::File(file.clone())));
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
