//! Questions: the answer ends with them, and the next message of the conversation is the answer.

use jackfield_core::{agent::Settings, call::AgentHandle, principal::Principal};
use jackfield_kit::testing::until;
use jackfield_model::{Ask, AskKind, End, Event};
use serde_json::{Value, json};

use crate::harness::{ChatEvents, OpenAiHub, Scripted, answer_text, joined, says};

pub(crate) fn asked(id: &str, text: &str) -> Ask {
    Ask {
        id: id.into(),
        kind: AskKind::Input,
        text: text.into(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    }
}

/// The content of the answer that the agent gets.
pub(crate) async fn answer_at(call: &AgentHandle) -> String {
    until(|| !call.answers().is_empty()).await;
    let (_, answer) = call.answers().remove(0);
    answer.content.unwrap_or_default()
}

/// The conversation after an answer of the agent.
fn after(first: &str, said: &str, next: &str) -> Value {
    json!({"model": "amy", "messages": [
        {"role": "user", "content": first}, {"role": "assistant", "content": said}, {"role": "user", "content": next},
    ]})
}

#[tokio::test]
async fn the_next_message_of_a_client_without_a_session_answers() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut chat = hub.chat_stream(says("amy", "book it")).await;
    let call = amy.next_call().await;
    call.push(Event::text("A trip."));
    call.ask(asked("q", "Where to?"));
    let chunks = chat.rest().await;
    assert_eq!(joined(&chunks, "content"), "A trip.\n\nWhere to?");
    let last = chunks.last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!(last["jackfield"], json!({"waits_for": "answer"}));
    assert!(chat.is_done);
    let mut chat = hub
        .chat_stream(after("book it", "A trip.\n\nWhere to?", "Rome"))
        .await;
    assert_eq!(answer_at(&call).await, "Rome");
    answer_text(call, "Booked.");
    assert_eq!(joined(&chat.rest().await, "content"), "Booked.");
    assert!(amy.has_nothing_to_do());
}

/// Asks in a named session, and returns the call that waits.
async fn ask_in_session(hub: &OpenAiHub, amy: &mut Scripted) -> AgentHandle {
    let mut body = says("amy", "go");
    body["stream"] = true.into();
    let mut chat = ChatEvents::of(hub.chat(&body).header("jackfield-session", "s")).await;
    let call = amy.next_call().await;
    call.ask(asked("q", "Where?"));
    chat.rest().await;
    call
}

#[tokio::test]
async fn the_next_message_of_a_session_answers_whatever_its_transcript() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let call = ask_in_session(&hub, &mut amy).await;
    let body = says("amy", "Rome");
    let request = hub.chat(&body).header("jackfield-session", "s");
    let answering = async {
        assert_eq!(answer_at(&call).await, "Rome");
        answer_text(call, "Done.");
    };
    let ((status, answer), ()) = tokio::join!(hub.send(request), answering);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["choices"][0]["message"]["content"], "Done.");
}

#[tokio::test]
async fn a_message_of_another_conversation_answers_nothing() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let waiting = ask_in_session(&hub, &mut amy).await;
    let mut other = hub.chat_stream(says("amy", "Rome")).await;
    answer_text(amy.next_call().await, "hello");
    assert_eq!(joined(&other.rest().await, "content"), "hello");
    assert_eq!(waiting.call().open_asks(&Principal::local()).len(), 1);
}

#[tokio::test]
async fn a_message_after_a_question_that_is_over_begins_a_new_call() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let call = ask_in_session(&hub, &mut amy).await;
    call.finish(End::done());
    let mut body = says("amy", "Rome");
    body["stream"] = true.into();
    let mut chat = ChatEvents::of(hub.chat(&body).header("jackfield-session", "s")).await;
    answer_text(amy.next_call().await, "new");
    assert_eq!(joined(&chat.rest().await, "content"), "new");
}

#[tokio::test]
async fn an_approval_stays_with_the_owner_and_the_caller_sees_that_it_is_waited_for() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut chat = hub.chat_stream(says("amy", "go")).await;
    let call = amy.next_call().await;
    let approval = Ask {
        kind: AskKind::Approval,
        tool_name: Some("rm".into()),
        ..asked("q", "Delete it?")
    };
    call.ask(approval);
    loop {
        let chunk = chat.next().await.unwrap();
        let reasoning = joined(&[chunk], "reasoning_content");
        if reasoning.contains("waiting for the owner of amy to approve rm") {
            break;
        }
    }
    answer_text(call, "done");
    assert_eq!(joined(&chat.rest().await, "content"), "done");
}

#[tokio::test]
async fn a_caller_that_may_approve_does_so_by_a_clear_yes() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let settings = Settings {
        approvals_to_caller: true,
        ..Settings::default()
    };
    let id = amy.entry().id.clone();
    let changed = hub
        .hub
        .agents()
        .change(&Principal::local(), &id, None, Some(settings));
    changed.unwrap().1.await.unwrap();
    for (word, approved) in [("yes", true), ("rather not", false)] {
        let mut chat = hub.chat_stream(says("amy", word)).await;
        let call = amy.next_call().await;
        call.ask(Ask {
            kind: AskKind::Approval,
            ..asked("q", "Delete it?")
        });
        let question = joined(&chat.rest().await, "content");
        assert_eq!(question, "Delete it?\n\nAnswer yes or no.");
        let mut chat = hub.chat_stream(after(word, &question, word)).await;
        until(|| !call.answers().is_empty()).await;
        assert_eq!(call.answers()[0].1.approved, Some(approved), "{word}");
        answer_text(call, "ok");
        assert_eq!(joined(&chat.rest().await, "content"), "ok");
    }
}

#[tokio::test]
async fn a_call_that_waits_is_cancelled_when_its_token_is_revoked() {
    let limits = jackfield_core::limits::Limits::default();
    let config = jackfield_openai::Config::default();
    let hub = OpenAiHub::start_with(config, false, limits).await;
    let token = hub.token("ann", &["agent:*"]).await;
    let ann = hub.principal_of(&token);
    let mut amy = hub.attach_for(&ann, "amy");
    let mut body = says("amy", "go");
    body["stream"] = true.into();
    let mut chat = ChatEvents::of(hub.chat(&body).bearer_auth(&token)).await;
    let call = amy.next_call().await;
    call.ask(asked("q", "Where?"));
    chat.rest().await;
    let revoked = hub.hub.tokens().revoke(ann.grant.token.unwrap());
    revoked.await.unwrap();
    assert_eq!(amy.next_cancel().await, call.call().id);
}
