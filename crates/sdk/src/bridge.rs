//! How an agent is reached: it attaches to the hub over the bridge (`/ws?agent_id=…`) with all extensions, and comes back
//! after a cut. What outlives a cut is in `session`, one socket in `connection`.

mod calls;
mod connection;
mod request;
mod session;
mod translate;

use std::time::Duration;

use tokio::time::Instant;

use self::session::Session;
use crate::{Address, Agent, Backoff, Error};

/// A connection that lasted this long was a good one. One that did not may have been closed for a reason that is still
/// there.
const LASTED: Duration = Duration::from_secs(1);

/// Answers for an agent until the hub ends it for good.
pub(crate) async fn run(
    agent: &Agent,
    address: &Address,
    mut backoff: Backoff,
    mut attached: impl FnMut() + Send,
) -> Result<(), Error> {
    let mut session = Session::new(agent);
    loop {
        let error = match connection::open(&mut session, address).await {
            Ok(mut connection) => {
                attached();
                let since = Instant::now();
                let error = connection.serve(&mut session).await;
                session.cut();
                if since.elapsed() >= LASTED {
                    backoff.reset();
                }
                error
            }
            Err(error) => error,
        };
        if !error.is_passing() {
            return Err(error);
        }
        let wait = match session.patience() {
            Some(patience) => backoff.next_wait_within(patience),
            None => backoff.next_wait(),
        };
        tracing::debug!(agent = %agent.id, %error, ?wait, "not connected; trying again");
        tokio::time::sleep(wait).await;
    }
}
