//! What a restart of the hub does to the work of a team: it goes on, in a new run, and is shown and steered as before.

use jackfield_model::{Ask, AskKind, Input};

use super::*;
use crate::team::event::{AgentStatus, TeamStatus};
use crate::team::teams::ViewerDecision;

fn question(id: &str, kind: AskKind) -> Ask {
    Ask {
        id: id.to_owned(),
        kind,
        text: "may I?".to_owned(),
        tool_name: Some("rm".to_owned()),
        tool_call_id: None,
        arguments: None,
        schema: None,
    }
}

/// Attaches an agent that resumes, with the token of its last connection.
fn come(hub: &Rig, name: &str, line: &Arc<Line>, token: Option<&str>) -> (Attached, String) {
    let profile = Profile::default();
    let attached = hub
        .agents()
        .attach_resumable(&ann(), &id(name), profile, line.clone(), token);
    let (attached, token) = attached.unwrap();
    (attached, token.expose().to_owned())
}

/// A member two teams down works for `all` when the hub is killed. Gives the next hub, the agent's token, and what it has.
async fn killed(and: impl FnOnce(&AgentHandle)) -> (Rig, String, AgentHandle) {
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let _lead = agent(&hub, "a");
    let line = Line::new();
    let (_dba, token) = come(&hub, "c", &line, None);
    let settings = Settings {
        approvals_to_caller: true,
        ..Settings::default()
    };
    hub.agents()
        .change(&ann(), &id("c"), None, Some(settings))
        .unwrap();
    team(&hub, "db", &["dba=c"]);
    team(&hub, "all", &["lead=a", "store=@db"]);
    say_to(&hub, "dba").await;
    let serving = line.next();
    serving.push_numbered(Event::text("half"), 1);
    and(&serving);
    until_idle().await;
    // The first process goes on in this test, but the second one has read the store already.
    let second = hub_on(store, |_| ()).await;
    (second, token, serving)
}

fn resume(hub: &Rig, token: &str) -> (Attached, AgentHandle) {
    let (mut attached, _) = come(hub, "c", &Line::new(), Some(token));
    let serving = attached.adopted.pop().expect("it goes on with its call");
    (attached, serving)
}

#[tokio::test(start_paused = true)]
async fn what_goes_on_for_a_team_is_shown_in_it_again() {
    let (hub, token, _cut) = killed(|_| ()).await;
    let team = hub.teams.get(&ann(), "all").unwrap();
    assert_eq!(team.status, TeamStatus::Running);
    assert_eq!(team.agents[1].status, AgentStatus::ProcessingUserInput);
    let mut viewing = view(&hub, "all");
    let running = [
        "[] Running",
        "[store] Running",
        "store/dba is ProcessingUserInput",
    ];
    assert_eq!(seen(&mut viewing), running);
    let (_dba, serving) = resume(&hub, &token);
    say(serving, "the rest");
    let shown = seen(&mut viewing);
    assert!(shown.contains(&"store/dba says the rest".to_owned()));
    assert_eq!(shown.last().unwrap(), "[] Idle");
    assert_eq!(
        hub.teams.get(&ann(), "all").unwrap().status,
        TeamStatus::Idle
    );
}

#[tokio::test(start_paused = true)]
async fn what_goes_on_for_a_team_can_be_stopped_again() {
    let (hub, token, _cut) = killed(|_| ()).await;
    let (_dba, serving) = resume(&hub, &token);
    assert_eq!(hub.teams.stop(&ann(), "all", Some("dba")).unwrap(), 1);
    assert!(serving.call().is_ended());
    assert_eq!(hub.teams.stop(&ann(), "all", None).unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_member_had_asked_waits_for_a_viewer_again() {
    let ask = |serving: &AgentHandle| {
        serving.ask_numbered(question("q", AskKind::Approval), 2);
    };
    let (hub, token, _cut) = killed(ask).await;
    let mut viewing = view(&hub, "all");
    let pending = viewing.pending();
    assert_eq!((pending.len(), &*pending[0].route), (1, "store/dba"));
    let shown = seen(&mut viewing);
    let asks = ["store/dba asks for rm", "store/dba is AwaitingToolApproval"];
    assert_eq!(shown[shown.len() - 2..], asks);
    let yes = ViewerDecision {
        invocation: Some("q".to_owned()),
        target: Some("dba".to_owned()),
        approved: true,
        ..ViewerDecision::default()
    };
    hub.teams.decide(&ann(), "all", &yes).unwrap();
    let (_dba, serving) = resume(&hub, &token);
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    assert!(matches!(&inputs[..], [Input::Answer(..)]), "{inputs:?}");
    assert!(viewing.pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_member_had_begun_for_others_belongs_to_the_team_again() {
    // The lead's own kept call of the member, which no viewer made.
    let store = Arc::new(MemoryStore::default());
    let hub = hub_on(store.clone(), |_| ()).await;
    let lead = agent(&hub, "a");
    let line = Line::new();
    let (_dba, token) = come(&hub, "c", &line, None);
    team(&hub, "all", &["lead=a", "dba=c"]);
    let _asking = hub.calls().open(to("all", "go")).unwrap();
    let _leading = lead.1.next();
    hub.tasks().start(from("a", "c", "index")).await.unwrap();
    until_idle().await;
    let cut = line.next();
    let second = hub_on(store, |_| ()).await;
    let mut viewing = view(&second, "all");
    let running = ["[] Running", "dba is ProcessingUserInput"];
    assert_eq!(seen(&mut viewing), running);
    let (_dba, serving) = resume(&second, &token);
    say(serving, "done");
    assert_eq!(seen(&mut viewing).last().unwrap(), "[] Idle");
    drop(cut);
}

#[tokio::test(start_paused = true)]
async fn the_next_turn_of_a_task_is_shown_where_the_first_one_was() {
    use jackfield_model::{Done, DoneState};
    let hub = hub().await;
    let (_lead, dba) = (agent(&hub, "a"), agent(&hub, "c"));
    team(&hub, "all", &["lead=a", "dba=c"]);
    let task = say_to(&hub, "dba").await;
    dba.1.next().finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    })));
    until_idle().await;
    let mut viewing = view(&hub, "all");
    seen(&mut viewing);
    hub.tasks()
        .continue_task(to("c", "more"), &task)
        .await
        .unwrap();
    until_idle().await;
    let running = ["[] Running", "dba is ProcessingUserInput"];
    assert_eq!(seen(&mut viewing), running);
    say(dba.1.next(), "done");
}
