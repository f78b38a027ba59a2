//! `call`: streamed text, status lines, files, sessions, detaching.

use jackfield_core::call::AgentHandle;
use jackfield_model::{Artifact, Chunk, ChunkKind, Done, DoneState, End, Event, Json, Part};
use jackfield_testkit::{TestHub, attach_agent};
use rustix::process::Signal;
use serde_json::json;

use crate::run::Cli;

fn answer(serving: AgentHandle, text: &str) {
    serving.push(Event::text(text));
    serving.finish(End::done());
}

#[tokio::test]
async fn the_answer_is_written_as_it_comes() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let mut run = Cli::new(&hub).start(&["call", "bob", "hello"]);
    let serving = agent.next_call().await;
    assert_eq!(serving.call().message.joined_text(), "hello");
    serving.push(Event::text("one\ntw"));
    assert_eq!(run.line().await.unwrap(), "one");
    answer(serving, "o");
    let run = run.end().await.ok();
    assert_eq!((run.out.as_str(), run.err.as_str()), ("two\n", ""));
}

#[tokio::test]
async fn what_goes_on_besides_is_for_terminals_and_for_those_who_ask() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    for (args, thinks) in [
        (&["call", "bob", "x"][..], false),
        (&["call", "bob", "x", "-v"][..], true),
    ] {
        let run = cli.start(args);
        let serving = agent.next_call().await;
        serving.push(Event::Chunk(Chunk {
            kind: ChunkKind::Thinking,
            ..Chunk::text("hm\u{1b}[2J")
        }));
        serving.push(Event::text("y"));
        serving.push(Event::Chunk(Chunk::status("still at it")));
        serving.push(Event::text("es"));
        serving.finish(End::done());
        let run = run.end().await.ok();
        assert_eq!(run.out, "yes\n");
        assert_eq!(run.err == "hm[2J\nstill at it\n", thinks, "{run:?}");
        assert_eq!(run.err.is_empty(), !thinks, "{run:?}");
    }
}

#[tokio::test]
async fn an_answer_only_at_the_end_is_written_too() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let run = Cli::new(&hub).start(&["call", "bob", "x"]);
    let done = Done {
        result: Some("all of it".into()),
        state: DoneState::InputRequired,
        ..Done::default()
    };
    agent.next_call().await.finish(End::Done(Box::new(done)));
    let run = run
        .end()
        .await
        .ok()
        .stderr_has("jackfield call bob -c TEXT");
    assert_eq!(run.out, "all of it\n");
}

#[tokio::test]
async fn a_result_adds_what_it_says_beyond_the_streamed_text() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    for (result, written) in [
        ("all", "all\n"),
        ("all of it", "all of it\n"),
        ("everything", "all\n"),
    ] {
        let run = cli.start(&["call", "bob", "x"]);
        let serving = agent.next_call().await;
        serving.push(Event::text("all"));
        let done = Done {
            result: Some(result.into()),
            ..Done::default()
        };
        serving.finish(End::Done(Box::new(done)));
        assert_eq!(run.end().await.ok().out, written);
    }
}

#[tokio::test]
async fn the_words_of_an_artifact_are_written_and_the_rest_is_named() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let run = Cli::new(&hub).start(&["call", "bob", "x"]);
    let serving = agent.next_call().await;
    for (id, part) in [
        ("poem", Part::Text("roses\n".into())),
        ("table", Part::Data(Json::parse("[1]").unwrap())),
    ] {
        serving.push(Event::Artifact(Artifact {
            id: id.into(),
            name: None,
            parts: vec![part],
            append: false,
            last: true,
            extra: None,
        }));
    }
    serving.finish(End::done());
    let run = run.end().await.ok().stderr_has("made table");
    assert_eq!(run.out, "roses\n");
    assert!(!run.err.contains("poem"), "{run:?}");
}

#[tokio::test]
async fn json_has_one_object_for_each_event() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let mut run = Cli::new(&hub).start(&["call", "bob", "x", "--json"]);
    answer(agent.next_call().await, "yes");
    let opened = run.json().await;
    assert_eq!(opened["type"], "call");
    assert!(opened["id"].is_string() && opened["session"].is_string());
    assert_eq!(
        run.json().await,
        json!({"type": "chunk", "kind": "text", "text": "yes"})
    );
    assert_eq!(
        run.json().await,
        json!({"type": "done", "state": "completed"})
    );
    assert_eq!(run.end().await.ok().out, "");
}

