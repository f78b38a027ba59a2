//! [`Receipt`], which resolves when the store has done its work, and [`StoreError`].

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::oneshot;

/// Error of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
    /// The database is in trouble, for example because its disk is full. A retry may work later.
    #[error("the store failed: {0}")]
    Failed(String),
    /// The store refuses the write, now and later: the write contradicts stored data.
    #[error("the store refused it: {0}")]
    Refused(String),
}

/// Resolves when the store has committed a write or carried out a read.
#[derive(Debug)]
pub struct Receipt<T = ()>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> Receipt<T> {
    /// Returns both ends; the store keeps the sender.
    pub fn pair() -> (oneshot::Sender<Result<T, StoreError>>, Self) {
        let (tx, rx) = oneshot::channel();
        (tx, Self(rx))
    }

    /// Returns a receipt for finished work.
    pub fn ready(result: Result<T, StoreError>) -> Self {
        let (tx, receipt) = Self::pair();
        // The receiver is alive: it is returned right here.
        drop(tx.send(result));
        receipt
    }

    /// Waits on a thread that may block; for start-up and tools.
    pub fn wait(self) -> Result<T, StoreError> {
        self.0.blocking_recv().unwrap_or(Err(StoreError::Closed))
    }
}

impl<T> Future for Receipt<T> {
    type Output = Result<T, StoreError>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|result| result.unwrap_or(Err(StoreError::Closed)))
    }
}
