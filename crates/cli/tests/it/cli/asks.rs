//! Questions of agents without a terminal, and answers from elsewhere.

use jackfield_core::{agent::Share, principal::Principal};
use jackfield_model::{AgentId, Ask, AskKind, End, Event, Input, Owner};
use jackfield_testkit::{Raw, TestHub, attach_agent, attach_agent_as};
use serde_json::{Value, json};

use crate::run::Cli;

pub(crate) fn question(id: &str, kind: AskKind) -> Ask {
    Ask {
        id: id.to_owned(),
        kind,
        text: "which one?".to_owned(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    }
}

/// Sends a question of an Agora agent; returns the recipient of its replies.
async fn ask(agent: &mut Raw, kind: &str) -> Value {
    let message = agent.frame().await;
    let to = message["from"].clone();
    let ask = json!({"id": "q1", "kind": kind, "text": "which one?"});
    agent
        .send(json!({"type": "reply", "to": to, "payload": {"input_required": ask}}))
        .await;
    to
}

#[tokio::test]
async fn without_a_terminal_a_live_call_says_how_to_answer_and_ends() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let run = Cli::new(&hub).start(&["call", "bob", "x"]);
    let serving = agent.next_call().await;
    serving.ask(question("q1", AskKind::Input));
    assert_eq!(agent.next_cancel().await, serving.call().id);
    let run = run.end().await.code(7);
    run.stderr_has("which one?")
        .stderr_has("jackfield task answer")
        .stderr_has("--detach");
}

#[tokio::test]
async fn the_command_that_answers_is_no_other_however_a_question_is_named() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = hub.bridge_with("bob", &["input"]).await;
    let task = cli.run(&["call", "bob", "x", "--detach"]).await.ok();
    let task = task.out.trim();
    let request = agent.expect_message("x").await;
    let named = "q; touch PWNED #";
    let ask = json!({"type": "ask", "request_id": request, "ask_id": named, "kind": "input", "text": "which?"});
    agent.send(ask).await;
    let waited = cli.run(&["task", "wait", task]).await.code(1);
    let line = waited.err.lines().find(|line| line.contains("task answer"));
    let (_, command) = line.expect("a command").split_once(": ").expect("one");
    // As pasted into a shell.
    let pasted = format!("jackfield() {{ printf '%s|' \"$@\"; }}\n{command}");
    let shell = tokio::process::Command::new("sh")
        .args(["-c", &pasted])
        .current_dir(cli.home())
        .output();
    let typed = shell.await.expect("a shell").stdout;
    assert_eq!(
        String::from_utf8_lossy(&typed),
        format!("task|answer|{task}|{named}|TEXT|")
    );
    assert!(!cli.home().join("PWNED").exists());
    cli.run(&["task", "answer", task, named, "this"]).await.ok();
    assert_eq!(agent.frame().await["ask_id"], named);
}

#[tokio::test]
async fn a_kept_call_waits_for_the_answer_from_elsewhere() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = hub.agora("bob").await;
    let task = cli.run(&["call", "bob", "x", "--detach"]).await.ok();
    let task = task.out.trim();
    let to = ask(&mut agent, "input").await;
    let waited = cli.run(&["task", "wait", task]).await.code(1);
    waited.stderr_has(&format!("jackfield task answer {task} q1 TEXT"));
    let shown = cli
        .run(&["task", "show", task])
        .await
        .ok()
        .stderr_has("which one?");
    assert!(shown.out.contains("state\tinput_required"), "{shown:?}");
    cli.run(&["task", "answer", task, "q1"]).await.code(2);
    cli.run(&["task", "answer", task, "q2", "x"])
        .await
        .code(3)
        .stderr_has("task show");
    cli.run(&["task", "answer", task, "q1", "the blue one"])
        .await
        .ok();
    let told = agent.frame().await;
    assert_eq!(told["payload"]["ask_id"], "q1");
    assert_eq!(told["payload"]["body"]["content"], "the blue one");
    cli.run(&["task", "answer", task, "q1", "the red one"])
        .await
        .code(1);
    agent
        .send(json!({"type": "reply", "to": to, "payload": {"body": {"answer": "blue it is"}}}))
        .await;
    // The question in the log is answered, and doesn't stop later readers.
    assert_eq!(
        cli.run(&["task", "wait", task]).await.ok().out,
        "blue it is\n"
    );
}

