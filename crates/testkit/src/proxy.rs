//! [`FaultProxy`]: a TCP proxy that cuts all connections, or stops passing bytes on, at the command of a test.

use std::{collections::VecDeque, net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinSet,
};

/// Behaviour of the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Pass,
    Stall,
}

/// A TCP proxy in front of a hub.
#[derive(Debug)]
pub struct FaultProxy {
    addr: SocketAddr,
    mode: watch::Sender<Mode>,
    /// Number of cuts. A connection from before the last cut is closed.
    cuts: Arc<watch::Sender<u64>>,
    /// Byte limits for the next connections: each is cut after so many bytes to the client.
    short: Arc<Mutex<VecDeque<usize>>>,
    _tasks: JoinSet<()>,
}

impl FaultProxy {
    /// Starts a proxy to an address.
    pub async fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("an address");
        let (mode, modes) = watch::channel(Mode::Pass);
        let cuts = Arc::new(watch::channel(0).0);
        let cut = cuts.clone();
        let short = Arc::new(Mutex::new(VecDeque::new()));
        let lengths = short.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(to).await else {
                    continue;
                };
                let mut cut = cut.subscribe();
                cut.mark_unchanged();
                let (near_in, near_out) = near.into_split();
                let (far_in, far_out) = far.into_split();
                let (up, down) = (modes.clone(), modes.clone());
                let length = lengths.lock().pop_front().unwrap_or(usize::MAX);
                connections.spawn(async move {
                    tokio::select! {
                        _ = cut.changed() => {}
                        () = pass(near_in, far_out, up, usize::MAX) => {}
                        () = pass(far_in, near_out, down, length) => {}
                    }
                });
            }
        });
        Self {
            addr,
            mode,
            cuts,
            short,
            _tasks: tasks,
        }
    }

    /// Returns the address of the proxy.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Cuts all connections; new connections are accepted.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Cuts each of the next connections after the given number of bytes to the client, even inside a frame.
    pub fn cut_next_after(&self, bytes: impl IntoIterator<Item = usize>) {
        self.short.lock().extend(bytes);
    }

    /// Stops passing bytes on, in both directions, without closing a connection.
    pub fn stall(&self) {
        self.mode.send_replace(Mode::Stall);
    }

    /// Resumes passing bytes on.
    pub fn pass(&self) {
        self.mode.send_replace(Mode::Pass);
    }
}

/// Copies at most `left` bytes.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
    mut left: usize,
) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        if mode.wait_for(|mode| *mode == Mode::Pass).await.is_err() {
            return;
        }
        let Ok(count @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let count = count.min(left);
        left -= count;
        // Bytes read before the stall wait as well.
        if mode.wait_for(|mode| *mode == Mode::Pass).await.is_err()
            || to.write_all(&buffer[..count]).await.is_err()
            || left == 0
        {
            return;
        }
    }
}
