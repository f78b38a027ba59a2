//! The hub of this machine that nobody named: where it is now, and whether whoever listens there is it.
//!
//! Any user of the machine can listen on the hub's port while the hub is away. So on Linux a command accepts the other end
//! of a loopback connection only from a process of
//! - the user who runs the command, or
//! - the user whose hub has proved itself with the administrator's token of the data directory, or
//! - the owner of the file `address` in a data directory that was named.
//!
//! Root is no exception: port forwarders of root serve everybody. On other systems the kernel does not tell, and whoever
//! listens on a loopback address is accepted.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use jackfield_sdk::{Address, Discovered, Discovery, Ends, Hub, Trust, Untrusted};
use parking_lot::Mutex;

use jackfield_hub::{
    address::{self, Lookup},
    config::Config,
};

use crate::{
    client::is_here,
    output, shell,
    shown::{self, Unproved},
};

/// The hub of a data directory.
#[derive(Debug)]
pub(crate) struct LocalHub {
    data_dir: PathBuf,
    /// Which certificates are trusted where the hub's own file names none.
    trust: Trust,
    /// Whether it is looked for again after a cut.
    is_followed: bool,
    /// Where it was found last.
    url: Mutex<String>,
    /// The users whose processes are accepted.
    users: Mutex<Vec<u32>>,
}

/// The address that a hub left which did not stop by itself, for the error of a command that finds no hub. A command talks
/// to one hub.
static LEFT: Mutex<Option<String>> = Mutex::new(None);

/// The address of the hub that was killed, if this command looked for it.
pub(crate) fn left_behind() -> Option<String> {
    LEFT.lock().clone()
}

impl LocalHub {
    /// The hub at this address, wherever the hub of the data directory is.
    pub(crate) fn at(
        data_dir: &Path,
        trust: Trust,
        url: &str,
    ) -> Result<(Arc<Self>, Address), jackfield_sdk::Error> {
        let address = Address::new(url)?.with_trust(trust.clone());
        let local = Self::new(data_dir, trust, false);
        address.base().clone_into(&mut local.url.lock());
        Ok((Arc::new(local), address))
    }

