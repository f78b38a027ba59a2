//! How calls find their place in a run.

use jackfield_model::{Ask, AskKind};

use super::*;

#[tokio::test]
async fn a_call_of_a_team_is_a_call_of_its_coordinator_and_no_hop() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    team(&hub, "t", &["lead=a"]);
    let asking = hub.calls().open(to("t", "hi")).unwrap();
    assert_eq!(asking.call().target, id("a"));
    assert_eq!(asking.call().addressed, id("t"));
    assert_eq!(asking.call().chain.hops(), 1);
    let mut viewing = view(&hub, "t");
    say(line.next(), "hello");
    assert_eq!(read(&asking).0, [Event::text("hello")]);
    let mut expected = vec!["[] Running".to_owned()];
    expected.extend(says("lead", "hello"));
    expected.push("[] Idle".to_owned());
    assert_eq!(seen(&mut viewing), expected);
}

#[tokio::test]
async fn a_call_from_one_member_to_another_is_a_message_between_them() {
    let hub = hub().await;
    let ((_a, at_a), (_b, at_b)) = (agent(&hub, "a"), agent(&hub, "b"));
    team(&hub, "t", &["lead=a", "dev=b"]);
    let mut viewing = view(&hub, "t");
    let _asking = hub.calls().open(to("t", "hi")).unwrap();
    let serving = at_a.next();
    let _child = hub.calls().open(from("a", "b", "take this")).unwrap();
    say(at_b.next(), "done");
    say(serving, "all done");
    let mut expected = vec![
        "[] Running".to_owned(),
        "lead is ProcessingUserInput".to_owned(),
        "dev hears from a: take this".to_owned(),
    ];
    expected.extend(says("dev", "done"));
    expected.extend(says("lead", "all done").split_off(1));
    expected.push("[] Idle".to_owned());
    assert_eq!(seen(&mut viewing), expected);
}

#[tokio::test]
async fn a_strangers_direct_call_to_a_member_is_not_shown() {
    let hub = hub().await;
    let ((_a, at_a), (_b, at_b)) = (agent(&hub, "a"), agent(&hub, "b"));
    team(&hub, "t", &["lead=a", "dev=b"]);
    let mut viewing = view(&hub, "t");
    let _direct = hub.calls().open(to("a", "hi")).unwrap();
    let serving = at_a.next();
    let _child = hub.calls().open(from("a", "b", "hi")).unwrap();
    say(at_b.next(), "x");
    say(serving, "y");
    assert_eq!(seen(&mut viewing), [""; 0]);
}

#[tokio::test]
async fn nested_teams_are_shown_at_every_level_by_their_names_there() {
    let hub = hub().await;
    let [(_a, at_a), (_b, at_b), (_c, at_c)] = ["a", "b", "c"].map(|name| agent(&hub, name));
    team(&hub, "db", &["dba=c"]);
    team(&hub, "back", &["chief=b", "store=@db"]);
    team(&hub, "all", &["lead=a", "backend=@back"]);
    let mut views = ["all", "back", "db"].map(|name| view(&hub, name));
    let _asking = hub.calls().open(to("all", "go")).unwrap();
    let top = at_a.next();
    let _middle = hub.calls().open(from("a", "back", "you too")).unwrap();
    let middle = at_b.next();
    let _inner = hub.calls().open(from("b", "db", "and you")).unwrap();
    say(at_c.next(), "x");
    say(middle, "y");
    say(top, "z");
    let [all, back, db] = views.each_mut().map(seen);
    let within = |lines: &[String], prefix: &str| -> Vec<String> {
        let lines = lines.iter().filter(|line| line.starts_with(prefix));
        lines.cloned().collect()
    };
    let mut dba = vec!["backend/store/dba hears from b: and you".to_owned()];
    dba.extend(says("backend/store/dba", "x"));
    assert_eq!(within(&all, "backend/store/dba"), dba);
    let mut chief = vec!["chief is ProcessingUserInput".to_owned()];
    chief.extend(says("chief", "y").split_off(1));
    assert_eq!(within(&back, "chief"), chief);
    assert_eq!(within(&back, "store/dba").len(), 8);
    // Whoever called is a stranger to the innermost team.
    assert_eq!(within(&db, "dba"), says("dba", "x"));
    let statuses = within(&all, "[");
    assert_eq!(
        statuses,
        [
            "[] Running",
            "[backend] Running",
            "[backend/store] Running",
            "[backend/store] Idle",
            "[backend] Idle",
            "[] Idle"
        ]
    );
    assert_nothing_is_open(&hub);
}

#[tokio::test]
async fn an_outsider_on_the_way_is_not_shown_but_leads_back_into_the_team() {
    let hub = hub().await;
    let [(_a, at_a), (_o, at_o), (_b, at_b)] = ["a", "o", "b"].map(|name| agent(&hub, name));
    team(&hub, "t", &["lead=a", "dev=b"]);
    let mut viewing = view(&hub, "t");
    let _asking = hub.calls().open(to("t", "hi")).unwrap();
    let top = at_a.next();
    let _outside = hub.calls().open(from("a", "o", "help")).unwrap();
    let outside = at_o.next();
    let _back = hub.calls().open(from("o", "b", "for t")).unwrap();
    say(at_b.next(), "x");
    say(outside, "secret");
    say(top, "y");
    let lines = seen(&mut viewing);
    assert!(lines.contains(&"dev says x".to_owned()), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("hears from")));
    assert!(!lines.iter().any(|line| line.contains("secret")));
}

