//! The hub is stopped while a server works for one of its tasks, and another one goes on with it. Each hub asks for the
//! card first.

use std::{sync::Arc, time::Duration};

use jackfield_core::{
    hub::{Hub, Request},
    limits::Limits,
    principal::Principal,
    store::{LogItem, TaskState, memory::MemoryStore},
    task::{Subscription, TaskItem},
};
use jackfield_kit::{
    outbound::{Outbound, OutboundRules},
    tasks::Tasks,
    testing::{SOON, soon},
};
use jackfield_model::{AgentId, Answer, CallId, Chunk, ChunkKind, Event, Message, TaskId};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{
    RemoteSpec, Remotes,
    dial::scripted::{ScriptStep, ScriptedServer, json as whole, stream_head},
};

/// A hub that dials one server.
pub(super) struct Near {
    pub(super) hub: Hub,
    store: Arc<MemoryStore>,
    tasks: Tasks,
    remotes: Remotes,
}

pub(super) fn far() -> AgentId {
    AgentId::parse("far").unwrap()
}

impl Near {
    pub(super) async fn on(store: Arc<MemoryStore>, url: &str) -> Self {
        let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
        let tasks = Tasks::new();
        let spec: RemoteSpec = serde_json::from_value(json!({"url": url})).unwrap();
        let remotes = Remotes::start(
            hub.clone(),
            store.clone(),
            Outbound::new(&OutboundRules::default()).unwrap(),
            tasks.clone(),
            vec![(far(), spec)],
        );
        Self {
            remotes: remotes.await.unwrap(),
            hub,
            store,
            tasks,
        }
    }

    /// Says something to the server, as a task.
    pub(super) async fn starts(&self) -> TaskId {
        self.online().await;
        let message = Message::text("work");
        let request = Request::new(Principal::local(), "own", far(), message);
        self.hub.tasks().start(request).await.unwrap().id
    }

    /// Waits until the server is found.
    pub(super) async fn online(&self) {
        soon(self.remotes.wait_until_tried(&far())).await.unwrap();
    }

    /// Reads a task from its beginning.
    pub(super) async fn reads(&self, task: TaskId) -> Reader {
        let found = self.hub.tasks().find(&Principal::local(), task).await;
        Reader {
            log: found.unwrap().subscribe(None),
            heard: Vec::new(),
        }
    }

    /// What there is of a task at its end, its state, and why it failed.
    pub(super) async fn ended(&self, task: TaskId) -> (Vec<String>, TaskState, String) {
        let mut reader = self.reads(task).await;
        while reader.next().await {}
        let record = reader.log.task().record();
        let why = record.failure.map(|failure| failure.to_string());
        (reader.heard, record.state, why.unwrap_or_default())
    }

    /// Somebody answers its first question.
    fn answers(&self, task: TaskId) {
        let call = CallId::parse(&task.to_string()).unwrap();
        let answer = Answer {
            content: Some("that".to_owned()),
            ..Answer::default()
        };
        let answered = self
            .hub
            .calls()
            .answer(&Principal::local(), call, "input-1", answer);
        answered.unwrap();
    }

    /// It stops, and leaves its store to the next one.
    pub(super) async fn stop(self) -> Arc<MemoryStore> {
        self.hub.stop(Duration::ZERO).await;
        assert_eq!(self.tasks.stop(SOON).await, 0, "nothing hangs");
        self.store
    }
}

/// One who reads a task.
pub(super) struct Reader {
    log: Subscription,
    /// What was read: words of the reply in one, all else by its kind.
    heard: Vec<String>,
}

impl Reader {
    async fn next(&mut self) -> bool {
        let Some(item) = soon(self.log.next()).await.unwrap() else {
            return false;
        };
        let TaskItem::Row { item, .. } = item else {
            panic!("{item:?}");
        };
        let said = match item {
            LogItem::Event(Event::Chunk(chunk)) => said(&chunk),
            LogItem::Event(Event::Ask(ask)) => format!("ask {}: {}", ask.id, ask.text),
            LogItem::Event(Event::Artifact(artifact)) => format!("artifact {}", artifact.id),
            LogItem::Answer(id, _) => format!("answer {id}"),
            LogItem::Message(_) | LogItem::End(_) => return true,
        };
        let is_text = |said: &str| said.starts_with("text ");
        match self.heard.last_mut() {
            Some(last) if is_text(last) && is_text(&said) => last.push_str(&said["text ".len()..]),
            _ => self.heard.push(said),
        }
        true
    }

