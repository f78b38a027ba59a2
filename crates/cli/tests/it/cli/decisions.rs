//! Approvals between two users: bob calls ann's agent; ann lists the pending approvals and decides.

use jackfield_core::{agent::Share, principal::Principal};
use jackfield_model::{AgentId, Ask, AskKind, End, Event, Json, Owner};
use jackfield_testkit::{Scripted, TestHub, attach_agent, attach_agent_as};

use crate::run::{Cli, Run, Running};

/// Ann's agent, and a client for each user.
struct ApprovalFixture {
    hub: TestHub,
    agent: Scripted,
    cli: Cli,
    bob: Vec<String>,
    ann: Vec<String>,
}

impl ApprovalFixture {
    async fn start() -> Self {
        let hub =
            TestHub::start_with(|config| config.listen = "0.0.0.0:0".parse().expect("an address"))
                .await;
        let cli = Cli::at(&format!("http://127.0.0.1:{}", hub.addr().port()));
        let owner = Principal::admin(Owner::parse("ann").expect("an owner"));
        let agent = attach_agent_as(hub.hub(), &owner, "ann-1", true);
        let id = AgentId::parse("ann-1").expect("an id");
        let shared = hub
            .hub()
            .agents()
            .change(&owner, &id, Some(Share::Everyone), None);
        shared.expect("it is hers");
        for name in ["ann", "bob"] {
            let token = hub.token(name, &[]).await;
            std::fs::write(cli.home().join(name), token).expect("a file");
        }
        let flags = |name: &str| vec!["--token-file".to_owned(), name.to_owned()];
        Self {
            hub,
            agent,
            bob: flags("bob"),
            ann: flags("ann"),
            cli,
        }
    }

