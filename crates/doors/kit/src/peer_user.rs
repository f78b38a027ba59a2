//! The operating-system user at the other end of a local connection. The gatekeeper checks the user for
//! requests without a token, and commands check the user before trusting a hub found on this machine. On
//! Linux the kernel's table of sockets is the source. On other systems every user of the machine is accepted.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

#[cfg(target_os = "linux")]
mod kernel;
#[cfg(all(test, target_os = "linux"))]
mod tests;

/// The user at the other end of a connection. Clones share the result, so the kernel is asked at most once
/// per connection, and only if a request needs the answer.
#[derive(Debug, Clone)]
pub struct PeerUser(Arc<SocketPair>);

#[derive(Debug)]
struct SocketPair {
    peer: SocketAddr,
    ours: Option<SocketAddr>,
    is_own: OnceLock<bool>,
}

impl PeerUser {
    /// Creates the user at the end `peer` of a connection; `ours` is the local address, if known.
    pub fn new(peer: SocketAddr, ours: Option<SocketAddr>) -> Self {
        Self(Arc::new(SocketPair {
            peer,
            ours,
            is_own: OnceLock::new(),
        }))
    }

    /// Returns the local address of the connection.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.0.ours
    }

    /// Returns whether the peer runs as the same user as this process. Returns `false` for a socket that is
    /// already closed.
    pub fn is_same_user(&self) -> bool {
        *self.0.is_own.get_or_init(|| self.0.look_up())
    }
}

impl SocketPair {
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

/// Returns the id of the user whose process holds the end `peer` of a connection between two sockets of this
/// machine. Returns `None` if no process has accepted the connection yet, if its process has closed the
/// connection, or if the kernel does not know the socket.
#[cfg(target_os = "linux")]
pub fn user_of(peer: SocketAddr, ours: SocketAddr) -> Option<u32> {
    let look = || kernel::find(peer, ours);
    let found = look().filter(|found| found.inode != 0)?;
    // The kernel shows a socket without a process as owned by root, and reads user and inode one after the
    // other. A socket that is accepted or closed meanwhile may look like one held by root. A second lookup
    // shows its current state.
    (found.uid != 0 || look() == Some(found)).then_some(found.uid)
}
