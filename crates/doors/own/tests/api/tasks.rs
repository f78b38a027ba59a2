//! Kept calls: they outlive their caller and are read by cursor without loss or repetition.

use std::sync::Arc;

use jackfield_core::{limits::Limits, principal::Principal, task::Task, units::Size};
use jackfield_model::{
    Artifact, Chunk, Done, DoneState, End, Event, Failure, Part, Reason, TaskId,
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{OwnHub, detached, text_of};

#[tokio::test]
async fn a_detached_call_goes_on_and_is_read_later() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let (task, serving) = detached(&hub, &mut amy).await;
    let (_, view) = hub.get(&format!("/v1/calls/{task}")).await;
    assert_eq!(
        (&view["state"], &view["text"]),
        (&json!("working"), &json!(""))
    );
    serving.push(Event::text("hi "));
    serving.push(Event::text("there"));
    serving.finish(End::done());
    let path = format!("/v1/calls/{task}/events");
    let events = hub.stream(hub.ask(Method::GET, &path)).await.rest().await;
    let names: Vec<_> = events.iter().map(|sse| sse.event.as_str()).collect();
    assert_eq!((names[0], names[names.len() - 1]), ("message", "done"));
    assert_eq!(text_of(&events), "hi there");
    assert!(events.iter().all(|sse| sse.id.is_some()));
    let (_, view) = hub.get(&format!("/v1/calls/{task}")).await;
    assert_eq!(view["state"], "completed");
    assert_eq!(view["text"], "hi there");
    assert_eq!(view["truncated"], false);
    assert_eq!(view["agent"], "amy");
    assert_eq!(view["cursor"], json!(events.last().unwrap().id));
    let history = json!([
        {"role": "caller", "parts": [{"text": "go"}]},
        {"role": "agent", "parts": [{"text": "hi there"}]},
    ]);
    assert_eq!(view["history"], history);
    let after = format!("{path}?after={}", view["cursor"].as_str().unwrap());
    assert!(
        hub.stream(hub.ask(Method::GET, &after))
            .await
            .rest()
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn a_large_task_is_shown_only_where_there_is_room_for_it() {
    for (total, expected) in [
        (Size::mib(16), StatusCode::OK),
        (Size::mib(2), StatusCode::TOO_MANY_REQUESTS),
    ] {
        let limits = Limits {
            answers_total: total,
            ..Limits::default()
        };
        let hub = OwnHub::start_with(true, limits).await;
        let mut amy = hub.attach("amy");
        let (task, serving) = detached(&hub, &mut amy).await;
        for _ in 0..3 {
            serving.push(Event::text("x".repeat(1 << 20)));
        }
        serving.finish(End::done());
        let path = format!("/v1/calls/{task}/events");
        hub.stream(hub.ask(Method::GET, &path)).await.rest().await;
        for _ in 0..3 {
            let (status, view) = hub.get(&format!("/v1/calls/{task}")).await;
            assert_eq!(status, expected);
            match expected {
                StatusCode::OK => assert_eq!(view["text"].as_str().unwrap().len(), 3 << 20),
                _ => assert_eq!(view["error"], "busy"),
            }
        }
    }
}

/// A task as the hub has it.
async fn kept(hub: &OwnHub, task: &str) -> Arc<Task> {
    let id = TaskId::parse(task).unwrap();
    let task = hub.hub.tasks().find(&Principal::local(), id).await;
    task.unwrap()
}

#[tokio::test]
async fn many_readers_that_take_nothing_of_a_large_task_fit_in_a_share() {
    let limits = Limits {
        answers_total: Size::mib(3),
        ..Limits::default()
    };
    let hub = OwnHub::start_with(true, limits).await;
    let mut amy = hub.attach("amy");
    let (task, serving) = detached(&hub, &mut amy).await;
    let words = "a \"word\" of the réply\n".repeat(40);
    for _ in 0..1000 {
        serving.push(Event::text(words.clone()));
        tokio::task::yield_now().await;
    }
    serving.finish(End::done());
    kept(&hub, &task).await.over().await;
    let path = format!("/v1/calls/{task}");
    let mut unread = Vec::new();
    for _ in 0..4 {
        let response = hub.ask(Method::GET, &path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        unread.push(response);
    }
    // They hold little, and get all of it once they read.
    for response in unread {
        let view: Value = response.json().await.unwrap();
        assert_eq!(view["text"].as_str().unwrap(), words.repeat(1000));
        assert_eq!(view["truncated"], false);
    }
}

#[tokio::test]
async fn a_task_of_many_turns_is_answered_with_all_that_was_said() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let (task, serving) = detached(&hub, &mut amy).await;
    let artifact = |id: &str, text: String, append: bool| {
        Event::Artifact(Artifact {
            id: id.into(),
            name: (!append).then(|| format!("the {id}")),
            parts: vec![Part::Text(text)],
            append,
            last: append,
            extra: None,
        })
    };
    let long = "é".repeat(40_000);
    serving.push(Event::text("one "));
    serving.push(Event::Chunk(Chunk::status("busy")));
    serving.push(artifact("plan", "draft".into(), false));
    serving.push(artifact("list", "1".into(), false));
    serving.push(artifact("plan", long.clone(), false));
    serving.push(artifact("list", "2".into(), true));
    serving.push(Event::text("two"));
    serving.finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    })));
    kept(&hub, &task).await.over().await;
    let more = format!("/v1/calls/{task}/messages");
    let more = hub.post(&more, json!({"text": "and?", "detach": true}));
    let ((status, _), serving) = tokio::join!(more, amy.next_call());
    assert_eq!(status, StatusCode::ACCEPTED);
    // This turn's answer comes only with its end.
    serving.finish(End::Done(Box::new(Done {
        result: Some(long.clone()),
        ..Done::default()
    })));
    let turn = kept(&hub, &task).await;
    turn.over().await;
    let (_, view) = hub.get(&format!("/v1/calls/{task}")).await;
    assert_eq!(view["life"], "kept");
    assert_eq!(view["text"], long);
    let artifacts = json!([
        {"id": "plan", "name": "the plan", "parts": [{"text": long}], "append": false, "last": false},
        {"id": "list", "name": "the list", "parts": [{"text": "12"}], "append": false, "last": true},
    ]);
    assert_eq!(view["artifacts"], artifacts);
    let history = json!([
        {"role": "caller", "parts": [{"text": "go"}]},
        {"role": "agent", "parts": [{"text": "one two"}]},
        {"role": "caller", "parts": [{"text": "and?"}]},
        {"role": "agent", "parts": [{"text": long}]},
    ]);
    assert_eq!(view["history"], history);
    assert_eq!(
        (&view["attachments"], &view["asks"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(view["cursor"], turn.snapshot().1.to_string());
}

#[tokio::test]
async fn a_reader_goes_on_by_last_event_id_without_loss_or_repetition() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.call("amy", json!({"text": "go", "keep": true})).await;
    let opened = stream.expect("call").await;
    let task = opened.data["task"].as_str().unwrap().to_owned();
    let serving = amy.next_call().await;
    let mut read = Vec::new();
    let path = format!("/v1/calls/{task}/events");
    for round in 0..20 {
        serving.push(Event::text(format!("h\u{e9}llo {round};")));
        if round % 3 == 0 {
            serving.push(Event::Chunk(Chunk::status("")));
        }
        // Reads one event, hangs up and comes back.
        let next = stream.next().await.unwrap();
        let id = next.id.clone().unwrap();
        read.push(next);
        drop(stream);
        let request = hub.ask(Method::GET, &path).header("Last-Event-ID", id);
        stream = hub.stream(request).await;
    }
    assert!(
        !serving.call().is_ended(),
        "losing a reader changes nothing"
    );
    serving.finish(End::done());
    read.extend(stream.rest().await);
    assert_eq!(read.pop().unwrap().event, "done");
    let wanted: String = (0..20)
        .map(|round| format!("h\u{e9}llo {round};"))
        .collect();
    assert_eq!(text_of(&read), wanted);
    let statuses = read
        .iter()
        .filter(|sse| sse.data["kind"] == "status")
        .count();
    assert_eq!(statuses, 7);
    // From the very first id everything comes again.
    let request = hub
        .ask(Method::GET, &path)
        .header("Last-Event-ID", opened.id.unwrap());
    let again = hub.stream(request).await.rest().await;
    assert_eq!(text_of(&again), wanted);
}

#[tokio::test]
async fn without_following_a_reader_stops_at_the_present() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let (task, serving) = detached(&hub, &mut amy).await;
    let mut follower = hub
        .stream(hub.ask(Method::GET, &format!("/v1/calls/{task}/events")))
        .await;
    follower.expect("message").await;
    serving.push(Event::text("so far"));
    let last = follower.expect("chunk").await.id.unwrap();
    let path = format!("/v1/calls/{task}/events?follow=false");
    let events = hub.stream(hub.ask(Method::GET, &path)).await.rest().await;
    assert_eq!(text_of(&events), "so far");
    let path = format!("{path}&after={last}");
    let events = hub.stream(hub.ask(Method::GET, &path)).await.rest().await;
    assert!(events.is_empty(), "nothing new, and no waiting for it");
    assert!(!serving.call().is_ended());
}

