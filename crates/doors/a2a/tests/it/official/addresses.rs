//! The addresses of agents and of the hub itself, and what is negotiated at them.

use axum::{Router, routing::get};
use reqwest::Method;
use serde_json::{Value, json};

use crate::official::{
    callers::{ALL, Binding, Caller},
    harness::{A2aHub, ECHO, answered, told},
};

#[tokio::test]
async fn agents_teams_and_workflows_are_one_and_a_slash_at_the_end_is_no_other_address() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    for base in [
        "/a2a/agents/echo",
        "/a2a/teams/echo",
        "/a2a/workflows/echo",
        "/a2a",
    ] {
        for binding in ALL {
            let caller = Caller {
                base,
                ..Caller::new(&hub, binding)
            };
            tokio::join!(caller.ok(caller.send("hi")), answered(&mut agent, "ok"));
        }
    }
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/list","params":{}}"#;
    for base in ["/a2a/", "/a2a/agents/echo/", "/a2a/agents/%65cho"] {
        let (status, answer) = hub.post(base, body).await;
        assert_eq!(status, 200);
        assert!(answer["result"]["tasks"].is_array(), "{answer}");
    }
}

#[tokio::test]
async fn below_another_prefix_or_none_it_leaves_room_for_others() {
    for prefix in ["/one/two", ""] {
        let others = Router::new().route("/", get(async || "mine"));
        let others = others.route("/v1/other", get(async || "mine too"));
        let hub = A2aHub::start_at(prefix, others).await;
        let mut agent = hub.attach("echo");
        let at_agent = format!("{prefix}/agents/echo");
        for binding in ALL {
            let at_hub = if prefix.is_empty() && binding.is_rpc() {
                "/"
            } else {
                prefix
            };
            for base in [&*at_agent, at_hub] {
                let caller = Caller {
                    base,
                    ..Caller::new(&hub, binding)
                };
                let (id, ()) =
                    tokio::join!(caller.begun(caller.send("hi")), answered(&mut agent, "ok"));
                caller.ok(caller.get(&id)).await;
            }
        }
        for (path, text) in [("/", "mine"), ("/v1/other", "mine too")] {
            let response = hub.ask(Method::GET, path).send().await.unwrap();
            assert_eq!(response.text().await.unwrap(), text);
        }
    }
}

#[tokio::test]
async fn at_the_hubs_address_the_request_names_the_agent() {
    let hub = A2aHub::start().await;
    let mut echo = hub.attach("echo");
    let other = hub.attach("other");
    for binding in [Binding::Rpc10, Binding::Rest10] {
        let caller = Caller {
            base: "/a2a",
            ..Caller::new(&hub, binding)
        };
        let message = binding.message("hi", "");
        let request = caller.with(false, &message, r#","tenant":"echo""#);
        tokio::join!(caller.ok(request), answered(&mut echo, "ok"));
        let (_, _, reason) = caller.refused(caller.send("hi")).await;
        assert_eq!(reason, "INVALID_PARAMS");
        let request = caller.with(false, &message, r#","tenant":"nobody""#);
        let (_, _, reason) = caller.refused(request).await;
        assert_eq!(reason, "AGENT_NOT_FOUND");
    }
    let caller = Caller {
        base: "/a2a/echo",
        ..Caller::new(&hub, Binding::Rest10)
    };
    let (id, ()) = tokio::join!(caller.begun(caller.send("hi")), answered(&mut echo, "ok"));
    caller.ok(caller.get(&id)).await;
    let elsewhere = Caller {
        base: "/a2a/other",
        ..Caller::new(&hub, Binding::Rest10)
    };
    let (_, _, reason) = elsewhere.refused(elsewhere.get(&id)).await;
    assert_eq!(reason, "TASK_NOT_FOUND");
    assert!(other.has_nothing_to_do());
}

#[tokio::test]
async fn the_version_is_that_of_the_header_the_query_or_the_method() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach("echo");
    let old = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}"#;
    let new = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}"#;
    for (body, header, query, is_new) in [
        (old, None, "", false),
        (new, None, "", true),
        (old, Some(""), "", false),
        (new, Some(""), "?A2A-Version=1.0", true),
        (new, Some("1.0.3"), "", true),
        (old, Some("0.3"), "", false),
        (old, Some(""), "?A2A-Version=0.3", false),
        (new, None, "?A2A-Version=1.0", true),
    ] {
        let mut request = hub.request(&format!("{ECHO}{query}"), body);
        if let Some(version) = header {
            request = request.header("A2A-Version", version);
        }
        let (_, answer) = told(request).await;
        assert_eq!(answer["error"]["code"], -32001, "{header:?} {query}");
        assert_eq!(answer["error"]["data"].is_array(), is_new, "{answer}");
    }
    // The rules are those of that version too.
    let rejected =
        r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"status":"rejected"}}"#;
    assert_eq!(hub.post(ECHO, rejected).await.1["error"]["code"], -32602);
    let rejected = rejected.replace("ListTasks", "tasks/list");
    assert!(hub.post(ECHO, rejected).await.1["result"].is_object());
}