#[tokio::test]
async fn a_member_of_two_teams_is_the_one_nearest_to_its_caller() {
    let hub = hub().await;
    let [(_a, at_a), (_b, at_b), (_c, at_c)] = ["a", "b", "c"].map(|name| agent(&hub, name));
    team(&hub, "in", &["chief=b", "inner=c"]);
    team(&hub, "out", &["lead=a", "outer=c", "sub=@in"]);
    let mut viewing = view(&hub, "out");
    let _asking = hub.calls().open(to("out", "go")).unwrap();
    let top = at_a.next();
    let _one = hub.calls().open(from("a", "c", "1")).unwrap();
    say(at_c.next(), "one");
    let _sub = hub.calls().open(from("a", "in", "2")).unwrap();
    let sub = at_b.next();
    let _two = hub.calls().open(from("b", "c", "2")).unwrap();
    say(at_c.next(), "two");
    drop((sub, top));
    let lines = seen(&mut viewing);
    assert!(lines.contains(&"outer says one".to_owned()), "{lines:?}");
    assert!(lines.contains(&"sub/inner says two".to_owned()));
}

#[tokio::test]
async fn a_member_with_two_calls_is_idle_only_after_both() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    team(&hub, "t", &["lead=a"]);
    let mut viewing = view(&hub, "t");
    let _calls = [1, 2].map(|_| hub.calls().open(to("t", "hi")).unwrap());
    let (one, two) = (line.next(), line.next());
    one.finish(End::done());
    assert!(!seen(&mut viewing).iter().any(|line| line.contains("Idle")));
    two.finish(End::done());
    let lines = seen(&mut viewing);
    assert_eq!(lines.last().unwrap(), "[] Idle");
    assert!(lines.contains(&"lead is Idle".to_owned()));
}

#[tokio::test]
async fn what_comes_after_the_end_or_twice_is_not_shown() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    team(&hub, "t", &["lead=a"]);
    let asking = hub.calls().open(to("t", "hi")).unwrap();
    let serving = line.next();
    serving.push_numbered(Event::text("one"), 1);
    serving.push_numbered(Event::text("one"), 1);
    asking.cancel();
    serving.push(Event::text("late"));
    let lines = seen(&mut view(&hub, "t"));
    let said: Vec<_> = lines.iter().filter(|line| line.contains("says")).collect();
    assert_eq!(said, ["lead says one"]);
    assert_eq!(lines.last().unwrap(), "[] Idle");
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_kept_call_of_a_team_is_a_task_of_the_team_and_is_resumed_by_its_coordinator() {
    let store = Arc::new(MemoryStore::default());
    let (task_id, token) = {
        let hub = hub_on(store.clone(), |_| ()).await;
        let line = Line::new();
        let (attached, token) = hub
            .agents()
            .attach_resumable(&ann(), &id("a"), Profile::default(), line.clone(), None)
            .unwrap();
        team(&hub, "t", &["lead=a"]);
        let task = hub.tasks().start(to("t", "hi")).await.unwrap();
        until_idle().await;
        assert_eq!(task.record().agent, id("t"));
        let serving = line.next();
        serving.push_numbered(Event::text("one "), 1);
        until_idle().await;
        hub.stop(Duration::ZERO).await;
        drop(attached);
        drop(serving);
        (task.id, token)
    };
    let hub = hub_on(store, |_| ()).await;
    let line = Line::new();
    let (mut attached, _) = hub
        .agents()
        .attach_resumable(
            &ann(),
            &id("a"),
            Profile::default(),
            line,
            Some(token.expose()),
        )
        .unwrap();
    let serving = attached.adopted.remove(0);
    serving.push_numbered(Event::text("two"), 2);
    serving.finish(End::done());
    until_idle().await;
    let task = hub.tasks().find(&ann(), task_id).await.unwrap();
    assert_eq!(task.record().state, TaskState::Completed);
    assert!(seen(&mut view(&hub, "t")).contains(&"lead says two".to_owned()));
}

#[tokio::test]
async fn an_ask_is_shown_with_its_answer() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    team(&hub, "t", &["lead=a"]);
    let asking = hub.calls().open(to("t", "hi")).unwrap();
    let serving = line.next();
    serving.ask(Ask {
        id: "q".to_owned(),
        kind: AskKind::Input,
        text: "which?".to_owned(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    });
    let mut viewing = view(&hub, "t");
    assert_eq!(viewing.pending().len(), 1);
    let answer = Answer {
        content: Some("that".to_owned()),
        ..Answer::default()
    };
    hub.calls()
        .answer(&ann(), asking.call().id, "q", answer)
        .unwrap();
    assert!(viewing.pending().is_empty());
    let lines = seen(&mut viewing);
    let at = |what: &str| lines.iter().position(|line| line.contains(what));
    assert!(at("asks for").unwrap() < at("may ").unwrap(), "{lines:?}");
}
