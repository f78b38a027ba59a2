//! Who is notified of a task: made, seen and dropped in every binding.

use jackfield_core::{
    outbox::{Callback, Follower},
    principal::Principal,
};
use jackfield_model::TaskId;
use serde_json::{Value, json};

use crate::official::{
    callers::{ALL, Binding, Caller},
    harness::{A2aHub, answered},
};

const URL: &str = "https://93.184.215.14/hook";

/// The config in an answer, which is wrapped in 0.3.
fn config(binding: Binding, named: &Value) -> &Value {
    if binding.is_new() {
        named
    } else {
        &named["pushNotificationConfig"]
    }
}

#[tokio::test]
async fn a_push_config_is_made_seen_listed_and_deleted() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let (task, ()) = tokio::join!(
            caller.begun(caller.send("hello")),
            answered(&mut agent, "hi")
        );
        let made = caller.ok(caller.create_push(&task, URL)).await;
        let made = binding.result(&made);
        assert_eq!(config(binding, &made)["url"], URL, "{made}");
        assert_eq!(config(binding, &made)["id"], "c-1");
        match binding {
            Binding::Rpc10 | Binding::Rest10 | Binding::Rpc03 => {
                assert_eq!(made["taskId"], *task);
            }
            Binding::Rest03 => {
                let name = format!("tasks/{task}/pushNotificationConfigs/c-1");
                assert_eq!(made["name"], name);
            }
        }
        let seen = caller.ok(caller.push(false, &task, "c-1")).await;
        assert_eq!(binding.result(&seen), made);
        let list = binding.result(&caller.ok(caller.list_push(&task)).await);
        let wanted = match binding {
            Binding::Rpc03 => json!([made]),
            Binding::Rpc10 | Binding::Rest10 | Binding::Rest03 => json!({"configs": [made]}),
        };
        assert_eq!(list, wanted);
        for _ in 0..2 {
            let gone = caller.ok(caller.push(true, &task, "c-1")).await;
            let nothing = match binding {
                Binding::Rpc03 => Value::Null,
                Binding::Rpc10 | Binding::Rest10 | Binding::Rest03 => json!({}),
            };
            assert_eq!(binding.result(&gone), nothing);
        }
        let (_, _, reason) = caller.refused(caller.push(false, &task, "c-1")).await;
        assert_eq!(reason, "TASK_NOT_FOUND");
    }
}

#[tokio::test]
async fn followers_of_other_protocols_are_not_listed_and_not_deleted() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let (task, ()) = tokio::join!(
            caller.begun(caller.send("hello")),
            answered(&mut agent, "hi")
        );
        let (local, id) = (Principal::local(), TaskId::parse(&task).unwrap());
        let foreign = Follower {
            id: "c-1".to_owned(),
            callback: Callback {
                url: URL.to_owned(),
                kind: "telegraph".to_owned(),
                data: None,
                token: None,
            },
        };
        let tasks = hub.hub.tasks();
        tasks.follow(&local, id, foreign.clone()).await.unwrap();
        let list = binding.result(&caller.ok(caller.list_push(&task)).await);
        assert!(!list.to_string().contains("c-1"), "{list}");
        caller.ok(caller.push(true, &task, "c-1")).await;
        let followers = || async { tasks.find(&local, id).await.unwrap().record().followers };
        let one = std::slice::from_ref(&foreign);
        assert_eq!(followers().await, one, "{binding:?}");
        // A config of the same id neither replaces the other follower nor takes it along.
        caller.ok(caller.create_push(&task, URL)).await;
        assert_eq!(followers().await.len(), 2, "{binding:?}");
        caller.ok(caller.push(true, &task, "c-1")).await;
        assert_eq!(followers().await, [foreign], "{binding:?}");
    }
}

#[tokio::test]
async fn a_push_config_that_is_too_large_is_refused() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let (task, ()) = tokio::join!(
            caller.begun(caller.send("hello")),
            answered(&mut agent, "hi")
        );
        let large = format!("{URL}?{}", "x".repeat(9 << 10));
        let (_, _, reason) = caller.refused(caller.create_push(&task, &large)).await;
        assert_ne!(reason, "TASK_NOT_FOUND", "{binding:?}");
        let list = binding.result(&caller.ok(caller.list_push(&task)).await);
        assert!(!list.to_string().contains("c-1"), "{list}");
    }
}

#[tokio::test]
async fn at_the_hubs_address_a_config_is_for_a_task_of_the_agent_that_it_names() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let _other = hub.attach("other");
    let caller = Caller::new(&hub, Binding::Rpc10);
    let (task, ()) = tokio::join!(
        caller.begun(caller.send("hello")),
        answered(&mut agent, "hi")
    );
    let configs = format!("tasks/{task}/pushNotificationConfigs");
    let flat = format!(r#""taskId":"{task}","url":"{URL}""#);
    let nested = format!(r#""taskId":"{task}","pushNotificationConfig":{{"url":"{URL}"}}"#);
    let call = |method: &str, tenant: &str, params: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"r-1","method":"{method}","params":{{"tenant":"{tenant}",{params}}}}}"#
        )
    };
    let requests = |tenant: &str| {
        let new = call("CreateTaskPushNotificationConfig", tenant, &flat);
        let old = call("tasks/pushNotificationConfig/set", tenant, &nested);
        let body = |params: &str| format!(r#"{{"tenant":"{tenant}",{params}}}"#);
        [
            (Binding::Rpc10, hub.request("/a2a", new)),
            (Binding::Rpc03, hub.request("/a2a", old)),
            (
                Binding::Rest10,
                hub.request(&format!("/a2a/{configs}"), body(&flat)),
            ),
            (
                Binding::Rest03,
                hub.request(&format!("/a2a/v1/{configs}"), body(&nested)),
            ),
            (
                Binding::Rest10,
                hub.request(&format!("/a2a/{tenant}/{configs}"), format!("{{{flat}}}")),
            ),
        ]
    };
    for (binding, request) in requests("other") {
        let caller = Caller::new(&hub, binding);
        let (_, _, reason) = caller.refused(request).await;
        assert_eq!(reason, "TASK_NOT_FOUND", "{binding:?}");
    }
    let none = listed(&caller, &task).await;
    assert!(none.is_empty(), "{none:?}");
    for (binding, request) in requests("echo") {
        let caller = Caller::new(&hub, binding);
        let made = binding.result(&caller.ok(request).await);
        let config = made.get("pushNotificationConfig").unwrap_or(&made);
        assert_eq!(config["url"], URL, "{binding:?}");
        assert!(!made.to_string().contains("tenant"), "{made}");
    }
}

