//! Parents, hops and loops.

use super::*;
use crate::call::Patience;

/// A request of ann's agent `from`.
fn from(agent: &str, target: &str) -> Request {
    Request {
        principal: ann().as_agent(id(agent)),
        ..to(target, "hi")
    }
}

fn for_call(call: &CallerHandle, request: Request) -> Request {
    Request {
        parent: Parent::Call(call.call().id),
        ..request
    }
}

fn agents(asking: &CallerHandle) -> Vec<&str> {
    asking
        .call()
        .chain
        .agents()
        .iter()
        .map(AgentId::as_str)
        .collect()
}

#[tokio::test]
async fn the_only_open_call_of_the_calling_agent_is_the_parent() {
    let hub = hub().await;
    let ((_a, at_a), (_b, _), (_c, _)) = (agent(&hub, "a"), agent(&hub, "b"), agent(&hub, "c"));
    let parent = hub.calls().open(to("a", "hi")).unwrap();
    let _serving = at_a.next();
    let child = hub.calls().open(from("a", "b")).unwrap();
    assert_eq!(child.call().parent().unwrap().id, parent.call().id);
    assert_eq!(agents(&child), ["a", "b"]);
    assert_eq!(child.call().chain.hops(), 2);
}

#[tokio::test]
async fn a_call_that_the_agent_has_not_got_yet_is_nobodys_parent() {
    let hub = hub().await;
    let line = Line::one_at_a_time();
    let _a = attach(&hub, "a", &line);
    let (_b, _) = agent(&hub, "b");
    let first = hub.calls().open(in_session("s", to("a", "1"))).unwrap();
    let _queued = hub.calls().open(in_session("s", to("a", "2"))).unwrap();
    let child = hub.calls().open(from("a", "b")).unwrap();
    assert_eq!(child.call().parent().unwrap().id, first.call().id);
}

#[tokio::test]
async fn a_parent_may_be_named_by_request_and_by_call() {
    let hub = hub().await;
    let ((_a, at_a), (_b, _)) = (agent(&hub, "a"), agent(&hub, "b"));
    let _one = hub.calls().open(with_id("r1", to("a", "1"))).unwrap();
    let two = hub.calls().open(with_id("r2", to("a", "2"))).unwrap();
    let _servings = [at_a.next(), at_a.next()];
    let named = Parent::Request(RequestId::parse("r2").unwrap());
    let by_request = hub
        .calls()
        .open(Request {
            parent: named,
            ..from("a", "b")
        })
        .unwrap();
    let by_call = hub.calls().open(for_call(&two, from("a", "b"))).unwrap();
    // A program that the agent started calls as its owner.
    let by_owner = hub.calls().open(for_call(&two, to("b", "hi"))).unwrap();
    for child in [by_request, by_call, by_owner] {
        assert_eq!(child.call().parent().unwrap().id, two.call().id);
        assert_eq!(agents(&child), ["a", "b"]);
    }
}

#[tokio::test]
async fn an_unknown_parent_counts_as_the_longest_open_one() {
    let hub = hub().await;
    let ((_a, at_a), (_b, at_b), (_c, _)) = (agent(&hub, "a"), agent(&hub, "b"), agent(&hub, "c"));
    let _one = hub.calls().open(to("a", "1")).unwrap();
    let _at_a = at_a.next();
    let _two = hub.calls().open(from("a", "b")).unwrap();
    let _three = hub.calls().open(to("b", "3")).unwrap();
    let _at_b = [at_b.next(), at_b.next()];
    let child = hub.calls().open(from("b", "c")).unwrap();
    assert!(child.call().parent().is_none());
    assert_eq!(child.call().chain.hops(), 3);
    assert_eq!(agents(&child), ["b", "c"]);
}

#[tokio::test]
async fn a_foreign_or_ended_parent_counts_as_not_said() {
    let hub = hub().await;
    let ((_a, at_a), (_b, at_b)) = (agent(&hub, "a"), agent(&hub, "b"));
    let bobs = attach_as(&hub, &bob(), "c", &Line::new(), false).unwrap();
    hub.agents()
        .change(&bob(), &id("c"), Some(Share::Everyone), None)
        .unwrap();
    let foreign = hub.calls().open(to("c", "hi")).unwrap();
    let of_another_agent = hub.calls().open(to("b", "hi")).unwrap();
    let ended = hub.calls().open(to("a", "hi")).unwrap();
    let (_at_b, at_a) = (at_b.next(), at_a.next());
    at_a.finish(End::done());
    for parent in [foreign, of_another_agent, ended] {
        let child = hub.calls().open(for_call(&parent, from("a", "b"))).unwrap();
        assert!(child.call().parent().is_none());
        assert_eq!(child.call().chain.hops(), 1);
    }
    drop(bobs);
}

