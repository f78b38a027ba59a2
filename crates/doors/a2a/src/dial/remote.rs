//! One remote as an agent of its owner. It is found by its card, attached while that can be reached, and looked at again
//! now and then, and at once when a call met trouble. While it cannot be reached it is offline and tried again. If calls of
//! before a restart wait for it, it is attached before it is found, so that they wait as long as their own clocks let them.

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

use super::{
    contexts::Contexts,
    find::{CardTrouble, Found},
    line::{Eyes, Line, Trouble},
    spec::RemoteSpec,
    way::Way,
    work,
};
use crate::DOOR;

/// How often the card is fetched again.
const REFRESH: Duration = Duration::from_secs(5 * 60);
/// How long to wait at most before the next try to reach it.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// However many calls meet trouble, the card is looked at no more often than this.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// How long calls that are over may take to tell the server, once nothing more comes.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Where a remote stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RemoteState {
    /// It is tried for the first time.
    Trying,
    /// It was reached and can be called.
    Online,
    /// It cannot be reached; it is tried again.
    Offline(String),
    /// It, or a rule of this hub, says no: somebody has to do something. It is tried again all the same.
    Refused(String),
}

/// What is known of a remote.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// Where it stands.
    pub(super) state: RemoteState,
    /// Since when.
    pub(super) since: Timestamp,
    /// What last went wrong, and when.
    pub(super) last_error: Option<(Timestamp, String)>,
    /// What its card said when it was last fetched.
    pub(super) found: Option<Arc<Found>>,
    line: Option<Arc<Line>>,
}

/// One remote.
#[derive(Debug)]
pub(super) struct Remote {
    /// The agent's id.
    pub(super) id: AgentId,
    /// Whose it is.
    pub(super) owner: Owner,
    /// What the operator said of it.
    pub(super) spec: RemoteSpec,
    /// Whether that stands in the configuration file, and not in the store.
    pub(super) is_configured: bool,
    /// When it was added.
    pub(super) added_at: Timestamp,
    /// Which context of the server each conversation is.
    pub(super) contexts: Contexts,
    hub: Hub,
    entry: Arc<Entry>,
    way: Way,
    known: watch::Sender<Known>,
    doubts: Notify,
    /// Whether the last call was refused for what the server was shown.
    is_denied: AtomicBool,
}

/// What a remote is made of.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) spec: RemoteSpec,
    pub(super) way: Way,
    pub(super) is_configured: bool,
    pub(super) added_at: Timestamp,
}

/// Why an attached remote is attached no more.
#[derive(Debug)]
enum Left {
    /// It cannot be reached any more.
    Lost(RemoteState),
    /// It can be reached, but the hub does not let it in.
    NotLetIn(RemoteState),
    /// The agent was removed, or the hub stops.
    ForGood,
}

type Look<'a> = Pin<Box<dyn Future<Output = Result<Found, CardTrouble>> + Send + 'a>>;

impl Remote {
    /// A remote at the place that was reserved for its agent.
    pub(super) fn new(hub: Hub, entry: Arc<Entry>, described: Described) -> Self {
        let known = Known {
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
            contexts: Contexts::default(),
            hub,
            entry,
            way: described.way,
            known: watch::Sender::new(known),
            doubts: Notify::new(),
            is_denied: AtomicBool::new(false),
        }
    }

    /// The hub.
    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The agent's place on the hub.
    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// What is known of it now.
    pub(super) fn known(&self) -> Known {
        self.known.borrow().clone()
    }

    /// The line on which it is called.
    pub(super) fn line(&self) -> Arc<Line> {
        let line = self.known.borrow().line.clone();
        line.expect("calls come only to a remote that was found")
    }

    /// The line on which it is called, once it was found.
    pub(super) async fn found(&self) -> Arc<Line> {
        let mut known = self.known.subscribe();
        // The sender is here: it cannot be gone.
        known.wait_for(|known| known.line.is_some()).await.ok();
        self.line()
    }

    /// A call met trouble. If that may be everybody's, the card is looked at again at once.
    pub(super) fn failed(&self, trouble: &Trouble) {
        match trouble {
            Trouble::Unheard(_)
            | Trouble::Unreachable(_)
            | Trouble::Cut(_)
            | Trouble::Garbled(_) => {
                self.doubts.notify_one();
            }
            // It stays attached all the same: what it is shown is read anew for each call.
            Trouble::Unauthorized(why) => {
                self.is_denied.store(true, Ordering::Relaxed);
                self.stand(RemoteState::Refused(why.clone()));
            }
            // The server is there, and understands what it is asked.
            Trouble::Refused(_) | Trouble::GaveUp(_) => {}
        }
    }

    /// A call was answered: whatever the server was shown, it was right.
    pub(super) fn answered(&self) {
        if self.is_denied.swap(false, Ordering::Relaxed) {
            self.stand(RemoteState::Online);
        }
    }

    /// Writes down what a look at the card brought.
    pub(super) fn note(&self, looked: Result<Found, CardTrouble>) {
        match looked {
            Ok(found) => self.note_found(found),
            Err(trouble) => self.stand(state_of(&trouble)),
        }
    }

    fn note_found(&self, found: Found) {
        self.known.send_modify(|known| {
            let stays = known.found.as_ref().map(|old| &old.place) == Some(&found.place);
            // A line may hold connections: it stays as long as the place does.
            if !stays || known.line.is_none() {
                let eyes = Eyes::of(self.hub.clone(), self.entry.clone());
                known.line = Some(Arc::new(self.way.line(&found).seen_by(eyes)));
            }
            known.found = Some(Arc::new(found));
        });
    }

