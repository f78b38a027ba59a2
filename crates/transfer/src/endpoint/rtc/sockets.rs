//! UDP sockets, one per local address that the peer may reach.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::Poll;

use tokio::net::UdpSocket;

/// Most addresses that are used; a machine with many bridges has dozens.
const MOST: usize = 12;
/// Requested size of the system's socket buffers. The system may grant less.
const BUFFER: usize = 4 * 1024 * 1024;

/// UDP sockets, closed on drop.
#[derive(Debug)]
pub(super) struct UdpSockets {
    list: Vec<(UdpSocket, SocketAddr)>,
    /// Index of the socket that received last, and probably receives next.
    busy: usize,
}

/// A packet received by [`UdpSockets`]: length, source, and local address.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketArrival {
    pub(super) len: usize,
    pub(super) source: SocketAddr,
    pub(super) local: SocketAddr,
}

impl UdpSockets {
    /// Opens a socket per address in `bind`, else per address of the machine. Skips addresses that cannot be
    /// opened.
    pub(super) async fn open(bind: Option<&[IpAddr]>) -> io::Result<Self> {
        let addresses = match bind {
            Some(addresses) => addresses.to_vec(),
            None => own_addresses()?,
        };
        let mut list = Vec::new();
        let mut problem = None;
        for address in addresses.into_iter().take(MOST) {
            match open(address).await {
                Ok(socket) => list.push(socket),
                Err(error) => problem = Some(error),
            }
        }
        if list.is_empty() {
            return Err(problem.unwrap_or_else(|| io::Error::other("there is no address to use")));
        }
        Ok(Self { list, busy: 0 })
    }

    /// Iterates over the local addresses.
    pub(super) fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.list.iter().map(|(_, address)| *address)
    }

    /// Waits until a packet is available.
    pub(super) async fn readable(&self) {
        poll_fn(|context| {
            let ready = |(socket, _): &(UdpSocket, _)| socket.poll_recv_ready(context).is_ready();
            // Poll all sockets, so that each registers the waker.
            match self
                .list
                .iter()
                .map(ready)
                .fold(false, |any, one| any | one)
            {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// Receives a packet, if available.
    pub(super) fn try_receive(&mut self, buffer: &mut [u8]) -> Option<PacketArrival> {
        let count = self.list.len();
        for index in (self.busy..self.busy + count).map(|index| index % count) {
            let (socket, local) = &self.list[index];
            // Other errors concern packets that were sent; the next read returns received packets.
            if let Ok((len, source)) = socket.try_recv_from(buffer) {
                self.busy = index;
                let local = *local;
                return Some(PacketArrival { len, source, local });
            }
        }
        None
    }

    /// Sends a packet from a local address once the system accepts it. A packet that the network refuses is
    /// lost, as usual for UDP.
    pub(super) async fn send(&self, from: SocketAddr, to: SocketAddr, packet: &[u8]) {
        let Some(socket) = self.socket(from) else {
            return;
        };
        while let Err(error) = socket.try_send_to(packet, to) {
            if error.kind() != io::ErrorKind::WouldBlock || socket.writable().await.is_err() {
                return;
            }
        }
    }

    /// Sends a packet if the system accepts it at once.
    pub(super) fn try_send(&self, from: SocketAddr, to: SocketAddr, packet: &[u8]) {
        if let Some(socket) = self.socket(from) {
            socket.try_send_to(packet, to).ok();
        }
    }

    fn socket(&self, local: SocketAddr) -> Option<&UdpSocket> {
        let found = self.list.iter().find(|(_, address)| *address == local);
        found.map(|(socket, _)| socket)
    }
}

async fn open(address: IpAddr) -> io::Result<(UdpSocket, SocketAddr)> {
    let socket = UdpSocket::bind((address, 0)).await?;
    // The system caps the size at its own limit.
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, BUFFER).ok();
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, BUFFER).ok();
    let local = socket.local_addr()?;
    Ok((socket, local))
}

/// Returns the machine's reachable addresses; loopback if no other exists.
fn own_addresses() -> io::Result<Vec<IpAddr>> {
    let interfaces = if_addrs::get_if_addrs()?;
    let usable = interfaces.iter().map(|one| one.ip()).filter(is_usable);
    let (loopback, mut others): (Vec<_>, Vec<_>) = usable.partition(IpAddr::is_loopback);
    others.sort_by_key(IpAddr::is_ipv6);
    others.dedup();
    Ok(if others.is_empty() { loopback } else { others })
}

fn is_usable(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_link_local() && !v4.is_unspecified(),
        // A link-local address is useless without its interface, which a candidate cannot name.
        IpAddr::V6(v6) => !v6.is_unicast_link_local() && !v6.is_unspecified(),
    }
}
