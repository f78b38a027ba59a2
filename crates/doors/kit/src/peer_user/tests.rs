//! Connections of this process, of a process of another user, and closed ones.

use std::{
    io::Read as _,
    net::{TcpListener, TcpStream},
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
};

use super::*;

fn user_of(socket: &TcpStream) -> PeerUser {
    let peer = socket.peer_addr().expect("it is connected");
    PeerUser::new(peer, socket.local_addr().ok())
}

/// What both ways to ask say, which must be the same.
fn find(socket: &TcpStream) -> Option<kernel::SocketOwner> {
    let peer = socket.peer_addr().expect("it is connected");
    let ours = socket.local_addr().expect("it is connected");
    let end = |addr: SocketAddr| (addr.ip().to_canonical(), addr.port());
    let found = kernel::find(peer, ours);
    assert_eq!(kernel::read_tables(end(peer), end(ours)), found);
    found
}

#[test]
fn a_connection_of_the_same_user_is_found_over_both_families() {
    for (listen, dial) in [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("::", "127.0.0.1"),
        ("::", "::ffff:127.0.0.1"),
    ] {
        let Ok(listener) = TcpListener::bind((listen, 0)) else {
            println!("{listen} is not there on this machine");
            continue;
        };
        let port = listener.local_addr().unwrap().port();
        let dialled = TcpStream::connect((dial, port)).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert!(user_of(&accepted).is_same_user(), "{listen} {dial}");
        assert_ne!(find(&accepted).unwrap().inode, 0);
        drop(dialled);
    }
}

#[test]
fn a_connection_that_its_peer_closed_is_nobodys() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dialled = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    let (before, after) = (user_of(&accepted), user_of(&accepted));
    assert!(before.is_same_user());
    drop(dialled);
    assert_eq!(accepted.read(&mut [0]).unwrap(), 0);
    assert!(!after.is_same_user());
    assert!(before.is_same_user(), "what was found out is kept");
}

#[test]
fn a_connection_that_nobody_has_accepted_yet_is_nobodys() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dialled = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (peer, ours) = (dialled.peer_addr().unwrap(), dialled.local_addr().unwrap());
    assert_eq!(super::user_of(peer, ours), None);
    let (_accepted, _) = listener.accept().unwrap();
    let user = rustix::process::geteuid().as_raw();
    assert_eq!(super::user_of(peer, ours), Some(user));
}

#[test]
fn a_listener_on_the_port_of_a_gone_peer_is_not_taken_for_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let (gone, ours) = (other.local_addr().unwrap(), listener.local_addr().unwrap());
    assert!(!PeerUser::new(gone, Some(ours)).is_same_user());
}

#[test]
fn a_connection_of_another_user_is_not_ours() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can start a process of another user");
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let mut command = Command::new("curl");
    command.args(["-s", "-m", "20", &url]).uid(65534).gid(65534);
    let mut curl = command.stdout(Stdio::null()).spawn().expect("curl runs");
    let (accepted, _) = listener.accept().unwrap();
    let found = find(&accepted).unwrap();
    assert_eq!(found.uid, 65534);
    let (peer, ours) = (
        accepted.peer_addr().unwrap(),
        accepted.local_addr().unwrap(),
    );
    assert_eq!(super::user_of(peer, ours), Some(65534));
    assert!(!user_of(&accepted).is_same_user());
    drop(accepted);
    curl.wait().unwrap();
}
