//! Questions: whom they go to, whose clocks they stop, who may answer, and that the first answer wins.

use super::*;
use jackfield_model::{Ask, AskKind, ChunkKind, Input, Json};

use crate::call::Approval;

pub(super) fn question(id: &str) -> Ask {
    Ask {
        id: id.into(),
        kind: AskKind::Input,
        text: "which one?".into(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    }
}

fn approval(id: &str) -> Ask {
    Ask {
        kind: AskKind::Approval,
        tool_name: Some("rm".into()),
        ..question(id)
    }
}

fn words(text: &str) -> Answer {
    Answer {
        content: Some(text.into()),
        ..Answer::default()
    }
}

fn yes() -> Answer {
    Answer {
        approved: Some(true),
        ..Answer::default()
    }
}

fn inputs(serving: &AgentHandle) -> Vec<Input> {
    let mut items = Vec::new();
    serving.input().take(&mut items, usize::MAX);
    items
}

/// Bob calls ann's agent, which she shared.
fn bobs_call(hub: &Hub, entry: &Arc<Entry>) -> CallerHandle {
    hub.agents()
        .change(&ann(), &entry.id, Some(Share::Everyone), None)
        .unwrap();
    hub.calls()
        .open(Request {
            principal: bob(),
            ..to(entry.id.as_str(), "hi")
        })
        .unwrap()
}

#[tokio::test]
async fn an_input_ask_goes_to_the_caller_whose_first_answer_wins() {
    let hub = hub().await;
    let (a, line) = agent(&hub, "a");
    let asking = bobs_call(&hub, a.entry());
    let (serving, call) = (line.next(), asking.call().id);
    assert_eq!(serving.ask(question("q")), Pushed::Room);
    assert_eq!(read(&asking).0, [Event::Ask(question("q"))]);
    assert_eq!(asking.call().open_asks(&bob()), [question("q")]);
    assert_eq!(
        reason(hub.calls().answer(&ann(), call, "q", words("no"))),
        Reason::NotFound,
        "not the owner's to answer"
    );
    assert_eq!(
        reason(hub.calls().answer(&bob(), call, "x", words("no"))),
        Reason::NotFound
    );
    assert_eq!(
        reason(hub.calls().answer(&bob(), call, "q", yes())),
        Reason::Invalid,
        "yes is no answer to a question for words"
    );
    hub.calls()
        .answer(&bob(), call, "q", words("this"))
        .unwrap();
    assert_eq!(
        reason(hub.calls().answer(&bob(), call, "q", words("that"))),
        Reason::Conflict
    );
    assert_eq!(inputs(&serving), [Input::Answer("q".into(), words("this"))]);
    assert_eq!(
        reason(hub.calls().answer(&bob(), CallId::new(), "q", words("no"))),
        Reason::NotFound
    );
}

#[tokio::test]
async fn an_approval_is_the_owners_and_the_caller_only_hears_that_it_waits() {
    let hub = hub().await;
    let (a, line) = agent(&hub, "a");
    let asking = bobs_call(&hub, a.entry());
    let (serving, call) = (line.next(), asking.call().id);
    let mut watching = hub.taps().watch(ann(), TapFilter::default());
    serving.ask(approval("q"));
    let (events, _) = read(&asking);
    assert!(
        matches!(&events[..], [Event::Chunk(chunk)] if chunk.kind == ChunkKind::Status && chunk.text.contains("rm"))
    );
    assert!(
        matches!(watching.next().await.sight, Sight::Event(Event::Ask(_))),
        "the owner sees it"
    );
    assert!(asking.call().open_asks(&bob()).is_empty());
    let awaited = Approval {
        ask: "q".into(),
        owner: ann().owner,
        tool: Some("rm".into()),
    };
    assert_eq!(asking.call().approvals(), [awaited]);
    let refused = hub.calls().answer(&bob(), call, "q", yes()).unwrap_err();
    assert_eq!(refused.reason, Reason::Unauthorized);
    assert!(refused.text.starts_with("ann decides"), "{refused}");
    let found = |principal: &Principal| hub.calls().waiting_for(principal).len();
    assert_eq!((found(&ann()), found(&bob())), (1, 0));
    let itself = ann().as_agent(id("a"));
    assert_eq!(
        reason(hub.calls().answer(&itself, call, "q", yes())),
        Reason::NotFound,
        "no agent approves for its owner"
    );
    assert_eq!(
        reason(hub.calls().answer(&ann(), call, "q", words("ok"))),
        Reason::Invalid
    );
    hub.calls().answer(&ann(), call, "q", yes()).unwrap();
    assert_eq!(inputs(&serving), [Input::Answer("q".into(), yes())]);
    assert!(asking.call().approvals().is_empty());
    assert_eq!(found(&ann()), 0);
}

#[tokio::test]
async fn an_approval_goes_to_the_caller_too_if_the_owner_said_so() {
    let hub = hub().await;
    let (a, line) = agent(&hub, "a");
    let settings = Settings {
        approvals_to_caller: true,
        ..Settings::default()
    };
    hub.agents()
        .change(&ann(), &id("a"), None, Some(settings))
        .unwrap();
    let asking = bobs_call(&hub, a.entry());
    let serving = line.next();
    serving.ask(approval("q"));
    assert_eq!(read(&asking).0, [Event::Ask(approval("q"))]);
    hub.calls()
        .answer(&bob(), asking.call().id, "q", yes())
        .unwrap();
    assert_eq!(
        reason(hub.calls().answer(&ann(), asking.call().id, "q", yes())),
        Reason::Conflict
    );
    assert_eq!(inputs(&serving).len(), 1);
}

#[tokio::test]
async fn an_ask_that_is_repeated_after_a_resume_is_the_same_ask() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let cut = line.next();
    cut.ask(question("q"));
    let mut b = resume(&hub, "a", &Line::new());
    let serving = b.adopted.pop().unwrap();
    serving.ask(question("q"));
    assert_eq!(read(&asking).0.len(), 1, "the caller is asked once");
    hub.calls()
        .answer(&ann(), asking.call().id, "q", words("this"))
        .unwrap();
    serving.ask(question("q"));
    assert!(read(&asking).0.is_empty());
    assert_eq!(asking.call().suspended.load(Ordering::Acquire), 0);
}

