//! Every operation in every binding and version, once.

use std::time::Duration;

use jackfield_model::{Event, Json};
use serde_json::{Value, json};

use crate::official::{
    callers::{ALL, Binding, Caller},
    harness::{A2aHub, all_of, answer, answered, ask_for_more},
};

/// The text of an artifact or message.
fn words(binding: Binding, holder: &Value) -> String {
    let parts = match (binding, &holder["content"]) {
        (Binding::Rest03, Value::Array(content)) => content.clone(),
        _ => holder["parts"].as_array().unwrap().clone(),
    };
    let texts = parts.iter().map(|part| part["text"].as_str().unwrap());
    texts.collect()
}

#[tokio::test]
async fn a_message_is_answered_with_its_task() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let (body, ()) = tokio::join!(
            caller.ok(caller.send("hello")),
            answered(&mut agent, "hello to you")
        );
        let task = binding.sent_task(&body);
        assert_eq!(
            task["status"]["state"],
            binding.state("completed"),
            "{body}"
        );
        assert!(task["contextId"].is_string());
        let reply = &task["artifacts"][0];
        assert_eq!(words(binding, reply), "hello to you");
        let history = task["history"].as_array().unwrap();
        let said: Vec<_> = history
            .iter()
            .map(|message| words(binding, message))
            .collect();
        assert_eq!(said, ["hello", "hello to you"]);
    }
}

#[tokio::test]
async fn a_task_is_looked_at_and_listed() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let (id, ()) = tokio::join!(
            caller.begun(caller.send("one")),
            answered(&mut agent, "two")
        );
        let task = binding.result(&caller.ok(caller.get(&id)).await);
        assert_eq!(task["id"], *id);
        assert_eq!(task["history"].as_array().unwrap().len(), 2);
        let task = binding.result(&caller.ok(caller.get_some(&id, "1")).await);
        assert_eq!(task["history"].as_array().unwrap().len(), 1);
        assert_eq!(words(binding, &task["history"][0]), "two");
        let task = binding.result(&caller.ok(caller.get_some(&id, "0")).await);
        let history = task.get("history").and_then(Value::as_array);
        assert!(history.is_none_or(Vec::is_empty), "{task}");
        // Lists of 0.3 are those of its JSON-RPC in both bindings.
        let state = if binding.is_new() {
            "TASK_STATE_COMPLETED"
        } else {
            "completed"
        };
        let page = caller
            .ok(caller.list("status", &json!(state).to_string()))
            .await;
        let page = binding.result(&page);
        assert_eq!(page["tasks"][0]["id"], *id, "{page}");
        assert_eq!(page["tasks"][0]["status"]["state"], state);
        assert_eq!(page["totalSize"], 1);
        assert_eq!(page["nextPageToken"], "");
        let size = if binding.is_new() { 50 } else { 1 };
        assert_eq!(page["pageSize"], size);
        let none = caller.ok(caller.list("contextId", r#""another""#)).await;
        assert_eq!(binding.result(&none)["tasks"], json!([]));
    }
}

#[tokio::test]
async fn a_task_is_cancelled_once() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let id = caller.begun(caller.send_only("work")).await;
        let serving = agent.next_call().await;
        let task = binding.result(&caller.ok(caller.cancel(&id)).await);
        assert_eq!(task["id"], *id);
        assert_eq!(task["status"]["state"], binding.state("canceled"));
        assert_eq!(agent.next_cancel().await, serving.call().id);
        let (status, code) = match binding {
            Binding::Rpc10 | Binding::Rpc03 => (200, -32002),
            Binding::Rest10 => (400, 400),
            Binding::Rest03 => (409, -32002),
        };
        let refused = caller.refused(caller.cancel(&id)).await;
        assert_eq!(refused, (status, code, "TASK_NOT_CANCELABLE".into()));
    }
}

/// What an element of a stream is, and the element itself.
fn element(binding: Binding, item: &Value) -> (String, Value) {
    if binding == Binding::Rpc03 {
        let kind = item["kind"].as_str().unwrap();
        return (kind.to_owned(), item.clone());
    }
    let (name, inner) = item.as_object().unwrap().iter().next().unwrap();
    let kind = match name.as_str() {
        "statusUpdate" => "status-update",
        "artifactUpdate" => "artifact-update",
        name => name,
    };
    (kind.to_owned(), inner.clone())
}

