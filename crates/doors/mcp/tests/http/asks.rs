//! Agents that ask back, and clients that answer.

use jackfield_core::{agent::Settings, principal::Principal};
use jackfield_model::{AgentId, AskKind, Done, DoneState, End, Event};
use serde_json::json;

use crate::harness::{McpHub, ask, words};

#[tokio::test]
async fn a_question_ends_the_wait_and_its_answer_goes_on() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let calling = hub.tool("call_agent", json!({"agent": "amy", "message": "hi"}));
    let asking = async {
        let serving = amy.next_call().await;
        serving.push(Event::text("Well. "));
        serving.ask(ask("q", AskKind::Input, "which one?"));
        serving
    };
    let (asked, serving) = tokio::join!(calling, asking);
    let told = &asked["structuredContent"];
    assert_eq!(told["state"], "input_required");
    assert_eq!(told["text"], "Well. ");
    assert_eq!(told["ask"], json!({"kind": "input", "text": "which one?"}));
    assert!(words(&asked).contains("which one?") && words(&asked).contains("answer"));
    let task = told["task"].clone();
    // Looking again asks again.
    let looked = hub.tool("task", json!({"task": task})).await;
    assert_eq!(looked["structuredContent"]["ask"]["text"], "which one?");
    let answering = hub.tool("task", json!({"task": task, "answer": "the blue one"}));
    let hearing = async {
        while serving.answers().is_empty() {
            tokio::task::yield_now().await;
        }
        let (id, answer) = serving.answers().remove(0);
        assert_eq!(
            (&*id, answer.content.as_deref()),
            ("q", Some("the blue one"))
        );
        serving.push(Event::text("Blue it is."));
        serving.finish(End::done());
    };
    let (answered, ()) = tokio::join!(answering, hearing);
    let told = &answered["structuredContent"];
    assert_eq!(told["state"], "completed");
    assert_eq!(
        told["text"], "Blue it is.",
        "what came before was told with the question"
    );
    let late = hub
        .tool("task", json!({"task": task, "answer": "red"}))
        .await;
    assert_eq!(late["isError"], true);
    assert!(
        words(&late).starts_with("conflict: the task is completed"),
        "{late}"
    );
}

#[tokio::test]
async fn an_agent_that_ends_its_turn_with_a_question_gets_the_answer_as_its_next_message() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let calling = hub.tool("call_agent", json!({"agent": "amy", "message": "hi"}));
    let asking = async {
        let serving = amy.next_call().await;
        serving.push(Event::text("And then?"));
        serving.finish(End::Done(Box::new(Done {
            state: DoneState::InputRequired,
            ..Done::default()
        })));
    };
    let (asked, ()) = tokio::join!(calling, asking);
    let told = &asked["structuredContent"];
    assert_eq!(told["state"], "input_required");
    let arguments = json!({"task": told["task"], "answer": "then this"});
    let hearing = async {
        let serving = amy.next_call().await;
        assert_eq!(serving.call().message.joined_text(), "then this");
        assert_eq!(json!(serving.call().session.as_str()), told["session"]);
        serving.push(Event::text("Done."));
        serving.finish(End::done());
    };
    let (answered, ()) = tokio::join!(hub.tool("task", arguments), hearing);
    assert_eq!(answered["structuredContent"]["text"], "Done.");
    assert_eq!(answered["structuredContent"]["task"], told["task"]);
    let read = hub.tool("task", json!({"task": told["task"]})).await;
    assert_eq!(read["structuredContent"]["text"], "Done.", "the last turn");
}

#[tokio::test]
async fn what_was_missing_in_an_earlier_turn_is_not_said_of_the_last() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let calling = hub.tool("call_agent", json!({"agent": "amy", "message": "hi"}));
    let asking = async {
        amy.next_call().await.finish(End::Done(Box::new(Done {
            state: DoneState::InputRequired,
            result: Some("long ".repeat(30_000)),
            ..Done::default()
        })));
    };
    let (asked, ()) = tokio::join!(calling, asking);
    let told = &asked["structuredContent"];
    let short = "Not all of it fits here";
    assert!(told["note"].as_str().unwrap().contains(short), "{told}");
    let arguments = json!({"task": told["task"], "answer": "then this"});
    let hearing = async {
        let serving = amy.next_call().await;
        serving.push(Event::text("Done."));
        serving.finish(End::done());
    };
    tokio::join!(hub.tool("task", arguments), hearing);
    let read = hub.tool("task", json!({"task": told["task"]})).await;
    let last = &read["structuredContent"];
    assert_eq!(last["text"], "Done.", "the last turn");
    let note = last["note"].as_str().unwrap_or_default();
    assert!(!note.contains(short), "{last}");
}

#[tokio::test]
async fn leave_to_do_something_is_the_owners_to_give_unless_they_leave_it_to_callers() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let arguments = json!({"agent": "amy", "message": "hi", "wait_seconds": 0});
    let begun = hub.tool("call_agent", arguments).await;
    let serving = amy.next_call().await;
    serving.ask(ask("q", AskKind::Approval, "rm -r?"));
    let task = begun["structuredContent"]["task"].clone();
    let tried = hub
        .tool("task", json!({"task": task, "approve": true}))
        .await;
    assert_eq!(
        tried["isError"], true,
        "a model does not speak for the owner"
    );
    assert!(serving.answers().is_empty());
    serving.finish(End::done());

    let settings = Settings {
        approvals_to_caller: true,
        ..Settings::default()
    };
    let id = AgentId::parse("amy").unwrap();
    hub.hub
        .agents()
        .change(&Principal::local(), &id, None, Some(settings))
        .unwrap();
    let calling = hub.tool("call_agent", json!({"agent": "amy", "message": "hi"}));
    let asking = async {
        let serving = amy.next_call().await;
        serving.ask(ask("q", AskKind::Approval, "rm -r?"));
        serving
    };
    let (asked, serving) = tokio::join!(calling, asking);
    assert_eq!(asked["structuredContent"]["ask"]["kind"], "approval");
    let task = asked["structuredContent"]["task"].clone();
    let unclear = hub
        .tool("task", json!({"task": task, "answer": "yes"}))
        .await;
    assert!(words(&unclear).contains("\"approve\""), "{unclear}");
    let denied = json!({"task": task, "approve": false, "answer": "no", "wait_seconds": 0});
    let told = hub.tool("task", denied).await;
    assert_eq!(told["structuredContent"]["state"], "working");
    assert_eq!(serving.answers()[0].1.approved, Some(false));
}