#[tokio::test]
async fn an_answer_of_rest_has_the_type_that_is_taken() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach("echo");
    for (accept, kind) in [
        (None, "application/a2a+json"),
        (Some("*/*"), "application/a2a+json"),
        (Some("application/json"), "application/json"),
        (
            Some("application/a2a+json, application/json"),
            "application/a2a+json",
        ),
    ] {
        let mut request = hub.ask(Method::GET, &format!("{ECHO}/tasks"));
        if let Some(accept) = accept {
            request = request.header("Accept", accept);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], kind, "{accept:?}");
    }
}

#[tokio::test]
async fn ids_are_echoed_as_they_came() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach("echo");
    for id in ["7", "\"7\"", "1.50", "-3", "null"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/list","params":{{}}}}"#);
        let response = hub.request(ECHO, body).send().await.unwrap();
        let text = response.text().await.unwrap();
        assert!(text.contains(&format!("\"id\":{id},\"result\"")), "{text}");
    }
}

#[tokio::test]
async fn tasks_are_followed_by_get_as_well() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    for (binding, version) in [(Binding::Rest10, ""), (Binding::Rest03, "/v1")] {
        let caller = Caller::new(&hub, binding);
        let id = caller.begun(caller.send_only("work")).await;
        let path = format!("{ECHO}{version}/tasks/{id}:subscribe");
        let mut stream = caller.open(hub.ask(Method::GET, &path)).await;
        let first = caller.next(&mut stream).await.unwrap();
        assert_eq!(first["task"]["id"], *id);
        answered(&mut agent, "done").await;
        while caller.next(&mut stream).await.is_some() {}
    }
}

#[tokio::test]
async fn a_body_of_0_3_is_answered_in_the_form_that_it_has() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let path = format!("{ECHO}/v1/message:send");
    let plain = format!(r#"{{"message":{}}}"#, Binding::Rpc03.message("hi", ""));
    let ((_, task), ()) = tokio::join!(hub.post(&path, plain), answered(&mut agent, "ok"));
    assert_eq!(task["kind"], "task");
    assert_eq!(task["history"][0]["role"], "user");
    let proto = format!(r#"{{"request":{}}}"#, Binding::Rest03.message("hi", ""));
    let ((_, body), ()) = tokio::join!(hub.post(&path, proto), answered(&mut agent, "ok"));
    let task = &body["task"];
    assert_eq!(task["history"][0]["role"], "ROLE_USER", "{body}");
    assert_eq!(task["history"][0]["content"], json!([{"text": "hi"}]));
    // Its readers take nothing that they do not know.
    let known = ["id", "contextId", "status", "artifacts", "history"];
    for name in task.as_object().unwrap().keys() {
        assert!(known.contains(&name.as_str()), "{name}");
    }
    assert_eq!(task.get("kind"), None);
}

#[tokio::test]
async fn in_the_form_of_grpc_what_is_not_said_does_not_wait() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let path = format!("{ECHO}/v1/message:send");
    let message = Binding::Rest03.message("hi", "");
    let body = format!(r#"{{"message":{message},"configuration":{{}}}}"#);
    let (status, answer) = hub.post(&path, body).await;
    assert_eq!(status, 200);
    let state: &Value = &answer["task"]["status"]["state"];
    assert!(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state.as_str().unwrap()));
    answered(&mut agent, "ok").await;
    let body = format!(r#"{{"message":{message},"configuration":{{"blocking":true}}}}"#);
    let ((_, answer), ()) = tokio::join!(hub.post(&path, body), answered(&mut agent, "ok"));
    assert_eq!(answer["task"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_body_of_0_3_may_be_flat_and_leave_out_the_role() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let path = format!("{ECHO}/v1/message:send");
    let message = r#"{"message_id":"m-1","content":[{"text":"hi"}]}"#;
    let body = format!(r#"{{"message":{message},"blocking":false}}"#);
    let (status, answer) = hub.post(&path, body).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["task"]["history"][0]["role"], "ROLE_USER");
    answered(&mut agent, "ok").await;
    let body = format!(r#"{{"message":{message},"history_length":1}}"#);
    let ((_, answer), ()) = tokio::join!(hub.post(&path, body), answered(&mut agent, "ok"));
    let task = &answer["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["history"].as_array().unwrap().len(), 1, "{task}");
}

#[tokio::test]
async fn the_root_asks_for_credentials_where_programs_of_0_3_look_for_the_card() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach("echo");
    let (status, _) = hub.get("/v1/card").await;
    assert_eq!(status, 401);
    let request = hub.ask(Method::GET, "/v1/card").bearer_auth("whoever");
    let (status, card) = told(request).await;
    assert_eq!((status, &card["name"]), (200, &json!("echo")));
}
