//! Who may register, see, call, share and steer.

use super::*;

fn ids(hub: &Hub, principal: &Principal) -> Vec<String> {
    let views = hub.agents().discover(principal, &Wanted::default());
    let ids: Vec<_> = views.iter().map(|view| view.id.to_string()).collect();
    let mut visible = hub.agents().visible_ids(principal, |_| true);
    visible.sort();
    assert_eq!(visible, ids.iter().map(|it| id(it)).collect::<Vec<_>>());
    assert!(hub.agents().visible_ids(principal, |_| false).is_empty());
    ids
}

fn call_as(hub: &Hub, principal: &Principal, target: &str) -> Result<CallerHandle, Failure> {
    hub.calls().open(Request {
        principal: principal.clone(),
        ..to(target, "hi")
    })
}

#[tokio::test]
async fn an_agent_is_its_owners_and_foreign_looks_like_unknown() {
    let hub = hub().await;
    let (_a, _line) = agent(&hub, "a");
    assert!(call_as(&hub, &ann(), "a").is_ok());
    assert!(
        call_as(&hub, &ann().as_agent(id("b")), "a").is_ok(),
        "her agents act for her"
    );
    assert_eq!(ids(&hub, &ann()), ["a"]);
    assert!(ids(&hub, &bob()).is_empty());
    let foreign = call_as(&hub, &bob(), "a").unwrap_err();
    let unknown = call_as(&hub, &bob(), "b").unwrap_err();
    assert_eq!(foreign.reason, Reason::NotFound);
    assert_eq!(foreign.text.replace("\"a\"", "\"b\""), unknown.text);
    assert_eq!(reason(hub.agents().find(&bob(), "a")), Reason::NotFound);
    assert_eq!(
        reason(
            hub.agents()
                .change(&bob(), &id("a"), Some(Share::Everyone), None)
        ),
        Reason::NotFound
    );
    assert_eq!(
        reason(hub.agents().forget(&bob(), &id("a"))),
        Reason::NotFound
    );
}

#[tokio::test]
async fn a_call_scope_lets_call_and_see_what_it_covers() {
    let hub = hub().await;
    let (_a, _b) = (agent(&hub, "lab-1"), agent(&hub, "b"));
    let caller = scoped("bob", &["call:lab-*"]);
    assert!(call_as(&hub, &caller, "lab-1").is_ok());
    assert_eq!(reason(call_as(&hub, &caller, "b")), Reason::NotFound);
    assert_eq!(ids(&hub, &caller), ["lab-1"]);
    assert_eq!(
        reason(
            hub.agents()
                .change(&caller, &id("lab-1"), Some(Share::Everyone), None)
        ),
        Reason::Unauthorized
    );
}

#[tokio::test]
async fn a_watch_scope_lets_see_but_not_call() {
    let hub = hub().await;
    let (_a, _line) = agent(&hub, "a");
    let watcher = scoped("bob", &["watch:a"]);
    assert_eq!(ids(&hub, &watcher), ["a"]);
    assert_eq!(reason(call_as(&hub, &watcher, "a")), Reason::NotFound);
}

#[tokio::test]
async fn an_agent_may_be_shared_with_some_with_all_and_with_nobody_again() {
    let hub = hub().await;
    let (_a, _line) = agent(&hub, "a");
    let share = |share| {
        drop(
            hub.agents()
                .change(&ann(), &id("a"), Some(share), None)
                .unwrap(),
        )
    };
    share(Share::With(vec![owner("bob")]));
    assert!(call_as(&hub, &bob(), "a").is_ok());
    assert_eq!(ids(&hub, &bob()), ["a"]);
    assert_eq!(reason(call_as(&hub, &person("eve"), "a")), Reason::NotFound);
    share(Share::Everyone);
    assert!(call_as(&hub, &person("eve"), "a").is_ok());
    share(Share::Nobody);
    assert_eq!(reason(call_as(&hub, &bob(), "a")), Reason::NotFound);
}