#[tokio::test]
async fn json_goes_on_so_that_a_program_can_answer() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let mut run = cli.start(&["call", "bob", "x", "--json"]);
    let id = run.json().await["id"].as_str().unwrap().to_owned();
    let serving = agent.next_call().await;
    serving.ask(question("q1", AskKind::Input));
    assert_eq!(run.json().await["type"], "ask");
    cli.run(&["task", "answer", &id, "q1", "this one"])
        .await
        .ok();
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    assert!(
        matches!(&inputs[..], [Input::Answer(id, answer)] if id == "q1" && answer.content.as_deref() == Some("this one"))
    );
    serving.push(Event::text("thanks"));
    serving.finish(End::done());
    assert_eq!(run.json().await["text"], "thanks");
    run.end().await.ok();
}

#[tokio::test]
async fn an_approval_of_a_live_call_is_waited_for_and_the_command_for_it_is_said_once() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let mut run = cli.start(&["call", "bob", "x"]);
    let serving = agent.next_call().await;
    let call = serving.call().id.to_string();
    serving.ask(question("q1", AskKind::Approval));
    run.until_it_says("which one?").await;
    run.until_it_says(&format!(
        "approve with: jackfield task answer {call} q1 --approve"
    ))
    .await;
    run.until_it_says(&format!(
        "deny with: jackfield task answer {call} q1 --deny"
    ))
    .await;
    let wrong = ["task", "answer", &call, "q1", "sure"];
    cli.run(&wrong)
        .await
        .code(2)
        .stderr_has("use --approve or --deny");
    cli.run(&["task", "answer", &call, "q1", "--approve"])
        .await
        .ok();
    serving.push(Event::text("done it"));
    serving.finish(End::done());
    assert_eq!(run.end().await.ok().out, "done it\n");
}

#[tokio::test]
async fn whose_an_approval_is_is_said_to_a_caller_who_may_not_give_it() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let ann = Principal::admin(Owner::parse("ann").unwrap());
    let mut agent = attach_agent_as(hub.hub(), &ann, "bob", true);
    let share = Some(Share::Everyone);
    let id = AgentId::parse("bob").unwrap();
    hub.hub().agents().change(&ann, &id, share, None).unwrap();
    let mut command = cli.command(&["call", "bob", "x"]);
    command.env("JACKFIELD_TOKEN", hub.token("carl", &["call:*"]).await);
    let mut run = cli.start_command(command);
    let serving = agent.next_call().await;
    serving.ask(question("q1", AskKind::Approval));
    run.until_it_says("ann must approve this").await;
    run.until_it_says("q1 --approve").await;
    run.until_it_says("q1 --deny").await;
    serving.finish(End::done());
    run.end().await.ok();
}

#[tokio::test]
async fn a_task_that_waits_for_an_approval_says_so() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let task = cli.run(&["call", "bob", "x", "--detach"]).await.ok();
    let task = task.out.trim();
    let serving = agent.next_call().await;
    serving.ask(question("q1", AskKind::Approval));
    let how = format!("jackfield task answer {task} q1 --deny");
    let waited = cli.run(&["task", "wait", task]).await.code(1);
    waited.stderr_has("which one?").stderr_has(&how);
    let state = "working, waits for local to approve";
    let listed = cli.run(&["task", "ls"]).await.ok();
    assert!(listed.out.contains(state), "{listed:?}");
    let shown = cli.run(&["task", "show", task]).await.ok().stderr_has(&how);
    assert!(shown.out.contains(state), "{shown:?}");
    cli.run(&["task", "answer", task, "q1", "--approve"])
        .await
        .ok();
    serving.push(Event::text("did it"));
    serving.finish(End::done());
    assert_eq!(cli.run(&["task", "wait", task]).await.ok().out, "did it\n");
    let shown = cli.run(&["task", "show", task]).await.ok();
    assert!(shown.out.contains("(approved)\n"), "{shown:?}");
    assert!(!shown.out.contains("caller: \n"), "{shown:?}");
}

