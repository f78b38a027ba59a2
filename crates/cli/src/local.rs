//! [`Discovery`] of this machine's hub, if the user named none: finds the current address, and checks which
//! user's process listens there.
//!
//! Any user of the machine can listen on the hub's port while the hub is stopped. Therefore, on Linux, a
//! command accepts the other end of a loopback connection only from a process of
//! - the user who runs the command, or
//! - the user whose hub has proved its identity with the administrator's token of the data directory, or
//! - the owner of the file `address` in a data directory that was named.
//!
//! Root is no exception: root's port forwarders serve all users. On other systems the kernel does not reveal
//! the user, and every listener on a loopback address is accepted.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use jackfield_sdk::{
    ConnectionEnds, Discovery, DiscoveryFuture, Hub, HubAddress, TlsTrust, UntrustedHub,
};
use parking_lot::Mutex;

use jackfield_hub::{
    address::{self, AddressLookup},
    config::HubConfig,
};

use crate::{
    client::is_loopback_url,
    output,
    sent_token::{self, ProofFailure},
    shell,
};

/// Hub of a data directory.
#[derive(Debug)]
pub(crate) struct LocalHub {
    data_dir: PathBuf,
    /// [`TlsTrust`] in certificates, if the hub's address file names none.
    trust: TlsTrust,
    /// Whether to look up the address again after a lost connection.
    follows_moves: bool,
    /// Last known URL of the hub.
    url: Mutex<String>,
    /// Users whose processes are accepted.
    users: Mutex<Vec<u32>>,
}

/// Address that a killed hub left behind, for the error of a command that finds no hub. A command talks to
/// one hub only.
static LEFT: Mutex<Option<String>> = Mutex::new(None);

/// Returns the address of the killed hub, if this command found such an address.
pub(crate) fn killed_hub_address() -> Option<String> {
    LEFT.lock().clone()
}

impl LocalHub {
    /// Returns the [`LocalHub`] at `url`, regardless of the address file in the data directory.
    pub(crate) fn at(
        data_dir: &Path,
        trust: TlsTrust,
        url: &str,
    ) -> Result<(Arc<Self>, HubAddress), jackfield_sdk::Error> {
        let address = HubAddress::new(url)?.with_trust(trust.clone());
        let local = Self::new(data_dir, trust, false);
        address.base().clone_into(&mut local.url.lock());
        Ok((Arc::new(local), address))
    }

