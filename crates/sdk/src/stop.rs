//! Stop signals of the operating system.

use std::future::{Future, pending};

/// Resolves when the program receives a stop signal: Ctrl-C, or SIGTERM as sent by supervisors. Pass the
/// future to [`Agent::run_until`](crate::Agent::run_until), so that the agent detaches cleanly.
///
/// From the call on, these signals no longer end the program by default. If they cannot be received, the
/// future never resolves.
///
/// # Panics
///
/// Panics outside of a Tokio runtime.
pub fn stop_requested() -> impl Future<Output = ()> + Send {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let interrupt = signal(SignalKind::interrupt());
        let terminate = signal(SignalKind::terminate());
        async {
            tokio::select! {
                () = signal_received(interrupt) => {}
                () = signal_received(terminate) => {}
            }
        }
    }
    #[cfg(not(unix))]
    async {
        if tokio::signal::ctrl_c().await.is_err() {
            pending().await
        }
    }
}

#[cfg(unix)]
async fn signal_received(signal: std::io::Result<tokio::signal::unix::Signal>) {
    if let Ok(mut signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    pending().await
}
