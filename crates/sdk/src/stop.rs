//! When a program is told to stop.

use std::future::{Future, pending};

/// Resolves when the program is told to stop: by Ctrl-C, or by SIGTERM as supervisors send it. For
/// [`Agent::run_until`](crate::Agent::run_until), so that the agent says goodbye. From the call on these signals do not end
/// the program by themselves. Where they cannot be heard it never resolves.
///
/// # Panics
///
/// Outside of a Tokio runtime.
pub fn told_to_stop() -> impl Future<Output = ()> + Send {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let interrupt = signal(SignalKind::interrupt());
        let terminate = signal(SignalKind::terminate());
        async {
            tokio::select! {
                () = heard(interrupt) => {}
                () = heard(terminate) => {}
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
async fn heard(signal: std::io::Result<tokio::signal::unix::Signal>) {
    if let Ok(mut signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    pending().await
}
