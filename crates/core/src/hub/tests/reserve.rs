//! Agents that the hub reaches by itself have their place before they are reached, and not after they were removed.

use super::*;

fn reserve(hub: &Hub, name: &str) -> Result<Arc<Entry>, Failure> {
    let profile = Profile::default();
    hub.agents()
        .reserve(&ann_admin(), &id(name), &profile, "a2a")
        .map(|(entry, _)| entry)
}

fn ann_admin() -> Principal {
    Principal::admin(ann().owner)
}

fn attach(hub: &Hub, entry: &Arc<Entry>) -> Result<Attached, Failure> {
    hub.agents()
        .attach_at(entry, Profile::default(), Line::new())
}

#[tokio::test]
async fn a_reserved_agent_is_listed_offline_and_kept_by_the_store() {
    let store = Arc::new(MemoryStore::default());
    let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
    reserve(&hub, "far").unwrap();
    let seen = hub.agents().discover(&ann(), &Wanted::default());
    assert_eq!(
        (seen.len(), seen[0].online, &*seen[0].door),
        (1, false, "a2a")
    );
    assert_eq!(store.load_agents().await.unwrap().len(), 1);
    assert_eq!(
        hub.calls().open(to("far", "hi")).unwrap_err().reason,
        Reason::Offline
    );
}

#[tokio::test]
async fn a_door_that_the_core_has_not_heard_of_keeps_its_name_over_a_restart() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let reserved = hub
        .agents()
        .reserve(&ann(), &id("far"), &Profile::default(), "telegraph");
    reserved.unwrap();
    let hub = hub_on(store, |_| ()).await;
    assert_eq!(
        hub.agents().find(&ann(), "far").unwrap().door(),
        "telegraph"
    );
}

#[tokio::test]
async fn an_id_of_another_owner_is_not_reserved() {
    let hub = hub().await;
    let _far = reserve(&hub, "far").unwrap();
    let bob = Principal::admin(Owner::parse("bob").unwrap());
    let refused = hub
        .agents()
        .reserve(&bob, &id("far"), &Profile::default(), "a2a");
    assert_eq!(refused.unwrap_err().reason, Reason::Unauthorized);
}

#[tokio::test]
async fn a_removed_agent_is_not_attached_again_where_it_was() {
    let hub = hub().await;
    let entry = reserve(&hub, "far").unwrap();
    drop(attach(&hub, &entry).unwrap());
    assert!(!entry.is_retired());
    hub.agents()
        .forget(&ann_admin(), &id("far"))
        .unwrap()
        .await
        .unwrap();
    entry.retired().await;
    assert_eq!(attach(&hub, &entry).unwrap_err().reason, Reason::Conflict);
    assert!(hub.agents().discover(&ann(), &Wanted::default()).is_empty());
}

#[tokio::test]
async fn an_agent_that_nobody_would_miss_is_forgotten_and_its_id_is_free() {
    let store = Arc::new(MemoryStore::default());
    let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
    let entry = reserve(&hub, "far").unwrap();
    let attached = attach(&hub, &entry).unwrap();
    assert!(
        hub.agents().forget_evictable(&id("far")).is_none(),
        "it is here"
    );
    drop(attached);
    hub.agents()
        .forget_evictable(&id("far"))
        .unwrap()
        .await
        .unwrap();
    assert!(entry.is_retired());
    assert_eq!(attach(&hub, &entry).unwrap_err().reason, Reason::Conflict);
    assert!(store.load_agents().await.unwrap().is_empty());
    let bob = Principal::admin(Owner::parse("bob").unwrap());
    let taken = hub
        .agents()
        .reserve(&bob, &id("far"), &Profile::default(), "a2a");
    assert!(taken.is_ok());
}

#[tokio::test]
async fn an_agent_that_somebody_holds_on_to_is_not_forgotten_by_itself() {
    let hub = hub().await;
    for name in ["shared", "set", "awaited"] {
        reserve(&hub, name).unwrap();
    }
    let change = |name, share, settings| {
        hub.agents()
            .change(&ann(), &id(name), share, settings)
            .unwrap()
    };
    change("shared", Some(Share::Everyone), None);
    let settings = Settings {
        calls_per_hour: Some(1),
        ..Settings::default()
    };
    change("set", None, Some(settings));
    let _waiting = hub.calls().open(Request {
        wait_online: Some(Duration::from_secs(60)),
        ..to("awaited", "hi")
    });
    for name in ["shared", "set", "awaited", "nobody"] {
        assert!(hub.agents().forget_evictable(&id(name)).is_none(), "{name}");
    }
    assert_eq!(hub.agents().discover(&ann(), &Wanted::default()).len(), 3);
}