    /// It stands so from now on.
    fn stand(&self, state: RemoteState) {
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
            // The reason may change while it stays away.
            if std::mem::discriminant(&known.state) != std::mem::discriminant(&state) {
                known.since = now;
            }
            known.state = state;
        });
    }

    /// Resolves when it is known whether it can be called.
    pub(super) async fn settled(&self) {
        let mut known = self.known.subscribe();
        let settled = known.wait_for(|known| known.state != RemoteState::Trying);
        // The sender is here: it cannot be gone.
        settled.await.ok();
    }

    /// Whether its agent was not removed.
    pub(super) fn is_there(&self) -> bool {
        !self.entry.is_retired()
    }

    /// Keeps the agent attached as long as it can be reached, until it is removed or `stop` is cancelled. `looked` is
    /// what the first look at the card brought, if there was one.
    pub(super) async fn run(
        self: Arc<Self>,
        mut looked: Option<Result<Found, CardTrouble>>,
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
                // Calls of before a restart wait for it: it is attached first, and then looked for.
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
                match self.attend(&stop).await {
                    Left::Lost(state) => {
                        self.stand(state);
                        tries = 0;
                    }
                    Left::NotLetIn(state) => self.stand(state),
                    Left::ForGood => return,
                }
            }
            tokio::select! {
                () = sleep(pause(tries)) => {}
                () = &mut over => return,
            }
            tries += 1;
        }
    }

    /// Attaches the agent and works on its calls as long as it can be reached.
    async fn attend(self: &Arc<Self>, stop: &CancellationToken) -> Left {
        if self.entry.link().is_some() {
            return Left::NotLetIn(another_took_it());
        }
        // Each call has exchanges of its own: whoever works on it notes what they show.
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
            Err(_) if self.entry.is_retired() || self.hub.is_stopping() => return Left::ForGood,
            Err(failure) => return Left::NotLetIn(RemoteState::Refused(failure.text.into_owned())),
        };
        let mut served = JoinSet::new();
        let leaving = CancellationToken::new();
        for serving in std::mem::take(&mut attached.adopted) {
            served.spawn(work::go_on(self.clone(), serving, leaving.clone()));
        }
        if is_found {
            self.stand(RemoteState::Online);
            attached.set_away(false);
        }
        let left = self
            .serve(&attached, &inbox, delivered, &mut served, &leaving, stop)
            .await;
        // What is still open then is left to the next hub.
        attached.set_resumable(self.hub.is_stopping());
        // First, so that callers hear that the agent is gone, and not that it gave up each of their calls.
        drop(attached);
        leaving.cancel();
        let last_words = async { while served.join_next().await.is_some() {} };
        // Whoever takes longer is dropped where it waits.
        timeout(LAST_WORDS, last_words).await.ok();
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
    ) -> Left {
        let is_found = self.known.borrow().found.is_some();
        let mut look: Option<Look<'_>> = None;
        let mut last_look = Instant::now();
        let mut next_look = last_look + if is_found { REFRESH } else { Duration::ZERO };
        // Looks in a row that failed. As long as calls are at work it stays attached: they may get through a cut.
        let mut failed = 0;
        loop {
            tokio::select! {
                Some(serving) = delivered.recv() => {
                    served.spawn(work::serve(self.clone(), serving, leaving.clone()));
                }
                Some(_) = served.join_next() => {}
                looked = async { look.as_mut().expect("it is there").await }, if look.is_some() => {
                    look = None;
                    last_look = Instant::now();
                    match looked {
                        Ok(found) => {
                            let profile = found.profile.clone();
                            self.note_found(found);
                            // That the card is to be had says nothing of calls that were refused.
                            if !self.is_denied.load(Ordering::Relaxed) {
                                self.stand(RemoteState::Online);
                            }
                            attached.set_away(false);
                            // It is no harm if this is not written: it is fetched again after a restart.
                            drop(self.hub.agents().refresh(attached, profile));
                            failed = 0;
                            next_look = last_look + REFRESH;
                        }
                        Err(trouble) => {
                            self.stand(state_of(&trouble));
                            attached.set_away(true);
                            next_look = last_look + pause(failed).max(BETWEEN_LOOKS);
                            failed += 1;
                        }
                    }
                }
                () = sleep_until(next_look), if look.is_none() => {
                    look = Some(Box::pin(self.way.find()));
                }
                () = self.doubts.notified(), if look.is_none() => {
                    next_look = next_look.min(last_look + BETWEEN_LOOKS);
                }
                why = inbox.closed() => return match why {
                    Closing::Replaced => Left::Lost(another_took_it()),
                    Closing::Revoked | Closing::Stopping => Left::ForGood,
                },
                () = stop.cancelled() => return Left::ForGood,
            }
            if failed > 0 && served.is_empty() {
                return Left::Lost(self.known.borrow().state.clone());
            }
        }
    }
}

/// Another program registered the id. The id is its own as long as it is there.
fn another_took_it() -> RemoteState {
    RemoteState::Refused(
        "another program registered this agent's id; stop it, or add the remote under another id"
            .to_owned(),
    )
}

fn state_of(trouble: &CardTrouble) -> RemoteState {
    let why = trouble.to_string();
    if trouble.is_refusal() {
        RemoteState::Refused(why)
    } else {
        RemoteState::Offline(why)
    }
}

/// How long to wait after a try that came after `before` others in a row.
fn pause(before: u32) -> Duration {
    outbox::pause(before, rand::random(), None).min(LONGEST_PAUSE)
}