    fn new(data_dir: &Path, trust: TlsTrust, follows_moves: bool) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            trust,
            follows_moves,
            url: Mutex::default(),
            users: Mutex::new(vec![rustix::process::geteuid().as_raw()]),
        }
    }

    /// Looks for the hub that runs with this data directory, else uses the address `otherwise`.
    pub(crate) fn find(
        data_dir: &Path,
        trust: TlsTrust,
        otherwise: &str,
    ) -> Result<(Arc<Self>, HubAddress), jackfield_sdk::Error> {
        let local = Self::new(data_dir, trust, true);
        let found = match look(data_dir) {
            AddressLookup::Running(found) => Some(local.accept(&found)?),
            AddressLookup::LeftBehind(left) => {
                *LEFT.lock() = Some(output::clean(&left.url));
                None
            }
            AddressLookup::Unreadable(error) => {
                output::print_message(&format!(
                    "warning: {} cannot be read ({error}), so a hub that runs with it is not found; trying {otherwise}",
                    shell::word(&data_dir.to_string_lossy())
                ));
                None
            }
            AddressLookup::Nothing => None,
        };
        let address = match found {
            Some(address) => address,
            None => HubAddress::new(otherwise)?.with_trust(local.trust.clone()),
        };
        address.base().clone_into(&mut local.url.lock());
        Ok((Arc::new(local), address))
    }

    /// Returns the [`HubAddress`] that a running hub published.
    fn accept(&self, found: &address::LiveAddress) -> Result<HubAddress, jackfield_sdk::Error> {
        self.accept_user(found.owner);
        let trust = match &found.address.certificate {
            Some(fingerprint) => {
                TlsTrust::from_ca(fingerprint).map_err(|why| jackfield_sdk::Error::Tls {
                    url: found.address.url.clone(),
                    why,
                })?
            }
            None => self.trust.clone(),
        };
        Ok(HubAddress::new(&found.address.url)?.with_trust(trust))
    }

    /// Returns the administrator's token of the data directory.
    pub(crate) fn admin_token(&self) -> Option<String> {
        sent_token::admin_token(&self.data_dir).filter(|_| is_trusted(&self.data_dir))
    }

    /// Asks the listener at `address` to prove that it is the hub of the data directory. On success, the
    /// listener's user is accepted from then on.
    pub(crate) async fn prove(
        &self,
        address: &HubAddress,
        token: &str,
    ) -> Result<(), ProofFailure> {
        let witness = Arc::new(PeerUserRecorder::default());
        let address = address.clone().with_discovery(witness.clone());
        let hub = Hub::new(address).map_err(|_| ProofFailure::NoAnswer)?;
        sent_token::prove(&hub, token).await?;
        if let Some(user) = *witness.0.lock() {
            self.accept_user(user);
        }
        Ok(())
    }

    fn accept_user(&self, user: u32) {
        let mut users = self.users.lock();
        if !users.contains(&user) {
            users.push(user);
        }
    }

    /// Connects once, and fails if the listener's user is not accepted. Only for addresses with TLS:
    /// otherwise the error of a handshake with a stranger would lead to wrong advice.
    pub(crate) async fn precheck(&self, address: &HubAddress) -> Result<(), jackfield_sdk::Error> {
        if !is_loopback_url(address.base()) {
            return Ok(());
        }
        let Some(tcp) = dial(address.base()).await else {
            return Ok(());
        };
        let (Ok(peer), Ok(ours)) = (tcp.peer_addr(), tcp.local_addr()) else {
            return Ok(());
        };
        let checked = self.check(ConnectionEnds { peer, ours }).await;
        checked.map_err(|why| jackfield_sdk::Error::Untrusted {
            url: address.base().to_owned(),
            why,
        })
    }

    async fn moved(&self) -> Option<HubAddress> {
        if !self.follows_moves {
            return None;
        }
        let AddressLookup::Running(found) = look(&self.data_dir) else {
            return None;
        };
        let address = self.accept(&found).ok()?;
        // A token goes to the new address. If connections there are not checked, the hub must prove its
        // identity again.
        let is_checked = cfg!(target_os = "linux") && is_loopback_url(address.base());
        if *self.url.lock() != address.base()
            && let Some(token) = self.admin_token()
            && self.prove(&address, &token).await.is_err()
            && !is_checked
        {
            return None;
        }
        address.base().clone_into(&mut self.url.lock());
        Some(address)
    }

    #[cfg(target_os = "linux")]
    fn refuse(&self, user: Option<u32>) -> UntrustedHub {
        let url = self.url.lock().clone();
        let why = match user {
            Some(user) => format!(
                "{} listens there, and has not proved to be the hub of {}",
                crate::user::name_of_user(user),
                shell::word(&self.data_dir.to_string_lossy())
            ),
            None => "the system does not tell which user listens there".to_owned(),
        };
        UntrustedHub {
            why,
            remedy: format!(
                "if it is the hub you mean, name it: --hub {} (or JACKFIELD_HUB); else start your own on another port: jackfield serve --listen 127.0.0.1:0",
                shell::word(&url)
            ),
        }
    }
}

/// Looks for the hub that runs with a data directory, if the directory is trusted.
fn look(data_dir: &Path) -> AddressLookup {
    match is_trusted(data_dir) {
        true => address::look_up(data_dir),
        false => AddressLookup::Nothing,
    }
}