#[tokio::test]
async fn sharing_makes_ways_that_were_found_before_stale() {
    let hub = hub().await;
    let (a, _line) = agent(&hub, "a");
    let before = a.entry().generation();
    drop(
        hub.agents()
            .change(&ann(), &id("a"), Some(Share::Nobody), None)
            .unwrap(),
    );
    assert_ne!(a.entry().generation(), before);
}

#[tokio::test]
async fn an_admin_may_call_and_change_everything_but_its_agents_may_not() {
    let hub = hub().await;
    let (_a, _line) = agent(&hub, "a");
    let admin = Principal::admin(owner("root"));
    assert!(call_as(&hub, &admin, "a").is_ok());
    assert!(
        hub.agents()
            .change(&admin, &id("a"), Some(Share::Nobody), None)
            .is_ok()
    );
    let robot = admin.as_agent(id("robot"));
    assert!(!robot.is_admin());
    assert_eq!(reason(call_as(&hub, &robot, "a")), Reason::NotFound);
    assert!(ids(&hub, &robot).is_empty());
    let daughter = ann().as_agent(id("a"));
    let refused = hub
        .agents()
        .change(&daughter, &id("a"), Some(Share::Everyone), None);
    assert_eq!(
        reason(refused),
        Reason::Unauthorized,
        "an agent does not share its owner's agents"
    );
}

#[tokio::test]
async fn registering_needs_the_scope() {
    let hub = hub().await;
    let lab = scoped("ann", &["agent:lab-*"]);
    assert!(attach_as(&hub, &lab, "lab-1", &Line::new(), false).is_ok());
    assert_eq!(
        reason(attach_as(&hub, &lab, "a", &Line::new(), false)),
        Reason::Unauthorized
    );
    assert_eq!(
        reason(attach_as(
            &hub,
            &scoped("ann", &["call:*"]),
            "a",
            &Line::new(),
            false
        )),
        Reason::Unauthorized
    );
    assert!(attach_as(&hub, &Principal::local(), "b", &Line::new(), false).is_ok());
}

#[tokio::test]
async fn an_id_is_its_first_owners_even_while_away_and_after_a_restart() {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let (attached, line) = agent(&hub, "a");
    let taken = attach_as(&hub, &bob(), "a", &Line::new(), false);
    assert_eq!(reason(taken), Reason::Unauthorized);
    let by_admin = attach_as(
        &hub,
        &Principal::admin(owner("root")),
        "a",
        &Line::new(),
        false,
    );
    assert_eq!(reason(by_admin), Reason::Unauthorized);
    assert!(line.closed().is_empty(), "nobody was replaced");
    drop(attached);
    assert_eq!(
        reason(attach_as(&hub, &bob(), "a", &Line::new(), false)),
        Reason::Unauthorized
    );
    drop(
        hub.agents()
            .change(
                &ann(),
                &id("a"),
                Some(Share::With(vec![owner("bob")])),
                None,
            )
            .unwrap(),
    );
    let hub = hub_on(store, |_| ()).await;
    assert_eq!(
        reason(attach_as(&hub, &bob(), "a", &Line::new(), false)),
        Reason::Unauthorized
    );
    assert_eq!(ids(&hub, &bob()), ["a"], "what was shared stays shared");
    assert!(!hub.agents().discover(&ann(), &Wanted::default())[0].online);
    assert!(attach_as(&hub, &ann(), "a", &Line::new(), false).is_ok());
}

#[tokio::test]
async fn one_owner_holds_only_so_many_ids() {
    let hub = hub_with(|limits| limits.agents_per_owner = 2).await;
    let _held = [agent(&hub, "a"), agent(&hub, "b")];
    assert_eq!(
        reason(attach_as(&hub, &ann(), "c", &Line::new(), false)),
        Reason::Busy
    );
    assert!(
        attach_as(&hub, &ann(), "a", &Line::new(), false).is_ok(),
        "its own it may take again"
    );
    assert!(attach_as(&hub, &bob(), "c", &Line::new(), false).is_ok());
}

