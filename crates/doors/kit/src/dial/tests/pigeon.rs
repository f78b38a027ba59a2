//! A door that is made up for the purpose: agents in lofts, dialled by carrier pigeon. It has what a real door that
//! dials has, and no more: a protocol, a configuration that opens the door, a dialler and its records.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::BoxFuture;
use jackfield_core::{agent::Profile, hub::Hub, principal::Principal, store::Store};
use jackfield_model::{AgentId, Failure, Owner, Reason};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::{
    api::store_failure,
    dial::{
        AddedRemote, DialError, DialTarget, Dialler, RemoteProtocol, RemoteState, RemoteView,
        record::{self, StoredRemote},
    },
    door::{DoorConfig, DoorContext, DoorOpenError, OpenedDoor},
};

const DOOR: &str = "pigeon";
const SCHEME: &str = "pigeon://";
/// A loft that no pigeon finds.
pub(super) const NOWHERE: &str = "pigeon://nowhere";

/// The line that the hub's list of protocols gets.
pub(super) const REMOTES: &dyn RemoteProtocol = &Lofts;

#[derive(Debug)]
struct Lofts;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoftSettings {
    birds: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct LoftSpec {
    address: String,
    birds: u32,
}

fn read(target: &DialTarget) -> Result<(AgentId, LoftSpec), DialError> {
    let LoftSettings { birds } = target.settings()?;
    if birds == 0 {
        return Err(DialError::invalid("birds", "must be at least 1"));
    }
    let id = target.id.clone();
    let id = id.ok_or_else(|| DialError::invalid("id", "is required"))?;
    let address = target.address.clone();
    Ok((id, LoftSpec { address, birds }))
}

impl RemoteProtocol for Lofts {
    fn door(&self) -> &'static str {
        DOOR
    }

    fn address_form(&self) -> &'static str {
        "pigeon://LOFT"
    }

    fn claims(&self, address: &str) -> bool {
        address.starts_with(SCHEME)
    }

    fn check(&self, target: &DialTarget) -> Result<(), DialError> {
        read(target)?;
        Ok(())
    }
}

/// The section of the configuration file, which has no keys.
pub(super) struct Config;

impl DoorConfig for Config {
    type Handle = ();

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor, DoorOpenError> {
        let post = PigeonPost {
            hub: context.hub.clone(),
            store: context.store.clone(),
            lofts: Mutex::default(),
        };
        let failed = |error| DoorOpenError::new("cannot dial a loft", error);
        for target in context.configured_remotes(DOOR) {
            let (id, spec) = read(target).map_err(failed)?;
            let taken = post.take(&Principal::local(), &id, spec, true);
            taken.map_err(|failure| failed(failure.into()))?;
        }
        let stored = record::load::<LoftSpec>(&*context.store, DOOR).await;
        let stored = stored.map_err(|error| DoorOpenError::new("cannot read the store", error))?;
        for (id, StoredRemote { spec, .. }) in stored {
            if !post.lofts.lock().contains_key(&id) {
                let taken = post.take(&Principal::local(), &id, spec, false);
                taken.map_err(|failure| failed(failure.into()))?;
            }
        }
        Ok(OpenedDoor {
            dialler: Some(Arc::new(post)),
            ..OpenedDoor::new(())
        })
    }
}

#[derive(Debug)]
struct PigeonPost {
    hub: Hub,
    store: Arc<dyn Store>,
    lofts: Mutex<BTreeMap<AgentId, Loft>>,
}

#[derive(Debug, Clone)]
struct Loft {
    owner: Owner,
    spec: LoftSpec,
    is_configured: bool,
}

impl PigeonPost {
    fn take(
        &self,
        by: &Principal,
        id: &AgentId,
        spec: LoftSpec,
        is_configured: bool,
    ) -> Result<(), Failure> {
        let agents = self.hub.agents();
        let (entry, _) = agents.reserve(by, id, &Profile::default(), DOOR)?;
        let loft = Loft {
            owner: entry.owner().clone(),
            spec,
            is_configured,
        };
        self.lofts.lock().insert(id.clone(), loft);
        Ok(())
    }

    fn named(&self, name: &str) -> Option<(AgentId, Loft)> {
        let lofts = self.lofts.lock();
        let is_it = |id: &AgentId, loft: &Loft| id.as_str() == name || loft.spec.address == name;
        let found = lofts.iter().find(|(id, loft)| is_it(id, loft));
        found.map(|(id, loft)| (id.clone(), loft.clone()))
    }
}

fn view(id: &AgentId, loft: &Loft) -> RemoteView {
    RemoteView {
        owner: Some(loft.owner.clone()),
        configured: loft.is_configured,
        state: match loft.spec.address.as_str() {
            NOWHERE => RemoteState::Offline,
            _ => RemoteState::Online,
        },
        agents: vec![id.clone()],
        ..RemoteView::new(DOOR, id.as_str(), &loft.spec.address).with_details(&loft.spec)
    }
}

impl Dialler for PigeonPost {
    fn protocol(&self) -> &'static dyn RemoteProtocol {
        REMOTES
    }

    fn add<'a>(
        &'a self,
        by: &'a Principal,
        target: DialTarget,
        keep: bool,
    ) -> BoxFuture<'a, Result<AddedRemote, DialError>> {
        Box::pin(async move {
            let (id, spec) = read(&target)?;
            if spec.address == NOWHERE && !keep {
                let text = "the pigeon came back; nothing was added";
                return Err(Failure::new(Reason::Offline, text).into());
            }
            self.take(by, &id, spec.clone(), false)?;
            let stored = StoredRemote {
                spec,
                added_at: Timestamp::UNIX_EPOCH,
            };
            let saved = record::save(&*self.store, DOOR, &id, &stored).await;
            saved.map_err(|error| store_failure(&error))?;
            let (id, loft) = self.named(id.as_str()).expect("it was just added");
            Ok(AddedRemote {
                remote: view(&id, &loft),
                is_new: true,
            })
        })
    }

    fn list(&self) -> Vec<RemoteView> {
        let lofts = self.lofts.lock();
        lofts.iter().map(|(id, loft)| view(id, loft)).collect()
    }

    fn find(&self, name: &str) -> Option<RemoteView> {
        self.named(name).map(|(id, loft)| view(&id, &loft))
    }

    fn remove<'a>(
        &'a self,
        by: &'a Principal,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), DialError>> {
        Box::pin(async move {
            let Some((id, loft)) = self.named(name) else {
                let text = format!("no loft {name:?}");
                return Err(Failure::new(Reason::NotFound, text).into());
            };
            if loft.is_configured {
                return Err(Failure::new(Reason::Conflict, "remove it from the file").into());
            }
            let forgotten = self.hub.agents().forget(by, &id)?.await;
            forgotten.map_err(|error| store_failure(&error))?;
            self.lofts.lock().remove(&id);
            Ok(())
        })
    }
}