/// Returns whether a data directory was named by a flag, a variable or a configuration file, or belongs to
/// this user. The default directory may belong to a different user: without a home, the default is a folder
/// in the working directory.
fn is_trusted(data_dir: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let owner = || std::fs::metadata(data_dir).map(|it| it.uid());
    // An unreadable directory counts as trusted here, so that the problem is reported later.
    data_dir != HubConfig::default().data_dir || owner().map_or(true, |owner| owner == user)
}

async fn dial(url: &str) -> Option<tokio::net::TcpStream> {
    let uri: http::Uri = url.parse().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(443);
    tokio::net::TcpStream::connect((host, port)).await.ok()
}

impl Discovery for LocalHub {
    fn locate(&self) -> DiscoveryFuture<'_, Option<HubAddress>> {
        Box::pin(self.moved())
    }

    /// Checks the very connection that will be used, after the peer has accepted it. A check of the listener,
    /// or of an earlier connection, would leave a moment for a different process to take the port. An
    /// accepted socket stays with its process unless the process hands the socket over.
    #[cfg(target_os = "linux")]
    fn check(&self, ends: ConnectionEnds) -> DiscoveryFuture<'_, Result<(), UntrustedHub>> {
        Box::pin(async move {
            // A non-loopback address can only come from the hub's own file, and may belong to a different
            // machine if the data directory is shared over a network.
            if !ends.peer.ip().to_canonical().is_loopback() {
                return Ok(());
            }
            match peer::wait_for_user(ends).await {
                Some(user) if self.users.lock().contains(&user) => Ok(()),
                user => Err(self.refuse(user)),
            }
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn check(&self, _: ConnectionEnds) -> DiscoveryFuture<'_, Result<(), UntrustedHub>> {
        Box::pin(async { Ok(()) })
    }
}

/// Accepts every peer, and records the user. For the proof request only, which reveals no secret to a
/// stranger.
#[derive(Debug, Default)]
struct PeerUserRecorder(Mutex<Option<u32>>);

impl Discovery for PeerUserRecorder {
    fn locate(&self) -> DiscoveryFuture<'_, Option<HubAddress>> {
        Box::pin(async { None })
    }

    #[cfg(target_os = "linux")]
    fn check(&self, ends: ConnectionEnds) -> DiscoveryFuture<'_, Result<(), UntrustedHub>> {
        Box::pin(async move {
            if ends.peer.ip().to_canonical().is_loopback() {
                let user = peer::wait_for_user(ends).await;
                *self.0.lock() = user;
            }
            Ok(())
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn check(&self, _: ConnectionEnds) -> DiscoveryFuture<'_, Result<(), UntrustedHub>> {
        Box::pin(async { Ok(()) })
    }
}

/// Lookup of the user at the other end of a connection.
#[cfg(target_os = "linux")]
mod peer {
    use std::time::Duration;

    use jackfield_kit::peer_user::user_of;
    use jackfield_sdk::ConnectionEnds;
    use tokio::time::{Instant, sleep};

    /// Time limit for a process to accept a connection. A hub accepts at once, even if busy.
    const ACCEPTED_WITHIN: Duration = Duration::from_secs(2);
    /// First pause between two lookups; each pause is twice as long as the one before.
    const FIRST_PAUSE: Duration = Duration::from_millis(1);
    /// Longest pause between two lookups.
    const LONGEST_PAUSE: Duration = Duration::from_millis(50);

    /// Returns the user whose process has accepted the connection. The kernel reports no user before, and no
    /// event signals the change.
    pub(super) async fn wait_for_user(ends: ConnectionEnds) -> Option<u32> {
        let until = Instant::now() + ACCEPTED_WITHIN;
        let mut pause = FIRST_PAUSE;
        loop {
            let user = user_of(ends.peer, ends.ours);
            if user.is_some() || Instant::now() >= until {
                return user;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