    fn args<'a>(credentials: &'a [String], args: &[&'a str]) -> Vec<&'a str> {
        let flags = credentials.iter().map(String::as_str);
        flags.chain(args.iter().copied()).collect()
    }

    async fn ann(&self, args: &[&str]) -> Run {
        self.cli.run(&Self::args(&self.ann, args)).await
    }

    async fn bob(&self, args: &[&str]) -> Run {
        self.cli.run(&Self::args(&self.bob, args)).await
    }

    fn bob_starts(&self, args: &[&str]) -> Running {
        self.cli.start(&Self::args(&self.bob, args))
    }
}

fn leave_to_delete() -> Ask {
    Ask {
        id: "q1".into(),
        kind: AskKind::Approval,
        text: String::new(),
        tool_name: Some("rm -rf".into()),
        tool_call_id: None,
        arguments: Json::parse(r#"{"path":"/"}"#).ok(),
        schema: None,
    }
}

/// The displayed approval request.
const SHOWN: &str = r#"may I do this? [rm -rf {"path":"/"}]"#;

#[tokio::test]
async fn who_must_approve_finds_what_waits_and_who_calls_hears_whose_it_is() {
    let mut fixture = ApprovalFixture::start().await;
    let mut call = fixture.bob_starts(&["call", "ann-1", "x"]);
    let serving = fixture.agent.next_call().await;
    let id = serving.call().id.to_string();
    serving.ask(leave_to_delete());
    call.until_it_says("ann must approve this before the agent continues [rm -rf]")
        .await;
    let how = call.until_it_says("jackfield task answer").await;
    let approves = format!("ann approves with: jackfield task answer {id} q1 --approve");
    assert_eq!(how, approves, "without bob's own flags");
    let how = call.until_it_says("jackfield task answer").await;
    let denies = format!("ann denies with: jackfield task answer {id} q1 --deny");
    assert_eq!(how, denies);
    let tried = fixture
        .bob(&["task", "answer", &id, "q1", "--approve"])
        .await;
    tried.code(4).stderr_has("ann decides this");

    let listed = fixture.ann(&["task", "ls"]).await.ok();
    assert_eq!(listed.out, format!("{id}\tann-1\twaits for you\tbob\t\n"));
    let how = format!(
        "{SHOWN}\napprove with: jackfield task answer {id} q1 --approve --token-file ann\n\
         deny with: jackfield task answer {id} q1 --deny --token-file ann"
    );
    let listed = listed
        .stderr_has("ann-1 asks in a call of bob")
        .stderr_has(&how);
    assert!(!listed.err.contains("no matching tasks"), "{listed:?}");
    let shown = fixture.ann(&["show", "ann-1"]).await.ok().stderr_has(&how);
    let fact = format!("waits for you\tcall {id} of bob\n");
    assert!(shown.out.contains(&fact), "{shown:?}");
    let shown = fixture
        .ann(&["task", "show", &id])
        .await
        .ok()
        .stderr_has(&how);
    for fact in ["state\twaits for you\n", "caller\tbob\n", "agent\tann-1\n"] {
        assert!(shown.out.contains(fact), "{shown:?}");
    }
    let json = fixture.ann(&["task", "ls", "--json"]).await.ok().json();
    assert_eq!(json["waiting"][0]["asks"][0]["tool_name"], "rm -rf");
    let others = fixture.bob(&["task", "ls"]).await.ok();
    assert_eq!(others.out, "", "the call is live: bob reads it");

    // By the end of the id, as `watch` shows it.
    let end = &id[id.len() - 8..];
    let other = if end == "00000000" {
        "11111111"
    } else {
        "00000000"
    };
    let unknown = fixture
        .ann(&["task", "answer", other, "q1", "--deny"])
        .await;
    unknown
        .code(3)
        .stderr_has("none of your last task ids ends in");
    fixture
        .ann(&["task", "answer", end, "q1", "--approve"])
        .await
        .ok();
    serving.push(Event::text("gone"));
    serving.finish(End::done());
    assert_eq!(call.end().await.ok().out, "gone\n");
    assert_eq!(fixture.ann(&["task", "ls"]).await.ok().out, "");
    drop(fixture.hub);
}

#[tokio::test]
async fn what_is_to_be_approved_is_shown_wherever_it_can_be() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let mut watch = cli.start(&["watch"]);
    watch.until_it_says("watching").await;
    let task = cli.run(&["call", "bob", "x", "--detach"]).await.ok();
    let task = task.out.trim();
    let serving = agent.next_call().await;
    serving.ask(leave_to_delete());
    cli.run(&["task", "wait", task])
        .await
        .code(1)
        .stderr_has(SHOWN);
    cli.run(&["task", "show", task])
        .await
        .ok()
        .stderr_has(SHOWN);
    let how = format!("approve with: jackfield task answer {task} q1 --approve");
    loop {
        let line = watch.line().await.unwrap();
        if line.contains("asks (") {
            let end = format!("\tasks (approval, q1): {SHOWN}");
            assert!(line.ends_with(&end), "{line}");
            let line = watch.line().await.unwrap();
            assert!(line.ends_with(&format!("\t{how}")), "{line}");
            break;
        }
    }
    // The task is listed once, as a task and not also as a call.
    let listed = cli.run(&["task", "ls"]).await.ok().stderr_has(&how);
    assert_eq!(listed.out.lines().count(), 1, "{listed:?}");
    assert!(listed.out.contains("working, waits for local to approve"));
}

#[tokio::test]
async fn an_owner_lists_and_cancels_what_waits_at_an_agent_of_hers() {
    let mut fixture = ApprovalFixture::start().await;
    let called = fixture.bob(&["call", "ann-1", "first", "--detach"]).await;
    let task = called.ok().out.trim().to_owned();
    let _serving = fixture.agent.next_call().await;
    let list = fixture.ann(&["task", "ls", "--at", "ann-1"]).await.ok();
    let begin = format!("{task}\tann-1\tworking\tbob\t");
    assert!(list.out.starts_with(&begin), "{list:?}");
    assert!(!list.out.contains("first"), "not what bob says: {list:?}");
    let refused = fixture.bob(&["task", "ls", "--at", "ann-1"]).await;
    refused
        .code(4)
        .stderr_has("only the owner of an agent may do this");
    fixture.ann(&["task", "cancel", &task]).await.ok();
    let list = fixture.ann(&["task", "ls", "--at", "ann-1"]).await.ok();
    list.stderr_has("no open calls at ann-1");
    let shown = fixture.bob(&["task", "show", &task]).await.ok();
    assert!(shown.out.contains("state\tcancelled\n"), "{shown:?}");
    drop(fixture.hub);
}
