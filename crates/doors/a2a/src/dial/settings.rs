//! A2A servers among the protocols that the hub dials: their addresses, and the settings of a server in
//! `[[agent]]` of the configuration file and in `POST /v1/remotes`. Settings name secrets and never contain them.

use std::{collections::BTreeMap, path::PathBuf};

use jackfield_core::{agent::Share, units::Span};
use jackfield_kit::{
    dial::{DialError, DialTarget, RemoteProtocol},
    door::check_url,
    json::StrictObject,
};
use jackfield_model::{AgentId, Failure, Reason};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    serve::describe,
    spec::{Auth, OAuth, RemoteSpec, SecretLocation},
};
use crate::DOOR;

/// A2A servers, which the hub dials by URL.
#[derive(Debug)]
pub(crate) struct A2aServers;

/// Settings of a remote A2A server, besides the fields that every remote has.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = A2aRemoteSettings)]
pub(super) struct RemoteSettings {
    /// Credentials that the hub sends to the server with each request.
    #[schema(value_type = Option<Auth>, nullable = false)]
    auth: Option<StrictObject<Auth>>,
    /// Headers for the server, by the environment variables that contain the values. Short for `auth.headers`.
    #[serde(default)]
    headers_env: BTreeMap<String, String>,
    /// Headers for the server, by the files that contain the values. Short for `auth.headers`.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, String>)]
    headers_file: BTreeMap<String, PathBuf>,
    /// Environment variable that contains a bearer token. Short for `auth.bearer`.
    #[schema(nullable = false)]
    bearer_env: Option<String>,
    /// File that contains a bearer token. Short for `auth.bearer`.
    #[schema(value_type = Option<String>, nullable = false)]
    bearer_file: Option<PathBuf>,
    /// Settings for fetching a bearer token. Short for `auth.oauth`.
    #[schema(value_type = Option<OAuth>, nullable = false)]
    oauth: Option<StrictObject<OAuth>>,
    /// Timeout for a silent server during a call, such as `90s` or `10m`.
    #[schema(schema_with = describe::span)]
    timeout: Option<Span>,
    /// Sharing of the agent with others.
    #[schema(schema_with = describe::share)]
    share: Option<Share>,
}

impl RemoteProtocol for A2aServers {
    fn door(&self) -> &'static str {
        DOOR
    }

    fn address_form(&self) -> &'static str {
        "http://… or https://…, the URL of an A2A server, its agent or its card"
    }

    fn claims(&self, address: &str) -> bool {
        let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
        ["http", "https"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(scheme))
    }

    fn check(&self, target: &DialTarget) -> Result<(), DialError> {
        configured(target)?;
        Ok(())
    }
}

/// Reads a remote of the configuration file, which has to name its agent.
pub(crate) fn configured(target: &DialTarget) -> Result<(AgentId, RemoteSpec), DialError> {
    let spec = spec(target)?;
    match target.id.clone() {
        Some(id) => Ok((id, spec)),
        None => Err(DialError::invalid(
            "id",
            "is required: the agent's id on this hub",
        )),
    }
}

/// Reads the operator's description of a remote.
pub(super) fn spec(target: &DialTarget) -> Result<RemoteSpec, DialError> {
    check_url("field \"url\"", &target.address).map_err(|error| DialError {
        failure: Failure::new(Reason::Invalid, error.0),
        field: Some("url".to_owned()),
    })?;
    let settings: RemoteSettings = target.settings()?;
    if settings.timeout.is_some_and(|timeout| timeout.0.is_zero()) {
        return Err(DialError::invalid("timeout", "must be longer than nothing"));
    }
    Ok(RemoteSpec {
        url: target.address.clone(),
        auth: auth(&settings)?,
        timeout: settings.timeout,
        share: settings.share,
    })
}

/// Joins the credentials in `auth` with those in the short forms.
fn auth(settings: &RemoteSettings) -> Result<Auth, DialError> {
    let full = settings.auth.as_ref();
    let mut auth = full.map(|full| full.0.clone()).unwrap_or_default();
    let bearers = [
        auth.bearer.take(),
        settings.bearer_env.clone().map(SecretLocation::Env),
        settings.bearer_file.clone().map(SecretLocation::File),
    ];
    let oauths = [
        auth.oauth.take(),
        settings.oauth.as_ref().map(|it| it.0.clone()),
    ];
    let (mut bearers, mut oauths) = (
        bearers.into_iter().flatten().collect::<Vec<_>>(),
        oauths.into_iter().flatten().collect::<Vec<_>>(),
    );
    if bearers.len() + oauths.len() > 1 {
        let text = "give one of bearer_env, bearer_file and oauth, not several";
        return Err(Failure::new(Reason::Invalid, text).into());
    }
    (auth.bearer, auth.oauth) = (bearers.pop(), oauths.pop());
    let from_env = settings.headers_env.iter();
    let from_env =
        from_env.map(|(name, variable)| (name.clone(), SecretLocation::Env(variable.clone())));
    let from_file = settings.headers_file.iter();
    let from_file =
        from_file.map(|(name, file)| (name.clone(), SecretLocation::File(file.clone())));
    auth.headers.extend(from_env.chain(from_file));
    Ok(auth)
}
