//! Dialling: agents that the hub reaches by an address. One contract serves `[[agent]]` of the configuration file,
//! the routes below `/v1/remotes`, and with them `jackfield add` and `rm`.
//!
//! - A door that dials has a [`RemoteProtocol`], which tells its addresses and checks a [`DialTarget`] before
//!   the hub runs, and gives a [`Dialler`] in its [`OpenedDoor`](crate::door::OpenedDoor).
//! - [`choose`] finds the protocol of an address; [`routes`] serves the remotes of all diallers.
//! - [`Dialler::discover`] lists what an address leads to, for an operator who has not chosen yet.
//! - [`record`] keeps remotes that were added while the hub ran.
//!
//! A remote is not always one agent: a remote may bring several agents, or none yet.

mod discovery;
pub mod record;
pub mod routes;
#[cfg(test)]
mod tests;
mod view;

use std::fmt;

use futures_util::future::BoxFuture;
use jackfield_core::principal::Principal;
use jackfield_model::{AgentId, Failure, Reason};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

pub use self::{
    discovery::{DiscoveredRemote, DiscoveredState, Discovery},
    view::{RemoteErrorView, RemoteState, RemoteView},
};

/// A remote as the operator describes it. All keys besides the named ones are settings of the door.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DialTarget {
    /// Agent id on this hub. Some protocols require an id, some derive one, some refuse one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<AgentId>,
    /// Address of the remote, in the form of its protocol.
    #[serde(rename = "url", alias = "address")]
    pub address: String,
    /// Name of the door that dials; by default the first door that claims the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Settings of the door, see [`DialTarget::settings`].
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}

impl DialTarget {
    /// Returns a target without settings.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            id: None,
            address: address.into(),
            protocol: None,
            settings: Map::new(),
        }
    }

    /// Reads the settings of the door. `T` should have `deny_unknown_fields`; the error names the wrong key.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, DialError> {
        let settings = Value::Object(self.settings.clone());
        serde_path_to_error::deserialize(settings).map_err(|error| {
            let path = error.path().to_string();
            match path.as_str() {
                // A missing key has no place; the error names it.
                "." => {
                    let text = format!("the settings cannot be used: {}", error.inner());
                    Failure::new(Reason::Invalid, text).into()
                }
                _ => DialError::invalid(path, format!("cannot be used: {}", error.inner())),
            }
        })
    }

    /// Returns how `[[agent]]` is named in errors: by the id, else by the address.
    fn name(&self) -> String {
        match &self.id {
            Some(id) => id.to_string(),
            None => format!("{:?}", self.address),
        }
    }
}

/// Reason why a remote cannot be dialled, added or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .failure.text)]
pub struct DialError {
    /// The failure, whose text names the field and the remedy.
    pub failure: Failure,
    /// The wrong field, for programs: a path such as `auth.bearer`.
    pub field: Option<String>,
}

impl DialError {
    /// Creates the error for a wrong field; `why` continues the sentence after its name.
    pub fn invalid(field: impl Into<String>, why: impl fmt::Display) -> Self {
        let field = field.into();
        Self {
            failure: Failure::new(Reason::Invalid, format!("field {field:?} {why}")),
            field: Some(field),
        }
    }
}

impl From<Failure> for DialError {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            field: None,
        }
    }
}

/// What can be known of a dialling protocol before the hub runs.
pub trait RemoteProtocol: fmt::Debug + Send + Sync {
    /// Returns the name of the door, which operators give as `protocol`.
    fn door(&self) -> &'static str;

    /// Returns what the addresses look like, for error messages, such as `http://… or https://…`.
    fn address_form(&self) -> &'static str;

    /// Returns whether an address is one of this protocol, judging by its form. The address may still be wrong.
    fn claims(&self, address: &str) -> bool;

    /// Checks a remote of the configuration file: address, id and settings. Dials nothing.
    fn check(&self, target: &DialTarget) -> Result<(), DialError>;
}

/// The dialling part of an open door. The door has started the remotes of the configuration file
/// ([`DoorContext::configured_remotes`](crate::door::DoorContext::configured_remotes)) and its stored remotes
/// by itself; a configured remote wins over a stored one.
pub trait Dialler: fmt::Debug + Send + Sync {
    /// Returns the protocol of the door.
    fn protocol(&self) -> &'static dyn RemoteProtocol;

    /// Adds a remote for an administrator. Tries to reach the remote once, and adds an unreachable remote only
    /// with `keep`. Adding the same remote again may change it.
    fn add<'a>(
        &'a self,
        by: &'a Principal,
        target: DialTarget,
        keep: bool,
    ) -> BoxFuture<'a, Result<AddedRemote, DialError>>;

    /// Lists the remotes that an address leads to, for an administrator, and adds none. The number of remotes, the
    /// requests and their time are bounded. The error names what was tried. By default the address is that of one
    /// remote, which is not dialled.
    fn discover<'a>(&'a self, target: DialTarget) -> BoxFuture<'a, Result<Discovery, DialError>> {
        let found = Discovery::of_target(self, &target);
        Box::pin(std::future::ready(Ok(found)))
    }

    /// Returns all remotes of the door.
    fn list(&self) -> Vec<RemoteView>;

    /// Returns the remote with an id or an address.
    fn find(&self, name: &str) -> Option<RemoteView>;

    /// Removes the remote with an id or an address. The caller may see the remote, or is an administrator.
    fn remove<'a>(
        &'a self,
        by: &'a Principal,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), DialError>>;
}

/// Result of [`Dialler::add`].
#[derive(Debug)]
pub struct AddedRemote {
    /// The remote.
    pub remote: RemoteView,
    /// Whether the remote is new, not one that was added before.
    pub is_new: bool,
}

/// Returns the protocol that dials a target: the named one, else the first that claims the address.
pub fn choose<'a>(
    protocols: &[&'a dyn RemoteProtocol],
    target: &DialTarget,
) -> Result<&'a dyn RemoteProtocol, DialError> {
    let mut all = protocols.iter();
    let found = match &target.protocol {
        Some(name) => all.find(|it| it.door() == name.as_str()),
        None => all.find(|it| it.claims(&target.address)),
    };
    found.copied().ok_or_else(|| {
        let describe = |it: &&dyn RemoteProtocol| format!("{} ({})", it.door(), it.address_form());
        let known: Vec<_> = protocols.iter().map(describe).collect();
        let known = known.join(", ");
        match &target.protocol {
            Some(name) => DialError::invalid(
                "protocol",
                format!("is {name:?}, which this hub does not dial; it dials: {known}"),
            ),
            None => DialError::invalid(
                "url",
                format!(
                    "is {:?}, which no protocol of this hub dials; it dials: {known}",
                    target.address
                ),
            ),
        }
    })
}

/// Checks the remotes of a configuration file, and returns each with its protocol named. The error names the
/// table `[[agent]]`.
pub fn check_configured(
    protocols: &[&dyn RemoteProtocol],
    targets: &[DialTarget],
) -> Result<Vec<DialTarget>, crate::door::ConfigError> {
    let check = |target: &DialTarget| {
        let protocol = choose(protocols, target)?;
        protocol.check(target)?;
        Ok(DialTarget {
            protocol: Some(protocol.door().to_owned()),
            ..target.clone()
        })
    };
    let named = |target: &DialTarget| {
        check(target).map_err(|error: DialError| {
            crate::door::ConfigError(format!("[[agent]] {}: {error}", target.name()))
        })
    };
    targets.iter().map(named).collect()
}
