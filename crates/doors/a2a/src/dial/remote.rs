//! A remote as an agent of its owner. The hub finds the remote by its card, attaches the agent while the card
//! can be fetched, and fetches the card again at intervals, or at once after a failed call. An unreachable
//! remote is offline and retried. If calls from before a restart wait for the remote, the agent is attached
//! before the card is found, so that the calls wait as long as their own timeouts allow.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jackfield_core::{
    agent::Closing,
    call::AgentHandle,
    entry::Entry,
    hub::{Attached, Hub},
    inbox::Inbox,
    outbox,
};
use jackfield_model::{AgentId, Owner};
use jiff::Timestamp;
use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    card_access::CardAccess,
    client::{RemoteCallError, RemoteClient, TrafficTap},
    contexts::ContextIds,
    find::{CardFetchError, FoundCard},
    remote_call,
    spec::RemoteSpec,
};
use crate::DOOR;

/// Interval between fetches of the card.
const REFRESH: Duration = Duration::from_secs(5 * 60);
/// Longest pause between attempts to reach the remote.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Shortest time between two fetches of the card, for any number of failed calls.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Time for finished calls to cancel their work at the server, after the agent is detached.
const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// State of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RemoteState {
    /// The first attempt is running.
    Trying,
    /// The remote was reached and can be called.
    Online,
    /// The remote is unreachable; the hub retries.
    Offline(String),
    /// The remote, or a rule of the hub, refuses: the operator must act. The hub retries all the same.
    Refused(String),
}

/// Knowledge about a remote.
#[derive(Debug, Clone)]
pub(super) struct RemoteStatus {
    /// Current state.
    pub(super) state: RemoteState,
    /// Time of the last change of the state.
    pub(super) since: Timestamp,
    /// Last error with its time.
    pub(super) last_error: Option<(Timestamp, String)>,
    /// Card at the last successful fetch.
    pub(super) found: Option<Arc<FoundCard>>,
    line: Option<Arc<RemoteClient>>,
}

/// Remote server, an agent of the hub.
#[derive(Debug)]
pub(super) struct Remote {
    /// Agent id.
    pub(super) id: AgentId,
    /// Owner of the agent.
    pub(super) owner: Owner,
    /// Operator's description.
    pub(super) spec: RemoteSpec,
    /// True if the description is in the configuration file, false if in the store.
    pub(super) is_configured: bool,
    /// Time when the remote was added.
    pub(super) added_at: Timestamp,
    /// Remote's context ids of conversations.
    pub(super) contexts: ContextIds,
    hub: Hub,
    entry: Arc<Entry>,
    way: CardAccess,
    known: watch::Sender<RemoteStatus>,
    recheck: Notify,
    /// True if the server refused the credentials of the last call.
    is_denied: AtomicBool,
}

/// Input for a new [`Remote`].
#[derive(Debug)]
pub(super) struct RemoteInit {
    pub(super) spec: RemoteSpec,
    pub(super) way: CardAccess,
    pub(super) is_configured: bool,
    pub(super) added_at: Timestamp,
}

/// Reason why an attached remote was detached.
#[derive(Debug)]
enum DetachReason {
    /// The remote is no longer reachable.
    Lost(RemoteState),
    /// The remote is reachable, but the hub refuses to attach the agent.
    NotLetIn(RemoteState),
    /// The agent was removed, or the hub stops.
    ForGood,
}

type CardFetch<'a> = Pin<Box<dyn Future<Output = Result<FoundCard, CardFetchError>> + Send + 'a>>;

impl Remote {
    /// Creates a remote with the registry entry that was reserved for its agent.
    pub(super) fn new(hub: Hub, entry: Arc<Entry>, described: RemoteInit) -> Self {
        let known = RemoteStatus {
            state: RemoteState::Trying,
            since: Timestamp::now(),
            last_error: None,
            found: None,
            line: None,
        };
        Self {
            id: entry.id.clone(),
            owner: entry.owner().clone(),
            spec: described.spec,
            is_configured: described.is_configured,
            added_at: described.added_at,
            contexts: ContextIds::default(),
            hub,
            entry,
            way: described.way,
            known: watch::Sender::new(known),
            recheck: Notify::new(),
            is_denied: AtomicBool::new(false),
        }
    }

    /// Returns the hub.
    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Returns the registry [`Entry`] of the agent.
    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Returns the current knowledge about the remote.
    pub(super) fn known(&self) -> RemoteStatus {
        self.known.borrow().clone()
    }

    /// Returns the [`RemoteClient`] to the endpoint. Panics if the card was never found; calls come only after the card.
    pub(super) fn line(&self) -> Arc<RemoteClient> {
        let line = self.known.borrow().line.clone();
        line.expect("calls come only to a remote that was found")
    }

    /// Waits until the card is found, then returns the line to the endpoint.
    pub(super) async fn wait_for_line(&self) -> Arc<RemoteClient> {
        let mut known = self.known.subscribe();
        // The sender is a field of `self` and cannot be dropped.
        known.wait_for(|known| known.line.is_some()).await.ok();
        self.line()
    }

