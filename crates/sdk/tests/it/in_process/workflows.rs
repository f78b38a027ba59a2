//! Sequential steps that answer as a single agent.

use jackfield_core::{call::Reply, principal::Principal};
use jackfield_model::{Answer, DoneState, Event};
use jackfield_sdk::{Agent, AgentFailure, Artifact, File, Workflow};
use serde_json::json;

use crate::in_process::hub::{call, echo, endless, is_dropped, next, next_chunk, outcome, with};

/// An agent that echoes its message word by word, each with a mark.
fn marking(id: &'static str) -> Agent {
    Agent::new(id).on_message(move |message, reply| async move {
        for word in message.text.split_whitespace() {
            reply.text(format!("{word}-{id} ")).await?;
        }
        reply.thinking(format!("{id} is done")).await?;
        Ok(())
    })
}

#[tokio::test]
async fn what_a_step_answers_is_what_the_next_one_is_told() {
    let workflow = Workflow::new("flow")
        .agent(marking("a"))
        .step("reverse", |text| async move {
            let words: Vec<&str> = text.split_whitespace().rev().collect();
            Ok(words.join(" "))
        })
        .agent(marking("b"));
    let (hub, _flow) = with(workflow).await;
    let outcome = outcome(call(&hub, "flow", "one two")).await;
    assert_eq!(outcome.words, "two-a-b one-a-b ");
    let other_chunks: Vec<_> = outcome
        .other_chunks
        .iter()
        .map(|(k, t)| (*k, &**t))
        .collect();
    assert_eq!(
        other_chunks,
        [
            ("status", "step a"),
            ("status", "one-a "),
            ("status", "two-a "),
            ("thinking", "a is done"),
            ("status", "step reverse"),
            ("status", "two-a one-a"),
            ("status", "step b"),
            ("thinking", "b is done"),
        ]
    );
}

#[tokio::test]
async fn the_first_step_gets_the_message_and_all_of_them_the_conversation() {
    let tells = |id: &str| {
        Agent::new(id).on_message(|message, reply| async move {
            let body = json!([
                message.text,
                message.session,
                message.caller,
                message.parts.len()
            ]);
            Ok(reply.text(body.to_string()).await?)
        })
    };
    let workflow = Workflow::new("flow").agent(tells("a")).agent(tells("b"));
    let (hub, _flow) = with(workflow).await;
    let replies = call(&hub, "flow", "x");
    let session = replies.asking().call().agent_session.to_string();
    let first = json!(["x", session, "local", 1]).to_string();
    assert_eq!(
        outcome(replies).await.words,
        json!([first, session, "local", 1]).to_string()
    );
}

#[tokio::test]
async fn a_step_that_fails_fails_the_workflow_with_its_name() {
    let breaks = Agent::new("breaks").on_message(|message, _| async move {
        match message.text.as_str() {
            "panic" => panic!("oh"),
            _ => Err(AgentFailure::new("quota", "no more today").into()),
        }
    });
    let workflow = Workflow::new("flow")
        .step("same", |text| async move { Ok(text) })
        .agent(breaks)
        .step(
            "never",
            |_| async move { panic!("it must not come to this") },
        );
    let (hub, _flow) = with(workflow).await;
    for (text, code, why) in [
        ("x", "quota", "step breaks failed: no more today"),
        (
            "panic",
            "crashed",
            "step breaks failed: the agent panicked: oh",
        ),
    ] {
        assert_eq!(
            outcome(call(&hub, "flow", text)).await.failure(),
            (code, why)
        );
    }
}

#[tokio::test]
async fn a_word_in_passing_of_a_step_is_what_the_next_one_is_told() {
    let passing = |id: &str| {
        Agent::new(id).on_message(|message, reply| async move {
            reply.text(format!("{}!", message.text)).await?;
            reply.bare_message();
            Ok(())
        })
    };
    let workflow = Workflow::new("flow")
        .agent(passing("one"))
        .agent(passing("two"));
    let (hub, _flow) = with(workflow).await;
    let outcome = outcome(call(&hub, "flow", "hi")).await;
    assert_eq!(outcome.words, "hi!!");
    assert!(outcome.done().is_message, "the last step ends the workflow");
}

