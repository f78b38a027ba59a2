//! Registry of running requests. `notifications/cancelled` arrives in a separate HTTP request and looks up
//! its target here. Clients choose request ids, so the key of a request is the caller, the session and the
//! id.

use std::{collections::HashMap, sync::Arc};

use jackfield_core::principal::Principal;
use parking_lot::Mutex;
use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

type McpRequestKey = (String, String, RequestId);

/// Registry of running requests.
#[derive(Debug, Default)]
pub(crate) struct RunningRequests(Mutex<HashMap<McpRequestKey, Arc<CancellationToken>>>);

/// Registration of a running request, removed on drop.
#[derive(Debug)]
pub(crate) struct RunningRequest {
    cancels: Arc<RunningRequests>,
    key: Option<McpRequestKey>,
    cancelled: Arc<CancellationToken>,
}

impl RunningRequests {
    /// Registers a request. A request without a session cannot be cancelled: every client counts its requests
    /// from 1.
    pub(crate) fn open(
        self: &Arc<Self>,
        principal: &Principal,
        session: Option<&str>,
        id: Option<RequestId>,
    ) -> RunningRequest {
        let cancelled = Arc::new(CancellationToken::new());
        let key = session
            .zip(id)
            .map(|(session, id)| (principal.key(), session.to_owned(), id));
        if let Some(key) = &key {
            // Reusing the id of a running request is an error of the client. The later request wins.
            self.0.lock().insert(key.clone(), cancelled.clone());
        }
        RunningRequest {
            cancels: self.clone(),
            key,
            cancelled,
        }
    }

    /// Cancels a request, if running.
    pub(crate) fn cancel(&self, principal: &Principal, session: &str, id: RequestId) {
        let key = (principal.key(), session.to_owned(), id);
        if let Some(cancelled) = self.0.lock().remove(&key) {
            cancelled.cancel();
        }
    }
}

impl RunningRequest {
    /// Waits until the client cancels the request.
    pub(crate) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        let Some(key) = &self.key else {
            return;
        };
        let mut open = self.cancels.0.lock();
        // Keep a later request with the same id.
        if open
            .get(key)
            .is_some_and(|it| Arc::ptr_eq(it, &self.cancelled))
        {
            open.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString::Number;

    use super::*;

    #[test]
    fn a_cancel_finds_only_the_request_of_its_own_client() {
        let cancels = Arc::new(RunningRequests::default());
        let ann = Principal::local();
        let mine = cancels.open(&ann, Some("s1"), Some(Number(1)));
        let other = cancels.open(&ann, Some("s2"), Some(Number(1)));
        let nameless = cancels.open(&ann, None, Some(Number(1)));
        cancels.cancel(&ann, "s1", Number(2));
        cancels.cancel(&Principal::platform(), "s1", Number(1));
        assert!(!mine.cancelled.is_cancelled());
        cancels.cancel(&ann, "s1", Number(1));
        assert!(mine.cancelled.is_cancelled());
        assert!(!other.cancelled.is_cancelled() && !nameless.cancelled.is_cancelled());
        drop((mine, other, nameless));
        assert!(cancels.0.lock().is_empty());
    }
}