#[tokio::test]
async fn a_cursor_of_another_epoch_gets_a_gap_and_a_bad_one_is_refused() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let (task, serving) = detached(&hub, &mut amy).await;
    serving.push(Event::text("x"));
    serving.finish(End::done());
    let path = format!("/v1/calls/{task}/events?after=7-3");
    let events = hub.stream(hub.ask(Method::GET, &path)).await.rest().await;
    assert_eq!(events[0].event, "gap");
    assert_eq!(events[0].data["next"], json!(events[0].id));
    assert_eq!(text_of(&events), "x", "everything follows again");
    let (status, _) = hub.get(&format!("/v1/calls/{task}/events?after=x")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let path = format!("/v1/calls/{task}/events");
    let response = hub
        .ask(Method::GET, &path)
        .header("Last-Event-ID", "1")
        .send()
        .await
        .unwrap();
    let (status, _) = hub.checked(&Method::GET, &path, response).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_kept_call_outlives_its_caller_until_it_is_cancelled() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.call("amy", json!({"text": "go", "keep": true})).await;
    let task = stream.expect("call").await.data["task"]
        .as_str()
        .unwrap()
        .to_owned();
    let serving = amy.next_call().await;
    drop(stream);
    let mut watcher = hub
        .stream(hub.ask(Method::GET, &format!("/v1/calls/{task}/events")))
        .await;
    serving.push(Event::text("still here"));
    watcher.expect("message").await;
    watcher.expect("chunk").await;
    let cancel = format!("/v1/calls/{task}/cancel");
    assert_eq!(
        hub.json(Method::POST, &cancel, None).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(amy.next_cancel().await, serving.call().id);
    assert!(watcher.expect("cancelled").await.id.is_some());
    assert_eq!(
        hub.get(&format!("/v1/calls/{task}")).await.1["state"],
        "cancelled"
    );
    let (status, answer) = hub.json(Method::POST, &cancel, None).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::CONFLICT, &json!("conflict"))
    );
}

