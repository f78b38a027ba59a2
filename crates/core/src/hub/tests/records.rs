//! What is kept of an agent is what was last decided, whoever changes it at the same time.

use std::thread;

use super::{slow_store::on_slow_store, *};

fn described(text: &str) -> Profile {
    Profile {
        description: Some(text.into()),
        ..Profile::default()
    }
}

/// Attaches an agent that says something new of itself, so that it is saved.
fn attach_changed(hub: &Hub) -> Result<Attached, Failure> {
    hub.agents()
        .attach(&ann(), &id("a"), described("new"), Line::new(), false)
}

#[tokio::test]
async fn an_attach_that_meets_an_unshare_does_not_bring_the_share_back() {
    let (store, hub) = on_slow_store(|_| ()).await;
    drop(agent(&hub, "a"));
    let share = |share| {
        hub.agents()
            .change(&ann(), &id("a"), Some(share), None)
            .unwrap()
            .1
    };
    share(Share::Everyone).await.unwrap();
    store.hold_up_an_agent();
    thread::scope(|threads| {
        threads.spawn(|| drop(attach_changed(&hub).unwrap()));
        store.wait_until_held_up();
        threads.spawn(|| drop(share(Share::Nobody)));
    });
    let [kept] = &store.load_agents().await.unwrap()[..] else {
        panic!("one agent is kept")
    };
    assert_eq!(kept.share, Share::Nobody);
    assert_eq!(kept.profile, described("new"));
}

#[tokio::test]
async fn an_attach_that_meets_a_forget_does_not_bring_the_agent_back() {
    let (store, hub) = on_slow_store(|_| ()).await;
    drop(agent(&hub, "a"));
    store.hold_up_an_agent();
    thread::scope(|threads| {
        // Whether it is refused or told to go depends on who came first.
        threads.spawn(|| drop(attach_changed(&hub)));
        store.wait_until_held_up();
        threads.spawn(|| drop(hub.agents().forget(&ann(), &id("a")).unwrap()));
    });
    assert_eq!(store.load_agents().await.unwrap(), []);
    assert!(hub.agents().find(&ann(), "a").is_err());
}

#[tokio::test]
async fn nothing_is_kept_of_an_agent_that_was_forgotten_meanwhile() {
    let (store, hub) = on_slow_store(|_| ()).await;
    drop(agent(&hub, "a"));
    let entry = hub.agents().find(&ann(), "a").unwrap();
    hub.agents()
        .forget(&ann(), &id("a"))
        .unwrap()
        .await
        .unwrap();
    let refused = hub
        .agents()
        .attach_at(&entry, described("late"), Line::new());
    assert_eq!(refused.unwrap_err().reason, Reason::Conflict);
    assert!(entry.save_to(&*store).is_none());
    assert_eq!(store.load_agents().await.unwrap(), []);
}

#[tokio::test]
async fn a_forget_that_comes_late_leaves_an_agent_alone_that_registered_since() {
    let (store, hub) = on_slow_store(|_| ()).await;
    drop(agent(&hub, "a"));
    let old = hub.agents().find(&ann(), "a").unwrap();
    hub.agents()
        .forget(&ann(), &id("a"))
        .unwrap()
        .await
        .unwrap();
    let _new = agent(&hub, "a");
    // A second one that had found the agent before the first one forgot it.
    assert_eq!(
        hub.agents().remove(&old).unwrap_err(),
        Failure::no_such_agent("a")
    );
    assert!(hub.agents().find(&ann(), "a").unwrap().is_online());
    assert_eq!(store.load_agents().await.unwrap().len(), 1);
}