    fn new(data_dir: &Path, trust: Trust, is_followed: bool) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            trust,
            is_followed,
            url: Mutex::default(),
            users: Mutex::new(vec![rustix::process::geteuid().as_raw()]),
        }
    }

    /// Looks for the hub that runs with this data directory, else takes the address `otherwise`.
    pub(crate) fn find(
        data_dir: &Path,
        trust: Trust,
        otherwise: &str,
    ) -> Result<(Arc<Self>, Address), jackfield_sdk::Error> {
        let local = Self::new(data_dir, trust, true);
        let found = match look(data_dir) {
            Lookup::Running(found) => Some(local.accept(&found)?),
            Lookup::LeftBehind(left) => {
                *LEFT.lock() = Some(output::clean(&left.url));
                None
            }
            Lookup::Unreadable(error) => {
                output::chat(&format!(
                    "warning: {} cannot be read ({error}), so a hub that runs with it is not found; trying {otherwise}",
                    shell::word(&data_dir.to_string_lossy())
                ));
                None
            }
            Lookup::Nothing => None,
        };
        let address = match found {
            Some(address) => address,
            None => Address::new(otherwise)?.with_trust(local.trust.clone()),
        };
        address.base().clone_into(&mut local.url.lock());
        Ok((Arc::new(local), address))
    }

    /// The address that a running hub published.
    fn accept(&self, found: &address::Found) -> Result<Address, jackfield_sdk::Error> {
        self.accept_user(found.owner);
        let trust = match &found.address.certificate {
            Some(fingerprint) => {
                Trust::from_ca(fingerprint).map_err(|why| jackfield_sdk::Error::Tls {
                    url: found.address.url.clone(),
                    why,
                })?
            }
            None => self.trust.clone(),
        };
        Ok(Address::new(&found.address.url)?.with_trust(trust))
    }

    /// The administrator's token of the data directory.
    pub(crate) fn admin_token(&self) -> Option<String> {
        shown::admin_token(&self.data_dir).filter(|_| is_believed(&self.data_dir))
    }

    /// Lets whoever listens at the address prove to be the hub of the data directory. The user who runs it is accepted from
    /// then on.
    pub(crate) async fn prove(&self, address: &Address, token: &str) -> Result<(), Unproved> {
        let witness = Arc::new(Witness::default());
        let address = address.clone().with_discovery(witness.clone());
        let hub = Hub::new(address).map_err(|_| Unproved::NoAnswer)?;
        shown::prove(&hub, token).await?;
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

    /// Connects once, and says who listens there if that is not accepted. For addresses with TLS: what a stranger makes of
    /// a handshake must not be told as advice.
    pub(crate) async fn precheck(&self, address: &Address) -> Result<(), jackfield_sdk::Error> {
        if !is_here(address.base()) {
            return Ok(());
        }
        let Some(tcp) = dial(address.base()).await else {
            return Ok(());
        };
        let (Ok(peer), Ok(ours)) = (tcp.peer_addr(), tcp.local_addr()) else {
            return Ok(());
        };
        let checked = self.check(Ends { peer, ours }).await;
        checked.map_err(|why| jackfield_sdk::Error::Untrusted {
            url: address.base().to_owned(),
            why,
        })
    }

    async fn moved(&self) -> Option<Address> {
        if !self.is_followed {
            return None;
        }
        let Lookup::Running(found) = look(&self.data_dir) else {
            return None;
        };
        let address = self.accept(&found).ok()?;
        // A token goes to the new address. Where its connections are not checked, the hub has to prove itself anew.
        let is_checked = cfg!(target_os = "linux") && is_here(address.base());
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
    fn refuse(&self, user: Option<u32>) -> Untrusted {
        let url = self.url.lock().clone();
        let why = match user {
            Some(user) => format!(
                "{} listens there, and has not proved to be the hub of {}",
                crate::user::name_of_user(user),
                shell::word(&self.data_dir.to_string_lossy())
            ),
            None => "the system does not tell which user listens there".to_owned(),
        };
        Untrusted {
            why,
            remedy: format!(
                "if it is the hub you mean, name it: --hub {} (or JACKFIELD_HUB); else start your own on another port: jackfield serve --listen 127.0.0.1:0",
                shell::word(&url)
            ),
        }
    }
}

/// Looks for the hub that runs with a data directory, if what the directory says is to be believed.
fn look(data_dir: &Path) -> Lookup {
    match is_believed(data_dir) {
        true => address::look(data_dir),
        false => Lookup::Nothing,
    }
}

/// Whether a data directory was named, by a flag, a variable or a configuration file, or is this user's own. The default one
/// may be another's: where there is no home, it is a folder in the working directory.
fn is_believed(data_dir: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let owner = || std::fs::metadata(data_dir).map(|it| it.uid());
    // What cannot be looked at is told of.
    data_dir != Config::default().data_dir || owner().map_or(true, |owner| owner == user)
}

async fn dial(url: &str) -> Option<tokio::net::TcpStream> {
    let uri: http::Uri = url.parse().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(443);
    tokio::net::TcpStream::connect((host, port)).await.ok()
}

impl Discovery for LocalHub {
    fn locate(&self) -> Discovered<'_, Option<Address>> {
        Box::pin(self.moved())
    }

    /// Looks at the very connection that is going to be used, once it has been accepted. Looking at the listener, or at
    /// another connection before, would leave a moment in which somebody else could take the port. Nobody else can get hold
    /// of an accepted socket unless its process hands it over.
    #[cfg(target_os = "linux")]
    fn check(&self, ends: Ends) -> Discovered<'_, Result<(), Untrusted>> {
        Box::pin(async move {
            // Another address of this machine stands in the hub's own file only, and may be that of another machine if
            // the data directory is shared over a network.
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
    fn check(&self, _: Ends) -> Discovered<'_, Result<(), Untrusted>> {
        Box::pin(async { Ok(()) })
    }
}

/// Accepts everybody, and remembers who it was. For the question by which a hub proves itself, which tells a stranger
/// nothing.
#[derive(Debug, Default)]
struct Witness(Mutex<Option<u32>>);

impl Discovery for Witness {
    fn locate(&self) -> Discovered<'_, Option<Address>> {
        Box::pin(async { None })
    }

    #[cfg(target_os = "linux")]
    fn check(&self, ends: Ends) -> Discovered<'_, Result<(), Untrusted>> {
        Box::pin(async move {
            if ends.peer.ip().to_canonical().is_loopback() {
                let user = peer::wait_for_user(ends).await;
                *self.0.lock() = user;
            }
            Ok(())
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn check(&self, _: Ends) -> Discovered<'_, Result<(), Untrusted>> {
        Box::pin(async { Ok(()) })
    }
}

/// Who holds the other end of a connection.
#[cfg(target_os = "linux")]
mod peer {
    use std::time::Duration;

    use jackfield_kit::peer_user::user_of;
    use jackfield_sdk::Ends;
    use tokio::time::{Instant, sleep};

    /// How long a process may take to accept a connection. A hub does it at once, also when it is busy.
    const ACCEPTED_WITHIN: Duration = Duration::from_secs(2);
    /// The first pause between two looks; each is twice as long as the one before.
    const FIRST_PAUSE: Duration = Duration::from_millis(1);
    /// The longest pause.
    const LONGEST_PAUSE: Duration = Duration::from_millis(50);

    /// The user whose process has accepted the connection. The kernel reports nobody until then, and no event tells when.
    pub(super) async fn wait_for_user(ends: Ends) -> Option<u32> {
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
