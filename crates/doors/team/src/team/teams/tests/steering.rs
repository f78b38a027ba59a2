//! What viewers may say, stop and decide.

use jackfield_model::{Ask, AskKind, Input, TaskId};

use super::*;
use crate::team::teams::{DecisionError, ViewerDecision};

fn approval(id: &str, tool_call: &str) -> Ask {
    Ask {
        id: id.to_owned(),
        kind: AskKind::Approval,
        text: "may I?".to_owned(),
        tool_name: Some("rm".to_owned()),
        tool_call_id: Some(tool_call.to_owned()),
        arguments: None,
        schema: None,
    }
}

fn decision(invocation: &str, target: Option<&str>, approved: bool) -> ViewerDecision {
    ViewerDecision {
        target: target.map(str::to_owned),
        invocation: Some(invocation.to_owned()),
        approved,
        ..ViewerDecision::default()
    }
}

fn answers(serving: &AgentHandle) -> Vec<Option<bool>> {
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    inputs
        .into_iter()
        .map(|input| match input {
            Input::Answer(_, answer) => answer.approved,
            other => panic!("{other:?}"),
        })
        .collect()
}

async fn tell(
    hub: &Rig,
    by: &Principal,
    target: Option<&str>,
    text: &str,
) -> Result<bool, Failure> {
    let said = hub
        .teams
        .send_message(by, "all", target, Message::text(text), None)
        .await?;
    until_idle().await;
    Ok(said.is_some())
}

/// Three levels, with the agents `a`, `b` and `c`.
async fn nested() -> (Rig, Vec<(Attached, Arc<Line>)>) {
    let hub = hub().await;
    let agents = ["a", "b", "c"].map(|name| agent(&hub, name));
    team(&hub, "db", &["dba=c"]);
    team(&hub, "back", &["chief=b", "store=@db"]);
    team(&hub, "all", &["lead=a", "backend=@back"]);
    (hub, agents.into())
}