    /// Reads until this was said.
    pub(super) async fn until(&mut self, said: &str) {
        while self.heard.last().is_none_or(|last| last != said) {
            assert!(self.next().await, "{:?}", self.heard);
        }
    }
}

fn said(chunk: &Chunk) -> String {
    match chunk.kind {
        ChunkKind::Text => format!("text {}", chunk.text),
        kind => format!("{} {}", kind.name(), chunk.text),
    }
}

/// A server of version 1.0.
pub(super) fn card() -> Vec<ScriptStep> {
    let place =
        json!({"url": "http://$HOST/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    shown(
        &json!({"name": "Far", "capabilities": {"streaming": true}, "supportedInterfaces": [place]}),
    )
}

/// The same, when the test lets it.
fn late_card() -> (Arc<Notify>, Vec<ScriptStep>) {
    let go = Arc::new(Notify::new());
    let mut late = vec![ScriptStep::Wait(go.clone())];
    late.extend(card());
    (go, late)
}

/// A server of version 0.3.
fn old_card() -> Vec<ScriptStep> {
    shown(
        &json!({"name": "Far", "protocolVersion": "0.3.0", "url": "http://$HOST/",
                  "preferredTransport": "JSONRPC", "capabilities": {"streaming": true}}),
    )
}

/// A body that ends with the connection.
fn shown(card: &Value) -> Vec<ScriptStep> {
    vec![ScriptStep::Say(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{card}"
    ))]
}

/// A stream of these results, which then hangs.
pub(super) fn stream(results: &[Value]) -> Vec<ScriptStep> {
    let mut steps = vec![stream_head()];
    steps.extend(results.iter().map(|result| {
        let event = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#);
        ScriptStep::Say(format!("data: {event}\n\n"))
    }));
    steps.push(ScriptStep::Hang);
    steps
}

pub(super) fn result(result: &Value) -> Vec<ScriptStep> {
    whole(&format!(
        r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#
    ))
}

pub(super) fn error(code: i32, message: &str) -> Vec<ScriptStep> {
    let error = json!({"code": code, "message": message});
    whole(&format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#))
}

/// The task, in 1.0, with these words in its artifact.
pub(super) fn task(state: &str, words: &str) -> Value {
    let artifact = json!({"artifactId": "a", "parts": [{"text": words}]});
    let artifacts = if words.is_empty() {
        json!([])
    } else {
        json!([artifact])
    };
    json!({"id": "t", "contextId": "c", "status": {"state": state}, "artifacts": artifacts})
}

pub(super) fn working(words: &str) -> Value {
    json!({"task": task("TASK_STATE_WORKING", words)})
}

/// A piece of its artifact.
pub(super) fn piece(words: &str) -> Value {
    let artifact = json!({"artifactId": "a", "parts": [{"text": words}]});
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact, "append": true}})
}

pub(super) fn status(state: &str, message: Option<&str>) -> Value {
    let message = message.map(
        |text| json!({"messageId": format!("m-{text}"), "role": "ROLE_AGENT", "parts": [{"text": text}]}),
    );
    let status = json!({"state": state, "message": message});
    json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}})
}

/// The methods that the server was asked for, but for its card, and the tasks that were named.
pub(super) fn asked(server: &mut ScriptedServer) -> Vec<String> {
    let asked = server.asked_so_far();
    let calls = asked.iter().filter(|asked| !asked.body.is_empty());
    let calls = calls.map(|asked| {
        let call = asked.json();
        let (method, task) = (&call["method"], &call["params"]["id"]);
        format!(
            "{} {}",
            method.as_str().unwrap(),
            task.as_str().unwrap_or("-")
        )
    });
    calls.collect()
}

/// What comes of a task of which the server streamed `begun`, once that was heard, if the hub is stopped then and the next
/// one finds a server that follows these scripts, after its card.
async fn restarted(
    show: fn() -> Vec<ScriptStep>,
    begun: &[Value],
    until: &str,
    then: Vec<Vec<ScriptStep>>,
) -> (Vec<String>, TaskState, String, Vec<String>) {
    let mut scripts = vec![show(), stream(begun), show()];
    scripts.extend(then);
    let mut server = ScriptedServer::start(scripts).await;
    let near = Near::on(Arc::default(), &server.url).await;
    let id = near.starts().await;
    near.reads(id).await.until(until).await;
    let near = Near::on(near.stop().await, &server.url).await;
    let (heard, state, why) = near.ended(id).await;
    (heard, state, why, asked(&mut server))
}

