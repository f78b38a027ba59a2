//! A token that is revoked while its holder waits: the stream or the answer ends at once and says so, and the task goes on.

use jackfield_core::{agent::Profile, call::AgentHandle};
use jackfield_kit::testing::{Scripted, SseReader};
use jackfield_model::Event;
use serde_json::{Value, json};

use crate::official::{
    callers::{ALL, Binding, Caller},
    harness::{A2aHub, ECHO, all_of, answer, ask_for_more, stream_of, told},
};

const WHY: &str = "the token was revoked or has expired; ask for a new one";

/// A hub with an agent of ann's, a token of hers that stays good, and one that will not.
struct Scene {
    hub: A2aHub,
    agent: Scripted,
    good: String,
    doomed: String,
}

impl Scene {
    async fn new() -> Self {
        let hub = A2aHub::start().await;
        let (ann, good) = hub.owner("ann").await;
        let agent = hub.attach_as(&ann, "echo", Profile::default());
        let doomed = hub.token("ann", &[]).await;
        Self {
            hub,
            agent,
            good,
            doomed,
        }
    }

    /// A caller's view of the task once its agent has answered: nothing happened to it.
    async fn is_done(&self, serving: AgentHandle, words: &str) {
        let id = serving.call().task.unwrap().to_string();
        answer(serving, words);
        let caller = Caller::new(&self.hub, Binding::Rpc10);
        let mut task = Value::Null;
        while task["status"]["state"] != "TASK_STATE_COMPLETED" {
            let seen = caller.ok(caller.get(&id).bearer_auth(&self.good)).await;
            task = Binding::Rpc10.result(&seen);
            let state = &task["status"]["state"];
            let goes_on = state == "TASK_STATE_WORKING" || state == "TASK_STATE_COMPLETED";
            assert!(goes_on, "{task}");
        }
    }
}

/// Reads up to the first event that holds these words.
async fn until(stream: &mut SseReader, words: &str) {
    while !stream
        .next()
        .await
        .unwrap()
        .data
        .to_string()
        .contains(words)
    {}
}

/// What is left of a stream, which must be one refusal.
async fn refused(binding: Binding, stream: &mut SseReader) {
    let rest = all_of(stream).await;
    let [last] = rest.as_slice() else {
        panic!("{binding:?}: {rest:#?}");
    };
    is_refusal(binding, last);
}

fn is_refusal(binding: Binding, body: &Value) {
    let (_, _, reason) = binding.refusal(401, body);
    assert_eq!(reason, "UNAUTHENTICATED", "{binding:?}: {body}");
    assert!(body.to_string().contains(WHY), "{binding:?}: {body}");
}

#[tokio::test]
async fn a_stream_ends_and_its_task_goes_on() {
    for binding in ALL {
        let mut scene = Scene::new().await;
        let caller = Caller::new(&scene.hub, binding);
        let request = caller.stream("work").bearer_auth(&scene.doomed);
        let mut stream = caller.open(request).await;
        let serving = scene.agent.next_call().await;
        serving.push(Event::text("half "));
        until(&mut stream, "half ").await;
        scene.hub.revoke(&scene.doomed).await;
        refused(binding, &mut stream).await;
        scene.is_done(serving, "done").await;
    }
}

#[tokio::test]
async fn whoever_follows_a_task_is_let_go_whether_it_works_or_waits() {
    for binding in ALL {
        for is_waiting in [false, true] {
            // Those of 0.3 end where the task waits for the caller.
            if is_waiting && !binding.is_new() {
                continue;
            }
            let mut scene = Scene::new().await;
            let caller = Caller::new(&scene.hub, binding);
            let request = caller.send_only("work").bearer_auth(&scene.doomed);
            let id = caller.begun(request).await;
            let serving = scene.agent.next_call().await;
            let request = caller.subscribe(&id).bearer_auth(&scene.doomed);
            let mut stream = caller.open(request).await;
            until(&mut stream, &id).await;
            let serving = match is_waiting {
                true => {
                    ask_for_more(serving, "which?");
                    until(&mut stream, "INPUT_REQUIRED").await;
                    None
                }
                false => Some(serving),
            };
            scene.hub.revoke(&scene.doomed).await;
            refused(binding, &mut stream).await;
            if let Some(serving) = serving {
                scene.is_done(serving, "done").await;
            }
        }
    }
}

#[tokio::test]
async fn who_waits_for_the_answer_is_refused_and_the_task_goes_on() {
    for binding in ALL {
        let mut scene = Scene::new().await;
        let caller = Caller::new(&scene.hub, binding);
        let request = caller.send("work").bearer_auth(&scene.doomed);
        let revoking = async {
            let serving = scene.agent.next_call().await;
            serving.push(Event::text("half "));
            scene.hub.revoke(&scene.doomed).await;
            serving
        };
        let ((status, body), serving) = tokio::join!(told(request), revoking);
        assert_eq!(status, 401, "{binding:?}: {body}");
        is_refusal(binding, &body);
        scene.is_done(serving, "done").await;
    }
}

#[tokio::test]
async fn the_dialect_of_agno_ends_with_an_error_in_place_of_the_task() {
    let mut scene = Scene::new().await;
    let message = Binding::Rpc03.message("hi", "");
    let hello = |method: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"message":{message}}}}}"#
        )
    };
    let path = format!("{ECHO}/v1/message:stream");
    let request = scene.hub.request(&path, hello("message/stream"));
    let mut stream = stream_of(request.bearer_auth(&scene.doomed)).await;
    let serving = scene.agent.next_call().await;
    serving.push(Event::text("half "));
    until(&mut stream, "half ").await;
    scene.hub.revoke(&scene.doomed).await;
    let rest = all_of(&mut stream).await;
    let [last] = rest.as_slice() else {
        panic!("{rest:#?}");
    };
    assert_eq!(
        (&last["id"], last.get("result")),
        (&json!(7), None),
        "{last}"
    );
    assert_eq!(last["error"]["message"], WHY, "{last}");
    scene.is_done(serving, "done").await;

    let again = scene.hub.token("ann", &[]).await;
    let path = format!("{ECHO}/v1/message:send");
    let request = scene.hub.request(&path, hello("message/send"));
    let revoking = async {
        let serving = scene.agent.next_call().await;
        scene.hub.revoke(&again).await;
        serving
    };
    let ((status, body), serving) = tokio::join!(told(request.bearer_auth(&again)), revoking);
    assert_eq!((status, &body), (401, &json!({"detail": WHY})));
    scene.is_done(serving, "done").await;
}
