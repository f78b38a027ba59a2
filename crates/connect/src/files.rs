//! File transfers between a connected agent and its callers. Files made for a client are packed and offered;
//! files sent by a client are unpacked into the client's folder. This module handles the signals; `moving`
//! transfers the bytes.

mod bundles;
mod moving;
pub mod notes;
mod signalling;
pub mod through_hub;
mod uploads;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use jackfield_kit::tasks::Tasks;
use jackfield_model::Offer;
use jackfield_sdk::{CallerSignal, Hub, Reply, ReplyError, Signaller};
use jackfield_transfer::{
    ArchiveLimits, ArchivePart, Packed, changed_since, pack,
    rtc::SignalKind,
    signal::{self, StatusSignal},
};
use jackfield_wire::bridge::{SAFE_CLIENT_ID_RULE, is_safe_client_id};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

use self::{
    bundles::OfferedBundles,
    moving::{TransferJob, TransferRoute},
    signalling::{MAX_CANDIDATES, TransferSignalling},
    uploads::{ExpectedUpload, ExpectedUploads},
};
use crate::workspace::Workspaces;

/// Most archives that transfer at once; further ones wait.
const AT_ONCE: usize = 8;
/// Interval for removing expired archives.
const SWEEP: Duration = Duration::from_secs(60);

/// File transfers of an agent. Clones share the same state.
#[derive(Clone)]
pub(crate) struct FileTransfers {
    shared: Arc<TransferState>,
}

struct TransferState {
    hub: Hub,
    workspaces: Workspaces,
    /// Folder for archives being received.
    parts: PathBuf,
    limits: ArchiveLimits,
    offered: Mutex<OfferedBundles>,
    expected: Mutex<ExpectedUploads>,
    /// Transfers in progress, by id. A new attempt replaces the previous one, because only the newest has a
    /// waiting peer.
    moving: Mutex<HashMap<String, TransferAttempt>>,
    room: Semaphore,
    tasks: Tasks,
}

/// An attempt to transfer an archive. Dropping it cancels the attempt.
struct TransferAttempt {
    /// Sender for the peer's candidates.
    ways: mpsc::Sender<(SignalKind, String)>,
    _end: DropGuard,
}

impl fmt::Debug for FileTransfers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

impl FileTransfers {
    pub(crate) fn new(hub: Hub, workspaces: Workspaces, parts: PathBuf) -> Self {
        let shared = TransferState {
            hub,
            workspaces,
            parts,
            limits: ArchiveLimits::default(),
            offered: Mutex::default(),
            expected: Mutex::default(),
            moving: Mutex::default(),
            room: Semaphore::new(AT_ONCE),
            tasks: Tasks::new(),
        };
        let files = Self {
            shared: Arc::new(shared),
        };
        files.sweep_expired();
        files
    }

    /// Removes expired archives periodically, because they occupy disk space.
    fn sweep_expired(&self) {
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

    /// Offers the files in a client's folder, and reports files that are not sent. `began` is when the work
    /// started: project files changed since then are reported. Project files are never sent.
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

    /// Handles a signal about a transfer.
    pub(crate) fn handle_signal(&self, signal: CallerSignal, signaller: Signaller) {
        match signal.signal_type.as_str() {
            signal::OFFER | signal::RELAY => self.begin(signal, signaller),
            signal::CANDIDATE => {
                let moving = self.shared.moving.lock();
                if let (Some(moving), Some(payload)) =
                    (moving.get(&signal.transfer_id), signal.payload)
                {
                    // More candidates than fit are more than an honest peer has.
                    moving.ways.try_send((SignalKind::Candidate, payload)).ok();
                }
            }
            signal::PREPARE_UPLOAD => self.prepare_upload(signal, signaller),
            other => tracing::debug!(kind = other, "a signal says nothing to this agent"),
        }
    }

    /// Starts a transfer, or a new attempt of it.
    fn begin(&self, signal: CallerSignal, signaller: Signaller) {
        let shared = &self.shared;
        let (ways, heard) = mpsc::channel(MAX_CANDIDATES);
        let line = TransferSignalling::new(&signal, signaller, heard);
        let Some(job) = shared.job(&signal.transfer_id) else {
            warn!(transfer = ?signal.transfer_id, "somebody asks for files that are not kept here");
            line.failed("the agent no longer has these files");
            return;
        };
        let Some(way) = TransferRoute::of(signal) else {
            warn!("a signal about a transfer cannot be read");
            return;
        };
        let end = CancellationToken::new();
        let moving = TransferAttempt {
            ways,
            _end: end.clone().drop_guard(),
        };
        let id = line.transfer().to_owned();
        // The peer has given up the previous attempt.
        shared.moving.lock().insert(id.clone(), moving);
        let mover = shared.clone();
        shared.tasks.spawn(async move {
            let done = end
                .run_until_cancelled(mover.run_transfer(job, way, line))
                .await;
            if done.is_some() {
                mover.attempt_ended(&id, &end);
            }
        });
    }

    /// Prepares for an archive that a caller announces.
    fn prepare_upload(&self, signal: CallerSignal, signaller: Signaller) {
        let line = TransferSignalling::new(&signal, signaller, mpsc::channel(1).1);
        let offer = signal
            .payload
            .and_then(|text| serde_json::from_str::<Offer>(&text).ok());
        let Some(offer) = offer.filter(|offer| offer.transfer_id == signal.transfer_id) else {
            return line.failed("the offer of the files cannot be read");
        };
        let client_id = signal.client_id.filter(|id| is_safe_client_id(id));
        let Some(client_id) = client_id else {
            return line.failed(&format!("field \"client_id\" {SAFE_CLIENT_ID_RULE}"));
        };
        let shared = self.shared.clone();
        // Registered at once, because some callers do not wait for the response.
        let upload = ExpectedUpload {
            offer: offer.clone(),
            client_id,
        };
        shared.expected.lock().expect(upload);
        // A new announcement is a new attempt.
        shared.moving.lock().remove(&offer.transfer_id);
        self.shared.tasks.spawn(async move {
            match ArchivePart::open(&shared.parts, &offer, shared.limits).await {
                Ok(part) => line.report(&StatusSignal::Prepared(part.received())),
                Err(error) => {
                    shared.expected.lock().remove(&offer.transfer_id);
                    line.failed(&error.to_string());
                }
            }
        });
    }

    /// Cancels all transfers.
    pub(crate) async fn finish(&self) {
        self.shared.moving.lock().clear();
        self.shared.tasks.stop(Duration::ZERO).await;
    }
}

impl TransferState {
    fn job(&self, transfer: &str) -> Option<TransferJob> {
        if let Some(bundle) = self.offered.lock().find(transfer) {
            return Some(TransferJob::Send(bundle));
        }
        let upload = self.expected.lock().find(transfer)?;
        Some(TransferJob::Receive(upload))
    }

    /// Removes a finished attempt, unless a newer one has replaced it.
    fn attempt_ended(&self, transfer: &str, end: &CancellationToken) {
        let mut moving = self.moving.lock();
        if !end.is_cancelled() {
            moving.remove(transfer);
        }
    }
}
