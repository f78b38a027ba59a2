//! One accepted connection: the TLS handshake, the version of HTTP, and hyper, which reads the requests. Endless
//! streams are written without hyper.

use std::{
    convert::Infallible,
    fmt,
    future::{pending, poll_fn},
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    task::Poll,
};

use axum::body::Body;
use bytes::Bytes;
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::{HttpService, service_fn},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::AsyncWriteExt as _,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use super::{
    RequestHandler, ServerLimits,
    handover::ChunkedStream,
    http_io::{self, HttpIo},
    plain,
    response_body::Http2Executor,
};
use crate::{io::Io, socket::TcpConnection, tasks::Tasks};

/// How connections are served. All connections of a server share one.
pub(super) struct ServingOptions {
    pub(super) http1: http1::Builder,
    pub(super) http2: http2::Builder<Http2Executor>,
    pub(super) tasks: Tasks,
    pub(super) limits: ServerLimits,
}

/// An accepted connection, until its end or its upgrade.
pub(super) struct HttpConnection {
    pub(super) requests: Arc<RequestHandler>,
    pub(super) options: Arc<ServingOptions>,
}

impl HttpConnection {
    pub(super) async fn serve_tls(self, acceptor: TlsAcceptor, socket: TcpConnection) {
        let addr = self.requests.peer.addr;
        let handshake = async {
            if socket.peek().await?.is_some_and(plain::is_http) {
                plain::refuse(socket).await?;
                return Ok(None);
            }
            acceptor.accept(socket).await.map(Some)
        };
        let handshake = timeout(self.options.limits.tls_handshake_timeout, handshake);
        let stop = self.options.tasks.stop_token();
        // Boxed: the state of the handshake is not needed later.
        match Box::pin(stop.run_until_cancelled(handshake)).await {
            Some(Ok(Ok(Some(stream)))) => self.serve(Io::Tls(Box::new(stream))).await,
            Some(Ok(Ok(None))) => tracing::debug!(%addr, "plain HTTP on a port that speaks TLS"),
            Some(Ok(Err(error))) => tracing::debug!(%addr, %error, "TLS handshake failed"),
            Some(Err(_)) => tracing::debug!(%addr, "TLS handshake took too long"),
            None => {}
        }
    }

    pub(super) async fn serve(self, io: Io) {
        // Boxed: hyper and its timers are not needed while an endless stream lasts.
        let mut left = Box::pin(self.serve_first(io)).await;
        while let Some((mut stream, is_last)) = left {
            if let Err(error) = stream.run().await {
                tracing::debug!(addr = %self.requests.peer.addr, %error, "stream ended with its connection");
                return;
            }
            let is_stopping = self.options.tasks.stop_token().is_cancelled();
            if is_last || is_stopping || self.requests.is_operators {
                stream.io.shutdown().await.ok();
                return;
            }
            let ChunkedStream { io, ahead, .. } = stream;
            left = Box::pin(self.serve_http1(io, ahead, pending())).await;
        }
    }

    /// Serves a fresh connection.
    async fn serve_first(&self, mut io: Io) -> Option<(ChunkedStream, bool)> {
        // The timeout of hyper starts only with its first read.
        let mut silence = pin!(sleep(self.options.limits.header_read_timeout));
        let version = tokio::select! {
            version = http_io::read_version(&mut io) => version,
            () = silence.as_mut() => {
                tracing::debug!(addr = %self.requests.peer.addr, "no request came in time");
                return None;
            }
            () = self.options.tasks.stop_token().cancelled() => return None,
        };
        match version {
            Ok((false, ahead)) => self.serve_http1(io, ahead, silence).await,
            Ok((true, ahead)) => {
                let io = HttpIo::new(io, ahead, self.requests.handover.clone());
                let service = self.service();
                let serving = self
                    .options
                    .http2
                    .serve_connection(TokioIo::new(io), service);
                let mut serving = pin!(serving);
                let drive = self.drive(
                    serving.as_mut(),
                    http2::Connection::graceful_shutdown,
                    silence,
                );
                drive.await;
                None
            }
            Err(error) => {
                tracing::debug!(addr = %self.requests.peer.addr, %error, "connection ended with an error");
                None
            }
        }
    }

    /// Serves HTTP/1.1 until the connection ends or is upgraded, or until an endless stream leaves hyper.
    /// Returns the stream, and whether the connection closes after it.
    async fn serve_http1(
        &self,
        io: Io,
        ahead: Bytes,
        silence: impl Future<Output = ()>,
    ) -> Option<(ChunkedStream, bool)> {
        let handover = &self.requests.handover;
        let io = HttpIo::new(io, ahead, handover.clone());
        let serving = self
            .options
            .http1
            .serve_connection(TokioIo::new(io), self.service());
        let mut serving = serving.with_upgrades();
        let graceful = http1::UpgradeableConnection::graceful_shutdown;
        let is_leaving = self.drive(Pin::new(&mut serving), graceful, silence);
        if !is_leaving.await {
            return None;
        }
        let (body, is_last) = handover.take()?;
        let parts = serving.into_parts()?;
        let (io, ahead) = parts.io.into_inner().into_parts(&parts.read_buf);
        let stream = ChunkedStream {
            io,
            body,
            ahead: ahead.into(),
        };
        Some((stream, is_last))
    }

    fn service(
        &self,
    ) -> impl HttpService<Incoming, ResBody = Body, Error = Infallible, Future: Send + 'static> + use<>
    {
        let requests = self.requests.clone();
        service_fn(move |request| {
            let requests = requests.clone();
            async move { requests.answer(request).await }
        })
    }

    /// Polls a connection of hyper until it ends, or until an endless stream can leave it. Returns whether a
    /// stream can leave. Without a request before the end of `silence`, the connection ends.
    async fn drive<C, E>(
        &self,
        mut serving: Pin<&mut C>,
        graceful_shutdown: fn(Pin<&mut C>),
        silence: impl Future<Output = ()>,
    ) -> bool
    where
        C: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let (requests, addr) = (&self.requests, self.requests.peer.addr);
        let mut silence = pin!(silence);
        let mut stop = pin!(self.options.tasks.stop_token().cancelled());
        let (mut watches_silence, mut is_stopping) = (true, false);
        loop {
            let served = poll_fn(|cx| match serving.as_mut().poll(cx) {
                Poll::Pending if requests.handover.is_ready() => Poll::Ready(None),
                served => served.map(Some),
            });
            tokio::select! {
                served = served => {
                    if let Some(Err(error)) = &served {
                        tracing::debug!(%addr, %error, "connection ended with an error");
                    }
                    return served.is_none();
                }
                () = silence.as_mut(), if watches_silence => {
                    watches_silence = false;
                    if !requests.has_begun.load(Ordering::Relaxed) {
                        tracing::debug!(%addr, "no request came in time");
                        return false;
                    }
                }
                () = stop.as_mut(), if !is_stopping => {
                    is_stopping = true;
                    graceful_shutdown(serving.as_mut());
                }
                // A slot reserved for the operator serves one request.
                () = requests.begun.notified(), if !is_stopping => {
                    is_stopping = true;
                    graceful_shutdown(serving.as_mut());
                }
            }
        }
    }
}