#[tokio::test]
async fn a_question_for_words_takes_no_yes() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let task = cli.run(&["call", "bob", "x", "--detach"]).await.ok();
    let task = task.out.trim();
    let serving = agent.next_call().await;
    serving.ask(question("q1", AskKind::Input));
    let run = cli.run(&["task", "answer", task, "q1", "--approve"]).await;
    run.code(2)
        .stderr_has("asks for words")
        .stderr_has(&format!("jackfield task answer {task} q1 TEXT"));
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    assert!(inputs.is_empty(), "{inputs:?}");
}

#[tokio::test]
async fn the_owner_of_an_agent_approves_or_denies() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    for (flags, approved, reason) in [
        (&["--approve"][..], true, None),
        (
            &["--deny", "--reason", "not today"][..],
            false,
            Some("not today"),
        ),
    ] {
        let mut watch = cli.start(&["watch", "bob", "--json"]);
        watch.until_it_says("watching").await;
        let _run = cli.start(&["call", "bob", "x"]);
        let serving = agent.next_call().await;
        serving.ask(question("q1", AskKind::Approval));
        let seen = loop {
            let seen = watch.json().await;
            if seen["type"] == "ask" {
                break seen;
            }
        };
        let call = seen["call"].as_str().unwrap();
        let answer = ["task", "answer", call, seen["id"].as_str().unwrap()];
        cli.run(&[&answer[..], flags].concat()).await.ok();
        let mut inputs = Vec::new();
        serving.input().take(&mut inputs, usize::MAX);
        let [Input::Answer(_, answer)] = &inputs[..] else {
            panic!("{inputs:?}")
        };
        assert_eq!(answer.approved, Some(approved));
        assert_eq!(answer.reason.as_deref(), reason);
    }
    cli.run(&["task", "answer", "x", "q", "--approve", "--deny"])
        .await
        .code(2);
}

#[tokio::test]
async fn the_only_open_question_is_answered_without_its_id() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let task = cli.run(&["call", "bob", "x", "--detach"]).await.ok();
    let task = task.out.trim();
    let none = cli.run(&["task", "answer", task, "blue"]).await.code(3);
    none.stderr_has("has no open question for you");
    let serving = agent.next_call().await;
    serving.ask(question("q1", AskKind::Input));
    serving.ask(question("q2", AskKind::Approval));
    let several = cli.run(&["task", "answer", task, "blue"]).await.code(2);
    several.stderr_has("has several open questions: q1, q2");
    cli.run(&["task", "answer", task])
        .await
        .code(2)
        .stderr_has("TEXT");
    cli.run(&["task", "answer", task, "q1", "blue"]).await.ok();
    cli.run(&["task", "answer", task, "--approve"]).await.ok();
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    let [Input::Answer(first, blue), Input::Answer(second, yes)] = &inputs[..] else {
        panic!("{inputs:?}");
    };
    assert_eq!((first.as_str(), second.as_str()), ("q1", "q2"));
    assert_eq!(blue.content.as_deref(), Some("blue"));
    assert_eq!(yes.approved, Some(true));
    serving.finish(End::done());
}

#[tokio::test]
async fn a_piped_answer_is_not_cut_where_an_approval_was_asked() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let mut run = cli.start(&["call", "bob", "x"]);
    let serving = agent.next_call().await;
    let call = serving.call().id.to_string();
    serving.push(Event::text("one "));
    serving.ask(question("q1", AskKind::Approval));
    run.until_it_says("deny with:").await;
    cli.run(&["task", "answer", &call, "--approve"]).await.ok();
    serving.push(Event::text("line"));
    serving.finish(End::done());
    assert_eq!(run.end().await.ok().out, "one line\n");
}
