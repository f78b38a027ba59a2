//! Who may make, change and see teams, and what is refused.

use super::*;

fn refused(hub: &Rig, name: &str, spec: TeamSpec) -> String {
    let failure = hub.teams.create(&ann(), &id(name), spec).unwrap_err();
    assert_eq!(failure.reason, Reason::Invalid, "{failure}");
    failure.text.to_string()
}

#[tokio::test]
async fn a_team_is_an_agent_that_is_there_when_its_coordinator_is() {
    let hub = hub().await;
    let (a, _) = agent(&hub, "a");
    let made = team(&hub, "t", &["lead=a"]);
    assert!(made.online);
    let found = |online| {
        let wanted = Wanted {
            online,
            ..Wanted::default()
        };
        let views = hub.agents().discover(&ann(), &wanted);
        views.into_iter().find(|view| view.id == id("t"))
    };
    assert_eq!(found(true).unwrap().door, "team");
    assert!(hub.agents().find(&ann(), "t").unwrap().link().is_some());
    drop(a);
    assert!(found(true).is_none());
    assert!(!found(false).unwrap().online);
    assert!(hub.agents().find(&ann(), "t").unwrap().link().is_none());
    assert_eq!(reason(hub.calls().open(to("t", "hi"))), Reason::Offline);
}

#[tokio::test]
async fn what_contradicts_itself_is_refused_and_named() {
    let hub = hub_with(|limits| limits.members = 2).await;
    let ((_a, _), (_b, _)) = (agent(&hub, "a"), agent(&hub, "b"));
    team(&hub, "t", &["a"]);
    for (wrong, word) in [
        (spec(&["x=nobody"]), "members[0].agent"),
        (spec(&["a", "x=@nobody"]), "members[1].team"),
        (spec(&["a", "x=@b"]), "is no team"),
        (spec(&["a", "x=t"]), "is a team"),
        (spec(&["x=a", "x=b"]), "members[1].name"),
        (spec(&["x/y=a"]), "members[0].name"),
        (spec(&[" x=a"]), "members[0].name"),
        (spec(&["x=@t", "a"]), "coordinator"),
        (spec(&["a", "b", "c=a"]), "1 to 2"),
        (spec(&["a", "x=@new"]), "would contain itself"),
        (
            TeamSpec {
                coordinator: "c".into(),
                ..spec(&["a", "b"])
            },
            "a, b",
        ),
        (
            TeamSpec {
                members: Vec::new(),
                ..spec(&["a"])
            },
            "1 to 2",
        ),
    ] {
        let text = refused(&hub, "new", wrong);
        assert!(text.contains(word), "{text}");
        assert!(
            hub.agents().find(&ann(), "new").is_err(),
            "nothing was made"
        );
    }
}

#[tokio::test]
async fn a_cycle_is_refused_wherever_it_closes() {
    let hub = hub().await;
    let (_a, _) = agent(&hub, "a");
    team(&hub, "one", &["a"]);
    team(&hub, "two", &["a", "x=@one"]);
    team(&hub, "three", &["a", "x=@two"]);
    let close = |_| spec(&["a", "x=@three"]);
    let failure = hub.teams.change(&ann(), &id("one"), close).unwrap_err();
    assert!(failure.text.contains("contain itself"), "{failure}");
}

#[tokio::test]
async fn sixteen_teams_within_each_other_are_enough_from_above_and_from_below() {
    let hub = hub().await;
    let (_a, _) = agent(&hub, "a");
    team(&hub, "t1", &["a"]);
    for n in 2..=16 {
        team(&hub, &format!("t{n}"), &["a", &format!("x=@t{}", n - 1)]);
    }
    let text = refused(&hub, "t17", spec(&["a", "x=@t16"]));
    assert!(text.contains("17 deep"), "{text}");
    team(&hub, "other", &["a"]);
    let deeper = |_| spec(&["a", "x=@other"]);
    assert_eq!(
        reason(hub.teams.change(&ann(), &id("t1"), deeper)),
        Reason::Invalid
    );
}

#[tokio::test]
async fn ids_are_taken_once_by_agents_and_teams_alike() {
    let hub = hub().await;
    let (_a, _) = agent(&hub, "a");
    team(&hub, "t", &["a"]);
    let again = hub.teams.create(&ann(), &id("t"), spec(&["a"]));
    assert_eq!(reason(again), Reason::Conflict);
    let on_agent = hub.teams.create(&ann(), &id("a"), spec(&["a"]));
    assert_eq!(reason(on_agent), Reason::Conflict);
    let as_team = attach_as(&hub, &ann(), "t", &Line::new(), false);
    assert_eq!(reason(as_team), Reason::Conflict);
}

