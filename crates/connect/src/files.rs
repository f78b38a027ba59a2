//! Files between a connected agent and its callers: what it made for a client is packed and offered, what a client sends
//! ahead is unpacked into its folder. Here is what is said about transfers; how the bytes go is in `moving.rs`.

mod bundles;
mod line;
mod moving;
pub mod notes;
pub mod through_hub;
mod uploads;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use jackfield_files::{Limits, Offer, Packed, Part, changed_since, pack, rtc::Kind};
use jackfield_kit::tasks::Tasks;
use jackfield_sdk::{Hub, Reply, ReplyError, Signal, Signaller};
use jackfield_wire::bridge::{SAFE_CLIENT_ID, is_safe_client_id};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

use self::{
    bundles::Bundles,
    line::{Line, WAYS},
    moving::{Job, Way},
    uploads::{Upload, Uploads},
};
use crate::workspace::Workspaces;

/// How many archives move at once; the others wait.
const AT_ONCE: usize = 8;
/// How often is looked whose time is over.
const SWEEP: Duration = Duration::from_secs(60);

/// Files of an agent and its callers. Clones are the same.
#[derive(Clone)]
pub(crate) struct Files {
    shared: Arc<Shared>,
}

struct Shared {
    hub: Hub,
    workspaces: Workspaces,
    /// Where what is being received lies.
    parts: PathBuf,
    limits: Limits,
    offered: Mutex<Bundles>,
    expected: Mutex<Uploads>,
    /// What moves now, by transfer: one try at a time, and the newest is the one that somebody waits for.
    moving: Mutex<HashMap<String, Moving>>,
    room: Semaphore,
    tasks: Tasks,
}

/// A try to move an archive. Dropping it ends it.
struct Moving {
    /// Where its addresses go.
    ways: mpsc::Sender<(Kind, String)>,
    _end: DropGuard,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

impl Files {
    pub(crate) fn new(hub: Hub, workspaces: Workspaces, parts: PathBuf) -> Self {
        let shared = Shared {
            hub,
            workspaces,
            parts,
            limits: Limits::default(),
            offered: Mutex::default(),
            expected: Mutex::default(),
            moving: Mutex::default(),
            room: Semaphore::new(AT_ONCE),
            tasks: Tasks::new(),
        };
        let files = Self {
            shared: Arc::new(shared),
        };
        files.let_go_in_time();
        files
    }