#[tokio::test]
async fn a_stream_tells_of_a_task_from_its_start_to_its_end() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let mut stream = caller.open(caller.stream("count")).await;
        let first = caller.next(&mut stream).await.unwrap();
        let (kind, task) = element(binding, &first);
        assert_eq!(kind, "task");
        let serving = agent.next_call().await;
        serving.push(Event::text("one "));
        let (mut text, mut states) = (String::new(), Vec::new());
        let mut told = Some(serving);
        while let Some(item) = caller.next(&mut stream).await {
            let (kind, item) = element(binding, &item);
            assert_eq!(item["taskId"], task["id"]);
            match kind.as_str() {
                "artifact-update" => {
                    text.push_str(&words(binding, &item["artifact"]));
                    // More comes only when this was read: it is not held back.
                    if let Some(serving) = told.take() {
                        answer(serving, "two");
                    }
                }
                "status-update" => {
                    let state = item["status"]["state"].as_str().unwrap().to_owned();
                    let is_last = state == binding.state("completed");
                    if !binding.is_new() {
                        assert_eq!(item["final"], is_last, "{item}");
                    }
                    states.push(state);
                }
                other => panic!("{other}"),
            }
        }
        assert_eq!(text, "one two");
        let wanted = ["working", "completed"].map(|state| binding.state(state));
        assert_eq!(states, wanted, "{binding:?}");
    }
}

#[tokio::test]
async fn a_reader_that_leaves_changes_nothing_and_another_follows_the_task() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let mut stream = caller.open(caller.stream("work")).await;
        let first = caller.next(&mut stream).await.unwrap();
        let id = element(binding, &first).1["id"]
            .as_str()
            .unwrap()
            .to_owned();
        drop(stream);
        let serving = agent.next_call().await;
        serving.push(Event::text("one "));
        let mut stream = caller.open(caller.subscribe(&id)).await;
        let first = caller.next(&mut stream).await.unwrap();
        let (kind, task) = element(binding, &first);
        assert_eq!((kind.as_str(), task["id"].as_str()), ("task", Some(&*id)));
        answer(serving, "two");
        let mut last = Value::Null;
        while let Some(item) = caller.next(&mut stream).await {
            last = element(binding, &item).1;
        }
        assert_eq!(last["status"]["state"], binding.state("completed"));
        let task = binding.result(&caller.ok(caller.get(&id)).await);
        assert_eq!(words(binding, &task["artifacts"][0]), "one two");
    }
}

#[tokio::test]
async fn a_stream_that_ends_with_the_hub_says_that_the_task_goes_on() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let mut stream = caller.open(caller.stream("work")).await;
        let serving = agent.next_call().await;
        // The next hub finds it by this.
        serving.note(Json::of(&"there").unwrap());
        serving.push(Event::text("one "));
        while element(binding, &caller.next(&mut stream).await.unwrap()).0 != "artifact-update" {}
        hub.hub.stop(Duration::ZERO).await;
        let last = all_of(&mut stream).await.pop().unwrap();
        let says = match binding.is_rpc() {
            true => last["error"]["message"].to_string(),
            false => last.to_string(),
        };
        assert!(says.contains("the hub is stopping"), "{binding:?}: {last}");
    }
}

#[tokio::test]
async fn a_reader_that_comes_back_goes_on_where_it_was() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let mut stream = caller.open(caller.stream("work")).await;
        let serving = agent.next_call().await;
        serving.push(Event::text("one "));
        let mut id = None;
        let task = loop {
            let event = stream.next().await.unwrap();
            id = event.id.or(id);
            let (kind, item) = element(binding, &binding.result(&event.data));
            if kind == "artifact-update" {
                break item["taskId"].as_str().unwrap().to_owned();
            }
        };
        drop(stream);
        answer(serving, "two");
        let again = caller.subscribe(&task).header("Last-Event-ID", id.unwrap());
        let mut stream = caller.open(again).await;
        let mut text = String::new();
        let first = caller.next(&mut stream).await.unwrap();
        assert_eq!(element(binding, &first).0, "task");
        while let Some(item) = caller.next(&mut stream).await {
            let (kind, item) = element(binding, &item);
            if kind == "artifact-update" {
                text.push_str(&words(binding, &item["artifact"]));
            }
        }
        assert_eq!(text, "two", "{binding:?}");
    }
}

#[tokio::test]
async fn a_task_that_waits_goes_on_with_the_next_message() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let ask = async { ask_for_more(agent.next_call().await, "which one?") };
        let (body, ()) = tokio::join!(caller.ok(caller.send("book")), ask);
        let task = binding.sent_task(&body);
        assert_eq!(task["status"]["state"], binding.state("input-required"));
        assert_eq!(words(binding, &task["status"]["message"]), "which one?");
        let id = task["id"].as_str().unwrap();
        let message = binding.message("the red one", &format!(r#","taskId":"{id}""#));
        let (body, ()) = tokio::join!(
            caller.ok(caller.with(false, &message, "")),
            answered(&mut agent, "booked")
        );
        let again = binding.sent_task(&body);
        assert_eq!(
            (&again["id"], &again["contextId"]),
            (&task["id"], &task["contextId"])
        );
        assert_eq!(again["status"]["state"], binding.state("completed"));
    }
}

#[tokio::test]
async fn the_extended_card_is_shown_to_those_who_say_who_they_are() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let _agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let request = caller.card().header("Authorization", "Bearer whoever");
        let card = binding.result(&caller.ok(request).await);
        assert_eq!(card["name"], "echo");
        let response = caller.card().send().await.unwrap();
        assert_eq!(response.status(), 401);
        assert!(response.headers().contains_key("www-authenticate"));
    }
}