#[tokio::test]
async fn the_whole_answer_of_a_kept_call_comes_as_one_object() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let body = json!({"text": "go", "keep": true, "stream": false});
    let asking = hub.post("/v1/agents/amy/calls", body.clone());
    let answering = async {
        let serving = amy.next_call().await;
        serving.push(Event::text("all of it"));
        serving.finish(End::done());
    };
    let ((status, answer), ()) = tokio::join!(asking, answering);
    assert_eq!(
        (status, &answer["text"]),
        (StatusCode::OK, &json!("all of it"))
    );
    let (_, task) = hub
        .get(&format!("/v1/calls/{}", answer["task"].as_str().unwrap()))
        .await;
    assert_eq!(
        (&task["text"], &task["session"]),
        (&answer["text"], &answer["session"])
    );
    let asking = hub.post("/v1/agents/amy/calls", body);
    let answering = async {
        let failure = Failure::new(Reason::Crashed, "it died");
        amy.next_call().await.finish(End::Failed(failure));
    };
    let ((status, answer), ()) = tokio::join!(asking, answering);
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_GATEWAY, &json!("crashed"))
    );
    let (_, list) = hub.get("/v1/calls?state=failed").await;
    assert_eq!(
        list["tasks"][0]["failure"],
        json!({"error": "crashed", "message": "it died"})
    );
}

#[tokio::test]
async fn a_call_waits_for_an_agent_that_is_offline_when_asked_to() {
    let hub = OwnHub::start().await;
    drop(hub.attach("amy"));
    let body = json!({"text": "go", "detach": true});
    let (status, _) = hub.post("/v1/agents/amy/calls", body).await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    let body = json!({"text": "go", "detach": true, "wait_online": "8h"});
    let (status, answer) = hub.post("/v1/agents/amy/calls", body).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let task = answer["task"].as_str().unwrap();
    let (_, view) = hub.get(&format!("/v1/calls/{task}")).await;
    assert_eq!(view["state"], "submitted");
    assert!(view["wait_until"].is_string());
    let mut waiting = hub
        .call("amy", json!({"text": "go", "wait_online": 3600}))
        .await;
    let opened = waiting.expect("call").await.data;
    assert!(opened["task"].is_string(), "what waits is kept");
    let mut amy = hub.attach("amy");
    assert_eq!(amy.next_call().await.call().id.to_string(), task);
    assert_eq!(opened["id"], amy.next_call().await.call().id.to_string());
}