#[tokio::test]
async fn whoever_leaves_stops_the_running_step() {
    let (step, mut dropped) = endless("slow");
    let workflow = Workflow::new("flow").agent(echo("fast")).agent(step);
    let (hub, _flow) = with(workflow).await;
    let mut replies = call(&hub, "flow", "x");
    while next_chunk(&mut replies).await.text != "working" {}
    drop(replies);
    is_dropped(&mut dropped).await;
}

#[tokio::test]
async fn steps_make_and_ask_and_attach_under_their_own_names() {
    let asks = |id: &str| {
        Agent::new(id).on_message(|_, reply| async move {
            reply.artifact(Artifact::new("a").text("made")).await?;
            reply.attach(File::at("https://x/file")).await?;
            Ok(reply.text(reply.ask("what?").await?.text).await?)
        })
    };
    let workflow = Workflow::new("flow").agent(asks("one")).agent(asks("two"));
    let (hub, _flow) = with(workflow).await;
    let mut replies = call(&hub, "flow", "x");
    let id = replies.asking().call().id;
    let (mut seen, mut text) = (Vec::new(), String::new());
    let end = loop {
        match next(&mut replies).await {
            Reply::Event(Event::Chunk(chunk)) if chunk.kind.name() == "text" => text += &chunk.text,
            Reply::Event(Event::Chunk(_)) => {}
            Reply::Event(Event::Artifact(artifact)) => seen.push(artifact.id),
            Reply::Event(Event::Ask(ask)) => {
                let answer = Answer {
                    content: Some(format!("answer to {}", ask.id)),
                    ..Answer::default()
                };
                hub.calls()
                    .answer(&Principal::local(), id, &ask.id, answer)
                    .unwrap();
                seen.push(ask.id);
            }
            Reply::End(end) => break end,
        }
    };
    assert_eq!(seen, ["one/a", "one/ask-1", "two/a", "two/ask-1"]);
    assert_eq!(text, "answer to two/ask-1");
    let jackfield_model::End::Done(done) = end else {
        panic!("{end:?}")
    };
    assert_eq!(done.attachments.len(), 2);
}

#[tokio::test]
async fn a_step_that_rejects_or_waits_ends_the_workflow_with_its_answer() {
    let picky = Agent::new("picky").on_message(|message, reply| async move {
        match message.text.as_str() {
            "no" => reply.rejected(),
            _ => reply.input_required(),
        }
        Ok(reply.text("not like this").await?)
    });
    let workflow = Workflow::new("flow")
        .agent(picky)
        .step(
            "never",
            |_| async move { panic!("it must not come to this") },
        );
    let (hub, _flow) = with(workflow).await;
    for (text, state) in [
        ("no", DoneState::Rejected),
        ("hm", DoneState::InputRequired),
    ] {
        let outcome = outcome(call(&hub, "flow", text)).await;
        assert_eq!(outcome.words, "not like this");
        assert_eq!(outcome.done().state, state);
    }
}

#[tokio::test]
async fn a_step_may_give_its_answer_only_at_the_end_and_a_workflow_may_be_a_step() {
    let silent = Agent::new("silent").on_message(|message, reply| async move {
        reply.result(message.text.to_uppercase());
        Ok(())
    });
    let inner = Workflow::new("inner")
        .agent(silent.clone())
        .agent(marking("a"));
    let (hub, _flow) = with(Workflow::new("flow").agent(inner).agent(silent)).await;
    let outcome = outcome(call(&hub, "flow", "x")).await;
    assert_eq!(outcome.done().result.as_deref(), Some("X-A "));
    let (hub, _empty) = with(Workflow::new("empty")).await;
    let nothing = crate::in_process::hub::outcome(call(&hub, "empty", "x")).await;
    assert_eq!(nothing.failure().1, "this workflow has no steps");
}
