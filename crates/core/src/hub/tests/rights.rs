//! The right to a call is checked again when its agent gets it: docs/promises.md, Access.

use super::*;
use jackfield_model::TokenId;

use crate::{
    outbox::{Callback, Follower},
    store::CallbackFilter,
    token::{NewToken, TokenLookup},
};

/// A new token of an owner's, and who shows it.
async fn token(hub: &Hub, name: &str, scopes: &[&str]) -> (TokenId, Principal) {
    let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
    let tokens = hub.tokens();
    let made = tokens.create("t".into(), owner(name), &scopes, None).await;
    let NewToken { record, secret } = made.unwrap();
    match tokens.look_up(&secret) {
        TokenLookup::Valid(principal) => (record.id, principal),
        other => panic!("{other:?}"),
    }
}

/// A request that waits for an agent that is away.
fn waiting(principal: &Principal, target: &str) -> Request {
    Request {
        principal: principal.clone(),
        wait_online: Some(Duration::from_secs(3600)),
        ..to(target, &principal.key())
    }
}

fn share(hub: &Hub, agent: &str, share: Share) {
    let changed = hub.agents().change(&ann(), &id(agent), Some(share), None);
    changed.unwrap();
}

async fn failed(hub: &Hub, task: &Task) -> Failure {
    let found = hub.tasks().find(&Principal::local(), task.id).await;
    let record = found.unwrap().record();
    assert_eq!(record.state, TaskState::Failed);
    record.failure.unwrap()
}

fn callback(url: &str) -> Callback {
    Callback {
        url: url.into(),
        kind: "bridge".into(),
        data: None,
        token: None,
    }
}

fn follower(name: &str) -> Follower {
    Follower {
        id: name.into(),
        callback: callback(name),
    }
}

/// The addresses of all callbacks in the outbox.
async fn outbox(store: &dyn Store) -> Vec<String> {
    let filter = CallbackFilter {
        limit: 99,
        ..CallbackFilter::default()
    };
    let rows = store.list_callbacks(filter).await.unwrap();
    let mut urls: Vec<_> = rows.into_iter().map(|row| row.callback.url).collect();
    urls.sort();
    urls
}