#[tokio::test]
async fn agents_are_found_by_skill_and_presence() {
    let hub = hub().await;
    let skill = |id: &str| jackfield_model::Skill {
        id: id.into(),
        ..jackfield_model::Skill::default()
    };
    let profile = Profile {
        skills: vec![skill("sums"), skill("maps")],
        ..Profile::default()
    };
    let _a = hub
        .agents()
        .attach(&ann(), &id("a"), profile, Line::new(), false)
        .unwrap();
    drop(agent(&hub, "b"));
    let found = |skills: &[&str], online| -> Vec<String> {
        let wanted = Wanted {
            skills: skills.iter().map(|text| (*text).to_owned()).collect(),
            online,
        };
        hub.agents()
            .discover(&ann(), &wanted)
            .iter()
            .map(|view| view.id.to_string())
            .collect()
    };
    assert_eq!(found(&["sums", "maps"], false), ["a"]);
    assert!(found(&["sums", "cooking"], false).is_empty());
    assert_eq!(found(&[], true), ["a"]);
    assert_eq!(found(&[], false), ["a", "b"]);
}

#[tokio::test]
async fn only_the_caller_its_owner_and_admins_may_cancel() {
    let hub = hub().await;
    let (_a, _line) = agent(&hub, "a");
    drop(
        hub.agents()
            .change(&ann(), &id("a"), Some(Share::Everyone), None)
            .unwrap(),
    );
    let bobs_agent = bob().as_agent(id("b"));
    let asking = call_as(&hub, &bobs_agent, "a").unwrap();
    let call = asking.call().id;
    let stranger = bob().as_agent(id("c"));
    for other in [&ann(), &person("eve"), &stranger] {
        assert_eq!(reason(hub.calls().cancel(other, call)), Reason::NotFound);
    }
    hub.calls().cancel(&bob(), call).unwrap();
    assert_eq!(reason(hub.calls().cancel(&bob(), call)), Reason::NotFound);
    let asking = call_as(&hub, &bobs_agent, "a").unwrap();
    hub.calls()
        .cancel(&Principal::local(), asking.call().id)
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_platform_calls_any_agent_in_its_own_sessions_and_rules_over_none() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let platform = Principal::platform();
    let request = Request {
        principal: platform.clone(),
        ..in_session("user-7:chat", to("a", "hi"))
    };
    let task = hub.tasks().start(request.clone()).await.unwrap();
    let _asking = hub.calls().open(request).unwrap();
    until_idle().await;
    for serving in [line.next(), line.next()] {
        assert_eq!(serving.call().agent_session.as_str(), "user-7:chat");
        assert_eq!(serving.call().principal.label(), "platform");
    }
    assert!(!platform.is_admin() && !platform.may_register(&id("a")));
    assert_eq!(
        reason(
            hub.agents()
                .change(&platform, &id("a"), Some(Share::Everyone), None)
        ),
        Reason::Unauthorized
    );
    assert!(hub.tasks().find(&platform, task.id).await.is_ok());
    let anns = hub.tasks().start(to("a", "ann's")).await.unwrap();
    assert!(hub.tasks().find(&platform, anns.id).await.is_err());
    assert!(hub.tasks().find(&ann(), task.id).await.is_err());
}

#[tokio::test]
async fn at_the_limit_whoever_is_away_for_longest_and_not_missed_makes_room() {
    let hub = hub_with(|limits| limits.agents_per_owner = 4).await;
    let reserved = hub
        .agents()
        .reserve(&ann(), &id("far"), &Profile::default(), "a2a");
    let (_far, _) = reserved.unwrap();
    drop(agent(&hub, "shared"));
    hub.agents()
        .change(&ann(), &id("shared"), Some(Share::Everyone), None)
        .unwrap();
    drop(agent(&hub, "long-gone"));
    drop(agent(&hub, "just-gone"));
    let _here = agent(&hub, "new");
    assert_eq!(ids(&hub, &ann()), ["far", "just-gone", "new", "shared"]);
    let _here_too = agent(&hub, "newer");
    assert_eq!(ids(&hub, &ann()), ["far", "new", "newer", "shared"]);
    let full = attach_as(&hub, &ann(), "newest", &Line::new(), false).unwrap_err();
    assert_eq!(full.reason, Reason::Busy);
    assert!(full.text.contains("jackfield rm"), "{full}");
    assert_eq!(ids(&hub, &ann()), ["far", "new", "newer", "shared"]);
}