    /// Records a failed call. If the failure may affect every call, the card is fetched again at once.
    pub(super) fn failed(&self, trouble: &RemoteCallError) {
        match trouble {
            RemoteCallError::Unheard(_)
            | RemoteCallError::Unreachable(_)
            | RemoteCallError::Cut(_)
            | RemoteCallError::Garbled(_) => {
                self.recheck.notify_one();
            }
            // The agent stays attached: each call reads the credentials anew.
            RemoteCallError::Unauthorized(why) => {
                self.is_denied.store(true, Ordering::Relaxed);
                self.set_state(RemoteState::Refused(why.clone()));
            }
            // The server is reachable and understands requests.
            RemoteCallError::Refused(_) | RemoteCallError::GaveUp(_) => {}
        }
    }

    /// Records an answered call, which proves the credentials.
    pub(super) fn answered(&self) {
        if self.is_denied.swap(false, Ordering::Relaxed) {
            self.set_state(RemoteState::Online);
        }
    }

    /// Records the result of fetching the card.
    pub(super) fn note(&self, looked: Result<FoundCard, CardFetchError>) {
        match looked {
            Ok(found) => self.note_found(found),
            Err(trouble) => self.set_state(state_of(&trouble)),
        }
    }

    fn note_found(&self, found: FoundCard) {
        self.known.send_modify(|known| {
            let stays = known.found.as_ref().map(|old| &old.place) == Some(&found.place);
            // A line may hold connections and is kept as long as the endpoint stays the same.
            if !stays || known.line.is_none() {
                let eyes = TrafficTap::of(self.hub.clone(), self.entry.clone());
                known.line = Some(Arc::new(self.way.line(&found).with_tap(eyes)));
            }
            known.found = Some(Arc::new(found));
        });
    }

    /// Sets the [`RemoteState`], logs a change and records an error.
    fn set_state(&self, state: RemoteState) {
        let changed = self.known.borrow().state != state;
        match &state {
            _ if !changed => {}
            RemoteState::Trying => {}
            RemoteState::Online => tracing::info!(agent = %self.id, "remote is online"),
            RemoteState::Offline(why) | RemoteState::Refused(why) => {
                tracing::warn!(agent = %self.id, why, "remote cannot be called");
            }
        }
        self.known.send_modify(|known| {
            let now = Timestamp::now();
            if let RemoteState::Offline(why) | RemoteState::Refused(why) = &state {
                known.last_error = Some((now, why.clone()));
            }
            // The reason may change while the state stays the same.
            if std::mem::discriminant(&known.state) != std::mem::discriminant(&state) {
                known.since = now;
            }
            known.state = state;
        });
    }

    /// Waits until the first attempt is finished.
    pub(super) async fn settled(&self) {
        let mut known = self.known.subscribe();
        let settled = known.wait_for(|known| known.state != RemoteState::Trying);
        // The sender is a field of `self` and cannot be dropped.
        settled.await.ok();
    }

    /// Returns true unless the agent was removed.
    pub(super) fn is_there(&self) -> bool {
        !self.entry.is_retired()
    }

    /// Keeps the agent attached while the remote is reachable, until the agent is removed or `stop` is
    /// cancelled. `looked` is the result of an earlier fetch of the card, if any.
    pub(super) async fn run(
        self: Arc<Self>,
        mut looked: Option<Result<FoundCard, CardFetchError>>,
        stop: CancellationToken,
    ) {
        let over = async {
            tokio::select! {
                () = self.entry.retired() => {}
                () = stop.cancelled() => {}
            }
        };
        tokio::pin!(over);
        let mut tries = 0;
        loop {
            let look = async {
                // Calls from before a restart wait for the agent: attach first, then fetch the card.
                if self.known.borrow().state == RemoteState::Trying && self.entry.is_awaited() {
                    return true;
                }
                let looked = match looked.take() {
                    Some(looked) => looked,
                    None => self.way.find().await,
                };
                let is_found = looked.is_ok();
                self.note(looked);
                is_found
            };
            let may_attend = tokio::select! {
                may_attend = look => may_attend,
                () = &mut over => return,
            };
            if may_attend {
                match self.attach_and_serve(&stop).await {
                    DetachReason::Lost(state) => {
                        self.set_state(state);
                        tries = 0;
                    }
                    DetachReason::NotLetIn(state) => self.set_state(state),
                    DetachReason::ForGood => return,
                }
            }
            tokio::select! {
                () = sleep(pause(tries)) => {}
                () = &mut over => return,
            }
            tries += 1;
        }
    }