#[tokio::test]
async fn a_task_that_still_works_is_followed_and_nothing_is_told_twice() {
    let busy = status("TASK_STATE_WORKING", Some("busy"));
    let mut stands = task("TASK_STATE_WORKING", "one two ");
    stands["status"] = busy["statusUpdate"]["status"].clone();
    let (heard, state, _, asked) = restarted(
        card,
        &[working(""), busy, piece("one ")],
        "text one ",
        vec![
            stream(&[
                json!({"task": stands}),
                status("TASK_STATE_COMPLETED", None),
            ]),
            result(&task("TASK_STATE_COMPLETED", "one two three")),
        ],
    )
    .await;
    assert_eq!(heard, ["status busy", "text one two three"]);
    assert_eq!(state, TaskState::Completed);
    assert_eq!(
        asked,
        ["SendStreamingMessage -", "SubscribeToTask t", "GetTask t"],
        "it was neither told again nor told to stop"
    );
}

#[tokio::test]
async fn the_rest_of_a_task_that_ended_meanwhile_is_told_once() {
    let (heard, state, _, asked) = restarted(
        card,
        &[working("one ")],
        "text one ",
        vec![
            error(-32004, "the task is over"),
            result(&task("TASK_STATE_COMPLETED", "one two")),
        ],
    )
    .await;
    assert_eq!(
        (heard, state),
        (vec!["text one two".to_owned()], TaskState::Completed)
    );
    assert_eq!(asked[1..], ["SubscribeToTask t", "GetTask t"]);
}

#[tokio::test]
async fn a_server_of_the_old_version_is_looked_at_until_it_is_done() {
    let task = |state: &str, words: &str| {
        let parts = json!([{"kind": "text", "text": words}]);
        json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": state},
               "artifacts": [{"artifactId": "a", "parts": parts}]})
    };
    let (heard, state, _, asked) = restarted(
        old_card,
        &[task("working", "one ")],
        "text one ",
        vec![
            result(&task("working", "one two ")),
            result(&task("completed", "one two three")),
        ],
    )
    .await;
    assert_eq!(
        (heard, state),
        (vec!["text one two three".to_owned()], TaskState::Completed)
    );
    assert_eq!(asked, ["message/stream -", "tasks/get t", "tasks/get t"]);
}

#[tokio::test]
async fn words_of_another_hub_go_on_although_the_log_has_no_name_for_them() {
    let reply = |words: &str| {
        let mut task = task("TASK_STATE_WORKING", words);
        task["artifacts"][0]["artifactId"] = json!("reply");
        task
    };
    let mut done = reply("one two");
    done["status"]["state"] = json!("TASK_STATE_COMPLETED");
    let begun = json!({"task": reply("one ")});
    let then = vec![error(-32004, "over"), result(&done)];
    let (heard, state, ..) = restarted(card, &[begun], "text one ", then).await;
    assert_eq!(
        (heard, state),
        (vec!["text one two".to_owned()], TaskState::Completed)
    );
}

#[tokio::test]
async fn a_task_that_the_server_does_not_know_any_more_fails_and_says_so() {
    let gone = || error(-32001, "no such task");
    let (heard, state, why, _) =
        restarted(card, &[working("one ")], "text one ", vec![gone(), gone()]).await;
    assert_eq!(
        (heard, state),
        (vec!["text one ".to_owned()], TaskState::Failed)
    );
    assert!(
        why.contains("the hub was restarted, and the remote agent does not know the task any more: no such task"),
        "{why}"
    );
}

#[tokio::test]
async fn a_server_that_cannot_show_its_tasks_fails_them_and_says_so() {
    let no = || error(-32601, "no such method");
    let (_, state, why, _) =
        restarted(card, &[working("one ")], "text one ", vec![no(), no()]).await;
    assert_eq!(state, TaskState::Failed);
    assert!(
        why.contains("the hub was restarted, and the server has no GetTask"),
        "{why}"
    );
}

/// It may have taken the message or not: it is not sent again.
#[tokio::test]
async fn a_task_that_the_server_had_not_named_fails() {
    let go = Arc::new(Notify::new());
    let silent = vec![stream_head(), ScriptStep::Wait(go.clone())];
    let mut server = ScriptedServer::start(vec![card(), silent, card()]).await;
    let near = Near::on(Arc::default(), &server.url).await;
    let id = near.starts().await;
    while !soon(server.asked()).await.body.contains("work") {}
    near.hub.stop(Duration::ZERO).await;
    // It would be told to stop if it named the task now.
    go.notify_one();
    let near = Near::on(near.stop().await, &server.url).await;
    let (_, state, why) = near.ended(id).await;
    assert_eq!(state, TaskState::Failed);
    assert!(why.contains("the hub was stopped"), "{why}");
    assert!(asked(&mut server).is_empty());
}

