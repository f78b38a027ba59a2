//! A path between two ends that can be cut: what the caller sends to one socket leaves by the other, and back.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use super::memory::{Change, attempt, port, split, with_port};
use crate::endpoint::rtc::{RtcChannel, SignalKind};

/// It ends when dropped.
pub(super) struct Path {
    is_cut: Arc<AtomicBool>,
    _task: JoinSet<()>,
}

impl Path {
    /// Two ends of a channel that know of each other by the path only.
    pub(super) async fn between() -> (Self, RtcChannel, RtcChannel) {
        let bind = || UdpSocket::bind("127.0.0.1:0");
        let near = bind().await.unwrap();
        let far = bind().await.unwrap();
        let near_port = near.local_addr().unwrap().port();
        let (tell, told) = tokio::sync::oneshot::channel();
        let mut tell = Some(tell);
        let caller: Change = Box::new(|(kind, sdp)| vec![(kind, split(&sdp).1)]);
        let called: Change = Box::new(move |(kind, sdp)| {
            if kind != SignalKind::Answer {
                return vec![(kind, sdp)];
            }
            let (candidates, rest) = split(&sdp);
            let called = SocketAddr::from(([127, 0, 0, 1], port(&candidates[0])));
            tell.take().expect("one answer").send(called).unwrap();
            vec![(
                kind,
                format!("{rest}{}\r\n", with_port(&candidates[0], near_port)),
            )]
        });
        let is_cut = Arc::new(AtomicBool::new(false));
        let mut task = JoinSet::new();
        task.spawn({
            let is_cut = Arc::clone(&is_cut);
            async move { carry(near, far, told.await.unwrap(), &is_cut).await }
        });
        let (caller, called) = attempt(caller, called).await;
        let path = Self {
            is_cut,
            _task: task,
        };
        (path, caller.unwrap(), called.unwrap())
    }

    /// From now on packets get lost, or not.
    pub(super) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
    }
}

async fn carry(near: UdpSocket, far: UdpSocket, called: SocketAddr, is_cut: &AtomicBool) {
    let (mut there, mut back) = ([0; 2048], [0; 2048]);
    let mut caller = None;
    loop {
        let (socket, to, packet) = tokio::select! {
            Ok((len, from)) = near.recv_from(&mut there) => {
                caller = Some(from);
                (&far, Some(called), &there[..len])
            }
            Ok((len, _)) = far.recv_from(&mut back) => (&near, caller, &back[..len]),
        };
        if let Some(to) = to
            && !is_cut.load(Ordering::SeqCst)
        {
            socket.send_to(packet, to).await.ok();
        }
    }
}