    /// Attaches the agent and serves its calls while the remote is reachable.
    async fn attach_and_serve(self: &Arc<Self>, stop: &CancellationToken) -> DetachReason {
        if self.entry.link().is_some() {
            return DetachReason::NotLetIn(another_took_it());
        }
        // Each call has its own HTTP exchanges, which the call's task reports to observers.
        let (inbox, delivered) = Inbox::new(DOOR, self.hub.limits(), false);
        let found = self.known.borrow().found.clone();
        let is_found = found.is_some();
        let profile = found.map(|found| found.profile.clone());
        let profile = profile.unwrap_or_else(|| self.entry.view().profile);
        let attached = self
            .hub
            .agents()
            .resume_at(&self.entry, profile, inbox.clone());
        let mut attached = match attached {
            Ok(attached) => attached,
            Err(_) if self.entry.is_retired() || self.hub.is_stopping() => {
                return DetachReason::ForGood;
            }
            Err(failure) => {
                return DetachReason::NotLetIn(RemoteState::Refused(failure.text.into_owned()));
            }
        };
        let mut served = JoinSet::new();
        let leaving = CancellationToken::new();
        for serving in std::mem::take(&mut attached.adopted) {
            let span = serving.call().span().clone();
            let work = remote_call::go_on(self.clone(), serving, leaving.clone());
            served.spawn(work.instrument(span));
        }
        if is_found {
            self.set_state(RemoteState::Online);
            attached.set_away(false);
        }
        let left = self
            .serve(&attached, &inbox, delivered, &mut served, &leaving, stop)
            .await;
        // After a restart, the hub resumes the calls that are still open.
        attached.set_resumable(self.hub.is_stopping());
        // Detach first, so that callers see that the agent is gone, not that the agent gave up each call.
        drop(attached);
        leaving.cancel();
        let last_words = async { while served.join_next().await.is_some() {} };
        // Drop tasks that take longer.
        timeout(CANCEL_GRACE, last_words).await.ok();
        left
    }

    async fn serve(
        self: &Arc<Self>,
        attached: &Attached,
        inbox: &Inbox,
        mut delivered: mpsc::Receiver<AgentHandle>,
        served: &mut JoinSet<()>,
        leaving: &CancellationToken,
        stop: &CancellationToken,
    ) -> DetachReason {
        let is_found = self.known.borrow().found.is_some();
        let mut look: Option<CardFetch<'_>> = None;
        let mut last_look = Instant::now();
        let mut next_look = last_look + if is_found { REFRESH } else { Duration::ZERO };
        // Consecutive failed fetches. The agent stays attached while calls run: the calls may survive a
        // disconnect.
        let mut failed = 0;
        loop {
            tokio::select! {
                Some(serving) = delivered.recv() => {
                    let span = serving.call().span().clone();
                    let work = remote_call::serve(self.clone(), serving, leaving.clone());
                    served.spawn(work.instrument(span));
                }
                Some(_) = served.join_next() => {}
                looked = async { look.as_mut().expect("it is there").await }, if look.is_some() => {
                    look = None;
                    last_look = Instant::now();
                    match looked {
                        Ok(found) => {
                            let profile = found.profile.clone();
                            self.note_found(found);
                            // A reachable card does not prove the credentials of calls.
                            if !self.is_denied.load(Ordering::Relaxed) {
                                self.set_state(RemoteState::Online);
                            }
                            attached.set_away(false);
                            // A lost write does no harm: the profile is fetched again after a restart.
                            drop(self.hub.agents().refresh(attached, profile));
                            failed = 0;
                            next_look = last_look + REFRESH;
                        }
                        Err(trouble) => {
                            self.set_state(state_of(&trouble));
                            attached.set_away(true);
                            next_look = last_look + pause(failed).max(BETWEEN_LOOKS);
                            failed += 1;
                        }
                    }
                }
                () = sleep_until(next_look), if look.is_none() => {
                    look = Some(Box::pin(self.way.find()));
                }
                () = self.recheck.notified(), if look.is_none() => {
                    next_look = next_look.min(last_look + BETWEEN_LOOKS);
                }
                why = inbox.closed() => return match why {
                    Closing::Replaced => DetachReason::Lost(another_took_it()),
                    Closing::Revoked | Closing::Stopping => DetachReason::ForGood,
                },
                () = stop.cancelled() => return DetachReason::ForGood,
            }
            if failed > 0 && served.is_empty() {
                return DetachReason::Lost(self.known.borrow().state.clone());
            }
        }
    }
}

/// Returns the state for an agent id that a different program registered. The id belongs to the program while
/// connected.
fn another_took_it() -> RemoteState {
    RemoteState::Refused(
        "another program registered this agent's id; stop it, or add the remote under another id"
            .to_owned(),
    )
}

fn state_of(trouble: &CardFetchError) -> RemoteState {
    let why = trouble.to_string();
    if trouble.is_refusal() {
        RemoteState::Refused(why)
    } else {
        RemoteState::Offline(why)
    }
}

/// Returns the pause after a failed attempt that followed `before` consecutive failures.
fn pause(before: u32) -> Duration {
    outbox::pause(before, rand::random(), None).min(LONGEST_PAUSE)
}
