//! Where the specification leaves no choice: what is refused, and what an answer says besides.

use jackfield_core::{agent::Profile, limits::Limits, principal::Principal};
use jackfield_model::{Ask, AskKind, Done, DoneState, End, Event, Extension};
use reqwest::Method;
use serde_json::{Value, json};

use crate::official::{
    callers::{ALL, Binding, Caller},
    harness::{A2aHub, ECHO, all_of, answer, answered, told},
};

use Binding::{Rest03, Rest10, Rpc03, Rpc10};

/// The field that a refusal names.
fn field(binding: Binding, body: &Value) -> &Value {
    match binding {
        Rpc10 => &body["error"]["data"][1]["fieldViolations"][0]["field"],
        Rest10 => &body["error"]["details"][1]["fieldViolations"][0]["field"],
        Rpc03 => &body["error"]["data"]["field"],
        Rest03 => &body["data"]["field"],
    }
}

#[tokio::test]
async fn an_empty_version_means_0_3_where_methods_of_1_0_do_not_exist() {
    let hub = A2aHub::start().await;
    let agent = hub.attach("echo");
    let call = |method: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}});
    for method in ["SendMessage", "ListTasks"] {
        let request = hub.request(ECHO, call(method).to_string());
        let (status, body) = told(request.header("A2A-Version", "")).await;
        assert_eq!(
            (status, &body["error"]["code"]),
            (200, &json!(-32009)),
            "{body}"
        );
        assert_eq!(body["error"]["data"][0]["reason"], "VERSION_NOT_SUPPORTED");
    }
    let request = hub.request(ECHO, call("tasks/list").to_string());
    let (_, body) = told(request.header("A2A-Version", "")).await;
    assert_eq!(body["result"]["tasks"], json!([]), "{body}");
    let request = Caller::new(&hub, Rest10).send("hi");
    let (status, body) = told(request.header("A2A-Version", "")).await;
    let reason = &body["error"]["details"][0]["reason"];
    assert_eq!((status, reason), (400, &json!("VERSION_NOT_SUPPORTED")));
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn messages_keep_to_the_spelling_of_their_version() {
    let hub = A2aHub::start().await;
    let agent = hub.attach("echo");
    let new = Rpc10.message("hi", "");
    let old = Rpc03.message("hi", "");
    for (binding, message, named) in [
        // In 0.3 everything says what it is.
        (
            Rpc03,
            old.replace(r#""kind":"text","#, ""),
            "message.parts[0].kind",
        ),
        (Rpc03, old.replace(r#""role":"user","#, ""), "message.role"),
        // Names of 0.3 are none in 1.0.
        (Rpc10, new.replace("ROLE_USER", "user"), "message.role"),
        (Rest10, new.replace("ROLE_USER", "user"), "message.role"),
        (
            Rpc10,
            new.replace(r#""text":"hi""#, r#""file":{"bytes":"aGk="}"#),
            "message.parts[0].file",
        ),
        // What is sent to an agent is its caller's word.
        (
            Rpc10,
            new.replace("ROLE_USER", "ROLE_AGENT"),
            "message.role",
        ),
        (
            Rest10,
            new.replace("ROLE_USER", "ROLE_AGENT"),
            "message.role",
        ),
        (
            Rpc03,
            old.replace(r#""user""#, r#""agent""#),
            "message.role",
        ),
        (
            Rest03,
            Rest03.message("hi", "").replace("ROLE_USER", "ROLE_AGENT"),
            "message.role",
        ),
    ] {
        let caller = Caller::new(&hub, binding);
        let (status, body) = told(caller.with(false, &message, "")).await;
        let (_, _, reason) = binding.refusal(status, &body);
        assert_eq!(reason, "INVALID_PARAMS", "{binding:?} {message}: {body}");
        assert_eq!(
            field(binding, &body),
            named,
            "{binding:?} {message}: {body}"
        );
    }
    for (more, named) in [
        (r#""blocking":false"#, "configuration.blocking"),
        (
            r#""pushNotificationConfig":{"url":"https://example.com"}"#,
            "configuration.pushNotificationConfig",
        ),
    ] {
        let caller = Caller::new(&hub, Rpc10);
        let more = format!(r#","configuration":{{{more}}}"#);
        let (_, body) = told(caller.with(false, &new, &more)).await;
        assert_eq!(field(Rpc10, &body), named, "{body}");
    }
    for binding in [Rpc10, Rest10] {
        let caller = Caller::new(&hub, binding);
        let (_, body) = told(caller.list("status", r#""completed""#)).await;
        assert_eq!(field(binding, &body), "status", "{body}");
    }
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn a_request_without_an_id_is_not_run() {
    let hub = A2aHub::start().await;
    let agent = hub.attach("echo");
    for binding in [Rpc10, Rpc03] {
        let method = if binding.is_new() {
            "SendMessage"
        } else {
            "message/send"
        };
        let message = binding.message("hi", "");
        let body =
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"message":{message}}}}}"#);
        let (status, body) = hub.post(ECHO, body).await;
        assert_eq!(
            (status, &body["error"]["code"]),
            (200, &json!(-32600)),
            "{body}"
        );
        assert_eq!(body["id"], Value::Null);
        assert!(
            body["error"]["message"]
                .as_str()
                .unwrap()
                .contains("id is missing"),
            "{body}"
        );
    }
    let (_, page) = hub.get(&format!("{ECHO}/tasks")).await;
    assert_eq!(page["totalSize"], 0);
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn a_stranger_gets_back_the_id_of_the_request_unless_that_is_large() {
    let hub = A2aHub::start_with(false, Limits::default()).await;
    let _agent = hub.attach("echo");
    for binding in [Rpc10, Rpc03] {
        let caller = Caller::new(&hub, binding);
        let (status, body) = told(caller.send("hi")).await;
        assert_eq!((status, &body["id"]), (401, &json!("r-1")), "{body}");
        let (status, body) = told(caller.send(&"x".repeat(64 << 10))).await;
        assert_eq!((status, &body["id"]), (401, &Value::Null));
    }
}

#[tokio::test]
async fn errors_of_rest_are_of_the_protocols_own_type() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach("echo");
    for (method, path) in [
        (Method::GET, "/tasks/none"),
        (Method::GET, "/nowhere"),
        (Method::DELETE, "/tasks"),
        (Method::GET, "/extendedAgentCard"),
    ] {
        let request = || hub.ask(method.clone(), &format!("{ECHO}{path}"));
        let response = request().send().await.unwrap();
        assert!(response.status().is_client_error());
        assert_eq!(
            response.headers()["content-type"],
            "application/a2a+json",
            "{path}"
        );
        let plain = request().header("Accept", "application/json");
        let response = plain.send().await.unwrap();
        assert_eq!(
            response.headers()["content-type"],
            "application/json",
            "{path}"
        );
    }
    let old = hub.ask(Method::GET, &format!("{ECHO}/v1/tasks/none"));
    let response = old.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
}

#[tokio::test]
async fn an_answer_says_which_of_the_declared_extensions_are_active() {
    let hub = A2aHub::start().await;
    let extension = |uri: &str| Extension {
        uri: uri.into(),
        ..Extension::default()
    };
    let profile = Profile {
        extensions: vec![extension("urn:a"), extension("urn:b")],
        ..Profile::default()
    };
    let mut agent = hub.attach_as(&Principal::local(), "echo", profile);
    for binding in ALL {
        let name = match binding.is_new() {
            true => "A2A-Extensions",
            false => "X-A2A-Extensions",
        };
        let caller = Caller::new(&hub, binding);
        let request = caller.send("hi").header(name, "urn:x, urn:b");
        let (response, ()) = tokio::join!(
            async { request.send().await.unwrap() },
            answered(&mut agent, "ok")
        );
        assert_eq!(response.headers()[name], "urn:b", "{binding:?}");
        let (response, ()) = tokio::join!(
            async { caller.send("hi").send().await.unwrap() },
            answered(&mut agent, "ok")
        );
        assert!(!response.headers().contains_key(name), "{binding:?}");
    }
    // The same where the request names the agent.
    let body = format!(
        r#"{{"tenant":"echo","message":{}}}"#,
        Rest10.message("hi", "")
    );
    let request = hub.request("/a2a/message:stream", body);
    let request = request.header("A2A-Extensions", "urn:a,urn:b");
    let (response, ()) = tokio::join!(
        async { request.send().await.unwrap() },
        answered(&mut agent, "ok")
    );
    assert_eq!(response.headers()["A2A-Extensions"], "urn:a, urn:b");
}

#[tokio::test]
async fn a_streamed_reply_has_no_empty_parts() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    for binding in ALL {
        let caller = Caller::new(&hub, binding);
        let mut stream = caller.open(caller.stream("hi")).await;
        let serving = agent.next_call().await;
        serving.push(Event::text("one "));
        answer(serving, "two");
        for event in all_of(&mut stream).await {
            let told = event.to_string();
            assert!(!told.contains(r#""text":"""#), "{binding:?}: {told}");
        }
    }
}

#[tokio::test]
async fn what_an_agent_ends_with_is_told_once() {
    for state in [DoneState::InputRequired, DoneState::Rejected] {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, Rpc10);
        let end = || {
            End::Done(Box::new(Done {
                state,
                result: Some("which one?".to_owned()),
                ..Done::default()
            }))
        };
        let mut stream = caller.open(caller.stream("book")).await;
        agent.next_call().await.finish(end());
        let told: Vec<String> = all_of(&mut stream)
            .await
            .iter()
            .map(Value::to_string)
            .collect();
        assert_eq!(told.concat().matches("which one?").count(), 1, "{told:?}");
        assert!(told.last().unwrap().contains("which one?"));
        let ends = async { agent.next_call().await.finish(end()) };
        let (body, _) = tokio::join!(caller.ok(caller.send("book")), ends);
        let task = Rpc10.sent_task(&body);
        assert_eq!(task["status"]["message"]["parts"][0]["text"], "which one?");
        assert!(
            task.get("artifacts").is_none_or(|it| *it == json!([])),
            "{task}"
        );
    }
}

#[tokio::test]
async fn a_question_while_it_works_is_told_once() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let caller = Caller::new(&hub, Rpc10);
    let mut stream = caller.open(caller.stream("book")).await;
    let serving = agent.next_call().await;
    serving.ask(Ask {
        id: "q".into(),
        kind: AskKind::Input,
        text: "which one?".into(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    });
    let told: Vec<String> = all_of(&mut stream)
        .await
        .iter()
        .map(Value::to_string)
        .collect();
    assert_eq!(told.concat().matches("which one?").count(), 1, "{told:?}");
}

/// The agent answers in a word, without any work.
async fn says_a_word(agent: &mut jackfield_kit::testing::Scripted) {
    let serving = agent.next_call().await;
    serving.push(Event::text("hi"));
    serving.finish(End::Done(Box::new(Done {
        is_message: true,
        ..Done::default()
    })));
}

#[tokio::test]
async fn a_bare_message_names_its_task_which_is_listed_like_any_other() {
    for binding in ALL {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let (body, ()) = tokio::join!(caller.ok(caller.send("hello")), says_a_word(&mut agent));
        let result = binding.result(&body);
        let message = match binding {
            Rpc03 => &result,
            Rpc10 | Rest10 | Rest03 => &result["message"],
        };
        let told = message["taskId"].as_str();
        let told = told
            .unwrap_or_else(|| panic!("{binding:?}: {body}"))
            .to_owned();
        // A stream begins before the hub knows: the same answer is a task there.
        let mut stream = caller.open(caller.stream("hello")).await;
        let first = caller.next(&mut stream).await.unwrap();
        let streamed = match binding {
            Rpc03 => &first["id"],
            Rpc10 | Rest10 | Rest03 => &first["task"]["id"],
        };
        let streamed = streamed.as_str().unwrap().to_owned();
        says_a_word(&mut agent).await;
        all_of(&mut stream).await;
        let page = binding.result(&caller.ok(caller.list("pageSize", "10")).await);
        let listed = page["tasks"].as_array().unwrap().iter();
        let mut listed: Vec<_> = listed.map(|task| task["id"].as_str().unwrap()).collect();
        listed.sort_unstable();
        let mut all = [told.as_str(), streamed.as_str()];
        all.sort_unstable();
        assert_eq!(
            listed, all,
            "{binding:?}: nothing that the caller was not told of"
        );
        for id in all {
            let task = binding.result(&caller.ok(caller.get(id)).await);
            assert_eq!(task["status"]["state"], binding.state("completed"));
        }
    }
}