#[tokio::test]
async fn the_ninth_hop_is_refused() {
    let hub = hub().await;
    let lines: Vec<_> = (0..9).map(|n| agent(&hub, &format!("a{n}"))).collect();
    let mut calls = vec![hub.calls().open(to("a0", "hi")).unwrap()];
    for n in 1..8 {
        calls.push(
            hub.calls()
                .open(from(&format!("a{}", n - 1), &format!("a{n}")))
                .unwrap(),
        );
    }
    assert_eq!(calls[7].call().chain.hops(), 8);
    assert_eq!(reason(hub.calls().open(from("a7", "a8"))), Reason::Loop);
    drop(lines);
}

#[tokio::test]
async fn the_third_occurrence_of_an_agent_is_refused() {
    let hub = hub().await;
    let ((_a, _at_a), (_b, _at_b)) = (agent(&hub, "a"), agent(&hub, "b"));
    let one = hub.calls().open(to("a", "hi")).unwrap();
    let two = hub.calls().open(for_call(&one, from("a", "b"))).unwrap();
    let three = hub.calls().open(for_call(&two, from("b", "a"))).unwrap();
    let four = hub.calls().open(for_call(&three, from("a", "b"))).unwrap();
    assert_eq!(
        reason(hub.calls().open(for_call(&four, from("b", "a")))),
        Reason::Loop
    );
}

#[tokio::test]
async fn a_cancelled_or_failed_parent_cancels_the_children_that_named_it() {
    let hub = hub().await;
    let ((_a, at_a), (_b, at_b)) = (agent(&hub, "a"), agent(&hub, "b"));
    for is_cancel in [true, false] {
        let parent = hub.calls().open(to("a", "hi")).unwrap();
        let serving = at_a.next();
        let known = hub.calls().open(from("a", "b")).unwrap();
        let named = hub.calls().open(for_call(&parent, from("a", "b"))).unwrap();
        let _at_b = [at_b.next(), at_b.next()];
        if is_cancel {
            hub.calls().cancel(&ann(), parent.call().id).unwrap();
        } else {
            drop(serving);
        }
        assert_eq!(read(&named).1, Some(End::Cancelled));
        assert!(
            at_b.cancelled().contains(&named.call().id),
            "their agents are told"
        );
        assert!(
            !known.call().is_ended(),
            "one that was only guessed does not"
        );
    }
}

#[tokio::test]
async fn a_finished_parent_does_not_cancel_its_children() {
    let hub = hub().await;
    let ((_a, at_a), (_b, _at_b)) = (agent(&hub, "a"), agent(&hub, "b"));
    let parent = hub.calls().open(to("a", "hi")).unwrap();
    let child = hub.calls().open(for_call(&parent, from("a", "b"))).unwrap();
    at_a.next().finish(End::done());
    assert!(!child.call().is_ended());
    assert!(
        parent.call().adopt(child.call()),
        "nor one that is just being made"
    );
    hub.calls().cancel(&ann(), child.call().id).unwrap();
    let failed = hub.calls().open(to("a", "hi")).unwrap();
    hub.calls().cancel(&ann(), failed.call().id).unwrap();
    assert!(!failed.call().adopt(child.call()), "a cancelled one does");
}

#[tokio::test(start_paused = true)]
async fn an_explicit_parent_passes_on_its_deadline_and_a_known_one_does_not() {
    let hub = hub().await;
    let ((_a, at_a), (_b, at_b)) = (agent(&hub, "a"), agent(&hub, "b"));
    for line in [&at_a, &at_b] {
        line.signs.store(100_000, Ordering::Release);
    }
    let patience = Patience {
        absolute: Some(Duration::from_secs(60)),
        idle: None,
    };
    let parent = hub
        .calls()
        .open(Request {
            patience,
            ..to("a", "hi")
        })
        .unwrap();
    let serving = at_a.next();
    let known = hub.calls().open(from("a", "b")).unwrap();
    let named = hub.calls().open(for_call(&parent, from("a", "b"))).unwrap();
    serving.finish(End::done());
    pass(&hub, 59).await;
    assert!(!named.call().is_ended());
    pass(&hub, 2).await;
    assert_eq!(failure(&named), Reason::Timeout);
    assert!(!known.call().is_ended());
}

#[tokio::test]
async fn hops_that_a_caller_from_another_hub_has_behind_it_are_counted_on() {
    let hub = hub().await;
    let (_a, _) = agent(&hub, "a");
    let after = |hops| Request {
        hops,
        ..to("a", "hi")
    };
    assert_eq!(hub.calls().open(after(7)).unwrap().call().chain.hops(), 8);
    for hops in [8, usize::MAX] {
        assert_eq!(
            hub.calls().open(after(hops)).unwrap_err().reason,
            Reason::Loop
        );
    }
}
