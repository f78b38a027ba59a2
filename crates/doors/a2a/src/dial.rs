//! Remote A2A servers as agents of the hub: the hub dials them.
//!
//! - `spec.rs` what the operator says of a remote: its URL, its credentials; `way.rs` the way there that follows from it
//! - `find.rs` its card, `choose.rs` the place where it is called; `profile.rs` what the card says of the agent, `verify.rs`
//!   who vouches for it
//! - `line.rs` requests to that place, in its version and binding; `credentials.rs` what they carry
//! - `remote.rs` one remote as an agent: attached while it can be reached, `contexts.rs` what it calls its conversations;
//!   `remotes.rs` all of them
//! - `work.rs` one call to a remote, through cuts; `hear.rs` what its answers are to the core
//! - `serve.rs` the routes by which remotes are added, looked at and removed; `switchboard.rs` why another hub is not

mod choose;
mod contexts;
mod credentials;
mod find;
mod hear;
mod line;
mod place;
mod profile;
mod remote;
mod remotes;
#[cfg(test)]
mod scripted;
mod serve;
mod spec;
#[cfg(test)]
mod static_site;
mod switchboard;
mod verify;
mod way;
mod work;

pub(crate) use self::place::{Dialect, Place};
pub use self::{
    remotes::{Remotes, StartError},
    serve::remotes_router,
    spec::{Auth, OAuth, RemoteSpec, Source},
};