#[tokio::test(start_paused = true)]
async fn a_message_goes_to_the_coordinator_or_to_whom_it_names() {
    let (hub, agents) = nested().await;
    tell(&hub, &ann(), None, "1").await.unwrap();
    tell(&hub, &ann(), Some("lead"), "2").await.unwrap();
    tell(&hub, &ann(), Some("backend"), "3").await.unwrap();
    tell(&hub, &ann(), Some("dba"), "4").await.unwrap();
    tell(&hub, &ann(), Some("backend/store/dba"), "5")
        .await
        .unwrap();
    assert_eq!(agents[0].1.texts(), ["1", "2"]);
    assert_eq!(agents[1].1.texts(), ["3"]);
    assert_eq!(agents[2].1.texts(), ["4", "5"]);
    let nobody = tell(&hub, &ann(), Some("dbb"), "x").await.unwrap_err();
    assert_eq!(nobody.reason, Reason::NotFound);
    assert!(nobody.text.contains("backend/store/dba"), "{nobody}");
    let routes: Vec<_> = seen(&mut view(&hub, "all"));
    assert!(routes.contains(&"backend/store/dba is ProcessingUserInput".to_owned()));
    assert!(routes.contains(&"backend/chief is ProcessingUserInput".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn messages_of_one_run_are_one_conversation() {
    let (hub, agents) = nested().await;
    for text in ["1", "2"] {
        tell(&hub, &ann(), None, text).await.unwrap();
    }
    let (one, two) = (agents[0].1.next(), agents[0].1.next());
    assert_eq!(one.call().agent_session, two.call().agent_session);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_delivered_is_told_to_its_sender_alone() {
    let (hub, agents) = nested().await;
    drop(agents);
    let mut viewing = view(&hub, "all");
    for (target, member) in [(None, "member lead "), (Some("dba"), "member backend/")] {
        let failure = tell(&hub, &ann(), target, "x").await.unwrap_err();
        assert_eq!(failure.reason, Reason::Offline);
        assert!(failure.text.starts_with(member), "{failure:?}");
    }
    assert!(seen(&mut viewing).is_empty(), "nothing ran");
    let status = hub.teams.get(&ann(), "all").unwrap().status;
    assert_eq!(status, crate::team::event::TeamStatus::Idle);
}

#[tokio::test(start_paused = true)]
async fn strangers_say_nothing() {
    let (hub, _agents) = nested().await;
    let failure = tell(&hub, &bob(), None, "x").await.unwrap_err();
    assert_eq!(failure.reason, Reason::NotFound);
    let watcher = scoped("bob", &["watch:all"]);
    let failure = tell(&hub, &watcher, None, "x").await.unwrap_err();
    assert_eq!(failure.reason, Reason::Unauthorized);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_to_somebody_who_waits_for_words_is_the_answer() {
    let (hub, agents) = nested().await;
    tell(&hub, &ann(), None, "1").await.unwrap();
    let serving = agents[0].1.next();
    serving.ask(Ask {
        kind: AskKind::Input,
        ..approval("q", "x")
    });
    assert!(!tell(&hub, &ann(), None, "the left one").await.unwrap());
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    let [Input::Answer(ask, answer)] = &inputs[..] else {
        panic!("{inputs:?}")
    };
    assert_eq!(
        (ask.as_str(), answer.content.as_deref()),
        ("q", Some("the left one"))
    );
    assert_eq!(agents[0].1.texts(), [""; 0]);
}

/// Says something under an id; gives the task, if one was begun.
async fn tell_as(
    hub: &Rig,
    by: &Principal,
    name: &str,
    text: &str,
) -> Result<Option<TaskId>, Failure> {
    let message = Message {
        id: Some(name.to_owned()),
        ..Message::text(text)
    };
    let said = hub
        .teams
        .send_message(by, "all", None, message, None)
        .await?;
    until_idle().await;
    Ok(said.map(|task| task.id))
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_again_under_its_id_is_the_same_message() {
    let (hub, agents) = nested().await;
    hub.agents()
        .change(&ann(), &id("all"), Some(Share::Everyone), None)
        .unwrap();
    let first = tell_as(&hub, &ann(), "m-1", "go").await.unwrap();
    assert!(first.is_some());
    assert_eq!(tell_as(&hub, &ann(), "m-1", "go").await.unwrap(), first);
    let serving = agents[0].1.next();
    assert_eq!(agents[0].1.texts(), [""; 0]);
    // Not even as the answer to a question that was asked meanwhile.
    serving.ask(Ask {
        kind: AskKind::Input,
        ..approval("q", "x")
    });
    assert_eq!(tell_as(&hub, &ann(), "m-1", "go").await.unwrap(), first);
    assert_eq!(answers(&serving), [None; 0]);
    // An answer is one message too.
    assert_eq!(tell_as(&hub, &ann(), "m-2", "left").await.unwrap(), None);
    assert_eq!(tell_as(&hub, &ann(), "m-2", "left").await.unwrap(), None);
    assert_eq!(answers(&serving), [None]);
    assert_eq!(agents[0].1.texts(), [""; 0]);
    // Other words under the same id are a mistake, and another viewer's id is its own.
    let other = tell_as(&hub, &ann(), "m-1", "stay").await.unwrap_err();
    assert_eq!(other.reason, Reason::Conflict);
    assert_ne!(tell_as(&hub, &bob(), "m-1", "go").await.unwrap(), first);
    assert_eq!(agents[0].1.texts(), ["go"]);
}

#[tokio::test(start_paused = true)]
async fn an_id_of_a_run_that_is_over_may_be_used_again() {
    let (hub, agents) = nested().await;
    let first = tell_as(&hub, &ann(), "m-1", "go").await.unwrap();
    say(agents[0].1.next(), "done");
    until_idle().await;
    let rest = TeamLimits::default().rest.0;
    hub.teams.registry.end_idle_runs(Instant::now() + rest);
    assert_ne!(tell_as(&hub, &ann(), "m-1", "go").await.unwrap(), first);
}

#[tokio::test(start_paused = true)]
async fn a_viewer_with_two_buttons_can_decide_a_question_for_words() {
    for approved in [true, false] {
        let (hub, agents) = nested().await;
        tell(&hub, &ann(), None, "1").await.unwrap();
        let serving = agents[0].1.next();
        serving.ask(Ask {
            kind: AskKind::Input,
            ..approval("q", "x")
        });
        hub.teams
            .decide(&ann(), "all", &decision("q", None, approved))
            .unwrap();
        let mut inputs = Vec::new();
        serving.input().take(&mut inputs, usize::MAX);
        let [Input::Answer(_, answer)] = &inputs[..] else {
            panic!("{inputs:?}")
        };
        assert_eq!((answer.approved, &answer.content), (Some(approved), &None));
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_for_words_can_be_decided_by_whoever_asked() {
    let (hub, agents) = nested().await;
    tell(&hub, &ann(), None, "1").await.unwrap();
    let serving = agents[0].1.next();
    let question = Ask {
        kind: AskKind::Input,
        ..approval("q", "x")
    };
    serving.ask(question);
    let words = ViewerDecision {
        reason: Some("the left one".to_owned()),
        ..decision("q", None, true)
    };
    hub.teams.decide(&ann(), "all", &words).unwrap();
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    let [Input::Answer(_, answer)] = &inputs[..] else {
        panic!("{inputs:?}")
    };
    assert_eq!(answer.content.as_deref(), Some("the left one"));
}

#[tokio::test(start_paused = true)]
async fn approvals_are_decided_at_any_depth_by_name_or_route_key() {
    for target in [None, Some("dba"), Some("backend/store/dba")] {
        let (hub, agents) = nested().await;
        tell(&hub, &ann(), Some("dba"), "go").await.unwrap();
        let serving = agents[2].1.next();
        serving.ask(approval("q", "call_1"));
        let nobody = hub
            .teams
            .decide(&ann(), "all", &decision("call_1", Some("dbb"), true));
        let Err(DecisionError::NoMember(failure)) = nobody else {
            panic!("{nobody:?}")
        };
        assert!(
            failure
                .text
                .contains("has no member \"dbb\"; it has lead, ")
        );
        let wrong = decision("call_1", Some("lead"), true);
        assert_eq!(
            hub.teams.decide(&ann(), "all", &wrong),
            Err(DecisionError::OtherMember)
        );
        hub.teams
            .decide(&ann(), "all", &decision("call_1", target, true))
            .unwrap();
        assert_eq!(answers(&serving), [Some(true)]);
        let again = hub
            .teams
            .decide(&ann(), "all", &decision("call_1", target, false));
        assert_eq!(again, Err(DecisionError::NotPending));
    }
}

#[tokio::test(start_paused = true)]
async fn a_decision_of_another_run_is_stale() {
    let (hub, agents) = nested().await;
    tell(&hub, &ann(), None, "go").await.unwrap();
    agents[0].1.next().ask(approval("q", "call_1"));
    let stale = ViewerDecision {
        run: Some("run_0".to_owned()),
        ..decision("call_1", None, true)
    };
    assert_eq!(
        hub.teams.decide(&ann(), "all", &stale),
        Err(DecisionError::Stale)
    );
}

#[tokio::test(start_paused = true)]
async fn strangers_decide_nothing_and_callers_only_what_the_agents_owner_lets_them() {
    let (hub, agents) = nested().await;
    hub.agents()
        .change(&ann(), &id("all"), Some(Share::Everyone), None)
        .unwrap();
    tell(&hub, &ann(), None, "hers").await.unwrap();
    tell(&hub, &bob(), None, "his").await.unwrap();
    let (hers, his) = (agents[0].1.next(), agents[0].1.next());
    hers.ask(approval("q", "hers"));
    his.ask(approval("q", "his"));
    let decide = |invocation, approved| {
        hub.teams
            .decide(&bob(), "all", &decision(invocation, None, approved))
    };
    assert_eq!(decide("hers", false), Err(DecisionError::NotPending));
    assert_eq!(decide("his", true), Err(DecisionError::NotAllowed));
    let settings = Settings {
        approvals_to_caller: true,
        ..Settings::default()
    };
    hub.agents()
        .change(&ann(), &id("a"), None, Some(settings))
        .unwrap();
    assert_eq!(decide("his", true), Ok(()));
    // Her own she decides as before, and his she could have denied.
    hub.teams
        .decide(&ann(), "all", &decision("hers", None, false))
        .unwrap();
    assert_eq!(answers(&hers), [Some(false)]);
}

#[tokio::test(start_paused = true)]
async fn a_team_does_not_decide_for_an_agent_of_another_owner() {
    let hub = hub().await;
    let line = Line::new();
    let _b = attach_as(&hub, &bob(), "b", &line, false).unwrap();
    hub.agents()
        .change(&bob(), &id("b"), Some(Share::Everyone), None)
        .unwrap();
    team(&hub, "all", &["b"]);
    tell(&hub, &ann(), None, "go").await.unwrap();
    let serving = line.next();
    serving.ask(approval("q", "call_1"));
    let yes = hub
        .teams
        .decide(&ann(), "all", &decision("call_1", None, true));
    assert_eq!(yes, Err(DecisionError::NotAllowed));
    // She may not let it, but she may stop it.
    hub.teams
        .decide(&ann(), "all", &decision("call_1", None, false))
        .unwrap();
    assert_eq!(answers(&serving), [Some(false)]);
}

#[tokio::test(start_paused = true)]
async fn a_team_that_an_admin_changed_or_made_decides_no_more_than_before() {
    let hub = hub().await;
    let line = Line::new();
    let _b = attach_as(&hub, &bob(), "b", &line, false).unwrap();
    hub.agents()
        .change(&bob(), &id("b"), Some(Share::Everyone), None)
        .unwrap();
    team(&hub, "all", &["b"]);
    let admin = Principal::admin(owner("root"));
    let describe = |spec| TeamSpec {
        description: Some("described".to_owned()),
        ..spec
    };
    hub.teams.change(&admin, &id("all"), describe).unwrap();
    // An admin's own team, and a token of theirs without that right.
    hub.teams
        .create(&admin, &id("roots"), spec(&["b"]))
        .unwrap();
    let helper = person("root");
    for (team, by) in [("all", ann()), ("roots", helper)] {
        let said = hub
            .teams
            .send_message(&by, team, None, Message::text("go"), None)
            .await;
        said.unwrap();
        until_idle().await;
        let serving = line.next();
        serving.ask(approval("q", "call_1"));
        let yes = decision("call_1", None, true);
        assert_eq!(
            hub.teams.decide(&by, team, &yes),
            Err(DecisionError::NotAllowed)
        );
        assert_eq!(answers(&serving), []);
        hub.teams.decide(&admin, team, &yes).unwrap();
        assert_eq!(answers(&serving), [Some(true)]);
    }
}

#[tokio::test(start_paused = true)]
async fn stop_really_stops_all_of_it_or_one_branch() {
    let (hub, agents) = nested().await;
    tell(&hub, &ann(), None, "1").await.unwrap();
    let top = agents[0].1.next();
    let _middle = hub.calls().open(from("a", "back", "2")).unwrap();
    let middle = agents[1].1.next();
    let _inner = hub.calls().open(from("b", "db", "3")).unwrap();
    let inner = agents[2].1.next();
    assert_eq!(hub.teams.stop(&ann(), "all", Some("backend")).unwrap(), 2);
    assert_eq!(agents[1].1.cancelled(), [middle.call().id]);
    assert_eq!(agents[2].1.cancelled(), [inner.call().id]);
    assert!(!top.call().is_ended());
    assert_eq!(hub.teams.stop(&ann(), "all", None).unwrap(), 1);
    assert_eq!(agents[0].1.cancelled(), [top.call().id]);
    assert_eq!(hub.teams.stop(&ann(), "all", None).unwrap(), 0);
    until_idle().await;
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_caller_stops_only_what_came_of_their_own_calls() {
    let (hub, agents) = nested().await;
    hub.agents()
        .change(&ann(), &id("all"), Some(Share::Everyone), None)
        .unwrap();
    tell(&hub, &ann(), None, "hers").await.unwrap();
    tell(&hub, &bob(), None, "his").await.unwrap();
    let (hers, his) = (agents[0].1.next(), agents[0].1.next());
    assert_eq!(hub.teams.stop(&bob(), "all", None).unwrap(), 1);
    assert!(his.call().is_ended() && !hers.call().is_ended());
}
