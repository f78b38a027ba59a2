//! A TCP connection that reports a hang-up of its peer while not being read. A door that stops reading,
//! because every pipe it writes into is full, would otherwise notice the hang-up only after reading all
//! earlier data. [`TcpConnection`] also gives up a peer that takes no data for too long, below every protocol alike.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::FutureExt as _;
use rustix::net::{RecvFlags, Shutdown};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use crate::server::ConnectionSlot;

/// A TCP connection whose peer can be watched without reading.
#[derive(Debug)]
pub struct TcpConnection {
    tcp: Arc<TcpStream>,
    /// Slot of the connection at the server, released on drop.
    _place: Option<Arc<ConnectionSlot>>,
    write_limit: Option<Duration>,
    /// Deadline for a stalled write; exists only while the peer takes no data.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl TcpConnection {
    /// Wraps a TCP connection.
    pub fn new(tcp: TcpStream) -> Self {
        Self {
            tcp: Arc::new(tcp),
            _place: None,
            write_limit: None,
            stalled: None,
        }
    }

    /// Holds the connection's slot at the server until the socket is dropped.
    pub(crate) fn with_place(mut self, place: Arc<ConnectionSlot>) -> Self {
        self._place = Some(place);
        self
    }

    /// Fails a write with `TimedOut` when the peer takes no byte for `limit`.
    pub fn with_write_limit(mut self, limit: Duration) -> Self {
        self.write_limit = Some(limit);
        self
    }

    /// Returns the address of the peer.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.peer_addr()
    }

    /// Returns the first byte sent by the peer without consuming it, or `None` at the end of the stream.
    pub(crate) async fn peek(&self) -> io::Result<Option<u8>> {
        let mut first = [0];
        let count = self.tcp.peek(&mut first).await?;
        Ok((count > 0).then_some(first[0]))
    }

    /// Returns a detector for a hang-up of the peer; the detector may outlive the socket.
    pub fn hangup(&self) -> HangupDetector {
        HangupDetector(Arc::downgrade(&self.tcp))
    }
}

impl AsyncRead for TcpConnection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.tcp.poll_read_ready(cx))?;
            let unfilled = buf.initialize_unfilled();
            let mut count = None;
            let result = self.tcp.try_io(Interest::READABLE, || {
                let (read, _) = rustix::net::recv(&*self.tcp, &mut *unfilled, RecvFlags::empty())?;
                count = Some(read);
                // A short read empties the receive buffer. Reporting `WouldBlock` here saves the system call
                // that would find out (tokio's own streams do the same).
                if read > 0 && read < unfilled.len() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Ok(())
            });
            match (count, result) {
                (Some(count), _) => {
                    buf.advance(count);
                    return Poll::Ready(Ok(()));
                }
                (None, Err(error)) if is_temporary(&error) => {}
                (None, result) => return Poll::Ready(result),
            }
        }
    }
}

impl AsyncWrite for TcpConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |tcp| tcp.try_write(buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |tcp| tcp.try_write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match rustix::net::shutdown(&*self.tcp, Shutdown::Write) {
            // The peer closed first.
            Err(rustix::io::Errno::NOTCONN) => Poll::Ready(Ok(())),
            result => Poll::Ready(result.map_err(io::Error::from)),
        }
    }
}

impl TcpConnection {
    fn poll_write_with(
        &mut self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.tcp.poll_write_ready(cx) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => return self.poll_stalled(cx).map(Err),
            }
            match write(&self.tcp) {
                Err(error) if is_temporary(&error) => {}
                result => {
                    self.stalled = None;
                    return Poll::Ready(result);
                }
            }
        }
    }

    /// Becomes ready when the peer has taken no data for too long.
    fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let Some(limit) = self.write_limit else {
            return Poll::Pending;
        };
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(io::Error::new(
            io::ErrorKind::TimedOut,
            "peer takes nothing",
        ))
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Detects whether the peer of a [`TcpConnection`] has hung up, even while earlier data of the peer is unread.
///
/// A peer that closed only its sending side counts as hung up, as does a connection that we dropped. TCP
/// delivers the end of a stream behind its data. If a peer sent more than the kernel's receive buffer holds
/// (some 64 KiB to begin with), its end is visible only after enough data was read; a reset is visible at
/// once.
#[derive(Debug, Clone)]
pub struct HangupDetector(Weak<TcpStream>);

impl HangupDetector {
    /// Creates the detector of a connection that no longer exists.
    pub fn gone() -> Self {
        Self(Weak::new())
    }

    /// Returns whether the peer has hung up.
    pub fn is_hung_up(&self) -> bool {
        let Some(tcp) = self.0.upgrade() else {
            return true;
        };
        // Readiness is the last state seen by the runtime's poller: no system call. Unread data is ready
        // without being closed; an idle connection stays pending.
        match tcp.ready(Interest::READABLE).now_or_never() {
            Some(Ok(ready)) => ready.is_read_closed(),
            Some(Err(_)) => true,
            None => false,
        }
    }