#[tokio::test]
async fn text_is_read_from_a_pipe_and_files_are_sent_along() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    std::fs::write(cli.home().join("note.md"), "# hi").unwrap();
    for args in [
        &["call", "bob", "-f", "note.md"][..],
        &["call", "bob", "-", "-f", "note.md"][..],
    ] {
        let (run, serving) = tokio::join!(cli.run_on(b"from a pipe", args), async {
            let serving = agent.next_call().await;
            let message = serving.call().message.clone();
            answer(serving, "ok");
            message
        });
        run.ok();
        assert_eq!(serving.joined_text(), "from a pipe");
        let file = serving.files().next().unwrap();
        assert_eq!(file.name.as_deref(), Some("note.md"));
        assert_eq!(file.mime.as_deref(), Some("text/markdown"));
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_before_the_hub_is_asked() {
    let cli = Cli::at("http://127.0.0.1:1");
    cli.run(&["call", "bob"])
        .await
        .code(2)
        .stderr_has("the message is empty");
    cli.run(&["call", "bob", "x", "-f", "missing"])
        .await
        .code(2)
        .stderr_has("missing");
    std::fs::write(cli.home().join("large"), vec![0; 7 << 20]).unwrap();
    cli.run(&["call", "bob", "x", "-f", "large"])
        .await
        .code(2)
        .stderr_has("KiB");
    cli.run_on(b"\xff", &["call", "bob"])
        .await
        .code(2)
        .stderr_has("-f");
    cli.run(&["call", "bob", "x", "--timeout", "soon"])
        .await
        .code(2);
    cli.run(&["call", "bob", "x", "-c", "--session", "s"])
        .await
        .code(2);
}

#[tokio::test]
async fn a_conversation_goes_on_where_it_was() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let mut sessions = Vec::new();
    for args in [
        &["call", "bob", "x", "-c"][..],
        &["call", "bob", "x", "-c"],
        &["call", "bob", "x"],
        &["call", "bob", "x", "--continue"],
        &["call", "bob", "x", "--session", "mine"],
    ] {
        let run = cli.start(args);
        let serving = agent.next_call().await;
        sessions.push(serving.call().session.to_string());
        answer(serving, "ok");
        run.end().await.ok();
    }
    assert_eq!(sessions[0], sessions[1]);
    assert_ne!(sessions[1], sessions[2]);
    assert_eq!(sessions[2], sessions[3]);
    assert_eq!(sessions[4], "mine");
}

#[tokio::test]
async fn a_child_names_the_call_it_works_for() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let (mut parent, mut child) = (
        attach_agent(hub.hub(), "parent"),
        attach_agent(hub.hub(), "child"),
    );
    let _outer = cli.start(&["call", "parent", "x"]);
    let above = parent.next_call().await;
    let id = above.call().id;
    let (run, ()) = tokio::join!(
        cli.run_with("JACKFIELD_CALL", id.to_string(), &["call", "child", "x"]),
        async {
            let serving = child.next_call().await;
            assert_eq!(serving.call().parent().unwrap().id, id);
            answer(serving, "ok");
        }
    );
    run.ok();
}

#[tokio::test]
async fn ctrl_c_cancels_a_live_call_and_a_kept_one() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    for args in [
        &["call", "bob", "x"][..],
        &["call", "bob", "x", "--wait-online", "1h"],
    ] {
        let mut run = cli.start(args);
        let serving = agent.next_call().await;
        serving.push(Event::text("beginning\n"));
        assert_eq!(run.line().await.unwrap(), "beginning");
        run.signal(Signal::INT);
        assert_eq!(agent.next_cancel().await, serving.call().id);
        run.end().await.code(130);
    }
}

#[tokio::test]
async fn a_reader_that_leaves_ends_it_quietly() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let cli = Cli::new(&hub);
    let mut child = cli.command(&["call", "bob", "x"]).spawn().unwrap();
    drop(child.stdout.take());
    let serving = agent.next_call().await;
    serving.push(Event::text("nobody reads this"));
    assert_eq!(agent.next_cancel().await, serving.call().id);
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[tokio::test]
async fn a_detached_call_prints_its_task_and_goes_on() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut agent = attach_agent(hub.hub(), "bob");
    let run = cli.run(&["call", "bob", "x", "--detach"]).await.ok();
    let task = run.out.trim().to_owned();
    assert_eq!(task.len(), 36, "the id alone: {run:?}");
    run.stderr_has(&format!("jackfield task wait {task}"));
    answer(agent.next_call().await, "done by itself");
    assert_eq!(
        cli.run(&["task", "wait", &task]).await.ok().out,
        "done by itself\n"
    );
    let told = cli
        .run(&["call", "bob", "x", "--detach", "--json"])
        .await
        .ok()
        .json();
    assert!(told["task"].is_string() && told["session"].is_string());
}

#[tokio::test]
async fn a_call_that_waits_for_its_agent_says_so() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    drop(attach_agent(hub.hub(), "bob"));
    let mut call = cli.start(&["call", "bob", "x", "--wait-online", "8h"]);
    call.until_it_says("bob is offline; waiting for it up to 8h")
        .await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let serving = agent.next_call().await;
    serving.push(Event::text("hi"));
    serving.finish(End::done());
    assert_eq!(call.end().await.ok().out, "hi\n");
}
