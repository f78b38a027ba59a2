//! Peers among the remotes that the hub dials: their addresses in `[[agent]]` and `POST /v1/remotes`, and the
//! peers that the hub keeps as the [`Dialler`] of the door. `routes.rs` has the peers that are only connected too.

use futures_util::future::BoxFuture;
use jackfield_core::principal::Principal;
use jackfield_kit::dial::{
    AddedRemote, DialError, DialTarget, Dialler, Discovery, RemoteProtocol, RemoteState, RemoteView,
};
use jackfield_model::{Failure, Reason};
use jackfield_peer::{Multiaddr, PeerId, address};
use serde::Deserialize;

use crate::{
    DOOR,
    routes::{ConnectionState, PeerRoutes, PeerView},
};

/// Peers, which the hub dials by multiaddr.
#[derive(Debug)]
pub(crate) struct Peers;

/// Settings of a peer: a peer has none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerSettings {}

impl RemoteProtocol for Peers {
    fn door(&self) -> &'static str {
        DOOR
    }

    fn address_form(&self) -> &'static str {
        "/…/p2p/ID, the multiaddr of a peer"
    }

    fn claims(&self, address: &str) -> bool {
        address.starts_with('/')
    }

    fn check(&self, target: &DialTarget) -> Result<(), DialError> {
        way(target)?;
        Ok(())
    }
}

/// Reads the address of a peer, and refuses what a peer does not have.
pub(crate) fn way(target: &DialTarget) -> Result<(PeerId, Multiaddr), DialError> {
    if target.id.is_some() {
        let why = "is not for peers, whose agents bring their own ids; remove it";
        return Err(DialError::invalid("id", why));
    }
    let PeerSettings {} = target.settings()?;
    address::way_to_peer(&target.address).map_err(|why| DialError::invalid("url", why))
}

/// Reads the peer that is meant by its id, or by the end of any of its addresses.
fn peer(name: &str) -> Option<PeerId> {
    let id = name.rsplit_once("/p2p/").map_or(name, |(_, id)| id);
    id.parse().ok()
}

impl PeerRoutes {
    /// Returns the view of a kept peer.
    fn kept(&self, peer: PeerId) -> Option<RemoteView> {
        let known = self.known.get(peer).filter(|known| known.is_kept)?;
        let url = known.addresses.first().map(ToString::to_string);
        let shown = PeerView::known(self, peer);
        Some(RemoteView {
            configured: shown.configured,
            state: match shown.state {
                ConnectionState::Online => RemoteState::Online,
                ConnectionState::Offline => RemoteState::Offline,
            },
            error: shown.error.clone(),
            agents: shown.agents.clone(),
            ..RemoteView::new(DOOR, peer.to_string(), url.unwrap_or_default()).with_details(&shown)
        })
    }
}

impl Dialler for PeerRoutes {
    fn protocol(&self) -> &'static dyn RemoteProtocol {
        &Peers
    }

    fn add<'a>(
        &'a self,
        _: &'a Principal,
        target: DialTarget,
        keep: bool,
    ) -> BoxFuture<'a, Result<AddedRemote, DialError>> {
        Box::pin(async move {
            let (peer, address) = way(&target)?;
            let is_new = self.keep(peer, address, keep).await?;
            // Another administrator may have removed the peer meanwhile.
            let remote = self.kept(peer).ok_or_else(|| not_kept(&target.address))?;
            Ok(AddedRemote { remote, is_new })
        })
    }

    fn list(&self) -> Vec<RemoteView> {
        let mut peers = self.known.ids();
        peers.sort_unstable();
        peers.dedup();
        let kept = peers.into_iter().filter_map(|peer| self.kept(peer));
        kept.collect()
    }

    fn find(&self, name: &str) -> Option<RemoteView> {
        self.kept(peer(name)?)
    }

    fn remove<'a>(
        &'a self,
        _: &'a Principal,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), DialError>> {
        Box::pin(async move {
            let Some(peer) = peer(name) else {
                let why = "must end in /p2p/ and the id of the peer";
                return Err(DialError::invalid("id", why));
            };
            Ok(self.forget(peer).await?)
        })
    }
}

fn not_kept(name: &str) -> Failure {
    Failure::new(Reason::NotFound, format!("no peer {name:?} is kept"))
}

/// Refuses peers on behalf of a door that is disabled.
#[derive(Debug)]
pub(crate) struct Disabled;

impl Disabled {
    fn refuse<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, DialError>> {
        let text = "libp2p is not enabled on this hub; start it with enabled = true in [p2p]";
        let failure = Failure::new(Reason::NotFound, text);
        Box::pin(std::future::ready(Err(failure.into())))
    }
}

impl Dialler for Disabled {
    fn protocol(&self) -> &'static dyn RemoteProtocol {
        &Peers
    }

    fn add<'a>(
        &'a self,
        _: &'a Principal,
        _: DialTarget,
        _: bool,
    ) -> BoxFuture<'a, Result<AddedRemote, DialError>> {
        Self::refuse()
    }

    fn discover<'a>(&'a self, _: DialTarget) -> BoxFuture<'a, Result<Discovery, DialError>> {
        Self::refuse()
    }

    fn list(&self) -> Vec<RemoteView> {
        Vec::new()
    }

    fn find(&self, _: &str) -> Option<RemoteView> {
        None
    }

    fn remove<'a>(&'a self, _: &'a Principal, _: &'a str) -> BoxFuture<'a, Result<(), DialError>> {
        Self::refuse()
    }
}