#[tokio::test]
async fn tasks_are_listed_newest_first_in_pages() {
    let hub = OwnHub::start().await;
    let (mut amy, mut bob) = (hub.attach("amy"), hub.attach("bob"));
    let mut tasks = Vec::new();
    let mut open = Vec::new();
    for n in 0..5 {
        let (agent, scripted) = if n == 2 {
            ("bob", &mut bob)
        } else {
            ("amy", &mut amy)
        };
        let body = json!({"text": "go", "detach": true, "session": format!("s{}", n % 2)});
        let (_, answer) = hub.post(&format!("/v1/agents/{agent}/calls"), body).await;
        tasks.insert(0, answer["task"].as_str().unwrap().to_owned());
        open.push(scripted.next_call().await);
    }
    let ids = |list: &Value| -> Vec<String> {
        let tasks = list["tasks"].as_array().unwrap().iter();
        tasks
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let (_, all) = hub.get("/v1/calls").await;
    assert_eq!(ids(&all), tasks);
    assert!(all.get("next").is_none());
    let (_, page) = hub.get("/v1/calls?limit=2").await;
    assert_eq!(ids(&page), tasks[..2]);
    let next = page["next"].as_str().unwrap();
    let (_, page) = hub.get(&format!("/v1/calls?limit=3&before={next}")).await;
    assert_eq!(ids(&page), tasks[2..]);
    assert!(page.get("next").is_none());
    assert_eq!(ids(&hub.get("/v1/calls?agent=bob").await.1), tasks[2..3]);
    assert_eq!(ids(&hub.get("/v1/calls?session=s1").await.1).len(), 2);
    assert_eq!(ids(&hub.get("/v1/calls?state=working").await.1).len(), 5);
    assert!(ids(&hub.get("/v1/calls?state=completed").await.1).is_empty());
}

#[tokio::test]
async fn foreign_tasks_look_unknown() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let (task, _serving) = detached(&hub, &mut amy).await;
    let ann = hub.token("ann", &["call:*", "watch:*"]).await;
    let unknown = "0192f0c1-7b2a-7abc-8def-0123456789ab";
    for id in [task.as_str(), unknown, "nonsense"] {
        let answer = json!({"ask_id": "q", "content": "x"});
        for (method, path, body) in [
            (Method::GET, format!("/v1/calls/{id}"), None),
            (Method::GET, format!("/v1/calls/{id}/events"), None),
            (Method::POST, format!("/v1/calls/{id}/cancel"), None),
            (Method::POST, format!("/v1/calls/{id}/answer"), Some(answer)),
            (
                Method::POST,
                format!("/v1/calls/{id}/messages"),
                Some(json!({"text": "x"})),
            ),
        ] {
            let (status, answer) = hub.json_as(Some(&ann), method, &path, body).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
            assert_eq!(answer["error"], "not_found");
        }
    }
    let (_, list) = hub
        .json_as(Some(&ann), Method::GET, "/v1/calls", None)
        .await;
    assert_eq!(list["tasks"], json!([]));
}

#[tokio::test]
async fn a_live_call_has_one_reader_and_takes_no_further_message() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.call("amy", json!({"text": "go"})).await;
    let id = stream.expect("call").await.data["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let _serving = amy.next_call().await;
    let (status, answer) = hub.get(&format!("/v1/calls/{id}/events")).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("unsupported"))
    );
    let (status, _) = hub
        .post(&format!("/v1/calls/{id}/messages"), json!({"text": "x"}))
        .await;
    assert_eq!(status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn what_a_task_was_made_for_is_known_after_both_have_ended() {
    let hub = OwnHub::start().await;
    let (mut amy, mut bob) = (hub.attach("amy"), hub.attach("bob"));
    let (parent, at_amy) = detached(&hub, &mut amy).await;
    let request = hub
        .ask(Method::POST, "/v1/agents/bob/calls")
        .header("Jackfield-Call", at_amy.call().id.to_string());
    let mut child = hub
        .stream(request.json(&json!({"text": "y", "keep": true})))
        .await;
    let child_id = child.expect("call").await.data["task"].clone();
    let at_bob = bob.next_call().await;
    at_bob.finish(End::done());
    child.expect("done").await;
    at_amy.finish(End::done());
    let events = format!("/v1/calls/{parent}/events");
    hub.stream(hub.ask(Method::GET, &events)).await.rest().await;
    let path = format!("/v1/calls/{}", child_id.as_str().unwrap());
    let (_, shown) = hub.get(&path).await;
    assert_eq!(
        (&shown["state"], &shown["parent"]),
        (&json!("completed"), &json!(parent))
    );
}
