//! Attaches an [`Agent`] to the hub over the bridge protocol (`/ws?agent_id=…`) with all extensions, and
//! reconnects after a lost connection. `session` holds the state that survives a reconnect; `connection`
//! handles one socket.

mod calls;
pub(crate) mod connection;
mod proxy;
mod request;
mod session;
mod translate;

use std::time::Duration;

use tokio::time::Instant;

pub use self::connection::try_socket;
use self::session::BridgeSession;
use crate::{Agent, Backoff, Error, HubAddress};

/// A connection that lasted this long counts as good. After a shorter connection the reason for its end may
/// persist, so the backoff continues to grow.
const LASTED: Duration = Duration::from_secs(1);

/// Serves an agent until the hub ends the attachment for good, or `stop` resolves.
pub(crate) async fn run(
    agent: &Agent,
    address: &HubAddress,
    mut backoff: Backoff,
    mut attached: impl FnMut() + Send,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    tokio::pin!(stop);
    let mut session = BridgeSession::new(agent);
    let mut address = address.clone();
    let mut was_attached = false;
    loop {
        let opened = tokio::select! {
            opened = connection::open(&mut session, &address) => opened,
            () = &mut stop => return Ok(()),
        };
        let error = match opened {
            Ok(mut connection) => {
                attached();
                was_attached = true;
                let since = Instant::now();
                let error = tokio::select! {
                    error = connection.serve(&mut session) => error,
                    () = &mut stop => {
                        connection.close().await;
                        return Ok(());
                    }
                };
                session.on_disconnected();
                if since.elapsed() >= LASTED {
                    backoff.reset();
                }
                error
            }
            Err(error) => error,
        };
        // After a first success, a bad certificate may be under renewal and an untrusted hub may be replaced
        // by the right one. Without a first success, the configuration here has to change.
        let may_pass = match was_attached {
            true => error.is_retryable_after_disconnect(),
            false => error.is_retryable(),
        };
        if !may_pass {
            return Err(error);
        }
        let wait = match session.reconnect_wait_limit() {
            Some(patience) => backoff.next_wait_within(patience),
            None => backoff.next_wait(),
        };
        tracing::debug!(agent = %agent.id, %error, ?wait, "not connected; trying again");
        agent.notify_disconnected(&error, wait);
        let moved = async {
            tokio::time::sleep(wait).await;
            address.relocated().await
        };
        let moved = tokio::select! {
            moved = moved => moved,
            () = &mut stop => return Ok(()),
        };
        if let Some(moved) = moved {
            agent.notify_moved(&moved);
            address = moved;
        }
    }
}