#[tokio::test(start_paused = true)]
async fn an_ask_stops_the_clocks_and_runs_its_own() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    serving.ask(question("q"));
    pass(&hub, 500).await;
    assert!(!asking.call().is_ended(), "idle long since, but suspended");
    hub.calls()
        .answer(&ann(), asking.call().id, "q", words("this"))
        .unwrap();
    serving.ask(question("r"));
    pass(&hub, 599).await;
    assert!(!asking.call().is_ended(), "each ask has its own time");
    pass(&hub, 2).await;
    assert_eq!(failure(&{ asking }), Reason::Timeout);
}

#[tokio::test(start_paused = true)]
async fn each_of_several_open_asks_has_its_own_time() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    serving.ask(question("q"));
    pass(&hub, 500).await;
    serving.ask(question("r"));
    hub.calls()
        .answer(&ann(), asking.call().id, "q", words("this"))
        .unwrap();
    pass(&hub, 500).await;
    assert!(!asking.call().is_ended());
    pass(&hub, 101).await;
    read(&asking);
    assert!(asking.call().is_ended());
}

/// Ann calls `a`, which calls `b` for it, which calls `c` for that.
fn three(hub: &Hub) -> ([CallerHandle; 3], [AgentHandle; 3], [Attached; 3]) {
    let (a, line_a) = agent(hub, "a");
    let (b, line_b) = agent(hub, "b");
    let (c, line_c) = agent(hub, "c");
    let one = hub.calls().open(to("a", "1")).unwrap();
    let at_a = line_a.next();
    let two = hub
        .calls()
        .open(Request {
            principal: ann().as_agent(id("a")),
            ..to("b", "2")
        })
        .unwrap();
    let at_b = line_b.next();
    let three = hub
        .calls()
        .open(Request {
            principal: ann().as_agent(id("b")),
            ..to("c", "3")
        })
        .unwrap();
    let at_c = line_c.next();
    ([one, two, three], [at_a, at_b, at_c], [a, b, c])
}