    /// Archives lie on the disk, so they go when their time is over, and not only when somebody asks.
    fn let_go_in_time(&self) {
        let shared = Arc::downgrade(&self.shared);
        self.shared.tasks.spawn(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                match shared.upgrade() {
                    Some(shared) => shared.offered.lock().expire(),
                    None => return,
                }
            }
        });
    }

    /// Offers what is in the folder of a client, after work that began then, and says what is not sent. The project itself
    /// is never sent.
    pub(crate) async fn offer(
        &self,
        client_id: Option<&str>,
        folder: &Path,
        began: SystemTime,
        reply: &Reply,
    ) -> Result<(), ReplyError> {
        if client_id.is_none() {
            let why = "the call names no client_id, and only folders of clients are sent";
            return reply.status(notes::no_offer(why)).await;
        }
        let shared = &self.shared;
        let links = shared.workspaces.links(folder).await;
        match pack(folder, shared.limits, &links).await {
            Ok(Packed { bundle, omitted }) => {
                if !omitted.is_empty() {
                    reply.status(notes::omitted(&omitted)).await?;
                }
                if let Some(bundle) = bundle {
                    reply.offer_files(json!(bundle.offer()));
                    shared.offered.lock().keep(bundle);
                }
            }
            Err(error) => reply.status(notes::no_offer(error)).await?,
        }
        match changed_since(shared.workspaces.project(), links, began).await {
            Ok(names) if names.is_empty() => Ok(()),
            Ok(names) => reply.status(notes::behind_links(&names)).await,
            Err(error) => {
                warn!(%error, "nobody knows what was changed in the project");
                Ok(())
            }
        }
    }

    /// Somebody says something about a transfer.
    pub(crate) fn hear(&self, signal: Signal, signaller: Signaller) {
        match signal.signal_type.as_str() {
            "offer" | "relay" => self.begin(signal, signaller),
            "candidate" => {
                let moving = self.shared.moving.lock();
                if let (Some(moving), Some(payload)) =
                    (moving.get(&signal.transfer_id), signal.payload)
                {
                    // More addresses than fit are more than an honest peer has.
                    moving.ways.try_send((Kind::Candidate, payload)).ok();
                }
            }
            "prepare-upload" => self.expect(signal, signaller),
            other => tracing::debug!(kind = other, "a signal says nothing to this agent"),
        }
    }

    /// Somebody wants to move an archive, for the first time or again.
    fn begin(&self, signal: Signal, signaller: Signaller) {
        let shared = &self.shared;
        let (ways, heard) = mpsc::channel(WAYS);
        let line = Line::new(&signal, signaller, heard);
        let Some(job) = shared.job(&signal.transfer_id) else {
            warn!(transfer = ?signal.transfer_id, "somebody asks for files that are not kept here");
            line.failed("the agent no longer has these files");
            return;
        };
        let Some(way) = Way::of(signal) else {
            warn!("a signal about a transfer cannot be read");
            return;
        };
        let end = CancellationToken::new();
        let moving = Moving {
            ways,
            _end: end.clone().drop_guard(),
        };
        let id = line.transfer().to_owned();
        // What moved before was given up by the other side.
        shared.moving.lock().insert(id.clone(), moving);
        let mover = shared.clone();
        shared.tasks.spawn(async move {
            let done = end.run_until_cancelled(mover.carry(job, way, line)).await;
            if done.is_some() {
                mover.ended(&id, &end);
            }
        });
    }

    /// Somebody will send an archive.
    fn expect(&self, signal: Signal, signaller: Signaller) {
        let line = Line::new(&signal, signaller, mpsc::channel(1).1);
        let offer = signal
            .payload
            .and_then(|text| serde_json::from_str::<Offer>(&text).ok());
        let Some(offer) = offer.filter(|offer| offer.transfer_id == signal.transfer_id) else {
            return line.failed("the offer of the files cannot be read");
        };
        let client_id = signal.client_id.filter(|id| is_safe_client_id(id));
        let Some(client_id) = client_id else {
            return line.failed(&format!("field \"client_id\" {SAFE_CLIENT_ID}"));
        };
        let shared = self.shared.clone();
        // At once: others do not wait for an answer before they go on.
        let upload = Upload {
            offer: offer.clone(),
            client_id,
        };
        shared.expected.lock().expect(upload);
        // A new announcement is a new try.
        shared.moving.lock().remove(&offer.transfer_id);
        self.shared.tasks.spawn(async move {
            match Part::open(&shared.parts, &offer, shared.limits).await {
                Ok(part) => line.say("prepared", &json!({"received": part.received()})),
                Err(error) => {
                    shared.expected.lock().remove(&offer.transfer_id);
                    line.failed(&error.to_string());
                }
            }
        });
    }

    /// Lets go of everything.
    pub(crate) async fn finish(&self) {
        self.shared.moving.lock().clear();
        self.shared.tasks.stop(Duration::ZERO).await;
    }
}

impl Shared {
    fn job(&self, transfer: &str) -> Option<Job> {
        if let Some(bundle) = self.offered.lock().find(transfer) {
            return Some(Job::Send(bundle));
        }
        let upload = self.expected.lock().find(transfer)?;
        Some(Job::Receive(upload))
    }

    /// A try is over; if it was not the newest one, that goes on.
    fn ended(&self, transfer: &str, end: &CancellationToken) {
        let mut moving = self.moving.lock();
        if !end.is_cancelled() {
            moving.remove(transfer);
        }
    }
}