/// The configs of a task, in 1.0.
async fn listed(caller: &Caller<'_>, task: &str) -> Vec<Value> {
    let list = caller
        .binding
        .result(&caller.ok(caller.list_push(task)).await);
    list["configs"].as_array().unwrap().clone()
}

#[tokio::test]
async fn nobody_is_notified_at_private_addresses() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let (task, ()) = tokio::join!(
            caller.begun(caller.send("hello")),
            answered(&mut agent, "hi")
        );
        for url in ["http://127.0.0.1:9/hook", "ftp://example.com", "nonsense"] {
            let (status, _, reason) = caller.refused(caller.create_push(&task, url)).await;
            assert_eq!(reason, "INVALID_PARAMS", "{binding:?} {url}");
            assert_eq!(status, if binding.is_rpc() { 200 } else { 400 });
        }
    }
}

#[tokio::test]
async fn configs_are_listed_page_by_page() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    for binding in [Binding::Rest10, Binding::Rest03] {
        let caller = Caller::new(&hub, binding);
        let (task, ()) = tokio::join!(
            caller.begun(caller.send("hello")),
            answered(&mut agent, "hi")
        );
        let base = format!(
            "{}/tasks/{task}/pushNotificationConfigs",
            crate::official::harness::ECHO
        );
        for id in ["a", "b", "c"] {
            let body = format!(r#"{{"id":"{id}","url":"{URL}"}}"#);
            let (status, made) = hub.post(&base, body).await;
            assert_eq!(status, 200, "{made}");
        }
        let version = if binding.is_new() { "" } else { "/v1" };
        let list = base.replace("/tasks/", &format!("{version}/tasks/"));
        let page = async |query: &str| {
            let (status, page) = hub.get(&format!("{list}?{query}")).await;
            assert_eq!(status, 200, "{page}");
            let configs = page["configs"].as_array().unwrap().iter();
            let ids = configs.map(|it| config(binding, it)["id"].as_str().unwrap().to_owned());
            (ids.collect::<Vec<_>>(), page["nextPageToken"].clone())
        };
        let both = (vec!["a".to_owned(), "b".to_owned()], json!("b"));
        assert_eq!(page("pageSize=2").await, both);
        let last = (vec!["c".to_owned()], Value::Null);
        assert_eq!(page("pageSize=2&pageToken=b").await, last);
        assert_eq!(page("pageSize=3").await.1, Value::Null);
        let (status, _) = hub.get(&format!("{list}?pageToken=gone")).await;
        assert_eq!(status, 400);
    }
}

#[tokio::test]
async fn what_no_header_can_hold_is_refused_when_it_is_set() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let caller = Caller::new(&hub, Binding::Rest10);
    let (task, ()) = tokio::join!(
        caller.begun(caller.send("hello")),
        answered(&mut agent, "hi")
    );
    let path = format!(
        "{}/tasks/{task}/pushNotificationConfigs",
        crate::official::harness::ECHO
    );
    for (more, field) in [
        (json!({"token": "a\nb"}), "token"),
        (json!({"authentication": {}}), "authentication.scheme"),
        (
            json!({"authentication": {"credentials": "c"}}),
            "authentication.scheme",
        ),
        (
            json!({"authentication": {"schemes": ["Bearer"], "credentials": "c"}}),
            "authentication.scheme",
        ),
        (
            json!({"authentication": {"scheme": "Bear er", "credentials": "c"}}),
            "authentication.scheme",
        ),
        (
            json!({"authentication": {"scheme": "Bearer", "credentials": "a\r\nX-Evil: 1"}}),
            "authentication.credentials",
        ),
    ] {
        let mut config = more.clone();
        config["url"] = json!(URL);
        let (status, body) = hub.post(&path, config.to_string()).await;
        assert_eq!(status, 400, "{more}: {body}");
        let named = &body["error"]["details"][1]["fieldViolations"][0]["field"];
        assert_eq!(named, field, "{more}: {body}");
        // The same with the message.
        let message = Binding::Rest10.message("hi", "");
        let send = format!(
            r#"{{"message":{message},"configuration":{{"taskPushNotificationConfig":{config}}}}}"#
        );
        let (status, body) = hub
            .post(
                &format!("{}/message:send", crate::official::harness::ECHO),
                send,
            )
            .await;
        assert_eq!(status, 400, "{more}: {body}");
    }
    assert!(agent.has_nothing_to_do());
    let none = listed(&caller, &task).await;
    assert!(none.is_empty(), "{none:?}");
}