/// It may have a task of the same name.
#[tokio::test]
async fn another_server_under_the_same_id_is_not_asked_for_the_task() {
    let server = ScriptedServer::start(vec![card(), stream(&[working("one ")])]).await;
    let mut other = ScriptedServer::start(vec![card()]).await;
    let near = Near::on(Arc::default(), &server.url).await;
    let id = near.starts().await;
    near.reads(id).await.until("text one ").await;
    let near = Near::on(near.stop().await, &other.url).await;
    let (_, state, why) = near.ended(id).await;
    assert_eq!(state, TaskState::Failed);
    assert!(why.contains("the hub was restarted"), "{why}");
    assert!(asked(&mut other).is_empty());
}

#[tokio::test]
async fn a_question_is_asked_once_and_its_answer_goes_to_the_same_task() {
    let asks = status("TASK_STATE_INPUT_REQUIRED", Some("which?"));
    let mut stands = task("TASK_STATE_WORKING", "");
    stands["status"] = asks["statusUpdate"]["status"].clone();
    let mut server = ScriptedServer::start(vec![
        card(),
        stream(&[working(""), asks]),
        card(),
        stream(&[json!({"task": stands})]),
        stream(&[piece("this"), status("TASK_STATE_COMPLETED", None)]),
    ])
    .await;
    let near = Near::on(Arc::default(), &server.url).await;
    let id = near.starts().await;
    near.reads(id).await.until("ask input-1: which?").await;
    let near = Near::on(near.stop().await, &server.url).await;
    while !soon(server.asked()).await.body.contains("SubscribeToTask") {}
    near.answers(id);
    let (heard, state, _) = near.ended(id).await;
    assert_eq!(
        heard,
        ["ask input-1: which?", "answer input-1", "text this"]
    );
    assert_eq!(state, TaskState::Completed);
    let last = server.asked_so_far().pop().unwrap().json();
    let message = &last["params"]["message"];
    assert_eq!(
        (&message["taskId"], &message["contextId"]),
        (&json!("t"), &json!("c"))
    );
    assert_eq!(message["parts"][0]["text"], "that");
}

#[tokio::test]
async fn an_answer_that_comes_before_the_server_is_there_again_is_sent_when_it_is() {
    let (go, late) = late_card();
    let mut server = ScriptedServer::start(vec![
        card(),
        stream(&[
            working(""),
            status("TASK_STATE_INPUT_REQUIRED", Some("which?")),
        ]),
        late,
        stream(&[piece("this"), status("TASK_STATE_COMPLETED", None)]),
    ])
    .await;
    let near = Near::on(Arc::default(), &server.url).await;
    let id = near.starts().await;
    near.reads(id).await.until("ask input-1: which?").await;
    let near = Near::on(near.stop().await, &server.url).await;
    near.answers(id);
    go.notify_one();
    let (heard, state, _) = near.ended(id).await;
    assert_eq!(
        heard,
        ["ask input-1: which?", "answer input-1", "text this"]
    );
    assert_eq!(state, TaskState::Completed);
    let sent = "SendStreamingMessage -";
    assert_eq!(asked(&mut server), [sent, sent]);
}

/// The card cannot be had at first. Nobody else is sent there meanwhile, and a cancel is told as soon as it can be.
#[tokio::test]
async fn a_task_waits_for_its_server_and_a_cancel_reaches_it_when_it_is_there() {
    let (go, late) = late_card();
    let mut server = ScriptedServer::start(vec![
        card(),
        stream(&[working("one ")]),
        late,
        result(&task("TASK_STATE_CANCELED", "one ")),
    ])
    .await;
    let near = Near::on(Arc::default(), &server.url).await;
    let id = near.starts().await;
    near.reads(id).await.until("text one ").await;
    let near = Near::on(near.stop().await, &server.url).await;
    // Its card is asked for twice.
    for _ in 0..3 {
        soon(server.asked()).await;
    }
    let request = Request::new(Principal::local(), "own", far(), Message::text("more"));
    assert!(near.hub.calls().open(request).is_err(), "it is offline");
    near.hub
        .tasks()
        .cancel(&Principal::local(), id)
        .await
        .unwrap();
    assert_eq!(near.ended(id).await.1, TaskState::Cancelled);
    go.notify_one();
    while !soon(server.asked()).await.body.contains("CancelTask") {}
}
