//! Whose the other end of a connection on this machine is. The gatekeeper asks for requests without a token, and commands
//! ask before they trust a hub that nobody named. On Linux the kernel's table of sockets answers; elsewhere every user of the
//! machine counts.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

#[cfg(target_os = "linux")]
mod kernel;
#[cfg(all(test, target_os = "linux"))]
mod tests;

/// The user at the other end of one connection. Clones share what was found out, so that the kernel is asked at most
/// once per connection, and only if a request needs to know.
#[derive(Debug, Clone)]
pub struct PeerUser(Arc<Ends>);

#[derive(Debug)]
struct Ends {
    peer: SocketAddr,
    ours: Option<SocketAddr>,
    is_own: OnceLock<bool>,
}

impl PeerUser {
    /// The user at the end `peer` of a connection whose end here is `ours`, if that is known.
    pub fn new(peer: SocketAddr, ours: Option<SocketAddr>) -> Self {
        Self(Arc::new(Ends {
            peer,
            ours,
            is_own: OnceLock::new(),
        }))
    }

    /// The address of the connection's end here.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.0.ours
    }

    /// Whether this process runs as the same user. A socket that is closed by now belongs to nobody.
    pub fn is_own(&self) -> bool {
        *self.0.is_own.get_or_init(|| self.0.look_up())
    }
}

impl Ends {
    #[cfg(target_os = "linux")]
    fn look_up(&self) -> bool {
        let Some(ours) = self.ours else {
            return false;
        };
        user_of(self.peer, ours) == Some(rustix::process::geteuid().as_raw())
    }

    #[cfg(not(target_os = "linux"))]
    fn look_up(&self) -> bool {
        true
    }
}

/// The number of the user whose process holds the end `peer` of a connection between two sockets of this machine. `None` if
/// no process has accepted the connection yet, if its process has closed it, and if the kernel does not know the socket.
#[cfg(target_os = "linux")]
pub fn user_of(peer: SocketAddr, ours: SocketAddr) -> Option<u32> {
    let look = || kernel::find(peer, ours);
    let found = look().filter(|found| found.inode != 0)?;
    // The kernel shows a socket without a process as root's, and reads user and inode one after the other. So a socket that
    // is accepted or closed meanwhile may look like one that root holds. A second look shows what it is now.
    (found.uid != 0 || look() == Some(found)).then_some(found.uid)
}