#[tokio::test]
async fn a_team_is_its_owners_until_shared() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    team(&hub, "t", &["a"]);
    assert_eq!(reason(hub.teams.get(&bob(), "t")), Reason::NotFound);
    assert!(hub.teams.list(&bob()).is_empty());
    assert_eq!(
        reason(hub.teams.change(&bob(), &id("t"), |spec| spec)),
        Reason::NotFound
    );
    hub.agents()
        .change(&ann(), &id("t"), Some(Share::Everyone), None)
        .unwrap();
    // He may call the team, not its coordinator, and not change it.
    let call = hub.calls().open(Request {
        principal: bob(),
        ..to("t", "hi")
    });
    assert!(call.is_ok());
    assert_eq!(line.next().call().target, id("a"));
    assert!(hub.agents().find(&bob(), "a").is_err());
    assert_eq!(
        reason(hub.teams.change(&bob(), &id("t"), |spec| spec)),
        Reason::Unauthorized
    );
    assert_eq!(
        reason(hub.teams.remove(&bob(), &id("t"))),
        Reason::Unauthorized
    );
}

#[tokio::test]
async fn members_are_agents_that_the_owner_may_call() {
    let hub = hub().await;
    let line = Line::new();
    let _b = attach_as(&hub, &bob(), "b", &line, false).unwrap();
    assert!(refused(&hub, "t", spec(&["b"])).contains("members[0].agent"));
    hub.agents()
        .change(
            &bob(),
            &id("b"),
            Some(Share::With(vec![owner("ann")])),
            None,
        )
        .unwrap();
    team(&hub, "t", &["b"]);
    assert!(hub.calls().open(to("t", "hi")).is_ok());
    // What was shared may be taken back.
    hub.agents()
        .change(&bob(), &id("b"), Some(Share::Nobody), None)
        .unwrap();
    assert_eq!(reason(hub.calls().open(to("t", "hi"))), Reason::Offline);
}

#[tokio::test]
async fn an_admin_who_changes_a_team_lends_it_no_rights() {
    let hub = hub().await;
    let (_a, _) = agent(&hub, "a");
    let line = Line::new();
    let _b = attach_as(&hub, &bob(), "b", &line, false).unwrap();
    team(&hub, "t", &["a"]);
    let admin = Principal::admin(owner("root"));
    let change = |by: &Principal, members: &[&str]| {
        let changed = hub.teams.change(by, &id("t"), |_| spec(members));
        changed.map(drop).map_err(|failure| failure.text)
    };
    let refused = change(&admin, &["a", "b"]).unwrap_err();
    assert!(
        refused.contains("members[1]") && refused.contains("ann's"),
        "{refused}"
    );
    let share = |share| {
        hub.agents()
            .change(&bob(), &id("b"), Some(share), None)
            .unwrap()
    };
    share(Share::Everyone);
    change(&admin, &["a", "b"]).unwrap();
    change(&admin, &["b", "a"]).unwrap();
    assert!(hub.calls().open(to("t", "hi")).is_ok());
    // What is taken back is out of its reach, and does not keep an admin from changing the rest.
    share(Share::Nobody);
    change(&admin, &["b"]).unwrap();
    assert_eq!(reason(hub.calls().open(to("t", "hi"))), Reason::Offline);
    // An admin's own may call anybody, whichever admin changed it last.
    hub.teams
        .create(&Principal::admin(owner("ann")), &id("hers"), spec(&["b"]))
        .unwrap();
    hub.teams
        .change(&admin, &id("hers"), |_| spec(&["b"]))
        .unwrap();
    assert!(hub.calls().open(to("hers", "hi")).is_ok());
}

#[tokio::test]
async fn a_team_that_others_need_cannot_be_removed_and_a_removed_one_is_gone() {
    let hub = hub().await;
    let (_a, _) = agent(&hub, "a");
    team(&hub, "in", &["a"]);
    team(&hub, "out", &["a", "x=@in"]);
    for by in [
        hub.teams.remove(&ann(), &id("in")),
        hub.agents().forget(&ann(), &id("in")),
    ] {
        assert_eq!(reason(by), Reason::Conflict);
    }
    hub.teams.remove(&ann(), &id("out")).unwrap().await.unwrap();
    hub.agents()
        .forget(&ann(), &id("in"))
        .unwrap()
        .await
        .unwrap();
    assert!(hub.teams.list(&ann()).is_empty());
    assert!(hub.agents().find(&ann(), "in").is_err());
    // The id is free again, for an agent too.
    assert!(attach_as(&hub, &ann(), "in", &Line::new(), false).is_ok());
}

