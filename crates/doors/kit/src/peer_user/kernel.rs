//! The kernel's table of TCP sockets: lookup of one socket by its two addresses. `sock_diag` answers at once,
//! independent of the number of sockets. In a sandbox without `sock_diag`, the files below `/proc/net` are
//! read.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect,
        netlink::{SOCK_DIAG, SocketAddrNetlink},
        recv, send, socket_with,
    },
};

/// The owner of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SocketOwner {
    pub(super) uid: u32,
    /// Inode of the socket; 0 once no process holds it.
    pub(super) inode: u64,
}

/// Whether `sock_diag` has ever found a socket. From then on, its negative answers are trusted.
static DIAG_WORKS: AtomicBool = AtomicBool::new(false);

/// Returns the owner of the socket at `local` that is connected to `remote`.
pub(super) fn find(local: SocketAddr, remote: SocketAddr) -> Option<SocketOwner> {
    let (local, remote) = (canonical(local), canonical(remote));
    match ask(local, remote) {
        Ok(Some(found)) => {
            DIAG_WORKS.store(true, Ordering::Relaxed);
            Some(found)
        }
        Ok(None) if DIAG_WORKS.load(Ordering::Relaxed) => None,
        // A kernel without the module for TCP gives the same answer as one without a matching socket.
        Ok(None) | Err(_) => read_tables(local, remote),
    }
}

/// Returns address and port, with an IPv4-mapped IPv6 address converted to IPv4.
fn canonical(addr: SocketAddr) -> (IpAddr, u16) {
    (addr.ip().to_canonical(), addr.port())
}

/// `AF_INET` and `AF_INET6`, as one byte.
const INET: u8 = 2;
const INET6: u8 = 10;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// `SOCK_DIAG_BY_FAMILY`, the type of the request and of its answer.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `NLMSG_ERROR`, the type of an error answer.
const ERROR: u16 = 2;
/// Length of a netlink header.
const HEADER: usize = 16;
/// Length of a request: header and `inet_diag_req_v2`.
const ASKED: usize = HEADER + 56;
/// Length of an answer: header and `inet_diag_msg`.
const TOLD: usize = HEADER + 72;

/// Asks `sock_diag` for exactly one socket.
fn ask(local: (IpAddr, u16), remote: (IpAddr, u16)) -> io::Result<Option<SocketOwner>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        flags,
        Some(SOCK_DIAG),
    )?;
    // A socket connected to the kernel receives messages from no other sender.
    connect(&socket, &SocketAddrNetlink::new(0, 0))?;
    send(&socket, &request(local, remote), SendFlags::empty())?;
    // The kernel answers while the request is being sent.
    let mut answer = [0; 512];
    let (_, length) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    read_answer(&answer[..length.min(answer.len())], local, remote)
}

fn request(local: (IpAddr, u16), remote: (IpAddr, u16)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ASKED);
    bytes.extend(u32::try_from(ASKED).unwrap_or_default().to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    // Sequence and port: a single request on a separate socket needs neither.
    bytes.extend([0; 8]);
    let family = if local.0.is_ipv4() { INET } else { INET6 };
    bytes.extend([family, TCP, 0, 0]);
    // Any state.
    bytes.extend([0xff; 4]);
    bytes.extend(local.1.to_be_bytes());
    bytes.extend(remote.1.to_be_bytes());
    bytes.extend(words(local.0));
    bytes.extend(words(remote.0));
    // Any interface, and any socket with these addresses.
    bytes.extend([0; 4]);
    bytes.extend([0xff; 8]);
    bytes
}

/// Returns an address in the kernel's format: IPv4 in the first of four words.
fn words(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => {
            let mut words = [0; 16];
            words[..4].copy_from_slice(&ip.octets());
            words
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

fn read_answer(
    bytes: &[u8],
    local: (IpAddr, u16),
    remote: (IpAddr, u16),
) -> io::Result<Option<SocketOwner>> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let take = |at: usize, length: usize| bytes.get(at..at + length).ok_or_else(malformed);
    let word = |at: usize| Ok::<_, io::Error>(u32::from_ne_bytes(array(take(at, 4)?)));
    let kind = u16::from_ne_bytes(array(take(4, 2)?));
    if kind == ERROR {
        let error = word(HEADER)?.cast_signed();
        return if error == -Errno::NOENT.raw_os_error() {
            Ok(None)
        } else {
            Err(io::Error::from_raw_os_error(-error))
        };
    }
    if kind != BY_FAMILY || bytes.len() < TOLD {
        return Err(malformed());
    }
    let family = bytes[HEADER];
    let end = |port: usize, ip: usize| {
        let port = u16::from_be_bytes(array(take(port, 2)?));
        let octets: [u8; 16] = array(take(ip, 16)?);
        let ip = if family == INET {
            IpAddr::from(Ipv4Addr::from(array::<4>(&octets[..4])))
        } else {
            IpAddr::from(Ipv6Addr::from(octets)).to_canonical()
        };
        Ok::<_, io::Error>((ip, port))
    };
    let ids = HEADER + 4;
    // Without a connected socket, the kernel returns one that listens on the port.
    if (end(ids, ids + 4)?, end(ids + 2, ids + 20)?) != (local, remote) {
        return Ok(None);
    }
    Ok(Some(SocketOwner {
        uid: word(ids + 60)?,
        inode: word(ids + 64)?.into(),
    }))
}

/// Copies a slice of exactly `N` bytes into an array.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

/// Reads the tables of both families: an IPv6 socket may have an IPv4 connection.
pub(super) fn read_tables(local: (IpAddr, u16), remote: (IpAddr, u16)) -> Option<SocketOwner> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    tables
        .iter()
        .find_map(|path| {
            let lines = BufReader::new(File::open(path).ok()?).lines();
            let mut lines = lines.map_while(Result::ok);
            lines.find_map(|line| read_line(&line).filter(|it| (it.0, it.1) == (local, remote)))
        })
        .map(|(_, _, found)| found)
}

/// One end of a connection: address and port.
type SocketEnd = (IpAddr, u16);

/// Parses a line of `/proc/net/tcp`: the two addresses, and the owner of the socket.
fn read_line(line: &str) -> Option<(SocketEnd, SocketEnd, SocketOwner)> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let local = read_end(fields.next()?)?;
    let remote = read_end(fields.next()?)?;
    let uid = fields.nth(4)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some((local, remote, SocketOwner { uid, inode }))
}

/// Parses an address such as `0100007F:1CF3`: every word of the IP address in native byte order, then the
/// port.
fn read_end(text: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            IpAddr::from(array::<16>(words.as_flattened())).to_canonical()
        }
        _ => return None,
    };
    Some((ip, port))
}
