//! The ids that callers choose, and how many calls an agent may have open.

use super::{asks::question, *};
use jackfield_model::Artifact;

fn as_bob(request: Request) -> Request {
    Request {
        principal: bob(),
        ..request
    }
}

async fn shared_agent() -> (Hub, Attached, Arc<Line>) {
    let hub = hub().await;
    let (attached, line) = agent(&hub, "a");
    drop(
        hub.agents()
            .change(&ann(), &id("a"), Some(Share::Everyone), None)
            .unwrap(),
    );
    (hub, attached, line)
}

#[tokio::test]
async fn a_request_id_reaches_the_agent_unchanged() {
    let (hub, _a, line) = shared_agent().await;
    let _asking = hub.calls().open(with_id("r1", to("a", "hi"))).unwrap();
    let serving = line.next();
    assert_eq!(serving.call().request.as_str(), "r1");
    let _again = {
        serving.finish(End::done());
        hub.calls().open(with_id("r1", to("a", "hi"))).unwrap()
    };
    assert_eq!(
        line.next().call().request.as_str(),
        "r1",
        "free again when it has ended"
    );
}

#[tokio::test]
async fn the_same_open_id_twice_from_one_principal_is_a_conflict() {
    let (hub, _a, line) = shared_agent().await;
    let _asking = hub.calls().open(with_id("r1", to("a", "hi"))).unwrap();
    assert_eq!(
        reason(hub.calls().open(with_id("r1", to("a", "hi")))),
        Reason::Conflict
    );
    assert_eq!(line.texts().len(), 1);
    let agent_of_ann = Request {
        principal: ann().as_agent(id("x")),
        ..with_id("r1", to("a", "hi"))
    };
    assert!(
        hub.calls().open(agent_of_ann).is_ok(),
        "another principal of the same owner"
    );
}

#[tokio::test]
async fn an_id_that_somebody_else_has_open_becomes_one_of_the_hubs() {
    let (hub, _a, line) = shared_agent().await;
    let anns = hub.calls().open(with_id("r1", to("a", "ann's"))).unwrap();
    let bobs = hub
        .calls()
        .open(as_bob(with_id("r1", to("a", "bob's"))))
        .unwrap();
    let (at_ann, at_bob) = (line.next(), line.next());
    assert_eq!(at_ann.call().request.as_str(), "r1");
    assert_eq!(at_bob.call().request, bobs.call().id.into());
    at_bob.push(Event::text("for bob"));
    assert_eq!((read(&anns).0.len(), read(&bobs).0.len()), (0, 1));
    let again = hub.calls().open(as_bob(with_id("r1", to("a", "bob's"))));
    assert_eq!(
        reason(again),
        Reason::Conflict,
        "to bob it is open under his own name"
    );
}

#[tokio::test]
async fn an_agent_has_64_open_calls_at_most() {
    let (hub, _a, line) = shared_agent().await;
    let mut open: Vec<_> = (0..64)
        .map(|_| hub.calls().open(to("a", "hi")).unwrap())
        .collect();
    assert_eq!(reason(hub.calls().open(to("a", "hi"))), Reason::Busy);
    assert_eq!(reason(hub.tasks().start(to("a", "hi")).await), Reason::Busy);
    let (_b, _) = agent(&hub, "b");
    assert!(
        hub.calls().open(to("b", "hi")).is_ok(),
        "others are not affected"
    );
    open.pop();
    assert!(hub.calls().open(to("a", "hi")).is_ok());
    assert_eq!(line.texts().len(), 65);
}

#[tokio::test]
async fn sessions_of_others_reach_the_agent_as_a_hash() {
    let (hub, _a, line) = shared_agent().await;
    let session = |principal: Principal| {
        let asking = hub
            .calls()
            .open(Request {
                principal,
                ..in_session("s", to("a", "hi"))
            })
            .unwrap();
        assert_eq!(asking.call().session.as_str(), "s");
        line.next().call().agent_session.to_string()
    };
    let platform = Principal {
        who: Who::Platform,
        ..person("acme")
    };
    assert_eq!(session(Principal::local()), "s");
    assert_eq!(session(platform), "s");
    let (anns, bobs) = (session(ann()), session(bob()));
    assert!(anns != "s" && bobs != "s" && anns != bobs);
    assert_eq!(session(ann()), anns, "the same conversation goes on");
    assert_ne!(session(ann().as_agent(id("x"))), anns);
}

#[tokio::test]
async fn nobody_reaches_the_conversation_of_another_by_its_hash() {
    let (hub, _a, line) = shared_agent().await;
    let session = |principal: Principal, name: &str| {
        let asked = Request {
            principal,
            ..in_session(name, to("a", "hi"))
        };
        let _asking = hub.calls().open(asked).unwrap();
        line.next().call().agent_session.to_string()
    };
    let anns = session(ann(), "s");
    for name in [anns.clone(), anns.to_uppercase()] {
        for other in [Principal::platform(), Principal::local(), bob()] {
            let reached = session(other.clone(), &name);
            assert!(!reached.eq_ignore_ascii_case(&anns), "{other:?}");
            assert_eq!(session(other, &name), reached, "their own one goes on");
        }
    }
}

#[tokio::test]
async fn a_call_without_a_session_has_one_of_its_own() {
    let (hub, _a, _line) = shared_agent().await;
    let (one, two) = (
        hub.calls().open(to("a", "1")).unwrap(),
        hub.calls().open(to("a", "2")).unwrap(),
    );
    assert_ne!(one.call().session, two.call().session);
}

/// How an agent says something that bears this id.
type Say<'a> = &'a dyn Fn(&AgentHandle, &str) -> Pushed;

#[tokio::test]
async fn an_id_of_an_artifact_or_a_question_has_at_most_256_bytes() {
    let (hub, _a, line) = shared_agent().await;
    let artifact = |id: &str| {
        Event::Artifact(Artifact {
            id: id.into(),
            ..Artifact::default()
        })
    };
    let (longest, long) = ("x".repeat(256), "x".repeat(257));
    let says: [(&str, Say<'_>); 4] = [
        ("artifact_id", &|to, id| to.push(artifact(id))),
        ("artifact_id", &|to, id| to.push_numbered(artifact(id), 1)),
        ("ask_id", &|to, id| to.ask(question(id))),
        ("ask_id", &|to, id| to.ask_numbered(question(id), 1)),
    ];
    for (field, say) in says {
        let asking = hub.calls().open(to("a", "hi")).unwrap();
        let serving = line.next();
        assert_eq!(say(&serving, &longest), Pushed::Room);
        assert_eq!(say(&serving, &long), Pushed::Ended);
        assert_eq!(line.cancelled().last(), Some(&asking.call().id));
        let Some(End::Failed(failure)) = read(&asking).1 else {
            panic!("it goes on");
        };
        assert_eq!(failure.reason, Reason::TooLarge);
        assert!(failure.text.contains(field), "{failure}");
    }
}