#[tokio::test(start_paused = true)]
async fn an_ask_stops_the_clocks_of_all_known_ancestors() {
    let hub = hub().await;
    let (calls, servings, _agents) = three(&hub);
    servings[2].ask(question("q"));
    pass(&hub, 500).await;
    assert!(calls.iter().all(|asking| !asking.call().is_ended()));
    hub.calls()
        .answer(&ann(), calls[2].call().id, "q", words("this"))
        .unwrap();
    pass(&hub, 121).await;
    assert!(
        calls.iter().all(|asking| asking.call().is_ended()),
        "and they run again"
    );
}

#[tokio::test(start_paused = true)]
async fn clocks_run_again_although_a_call_in_between_has_ended_meanwhile() {
    let hub = hub().await;
    let ([one, two, three], [at_a, at_b, at_c], _agents) = three(&hub);
    at_c.ask(question("q"));
    at_b.finish(End::done());
    drop(two);
    hub.calls()
        .answer(&ann(), three.call().id, "q", words("this"))
        .unwrap();
    assert_eq!(one.call().suspended.load(Ordering::Acquire), 0);
    pass(&hub, 121).await;
    assert_eq!(failure(&one), Reason::Timeout);
    drop(at_a);
}

#[tokio::test]
async fn the_end_of_a_call_closes_its_asks() {
    let hub = hub().await;
    let ([one, two, three], [_at_a, _at_b, at_c], _agents) = three(&hub);
    at_c.ask(question("q"));
    at_c.ask(question("r"));
    let call = three.call().id;
    at_c.finish(End::done());
    assert_eq!(
        reason(hub.calls().answer(&ann(), call, "q", words("this"))),
        Reason::NotFound
    );
    for asking in [one, two, three] {
        assert_eq!(asking.call().suspended.load(Ordering::Acquire), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_state_of_a_task_says_whether_a_question_is_open() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let task = hub.tasks().start(to("a", "hi")).await.unwrap();
    until_idle().await;
    let serving = line.next();
    serving.ask(question("q"));
    serving.ask(question("r"));
    until_idle().await;
    assert_eq!(state(&task), TaskState::InputRequired);
    let call = task.record().call;
    hub.calls()
        .answer(&ann(), call, "q", words("this"))
        .unwrap();
    assert_eq!(
        state(&task),
        TaskState::InputRequired,
        "another one is open"
    );
    hub.calls()
        .answer(&ann(), call, "r", words("that"))
        .unwrap();
    until_idle().await;
    assert_eq!(state(&task), TaskState::Working);
    // Answered before it was written down.
    serving.ask(question("s"));
    hub.calls()
        .answer(&ann(), call, "s", words("too fast"))
        .unwrap();
    until_idle().await;
    assert_eq!(state(&task), TaskState::Working);
    serving.finish(End::done());
    until_idle().await;
    assert_eq!(state(&task), TaskState::Completed);
}

#[tokio::test]
async fn an_agent_that_asks_too_much_at_once_fails_its_call_and_is_told() {
    let hub = hub_with(|limits| limits.asks_per_call = 3).await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    for n in 0..10 {
        // Answered ones do not count, however many there were.
        let id = format!("early {n}");
        assert_eq!(serving.ask(question(&id)), Pushed::Room);
        hub.calls()
            .answer(&ann(), asking.call().id, &id, words("this"))
            .unwrap();
    }
    assert_eq!(serving.answers().len(), 3, "the last ones are remembered");
    for n in 0..3 {
        assert_eq!(serving.ask(question(&n.to_string())), Pushed::Room);
    }
    assert_eq!(serving.ask(question("2")), Pushed::Room, "the same again");
    assert!(!asking.call().is_ended());
    assert_eq!(serving.ask(question("3")), Pushed::Ended);
    assert_eq!(asking.call().suspended.load(Ordering::Acquire), 0);
    assert_eq!(line.cancelled(), [asking.call().id]);
    assert_eq!(failure(&asking), Reason::RateLimited);
}

#[tokio::test]
async fn a_question_whose_id_cannot_be_one_fails_its_call_and_the_agent_is_told() {
    let hub = hub_with(|_| {}).await;
    let (_a, line) = agent(&hub, "a");
    let no_id = || Reason::Agent("internal_error".to_owned());
    let long = "x".repeat(257);
    for (bad, reason) in [
        ("", no_id()),
        ("a\u{1b}[2J", no_id()),
        ("a\nb", no_id()),
        (&long, Reason::TooLarge),
    ] {
        let asking = hub.calls().open(to("a", "hi")).unwrap();
        let serving = line.next();
        assert_eq!(serving.ask(question(&"x".repeat(256))), Pushed::Room);
        assert_eq!(serving.ask(question(bad)), Pushed::Ended, "{bad:?}");
        assert!(line.cancelled().contains(&asking.call().id));
        assert_eq!(failure(&asking), reason);
    }
}

#[tokio::test]
async fn answers_are_remembered_for_a_connection_that_resumes_as_far_as_they_fit() {
    let hub = hub_with(|limits| limits.pipe_full = Size::kib(10)).await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let cut = line.next();
    for id in ["p", "q", "r"] {
        cut.ask(question(id));
        let long = words(&id.repeat(4000));
        hub.calls()
            .answer(&ann(), asking.call().id, id, long)
            .unwrap();
        inputs(&cut);
    }
    let mut new = resume(&hub, "a", &Line::new());
    let serving = new.adopted.pop().unwrap();
    let answers = serving.answers();
    let ids: Vec<_> = answers.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["q", "r"]);
    assert_eq!(
        reason(
            hub.calls()
                .answer(&ann(), asking.call().id, "p", words("again"))
        ),
        Reason::Conflict
    );
}

fn long_question(id: &str, bytes: usize) -> Ask {
    Ask {
        text: "x".repeat(bytes),
        ..question(id)
    }
}

#[tokio::test]
async fn open_questions_have_only_so_many_bytes_and_answered_ones_make_room() {
    let hub = hub_with(|limits| limits.asks_total = Size::kib(4)).await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    for n in 0..10 {
        let id = format!("early {n}");
        assert_eq!(serving.ask(long_question(&id, 1000)), Pushed::Room);
        hub.calls()
            .answer(&ann(), asking.call().id, &id, words("this"))
            .unwrap();
    }
    for id in ["p", "q", "r", "s"] {
        assert_eq!(serving.ask(long_question(id, 1000)), Pushed::Room);
    }
    assert_eq!(serving.ask(long_question("t", 1000)), Pushed::Ended);
    assert_eq!(line.cancelled(), [asking.call().id]);
    assert_eq!(failure(&asking), Reason::RateLimited);
}

#[tokio::test]
async fn one_question_has_only_so_many_bytes_whatever_of_it_is_long() {
    let hub = hub_with(|limits| limits.ask = Size::kib(1)).await;
    let (_a, line) = agent(&hub, "a");
    let arguments = Json::parse(&format!("[\"{}\"]", "x".repeat(1000)));
    let long = [
        long_question("q", 1024),
        Ask {
            tool_name: Some("x".repeat(1024)),
            ..approval("q")
        },
        Ask {
            arguments: Some(arguments.unwrap()),
            text: "x".repeat(20),
            ..approval("q")
        },
    ];
    for ask in long {
        let asking = hub.calls().open(to("a", "hi")).unwrap();
        let serving = line.next();
        assert_eq!(serving.ask(long_question("p", 1000)), Pushed::Room);
        assert_eq!(serving.ask_numbered(ask, 1), Pushed::Ended);
        assert_eq!(asking.call().suspended.load(Ordering::Acquire), 0);
        assert_eq!(failure(&asking), Reason::TooLarge);
    }
}