    /// Waits until the peer has hung up, checking at the interval `every`.
    pub async fn wait(&self, every: Duration) {
        while !self.is_hung_up() {
            tokio::time::sleep(every).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        time::timeout,
    };

    const SOON: Duration = Duration::from_secs(10);
    const OFTEN: Duration = Duration::from_millis(1);

    async fn pair() -> (TcpConnection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (ours, theirs) = tokio::join!(listener.accept(), TcpStream::connect(address));
        (TcpConnection::new(ours.unwrap().0), theirs.unwrap())
    }

    #[tokio::test]
    async fn hang_up_is_seen_behind_unread_data() {
        let (mut ours, mut theirs) = pair().await;
        let hangup = ours.hangup();
        assert!(!hangup.is_hung_up());
        theirs.write_all(&[b'x'; 32 * 1024]).await.unwrap();
        drop(theirs);
        timeout(SOON, hangup.wait(OFTEN)).await.unwrap();
        let mut unread = Vec::new();
        ours.read_to_end(&mut unread).await.unwrap();
        assert_eq!(unread.len(), 32 * 1024);
        assert!(hangup.is_hung_up());
    }

    #[tokio::test]
    async fn hang_up_behind_more_than_the_receive_buffer_is_seen_while_that_is_read() {
        let (mut ours, mut theirs) = pair().await;
        let hangup = ours.hangup();
        let mut written = 0;
        // What the two kernels take without anybody reading.
        while let Ok(count) = timeout(Duration::from_millis(50), theirs.write(&[b'x'; 65536])).await
        {
            written += count.unwrap();
        }
        drop(theirs);
        let mut read = 0;
        while !hangup.is_hung_up() && read < written {
            read += ours.read(&mut [0; 65536]).await.unwrap();
        }
        timeout(SOON, hangup.wait(OFTEN)).await.unwrap();
    }

    #[tokio::test]
    async fn unread_data_alone_is_no_hang_up() {
        let (mut ours, mut theirs) = pair().await;
        theirs.write_all(b"hello").await.unwrap();
        ours.tcp.readable().await.unwrap();
        assert!(!ours.hangup().is_hung_up());
        let mut buf = [0; 16];
        assert_eq!(ours.read(&mut buf).await.unwrap(), 5);
        assert!(!ours.hangup().is_hung_up());
        drop(theirs);
    }

    #[tokio::test]
    async fn a_peer_that_closed_its_sending_side_counts_as_hung_up_and_can_still_be_told() {
        let (mut ours, mut theirs) = pair().await;
        theirs.shutdown().await.unwrap();
        timeout(SOON, ours.hangup().wait(OFTEN)).await.unwrap();
        ours.write_all(b"bye").await.unwrap();
        ours.shutdown().await.unwrap();
        let mut told = Vec::new();
        theirs.read_to_end(&mut told).await.unwrap();
        assert_eq!(told, b"bye");
    }

    #[tokio::test]
    async fn a_reset_is_a_hang_up() {
        let (mut ours, theirs) = pair().await;
        ours.write_all(b"unread at the peer").await.unwrap();
        theirs.readable().await.unwrap();
        drop(theirs); // with unread data: the kernel sends RST
        timeout(SOON, ours.hangup().wait(OFTEN)).await.unwrap();
    }

    #[tokio::test]
    async fn a_dropped_socket_has_hung_up() {
        let (ours, _theirs) = pair().await;
        let hangup = ours.hangup();
        drop(ours);
        assert!(hangup.is_hung_up());
        assert!(HangupDetector::gone().is_hung_up());
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let (ours, theirs) = pair().await;
        let mut ours = ours.with_write_limit(Duration::from_secs(30));
        let begun = tokio::time::Instant::now();
        let error = ours.write_all(&vec![0; 64 << 20]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= Duration::from_secs(30));
        drop(theirs);
    }

    #[tokio::test]
    async fn sixteen_mebibytes_go_both_ways_at_once() {
        const SIZE: usize = 16 << 20;
        async fn exchange(stream: impl AsyncRead + AsyncWrite) {
            let (mut reader, mut writer) = tokio::io::split(stream);
            let sent: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
            let send = async {
                writer.write_all(&sent).await.unwrap();
                writer.shutdown().await.unwrap();
            };
            let mut got = Vec::new();
            let receive = reader.read_to_end(&mut got);
            let ((), received) = tokio::join!(send, receive);
            received.unwrap();
            assert!(got == sent);
        }
        let (ours, theirs) = pair().await;
        timeout(SOON, async {
            tokio::join!(exchange(ours), exchange(theirs));
        })
        .await
        .unwrap();
    }
}