#[tokio::test]
async fn teams_and_boards_are_there_after_a_restart() {
    let store = Arc::new(MemoryStore::default());
    {
        let hub = hub_on(store.clone(), |_| ()).await;
        let (_a, _) = agent(&hub, "a");
        team(&hub, "t", &["lead=a"]);
        let task = crate::team::board::NewTask {
            name: "scan".to_owned(),
            assignee: "lead".to_owned(),
            description: String::new(),
            dependencies: Vec::new(),
        };
        let (_, saved) = hub.teams.add_tasks(&ann(), "t", vec![task], None).unwrap();
        saved.await.unwrap();
    }
    let hub = hub_on(store, |_| ()).await;
    assert_eq!(hub.teams.list(&ann()).len(), 1);
    assert_eq!(hub.teams.board(&ann(), "t").unwrap()[0].name, "scan");
    let (_a, line) = agent(&hub, "a");
    let _call = hub.calls().open(to("t", "hi")).unwrap();
    assert_eq!(line.texts(), ["hi"]);
}

#[tokio::test]
async fn a_coordinator_that_was_forgotten_and_came_back_leads_again() {
    let hub = hub().await;
    let (a, _) = agent(&hub, "a");
    team(&hub, "t", &["a"]);
    hub.agents().forget(&ann(), &id("a")).unwrap();
    drop(a);
    assert_eq!(reason(hub.calls().open(to("t", "hi"))), Reason::Offline);
    let (_a, line) = agent(&hub, "a");
    let _call = hub.calls().open(to("t", "hi")).unwrap();
    assert_eq!(line.texts(), ["hi"]);
}

#[tokio::test]
async fn declared_teams_are_there_before_their_members_in_any_order_and_only_the_file_changes_them()
{
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let declared = vec![
        (id("out"), spec(&["lead=a", "x=@in"])),
        (id("in"), spec(&["b"])),
    ];
    hub.teams.declare(declared).await.unwrap();
    assert_eq!(hub.teams.list(&Principal::local()).len(), 2);
    let (_a, line) = agent(&hub, "a");
    let _call = hub.calls().open(Request {
        principal: Principal::local(),
        ..to("out", "hi")
    });
    assert_eq!(line.texts(), ["hi"]);
    for refused in [
        hub.teams
            .change(&Principal::local(), &id("in"), |spec| spec)
            .err(),
        hub.teams.remove(&Principal::local(), &id("out")).err(),
    ] {
        assert_eq!(refused.unwrap().reason, Reason::Conflict);
    }
    // Declared otherwise at the next start, it is otherwise; not declared, it stays and may be removed.
    let hub = hub_on(store, |_| ()).await;
    hub.teams
        .declare(vec![(id("out"), spec(&["chief=a"]))])
        .await
        .unwrap();
    let view = hub.teams.get(&Principal::local(), "out").unwrap();
    assert_eq!(&*view.record.spec.coordinator, "chief");
    hub.teams.remove(&Principal::local(), &id("in")).unwrap();
}

#[tokio::test]
async fn a_declaration_that_contradicts_itself_is_refused() {
    for (teams, word) in [
        (
            vec![("one", &["a", "x=@two"][..]), ("two", &["a", "x=@one"])],
            "contain itself",
        ),
        (vec![("one", &["a", "x=@none"])], "no team none"),
        (vec![("one", &["x=a", "x=b"])], "members[1].name"),
    ] {
        let hub = hub().await;
        let teams = teams.iter();
        let teams = teams.map(|(name, members)| (id(name), spec(members)));
        let failure = hub.teams.declare(teams.collect()).await.unwrap_err();
        assert!(failure.text.contains(word), "{failure}");
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

#[tokio::test(start_paused = true)]
async fn a_team_that_is_shared_no_more_is_unknown_to_what_waits_for_it() {
    let hub = hub().await;
    drop(agent(&hub, "a"));
    team(&hub, "t", &["lead=a"]);
    let share = |share| {
        hub.agents()
            .change(&ann(), &id("t"), Some(share), None)
            .unwrap()
    };
    share(Share::Everyone);
    let lost = hub.tasks().start(waiting(&bob(), "t")).await.unwrap();
    hub.tasks().start(waiting(&ann(), "t")).await.unwrap();
    share(Share::Nobody);
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert_eq!(line.texts(), ["ann"]);
    let lost = hub.tasks().find(&Principal::local(), lost.id).await;
    let record = lost.unwrap().record();
    assert_eq!(record.state, TaskState::Failed);
    assert_eq!(record.failure, Some(Failure::no_such_agent("t")));
}

#[tokio::test]
async fn a_team_and_its_members_are_not_forgotten_by_themselves() {
    let hub = hub().await;
    let reserve = |name| {
        hub.agents()
            .reserve(&ann(), &id(name), &Profile::default(), "a2a")
    };
    for name in ["member", "other"] {
        reserve(name).unwrap();
    }
    team(&hub, "crew", &["m=member"]);
    for name in ["member", "crew", "nobody"] {
        assert!(hub.agents().forget_evictable(&id(name)).is_none(), "{name}");
    }
    assert!(hub.agents().forget_evictable(&id("other")).is_some());
    assert_eq!(hub.agents().discover(&ann(), &Wanted::default()).len(), 2);
}
