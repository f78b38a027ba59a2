//! What a change of its members does to the work of a team, and what viewers hear of it.

use jackfield_model::{Ask, AskKind};

use super::*;
use crate::team::event::TeamStatus;

fn change(hub: &Rig, name: &str, members: &[&str]) {
    let changed = hub.teams.change(&ann(), &id(name), |_| spec(members));
    drop(changed.unwrap());
}

fn approval() -> Ask {
    Ask {
        id: "q".to_owned(),
        kind: AskKind::Approval,
        text: "may I?".to_owned(),
        tool_name: Some("rm".to_owned()),
        tool_call_id: None,
        arguments: None,
        schema: None,
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_removed_while_it_works_is_stopped_and_viewers_are_told() {
    let hub = hub().await;
    let agents = ["a", "b"].map(|name| agent(&hub, name));
    team(&hub, "all", &["lead=a", "web=b"]);
    say_to(&hub, "web").await;
    say_to(&hub, "lead").await;
    let (web, lead) = (agents[1].1.next(), agents[0].1.next());
    web.ask(approval());
    let mut viewing = view(&hub, "all");
    seen(&mut viewing);
    change(&hub, "all", &["lead=a"]);
    assert_eq!(agents[1].1.cancelled(), [web.call().id]);
    assert!(!lead.call().is_ended(), "the others go on");
    assert!(viewing.pending().is_empty());
    assert_eq!(
        seen(&mut viewing),
        [
            "web may not rm: cancelled",
            "web failed cancelled",
            "web is Idle",
            "web is ShutdownComplete"
        ]
    );
    say(lead, "done");
    assert_eq!(
        hub.teams.get(&ann(), "all").unwrap().status,
        TeamStatus::Idle
    );
    until_idle().await;
    assert_nothing_is_open(&hub);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_another_agents_by_now_stops_the_first_one() {
    let hub = hub().await;
    let agents = ["a", "b", "c"].map(|name| agent(&hub, name));
    team(&hub, "all", &["lead=a", "web=b"]);
    say_to(&hub, "web").await;
    let web = agents[1].1.next();
    let mut viewing = view(&hub, "all");
    seen(&mut viewing);
    change(&hub, "all", &["lead=a", "web=c"]);
    assert!(web.call().is_ended());
    let last = ["web is ShutdownComplete", "web is Idle"];
    assert_eq!(seen(&mut viewing).split_off(3), last);
}

#[tokio::test(start_paused = true)]
async fn who_comes_and_goes_below_is_told_in_the_teams_around_it() {
    let hub = hub().await;
    let agents = ["a", "b", "c"].map(|name| agent(&hub, name));
    team(&hub, "db", &["dba=b"]);
    team(&hub, "all", &["lead=a", "store=@db"]);
    let mut viewing = view(&hub, "all");
    change(&hub, "db", &["dba=b", "aide=c"]);
    assert_eq!(seen(&mut viewing), ["store/aide is Idle"]);
    say_to(&hub, "aide").await;
    let aide = agents[2].1.next();
    change(&hub, "db", &["dba=b"]);
    assert!(aide.call().is_ended());
    let seen = seen(&mut viewing);
    assert_eq!(seen.last().unwrap(), "store/aide is ShutdownComplete");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_team_that_nobody_sees_begins_no_run() {
    let hub = hub().await;
    let _agents = ["a", "b"].map(|name| agent(&hub, name));
    team(&hub, "all", &["lead=a", "web=b"]);
    change(&hub, "all", &["lead=a"]);
    assert!(hub.teams.get(&ann(), "all").unwrap().run.is_none());
}
