//! Our UDP sockets: one for each address that the other side may reach us at.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::Poll;

use tokio::net::UdpSocket;

/// More addresses than are worth trying; a machine with many bridges has dozens.
const MOST: usize = 12;
/// What the system should hold for us while we do something else. It may give less.
const BUFFER: usize = 4 * 1024 * 1024;

/// All of them. They are closed when it is dropped.
#[derive(Debug)]
pub(super) struct Sockets {
    list: Vec<(UdpSocket, SocketAddr)>,
    /// Where something came last, and will probably come next.
    busy: usize,
}

/// A packet that came: how long it is, from where, and to which of our addresses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) len: usize,
    pub(super) source: SocketAddr,
    pub(super) local: SocketAddr,
}

impl Sockets {
    /// Opens one for each address named, else for each of the machine's. Those that cannot be opened are left out.
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

    /// Our addresses.
    pub(super) fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.list.iter().map(|(_, address)| *address)
    }

    /// Waits until a packet is there.
    pub(super) async fn readable(&self) {
        poll_fn(|context| {
            let ready = |(socket, _): &(UdpSocket, _)| socket.poll_recv_ready(context).is_ready();
            // Each is asked, so that each wakes us.
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

    /// A packet, if one is there.
    pub(super) fn try_receive(&mut self, buffer: &mut [u8]) -> Option<Arrival> {
        let count = self.list.len();
        for index in (self.busy..self.busy + count).map(|index| index % count) {
            let (socket, local) = &self.list[index];
            // Other errors are about packets that we sent; the next read has what came.
            if let Ok((len, source)) = socket.try_recv_from(buffer) {
                self.busy = index;
                let local = *local;
                return Some(Arrival { len, source, local });
            }
        }
        None
    }

    /// Sends a packet from one of our addresses, as soon as the system takes it. What the network refuses is lost, as
    /// packets are.
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

    /// Sends a packet if the system takes it at once.
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
    // The system has a limit, and then gives what it allows.
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, BUFFER).ok();
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, BUFFER).ok();
    let local = socket.local_addr()?;
    Ok((socket, local))
}

/// The machine's addresses that others may reach; loopback if it has no other.
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
        // A link-local address means nothing without the interface, which a candidate cannot name.
        IpAddr::V6(v6) => !v6.is_unicast_link_local() && !v6.is_unspecified(),
    }
}