#[tokio::test(start_paused = true)]
async fn what_waits_with_a_token_that_was_revoked_never_reaches_the_agent() {
    let hub = hub().await;
    drop(agent(&hub, "a"));
    let (first, with_first) = token(&hub, "ann", &[]).await;
    let (_, with_second) = token(&hub, "ann", &[]).await;
    let lost = hub.tasks().start(waiting(&with_first, "a")).await.unwrap();
    let kept = hub.tasks().start(waiting(&with_second, "a")).await.unwrap();
    let agents = with_first.as_agent(id("b"));
    let of_agent = hub.tasks().start(waiting(&agents, "a")).await.unwrap();
    assert!(hub.tokens().revoke(first).await.unwrap());
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert_eq!(line.texts(), ["ann"], "that of the other token");
    for task in [&lost, &of_agent] {
        let failure = failed(&hub, task).await;
        assert_eq!(failure.reason, Reason::Unauthorized);
        assert!(failure.text.contains("token"), "{failure}");
    }
    line.next().finish(End::done());
    until_idle().await;
    assert_eq!(state(&kept), TaskState::Completed);
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_restart_gives_no_rights_back() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    drop(agent(&hub, "a"));
    let (revoked, eve) = token(&hub, "eve", &["call:*"]).await;
    let (_, bob) = token(&hub, "bob", &["call:*"]).await;
    let (_, cut_off) = token(&hub, "dan", &[]).await;
    share(&hub, "a", Share::Everyone);
    let platform = Principal::platform();
    let callers = [
        &eve,
        &bob,
        &cut_off,
        &Principal::local(),
        &platform,
        &platform.as_agent(id("x")),
    ];
    let mut tasks = Vec::new();
    for caller in callers {
        tasks.push(hub.tasks().start(waiting(caller, "a")).await.unwrap());
    }
    hub.tokens().revoke(revoked).await.unwrap();
    share(&hub, "a", Share::Nobody);
    // As a process that was killed right then leaves it.
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    let mut heard = line.texts();
    heard.sort();
    let rest = ["bob", "local", "platform/agent/x", "platform/platform"];
    assert_eq!(heard, rest);
    assert_eq!(failed(&hub, &tasks[0]).await.reason, Reason::Unauthorized);
    let unshared = failed(&hub, &tasks[2]).await;
    assert_eq!(unshared, Failure::no_such_agent("a"));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_expired_while_its_call_waited_is_no_right() {
    let hub = hub().await;
    drop(agent(&hub, "a"));
    let grant = Grant {
        expires_at: Some(Timestamp::now()),
        ..Grant::default()
    };
    let expired = Principal {
        grant: grant.into(),
        ..ann()
    };
    let task = hub.tasks().start(waiting(&expired, "a")).await.unwrap();
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert!(line.texts().is_empty());
    assert_eq!(failed(&hub, &task).await.reason, Reason::Unauthorized);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_shared_no_more_is_unknown_to_what_waits_for_it() {
    let hub = hub().await;
    drop(agent(&hub, "a"));
    share(&hub, "a", Share::With(vec![owner("bob"), owner("dan")]));
    let lost = hub.tasks().start(waiting(&bob(), "a")).await.unwrap();
    hub.tasks()
        .start(waiting(&person("dan"), "a"))
        .await
        .unwrap();
    share(&hub, "a", Share::With(vec![owner("dan")]));
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert_eq!(line.texts(), ["dan"]);
    assert_eq!(failed(&hub, &lost).await, Failure::no_such_agent("a"));
}

#[tokio::test(start_paused = true)]
async fn what_waits_without_a_right_frees_its_place_before_the_agent_comes() {
    let hub = hub_with(|limits| limits.pending_per_agent = 1).await;
    drop(agent(&hub, "a"));
    share(&hub, "a", Share::Everyone);
    let lost = hub.tasks().start(waiting(&bob(), "a")).await.unwrap();
    share(&hub, "a", Share::Nobody);
    pass(&hub, 1).await;
    assert_eq!(failed(&hub, &lost).await.reason, Reason::NotFound);
    assert!(hub.tasks().start(waiting(&ann(), "a")).await.is_ok());
}

#[tokio::test]
async fn a_live_call_that_waits_for_its_turn_is_refused_and_the_next_one_has_it() {
    let hub = hub().await;
    let line = Line::one_at_a_time();
    let _a = attach(&hub, "a", &line);
    share(&hub, "a", Share::Everyone);
    let call = |principal, text| {
        let request = Request {
            principal,
            ..to("a", text)
        };
        hub.calls().open(in_session("s", request)).unwrap()
    };
    // Sessions of the owner `local` are one at the agent; as an admin it needs no share.
    let guest = || person("local");
    let _first = call(guest(), "first");
    let refused = [call(guest(), "x"), call(guest(), "y")];
    let _last = call(Principal::local(), "last");
    share(&hub, "a", Share::Nobody);
    line.next().finish(End::done());
    assert_eq!(line.texts(), ["last"]);
    for asking in &refused {
        assert_eq!(failure(asking), Reason::NotFound);
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_on_behalf_of_a_token_that_was_revoked() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let (first, with_first) = token(&hub, "ann", &[]).await;
    let (_, with_second) = token(&hub, "ann", &[]).await;
    let asked = |principal: &Principal| Request {
        principal: principal.clone(),
        callback: Some(callback("at the end")),
        followers: vec![follower("follows")],
        ..to("a", "hi")
    };
    let over = hub.tasks().start(asked(&with_first)).await.unwrap();
    until_idle().await;
    line.next().finish(End::done());
    let open = hub.tasks().start(asked(&with_first)).await.unwrap();
    let tasks = hub.tasks();
    let second = follower("of the second token");
    tasks.follow(&with_second, open.id, second).await.unwrap();
    until_idle().await;
    assert_eq!(outbox(&*store).await.len(), 4);
    hub.tokens().revoke(first).await.unwrap();
    assert_eq!(outbox(&*store).await, [""; 0]);
    line.next().finish(End::done());
    until_idle().await;
    assert_eq!(outbox(&*store).await, ["of the second token"]);
    pass(&hub, 1).await;
    for task in [&over, &open] {
        let record = store.find_task(task.id).await.unwrap().unwrap();
        assert_eq!(record.callback, None);
        assert!(record.followers.iter().all(|it| it.id != "follows"));
    }
    assert_eq!(state(&open), TaskState::Completed, "the work goes on");
}

#[tokio::test(start_paused = true)]
async fn a_callback_that_is_due_is_not_sent_for_a_token_that_is_gone() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    let (_, with_token) = token(&hub, "ann", &[]).await;
    let told = Request {
        principal: with_token.clone(),
        followers: vec![follower("follows")],
        ..to("a", "hi")
    };
    hub.tasks().start(told).await.unwrap();
    until_idle().await;
    line.next().finish(End::done());
    until_idle().await;
    assert_eq!(hub.callbacks().due(9).await.unwrap().len(), 1);
    // Of the lane only the first is due; revoked behind the store's back, as after an expiry.
    with_token.grant.revoked.cancel();
    assert!(hub.callbacks().due(9).await.unwrap().is_empty());
    assert_eq!(outbox(&*store).await, [""; 0]);
}
