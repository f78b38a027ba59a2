//! Remote A2A servers as agents of the hub: the hub is the client.
//!
//! - [`spec`]: the operator's description of a remote (URL, credentials), [`card_access`]: access to the card that
//!   follows from the description
//! - [`find`]: the card of a remote, [`discover`]: the agents of a server with several, [`agent_ids`]: ids for them,
//!   [`choose`]: the endpoint to call, [`profile`]: the agent's profile from
//!   the card, [`verify`]: the signatures of the card
//! - [`client`]: requests to the endpoint, in its version and binding, [`credentials`]: authentication of the
//!   requests
//! - [`remote`]: a remote as an agent, attached while reachable, [`contexts`]: the remote's context ids of
//!   conversations, [`remotes`]: all remotes
//! - [`remote_call`]: a call to a remote, across disconnects, [`translator`]: translation of answers for the core
//! - [`settings`], [`dialler`]: remotes in the form of the door contract, [`serve`]: the route of their cards and
//!   the description of their details, [`switchboard`]: refusal of another hub as a remote

mod agent_ids;
mod card_access;
mod choose;
mod client;
mod contexts;
mod credentials;
mod dialler;
mod discover;
mod endpoint;
mod find;
mod profile;
mod remote;
mod remote_call;
mod remotes;
#[cfg(test)]
mod scripted;
mod serve;
mod settings;
mod spec;
#[cfg(test)]
mod static_site;
mod switchboard;
mod translator;
mod verify;

pub(crate) use self::{
    endpoint::{Dialect, RemoteEndpoint},
    settings::{A2aServers, configured},
};
pub use self::{
    remotes::{Remotes, RemotesStartError},
    serve::cards_router,
    spec::{Auth, OAuth, RemoteSpec, SecretLocation},
};
