//! What is refused, in every binding and version: with the right code, and never with a 500.

use jackfield_core::{agent::Profile, limits::Limits, principal::Principal, units::Size};
use jackfield_model::Extension;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::official::{
    callers::{ALL, Binding, Caller},
    harness::{A2aHub, ECHO, answered, told},
};

use Binding::{Rest03, Rest10, Rpc03, Rpc10};

/// How a binding says this error: status, code and reason.
fn wanted(binding: Binding, code: i64, statuses: [u16; 2], reason: &str) -> (u16, i64, String) {
    let [old, new] = statuses;
    let (status, code) = match binding {
        Rpc10 | Rpc03 => (200, code),
        Rest10 => (new, new.into()),
        Rest03 => (old, code),
    };
    (status, code, reason.to_owned())
}

fn invalid(binding: Binding) -> (u16, i64, String) {
    wanted(binding, -32602, [400, 400], "INVALID_PARAMS")
}

fn not_found(binding: Binding) -> (u16, i64, String) {
    wanted(binding, -32001, [404, 404], "TASK_NOT_FOUND")
}

#[tokio::test]
async fn bad_params_name_their_field() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        let (id, ()) = tokio::join!(caller.begun(caller.send("a")), answered(&mut agent, "b"));
        for (field, request) in [
            ("historyLength", caller.get_some(&id, "-1")),
            ("historyLength", caller.get_some(&id, "1.5")),
            ("pageToken", caller.list("pageToken", r#""nonsense""#)),
            ("pageSize", caller.list("pageSize", "101")),
            ("pageSize", caller.list("pageSize", "-1")),
            ("historyLength", caller.list("historyLength", "-1")),
            ("status", caller.list("status", r#""asleep""#)),
        ] {
            let (status, body) = told(request).await;
            assert_eq!(binding.refusal(status, &body), invalid(binding), "{body}");
            let named = match binding {
                Rpc10 => &body["error"]["data"][1]["fieldViolations"][0]["field"],
                Rest10 => &body["error"]["details"][1]["fieldViolations"][0]["field"],
                Rpc03 => &body["error"]["data"]["field"],
                Rest03 => &body["data"]["field"],
            };
            assert_eq!(named, field, "{body}");
        }
    }
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn a_message_that_is_none_is_refused_and_reaches_nobody() {
    let hub = A2aHub::start().await;
    let agent = hub.attach("echo");
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        let whole = binding.message("hi", "");
        let parts = if binding == Rest03 {
            "content"
        } else {
            "parts"
        };
        let id = if binding == Rest03 {
            "message_id"
        } else {
            "messageId"
        };
        for message in [
            "null".to_owned(),
            "{}".to_owned(),
            "[]".to_owned(),
            r#""hi""#.to_owned(),
            whole.replace(id, "other"),
            whole.replace("m-1", ""),
            whole
                .replace("ROLE_USER", "boss")
                .replace(r#""user""#, r#""boss""#),
            whole.replace(parts, "pieces"),
            whole.replace(r#""text":"hi""#, r#""text":1"#),
            whole.replace(r#""text":"hi""#, r#""nothing":1"#),
            whole.replacen('{', r#"{"metadata":[],"#, 1),
        ] {
            for is_stream in [false, true] {
                let request = caller.with(is_stream, &message, "");
                let request = request.header("Accept", "application/json");
                let refused = caller.refused(request).await;
                assert_eq!(refused, invalid(binding), "{binding:?}: {message}");
            }
        }
    }
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn tasks_that_are_unknown_foreign_or_of_another_agent_look_the_same() {
    let hub = A2aHub::start_with(false, Limits::default()).await;
    let (ann, token) = hub.owner("ann").await;
    let (_, stranger) = hub.owner("bob").await;
    let other = hub.token("eve", &["call:*"]).await;
    let mut agent = hub.attach_as(&ann, "echo", Profile::default());
    let _other = hub.attach_as(&ann, "other", Profile::default());
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        let send = caller.send("a").bearer_auth(&token);
        let (id, ()) = tokio::join!(caller.begun(send), answered(&mut agent, "b"));
        let unknown = "01920000-0000-7000-8000-000000000000";
        let elsewhere = Caller {
            base: "/a2a/agents/other",
            ..Caller::new(&hub, binding)
        };
        for (who, caller, id) in [
            (&token, &caller, unknown),
            (&token, &caller, "tck-no-such-task"),
            (&other, &caller, &*id),
            (&token, &elsewhere, &*id),
        ] {
            let more = format!(r#","taskId":"{id}""#);
            let message = binding.message("more", &more);
            for request in [
                caller.get(id),
                caller.cancel(id),
                caller.subscribe(id).header("Accept", "application/json"),
                caller.create_push(id, "https://example.com/"),
                caller.push(false, id, "c"),
                caller.push(true, id, "c"),
                caller.list_push(id),
                caller.with(false, &message, ""),
            ] {
                let refused = caller.refused(request.bearer_auth(who)).await;
                assert_eq!(refused, not_found(binding), "{binding:?} {id}");
            }
        }
        // An agent that one may not know of is none.
        let (status, body) = told(caller.get(&id).bearer_auth(&stranger)).await;
        assert_eq!(status, 404, "{body}");
    }
}

#[tokio::test]
async fn a_finished_task_takes_no_message_and_has_nothing_to_follow() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        let (id, ()) = tokio::join!(caller.begun(caller.send("a")), answered(&mut agent, "b"));
        let message = binding.message("more", &format!(r#","taskId":"{id}""#));
        let unsupported = wanted(binding, -32004, [501, 400], "UNSUPPORTED_OPERATION");
        let refused = caller.refused(caller.with(false, &message, "")).await;
        assert_eq!(refused, unsupported);
        let follow = caller.subscribe(&id).header("Accept", "application/json");
        assert_eq!(caller.refused(follow).await, unsupported);
        let wrong = format!(r#","taskId":"{id}","contextId":"another""#);
        let message = binding.message("more", &wrong);
        let refused = caller.refused(caller.with(false, &message, "")).await;
        assert_eq!(refused, invalid(binding));
    }
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn a_version_that_is_not_spoken_is_refused_before_the_params_are_read() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach("echo");
    let nonsense = r#"{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":[]}"#;
    for version in ["99.0", "1", "2.0", "one"] {
        let request = hub.request(ECHO, nonsense).header("A2A-Version", version);
        let (status, body) = told(request).await;
        let (_, code, reason) = Rpc10.refusal(status, &body);
        assert_eq!((status, &body["id"]), (200, &json!(7)));
        assert_eq!((code, reason.as_str()), (-32009, "VERSION_NOT_SUPPORTED"));
    }
    let (_, body) = hub.post(&format!("{ECHO}?A2A-Version=2.0"), nonsense).await;
    assert_eq!(body["error"]["code"], -32009);
    for binding in [Rest10, Rest03] {
        let caller = Caller::new(&hub, binding);
        let refused = caller
            .refused(caller.send("hi").header("A2A-Version", "99.0"))
            .await;
        let wanted = wanted(binding, -32009, [400, 400], "VERSION_NOT_SUPPORTED");
        assert_eq!(refused, wanted);
        let other = if binding.is_new() { "0.3" } else { "1.0" };
        let refused = caller
            .refused(caller.send("hi").header("A2A-Version", other))
            .await;
        assert_eq!(refused, wanted);
    }
}

#[tokio::test]
async fn the_name_of_another_version_is_refused_with_the_right_name() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach("echo");
    for (version, method, right) in [
        ("1.0", "message/send", "SendMessage"),
        ("0.3", "SubscribeToTask", "tasks/resubscribe"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}"#);
        let request = hub.request(ECHO, body).header("A2A-Version", version);
        let (status, answer) = told(request).await;
        assert_eq!((status, &answer["error"]["code"]), (200, &json!(-32601)));
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains(right), "{text}");
    }
    let (status, answer) = hub
        .post(
            ECHO,
            r#"{"jsonrpc":"2.0","id":null,"method":"message/ssend"}"#,
        )
        .await;
    assert_eq!((status, &answer["error"]["code"]), (200, &json!(-32601)));
    assert_eq!(answer["id"], Value::Null);
}

#[tokio::test]
async fn an_envelope_that_is_none_is_refused_with_its_id_where_that_can_be_read() {
    let hub = A2aHub::start().await;
    let agent = hub.attach("echo");
    for (body, code, id) in [
        ("", -32700, Value::Null),
        ("{\"jsonrpc\":", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("3", -32600, Value::Null),
        (
            r#"{"jsonrpc":"1.0","id":"a","method":"tasks/get"}"#,
            -32600,
            json!("a"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":12345678901234567890}"#,
            -32600,
            json!(12_345_678_901_234_567_890_u64),
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"tasks/get","params":{}}"#,
            -32600,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":"x"}"#,
            -32602,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":[]}"#,
            -32602,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get"}"#,
            -32602,
            json!(1),
        ),
    ] {
        let before = hub.refused();
        let (status, answer) = hub.post(ECHO, body).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
        assert_eq!(answer["id"], id, "{body}");
        assert_eq!(hub.refused(), before + 1, "{body}");
    }
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn a_body_of_another_type_is_refused() {
    let hub = A2aHub::start().await;
    let agent = hub.attach("echo");
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        let mut request = caller.send("hi").build().unwrap();
        let plain = "text/plain".parse().unwrap();
        request.headers_mut().insert("content-type", plain);
        let request = RequestBuilder::from_parts(reqwest::Client::new(), request);
        let refused = caller.refused(request).await;
        let wanted = wanted(binding, -32005, [415, 400], "CONTENT_TYPE_NOT_SUPPORTED");
        assert_eq!(refused, wanted, "{binding:?}");
    }
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn a_part_that_the_agent_does_not_take_is_refused() {
    let hub = A2aHub::start().await;
    let profile = Profile {
        input_modes: vec!["text/plain".into()],
        ..Profile::default()
    };
    let agent = hub.attach_as(&Principal::local(), "echo", profile);
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        let part = match binding {
            Rpc10 | Rest10 => r#"{"raw":"aGk=","mediaType":"image/png"}"#,
            Rpc03 => r#"{"kind":"file","file":{"bytes":"aGk=","mimeType":"image/png"}}"#,
            Rest03 => r#"{"file":{"file_with_bytes":"aGk=","mime_type":"image/png"}}"#,
        };
        let text = match binding {
            Rpc03 => r#"{"kind":"text","text":"hi"}"#,
            Rpc10 | Rest10 | Rest03 => r#"{"text":"hi"}"#,
        };
        let message = binding.message("hi", "").replace(text, part);
        let refused = caller.refused(caller.with(false, &message, "")).await;
        let wanted = wanted(binding, -32005, [415, 400], "CONTENT_TYPE_NOT_SUPPORTED");
        assert_eq!(refused, wanted, "{binding:?}");
    }
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn an_extension_that_the_agent_insists_on_has_to_be_declared() {
    let hub = A2aHub::start().await;
    let profile = Profile {
        extensions: vec![Extension {
            uri: "urn:x".into(),
            required: true,
            ..Extension::default()
        }],
        ..Profile::default()
    };
    let mut agent = hub.attach_as(&Principal::local(), "echo", profile);
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        let refused = caller.refused(caller.send("hi")).await;
        let wanted = wanted(binding, -32008, [400, 400], "EXTENSION_SUPPORT_REQUIRED");
        assert_eq!(refused, wanted, "{binding:?}");
        assert!(agent.has_nothing_to_do());
        let name = if binding.is_new() {
            "A2A-Extensions"
        } else {
            "X-A2A-Extensions"
        };
        let request = caller.send("hi").header(name, "urn:y, urn:x");
        tokio::join!(caller.ok(request), answered(&mut agent, "ok"));
    }
}

#[tokio::test]
async fn a_stream_that_cannot_be_is_refused_as_its_version_reads_it() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach("echo");
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        let request = caller
            .subscribe("none")
            .header("Accept", "text/event-stream");
        if binding != Rpc03 {
            assert_eq!(caller.refused(request).await, not_found(binding));
            continue;
        }
        // Its readers take errors only from the stream.
        let mut stream = caller.open(caller.subscribe("none")).await;
        let event = stream.next().await.unwrap();
        assert_eq!(binding.refusal(200, &event.data), not_found(binding));
        assert_eq!(event.data["id"], "r-1");
        assert_eq!(stream.next().await, None);
        let before = hub.refused();
        let mut stream = caller.open(caller.with(true, "{}", "")).await;
        let event = stream.next().await.unwrap();
        assert_eq!(event.data["error"]["code"], -32602);
        assert_eq!(hub.refused(), before + 1);
    }
}

#[tokio::test]
async fn strangers_are_asked_who_they_are() {
    let hub = A2aHub::start_with(false, Limits::default()).await;
    let (ann, token) = hub.owner("ann").await;
    let mut agent = hub.attach_as(&ann, "echo", Profile::default());
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        for request in [caller.send("hi"), caller.send("hi").bearer_auth("jf_guess")] {
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 401);
            let how = response.headers()["www-authenticate"].to_str().unwrap();
            assert!(how.starts_with("Bearer"), "{how}");
            let body: Value = response.json().await.unwrap();
            let (_, _, reason) = binding.refusal(401, &body);
            assert_eq!(reason, "UNAUTHENTICATED");
        }
        let request = caller.send("hi").bearer_auth(&token);
        tokio::join!(caller.ok(request), answered(&mut agent, "ok"));
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let limits = Limits {
        message: Size::kib(4),
        ..Limits::default()
    };
    let hub = A2aHub::start_with(true, limits).await;
    let agent = hub.attach("echo");
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        let refused = caller.refused(caller.send(&"x".repeat(5000))).await;
        let wanted = wanted(binding, -32602, [413, 413], "TOO_LARGE");
        assert_eq!(refused, wanted, "{binding:?}");
    }
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn a_rest_body_that_is_no_json_is_refused() {
    let hub = A2aHub::start().await;
    let agent = hub.attach("echo");
    for (binding, version) in [(Rest10, ""), (Rest03, "/v1")] {
        let wanted = wanted(binding, -32700, [400, 400], "PARSE");
        for path in ["message:send", "message:stream", "tasks/t:cancel"] {
            let path = format!("{ECHO}{version}/{path}");
            let (status, body) = hub.post(&path, "{\"message\":").await;
            assert_eq!(binding.refusal(status, &body), wanted, "{path}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let body = format!(r#"{{"message":{deep}}}"#);
        let path = format!("{ECHO}{version}/message:send");
        let (status, body) = hub.post(&path, body).await;
        assert_eq!(binding.refusal(status, &body), invalid(binding));
        let malformed = hub
            .get(&format!("{ECHO}{version}/tasks?pageSize=%ff"))
            .await;
        assert_eq!(malformed.0, 400);
    }
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn other_methods_and_paths_are_refused_in_json() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach("echo");
    for (path, method, allowed) in [
        (ECHO.to_owned(), Method::GET, "POST"),
        (format!("{ECHO}/"), Method::PUT, "POST"),
        ("/a2a".to_owned(), Method::DELETE, "POST"),
        (format!("{ECHO}/message:send"), Method::GET, "POST"),
        (format!("{ECHO}/tasks"), Method::POST, "GET"),
        (format!("{ECHO}/tasks/t"), Method::DELETE, "GET"),
        (
            format!("{ECHO}/tasks/t:subscribe"),
            Method::PUT,
            "GET, POST",
        ),
        (format!("{ECHO}/v1/card"), Method::POST, "GET"),
        (format!("{ECHO}/v1/tasks:get"), Method::GET, "POST"),
    ] {
        let response = hub.ask(method, &path).send().await.unwrap();
        assert_eq!(response.status(), 405, "{path}");
        assert_eq!(response.headers()["allow"], allowed, "{path}");
        let body: Value = response.json().await.unwrap();
        assert!(body["error"]["message"].is_string(), "{body}");
        if path.trim_end_matches('/') == ECHO {
            assert!(body["id"].is_null() && body.get("id").is_some(), "{body}");
            let card = format!("its card is at {ECHO}/.well-known/agent-card.json");
            assert!(body.to_string().contains(&card), "{body}");
        }
    }
    for path in [
        "/nowhere",
        "/message:sned",
        "/v1",
        "/v1/nowhere",
        "/tasks/a/b",
        "/other/message:send",
    ] {
        let (status, body) = hub.post(&format!("{ECHO}{path}"), "{}").await;
        assert_eq!(
            (status, &body["error"]["code"]),
            (404, &json!(404)),
            "{path}"
        );
    }
    for path in ["/a2a/nowhere", "/a2a/agents", "/a2a/v1"] {
        let (status, body) = hub.get(path).await;
        assert_eq!(
            (status, &body["error"]["code"]),
            (404, &json!(-32601)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn errors_look_alike_to_a_client_that_names_no_version() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach("echo");
    for (method, is_new) in [
        ("SendMessage", true),
        ("SendMesage", true),
        ("message/send", false),
        ("message/sned", false),
    ] {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}});
        let (_, body) = hub.post(ECHO, &call.to_string()).await;
        let data = &body["error"]["data"];
        assert_eq!(data.is_array(), is_new, "{method}: {body}");
        assert_eq!(data.is_object(), !is_new, "{method}: {body}");
    }
    let (_, body) = hub.post(&format!("{ECHO}/message:sned"), "{}").await;
    let told = body["error"]["message"].as_str().unwrap();
    assert!(told.contains("/message:send"), "{told}");
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_not_found_and_the_id_is_echoed() {
    let hub = A2aHub::start().await;
    for binding in ALL {
        let caller = Caller {
            base: "/a2a/agents/nobody",
            ..Caller::new(&hub, binding)
        };
        let (status, body) = told(caller.send("hi")).await;
        let (_, _, reason) = binding.refusal(status, &body);
        assert_eq!((status, reason.as_str()), (404, "AGENT_NOT_FOUND"));
        if binding.is_rpc() {
            assert_eq!(body["id"], "r-1");
        }
    }
    for path in ["/a2a/agents/%FF", "/a2a/agents/a%2Fb", "/a2a/agents/%20"] {
        let (status, _) = hub
            .post(path, r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get"}"#)
            .await;
        assert_eq!(status, 404, "{path}");
    }
}
