//! A server wants a login in the middle of its work, which ends the turn. The next message goes on with the same task.

use std::sync::Arc;

use jackfield_core::{
    hub::Request,
    principal::Principal,
    store::{TaskState, memory::MemoryStore},
};
use jackfield_model::{Message, TaskId};
use serde_json::{Value, json};

use super::restarts::{
    Near, asked, card, error, far, piece, result, status, stream, task, working,
};
use crate::dial::scripted::{ScriptStep, ScriptedServer};

const LOGIN: &str = "log in at https://x";

/// It wants a login.
fn login() -> Value {
    status("TASK_STATE_AUTH_REQUIRED", Some(LOGIN))
}

/// The task as it stands since it wanted one.
fn waiting(words: &str) -> Value {
    let mut stands = task("TASK_STATE_AUTH_REQUIRED", words);
    stands["status"] = login()["statusUpdate"]["status"].clone();
    stands
}

fn done() -> Value {
    status("TASK_STATE_COMPLETED", None)
}

/// A hub whose task waits for a login at a server, after it has said `one `. The server follows these scripts then.
async fn waits(then: Vec<Vec<ScriptStep>>) -> (ScriptedServer, Near, TaskId) {
    let mut scripts = vec![card(), stream(&[working(""), piece("one "), login()])];
    scripts.extend(then);
    let server = ScriptedServer::start(scripts).await;
    let near = Near::on(Arc::default(), &server.url).await;
    let id = near.starts().await;
    let (heard, state, _) = near.ended(id).await;
    assert_eq!(
        (heard, state),
        (vec!["text one ".to_owned()], TaskState::InputRequired)
    );
    (server, near, id)
}

/// Its caller has logged in, and says so.
async fn says(near: &Near, id: TaskId, text: &str) {
    let found = near.hub.tasks().find(&Principal::local(), id).await;
    let request = Request::new(Principal::local(), "own", far(), Message::text(text));
    let going_on = near
        .hub
        .tasks()
        .continue_task(request, &found.unwrap())
        .await;
    going_on.unwrap();
}

/// The task and the conversation that the messages named, which the server was sent since the card.
fn named(server: &mut ScriptedServer) -> Vec<(Value, Value)> {
    let asked = server.asked_so_far();
    let calls = asked.iter().filter(|asked| !asked.body.is_empty());
    let messages = calls.map(|asked| asked.json()["params"]["message"].clone());
    let messages = messages.filter(Value::is_object);
    messages
        .map(|message| (message["taskId"].clone(), message["contextId"].clone()))
        .collect()
}

#[tokio::test]
async fn the_message_after_a_login_goes_to_the_same_task_and_nothing_is_told_twice() {
    // It shows the task as it stood, and the artifact that was told, before it goes on.
    let goes_on = stream(&[json!({"task": waiting("one ")}), piece("two"), done()]);
    let (mut server, near, id) = waits(vec![goes_on]).await;
    says(&near, id, "done").await;
    let (heard, state, why) = near.ended(id).await;
    assert_eq!(
        (heard, state, why.as_str()),
        (vec!["text one two".to_owned()], TaskState::Completed, "")
    );
    let none = (Value::Null, Value::Null);
    assert_eq!(named(&mut server), [none, (json!("t"), json!("c"))]);
}

#[tokio::test]
async fn a_server_that_wants_another_login_gets_the_next_message_in_the_same_task_too() {
    let again = stream(&[working("one "), login()]);
    let goes_on = stream(&[working("one "), piece("two"), done()]);
    let (mut server, near, id) = waits(vec![again, goes_on]).await;
    says(&near, id, "done").await;
    assert_eq!(near.ended(id).await.1, TaskState::InputRequired);
    says(&near, id, "really done").await;
    let (heard, state, _) = near.ended(id).await;
    assert_eq!(
        (heard, state),
        (vec!["text one two".to_owned()], TaskState::Completed)
    );
    let same = (json!("t"), json!("c"));
    assert_eq!(named(&mut server)[1..], [same.clone(), same]);
}

#[tokio::test]
async fn a_login_that_a_restarted_hub_hears_of_goes_to_the_same_task() {
    let goes_on = stream(&[working("one "), piece("two"), done()]);
    let (mut server, near, id) = waits(vec![card(), goes_on]).await;
    let near = Near::on(near.stop().await, &server.url).await;
    near.online().await;
    says(&near, id, "done").await;
    let (heard, state, _) = near.ended(id).await;
    assert_eq!(
        (heard, state),
        (vec!["text one two".to_owned()], TaskState::Completed)
    );
    assert_eq!(named(&mut server)[1..], [(json!("t"), json!("c"))]);
}

#[tokio::test]
async fn a_hub_that_stops_after_the_login_leaves_the_task_to_the_next_one() {
    let (mut server, near, id) = waits(vec![
        stream(&[working("one "), piece("two ")]),
        card(),
        stream(&[json!({"task": task("TASK_STATE_COMPLETED", "one two three")})]),
    ])
    .await;
    says(&near, id, "done").await;
    near.reads(id).await.until("text one two ").await;
    let near = Near::on(near.stop().await, &server.url).await;
    let (heard, state, _) = near.ended(id).await;
    assert_eq!(
        (heard, state),
        (vec!["text one two three".to_owned()], TaskState::Completed)
    );
    let sent = "SendStreamingMessage -";
    assert_eq!(asked(&mut server), [sent, sent, "SubscribeToTask t"]);
}

/// The login was enough for it. It takes no message for a task that is over, and is looked at.
#[tokio::test]
async fn what_a_server_did_by_itself_after_a_login_is_told_with_the_next_message() {
    let over = || error(-32004, "the task is over");
    let stands = task("TASK_STATE_COMPLETED", "one two");
    let (mut server, near, id) = waits(vec![over(), over(), result(&stands)]).await;
    says(&near, id, "done").await;
    let (heard, state, why) = near.ended(id).await;
    assert_eq!(
        (heard, state, why.as_str()),
        (vec!["text one two".to_owned()], TaskState::Completed, "")
    );
    assert_eq!(
        asked(&mut server)[1..],
        ["SendStreamingMessage -", "SendMessage -", "GetTask t"]
    );
}

#[tokio::test]
async fn a_server_that_has_forgotten_the_task_fails_the_message_after_a_login() {
    let gone = || error(-32001, "no such task");
    let (_server, near, id) = waits(vec![gone(), gone()]).await;
    says(&near, id, "done").await;
    let (_, state, why) = near.ended(id).await;
    assert_eq!(state, TaskState::Failed);
    assert_eq!(why, "task_not_found: no such task");
}

/// It may have a task of the same name.
#[tokio::test]
async fn another_server_under_the_same_id_is_not_told_the_name_of_the_task() {
    let (_server, near, id) = waits(Vec::new()).await;
    let fresh = stream(&[working("new"), done()]);
    let mut other = ScriptedServer::start(vec![card(), fresh]).await;
    let store: Arc<MemoryStore> = near.stop().await;
    let near = Near::on(store, &other.url).await;
    near.online().await;
    says(&near, id, "done").await;
    assert_eq!(near.ended(id).await.1, TaskState::Completed);
    assert_eq!(named(&mut other), [(Value::Null, Value::Null)]);
}
