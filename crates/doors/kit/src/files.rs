//! [`Files`]: files that came as bytes, for readers whose protocol knows only links. The hub keeps them in memory for a
//! while and serves them under a link that cannot be guessed: the link is signed, and expires.
//!
//! If the files do not fit, the owner that holds most loses its oldest.
//!
//! Nothing is written to disk. A link whose file was evicted, or that was made before a restart of the hub,
//! is gone; a new request for the answer gets a new link.

mod cache;
mod held;
mod key;
mod name;

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
    time::Duration,
};

use jackfield_core::{
    call::Call, hub::Hub, limits::Limits, observer::HubObserver, principal::Principal,
    store::TaskRecord,
};
use jackfield_model::{File, FileSource, Owner};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

use self::cache::FileCache;
pub use self::{
    held::{Pieces, ServedFile},
    key::FileKey,
};
/// Path below the hub's address that serves the files.
const PATH: &str = "/v1/files";

/// The linked files. New links through this handle count for one owner, or for the hub itself.
#[derive(Debug)]
pub struct Files {
    kept: Arc<Kept>,
    owner: Option<Owner>,
}

#[derive(Debug)]
struct Kept {
    lifetime: Duration,
    /// `None` while the hub does not know its own address.
    place: OnceLock<Place>,
    cache: Mutex<FileCache>,
}

#[derive(Debug)]
struct Place {
    base: String,
    key: FileKey,
}

/// The fields of a link.
#[derive(Debug, Clone, Copy)]
pub struct Link<'a> {
    /// Id of the file.
    pub id: &'a str,
    /// Name of the file.
    pub name: &'a str,
    /// Time at which the link expires, in seconds since 1970.
    pub expires: &'a str,
    /// Signature of the other fields.
    pub signature: &'a str,
}

/// Why a link is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadLink {
    /// The hub did not sign the link.
    #[error("this is no link of this hub, or a part of it is missing or was changed")]
    Forged,
    /// The link has expired, or its file was evicted.
    #[error("this link has ended, or its file had to make room; ask for the answer again")]
    Gone,
}

impl Files {
    /// Creates an empty set without an address.
    pub fn new(limits: &Limits) -> Self {
        let kept = Kept {
            lifetime: limits.file_link.0,
            place: OnceLock::new(),
            cache: Mutex::new(FileCache::new(limits.files_total.0)),
        };
        Self {
            kept: Arc::new(kept),
            owner: None,
        }
    }

    /// Creates the linked files of a hub, without an address. The hub's sweep drops expired ones.
    pub fn for_hub(hub: &Hub) -> Arc<Self> {
        let files = Arc::new(Self::new(hub.limits()));
        hub.observe(files.clone());
        files
    }

    /// Returns a handle whose new links count for the owner of the principal that makes `call`.
    pub fn of_call(&self, call: &Call) -> Arc<Self> {
        self.of(&call.principal.owner)
    }

    /// Returns a handle whose new links count for the owner of the principal that started `task`.
    pub fn of_task(&self, task: &TaskRecord) -> Arc<Self> {
        match Principal::from_key(&task.principal) {
            Some(principal) => self.of(&principal.owner),
            None => Arc::new(Self {
                kept: self.kept.clone(),
                owner: None,
            }),
        }
    }

    /// Returns a handle whose new links count for `owner`, who made the call.
    pub fn of(&self, owner: &Owner) -> Arc<Self> {
        Arc::new(Self {
            kept: self.kept.clone(),
            owner: Some(owner.clone()),
        })
    }

    /// Makes links from now on, below this URL and signed with this key. Only the first call counts.
    pub fn serve_at(&self, base: &str, key: FileKey) {
        let base = base.trim_end_matches('/').to_owned();
        self.kept.place.get_or_init(|| Place { base, key });
    }

    /// Returns the hub's own address, if known.
    pub fn base(&self) -> Option<&str> {
        self.kept.place.get().map(|place| place.base.as_str())
    }

    /// Returns the address of any file: its own, or a link, or if there can be none a URL with the bytes.
    pub fn url<'a>(&self, file: &'a File) -> Cow<'a, str> {
        match &file.source {
            FileSource::Uri(url) => url.into(),
            FileSource::Bytes(base64) => match self.link(file) {
                Some(link) => link.into(),
                None => {
                    let mime = file.mime.as_deref().unwrap_or_default();
                    format!("data:{mime};base64,{base64}").into()
                }
            },
        }
    }

    /// Returns a link to a file of bytes. `None` if the hub has no address, the bytes are no base64, or they
    /// do not fit.
    pub fn link(&self, file: &File) -> Option<String> {
        self.link_at(file, Timestamp::now())
    }

    /// Returns a link as of the time `now`.
    pub fn link_at(&self, file: &File, now: Timestamp) -> Option<String> {
        let place = self.kept.place.get()?;
        let held = ServedFile::of(file)?;
        let (id, name) = (held.id(self.owner.as_ref()), held.encoded_name());
        let lifetime = i64::try_from(self.kept.lifetime.as_secs()).unwrap_or(i64::MAX);
        let expires = now.as_second().saturating_add(lifetime);
        let signature = place.key.sign(&id, &expires.to_string(), held.name());
        let owner = self.owner.clone();
        let is_kept = self
            .kept
            .cache
            .lock()
            .put(Arc::from(&*id), held, expires, owner);
        is_kept.then(|| {
            let base = &place.base;
            format!("{base}{PATH}/{id}/{name}?expires={expires}&sig={signature}")
        })
    }

    /// Returns the file of a link.
    pub fn open(&self, link: Link<'_>) -> Result<ServedFile, BadLink> {
        self.open_at(link, Timestamp::now())
    }

    /// Returns the file of a link as of the time `now`.
    pub fn open_at(&self, link: Link<'_>, now: Timestamp) -> Result<ServedFile, BadLink> {
        let place = self.kept.place.get().ok_or(BadLink::Forged)?;
        if !place.key.has_signed(link) {
            return Err(BadLink::Forged);
        }
        let expires: i64 = link.expires.parse().map_err(|_| BadLink::Forged)?;
        if expires <= now.as_second() {
            return Err(BadLink::Gone);
        }
        self.kept.cache.lock().get(link.id).ok_or(BadLink::Gone)
    }

    /// Drops files whose links have all expired.
    fn expire(&self, now: Timestamp) {
        self.kept.cache.lock().expire(now.as_second());
    }
}

impl HubObserver for Files {
    fn sweep(&self, _: Instant) {
        self.expire(Timestamp::now());
    }
}

#[cfg(test)]
mod tests;
