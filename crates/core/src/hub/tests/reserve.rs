//! Agents that the hub reaches by itself have their place before they are reached, and not after they were removed.

use super::*;

fn reserve(hub: &Hub, name: &str) -> Result<Arc<Entry>, Failure> {
    let profile = Profile::default();
    hub.reserve(&ann_admin(), &id(name), &profile, "a2a")
        .map(|(entry, _)| entry)
}

fn ann_admin() -> Principal {
    Principal::admin(ann().owner)
}

fn attach(hub: &Hub, entry: &Arc<Entry>) -> Result<Attached, Failure> {
    hub.attach_at(entry, Profile::default(), Line::new())
}

#[tokio::test]
async fn a_reserved_agent_is_listed_offline_and_kept_by_the_store() {
    let store = Arc::new(MemoryStore::default());
    let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
    reserve(&hub, "far").unwrap();
    let seen = hub.discover(&ann(), &Wanted::default());
    assert_eq!(
        (seen.len(), seen[0].online, &*seen[0].door),
        (1, false, "a2a")
    );
    assert_eq!(store.load_agents().await.unwrap().len(), 1);
    assert_eq!(
        hub.call(to("far", "hi")).unwrap_err().reason,
        Reason::Offline
    );
}

#[tokio::test]
async fn an_id_of_another_owner_is_not_reserved() {
    let hub = hub().await;
    let _far = reserve(&hub, "far").unwrap();
    let bob = Principal::admin(Owner::parse("bob").unwrap());
    let refused = hub.reserve(&bob, &id("far"), &Profile::default(), "a2a");
    assert_eq!(refused.unwrap_err().reason, Reason::Unauthorized);
}

#[tokio::test]
async fn a_removed_agent_is_not_attached_again_where_it_was() {
    let hub = hub().await;
    let entry = reserve(&hub, "far").unwrap();
    drop(attach(&hub, &entry).unwrap());
    assert!(!entry.is_retired());
    hub.forget(&ann_admin(), &id("far")).unwrap().await.unwrap();
    entry.retired().await;
    assert_eq!(attach(&hub, &entry).unwrap_err().reason, Reason::Conflict);
    assert!(hub.discover(&ann(), &Wanted::default()).is_empty());
}
