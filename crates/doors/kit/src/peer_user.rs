//! Whether the user who runs the hub also opened the other end of a connection. The gatekeeper asks for requests without a
//! token; on Linux the kernel's table of sockets answers, elsewhere every user of the machine counts.

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
        let user = rustix::process::geteuid().as_raw();
        let look = || kernel::find(self.peer, ours);
        let Some(found) = look().filter(|found| found.uid == user && found.inode != 0) else {
            return false;
        };
        // The kernel shows a socket that its process has closed as root's, and reads user and inode one after the other.
        // A closed socket stays closed: a second look shows it without an inode.
        user != 0 || look() == Some(found)
    }

    #[cfg(not(target_os = "linux"))]
    fn look_up(&self) -> bool {
        true
    }
}
