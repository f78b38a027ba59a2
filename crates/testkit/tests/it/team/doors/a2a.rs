//! Callers of A2A: the official protocol in two versions, and Agno's dialect.

use jackfield_testkit::{Events, Web, answer};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{ANSWER, begin, expect_cancel, expect_shown, work};
use crate::team::duo;

/// Differences between the versions.
struct Version {
    header: Option<&'static str>,
    send: &'static str,
    stream: &'static str,
    get: &'static str,
    cancel: &'static str,
    message: fn(&str) -> Value,
}

const VERSIONS: [Version; 2] = [
    Version {
        header: Some("1.0"),
        send: "SendMessage",
        stream: "SendStreamingMessage",
        get: "GetTask",
        cancel: "CancelTask",
        message: |text| json!({"messageId": format!("m-{text}"), "role": "ROLE_USER", "parts": [{"text": text}]}),
    },
    Version {
        header: None,
        send: "message/send",
        stream: "message/stream",
        get: "tasks/get",
        cancel: "tasks/cancel",
        message: |text| json!({"kind": "message", "messageId": format!("m-{text}"), "role": "user", "parts": [{"kind": "text", "text": text}]}),
    },
];

impl Version {
    fn call(&self, web: &Web, base: &str, method: &str, params: &Value) -> RequestBuilder {
        let body = json!({"jsonrpc": "2.0", "id": "1", "method": method, "params": params});
        let request = web.ask(Method::POST, base).json(&body);
        match self.header {
            Some(version) => request.header("a2a-version", version),
            None => request,
        }
    }

    /// A result as `task`, `message`, `statusUpdate` or `artifactUpdate`, with its content.
    fn item(&self, result: &Value) -> (String, Value) {
        if self.header.is_some() {
            let (name, item) = result.as_object().unwrap().iter().next().unwrap();
            return (name.clone(), item.clone());
        }
        let name = match result["kind"].as_str().unwrap() {
            "status-update" => "statusUpdate",
            "artifact-update" => "artifactUpdate",
            name => name,
        };
        (name.to_owned(), result.clone())
    }
}

fn words(parts: &Value) -> String {
    let parts = parts.as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

fn made(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().into_iter().flatten();
    artifacts.map(|it| words(&it["parts"])).collect()
}

fn is(status: &Value, state: &str) -> bool {
    let told = status["state"].as_str().unwrap_or_default();
    told.trim_start_matches("TASK_STATE_").to_lowercase() == state
}

#[tokio::test]
async fn a_team_is_sent_a_message_and_its_task_is_read() {
    for version in &VERSIONS {
        let (hub, mut lead, mut dev, mut user) = duo().await;
        let web = hub.web();
        for (base, times) in [("/a2a/agents/duo", 1), ("/a2a/teams/duo", 2)] {
            let text = format!("why-{times}");
            let params = json!({"message": (version.message)(&text)});
            let request = version.call(&web, base, version.send, &params);
            let ((status, sent), ()) =
                tokio::join!(answer(request), work(&mut lead, &mut dev, &text));
            assert_eq!(status, 200, "{sent}");
            let (name, task) = version.item(&sent["result"]);
            assert_eq!(name, "task", "{sent}");
            assert!(is(&task["status"], "completed"), "{task}");
            assert_eq!(made(&task), ANSWER, "{task}");
            let request = version.call(&web, base, version.get, &json!({"id": task["id"]}));
            let (_, got) = answer(request).await;
            let got = &got["result"];
            assert!(is(&got["status"], "completed"), "{got}");
            assert_eq!(made(got), ANSWER, "{got}");
            expect_shown(&mut user, times).await;
        }
    }
}

#[tokio::test]
async fn a_teams_answer_is_streamed() {
    for version in &VERSIONS {
        let (hub, mut lead, mut dev, mut user) = duo().await;
        let params = json!({"message": (version.message)("why?")});
        let request = version.call(&hub.web(), "/a2a/agents/duo", version.stream, &params);
        let listen = async {
            let (mut heard, mut state) = (String::new(), Value::Null);
            let mut events = Events::of(request).await;
            while let Some(event) = events.maybe_next().await {
                let (name, item) = version.item(&event.data["result"]);
                match &*name {
                    "artifactUpdate" => heard += &words(&item["artifact"]["parts"]),
                    "statusUpdate" => state = item["status"].clone(),
                    _ => {}
                }
            }
            (heard, state)
        };
        let ((heard, state), ()) = tokio::join!(listen, work(&mut lead, &mut dev, "why?"));
        assert_eq!(heard, ANSWER);
        assert!(is(&state, "completed"), "{state}");
        expect_shown(&mut user, 1).await;
    }
}

#[tokio::test]
async fn a_cancelled_task_of_a_team_is_cancelled_at_all_who_work_on_it() {
    for version in &VERSIONS {
        let (hub, mut lead, mut dev, mut user) = duo().await;
        let web = hub.web();
        let params = json!({"message": (version.message)("why?")});
        let request = version.call(&web, "/a2a/agents/duo", version.stream, &params);
        let mut events = Events::of(request).await;
        let (_, task) = version.item(&events.next().await["result"]);
        let requests = begin(&mut lead, &mut dev, "why?").await;
        let request = version.call(
            &web,
            "/a2a/agents/duo",
            version.cancel,
            &json!({"id": task["id"]}),
        );
        let (_, cancelled) = answer(request).await;
        assert!(
            is(&cancelled["result"]["status"], "canceled"),
            "{cancelled}"
        );
        expect_cancel(&mut lead, &mut dev, &requests).await;
        user.until_rest(1).await;
        assert_eq!(user.screen.status("lead"), "idle");
        assert_eq!(user.screen.status("dev"), "idle");
    }
}

#[tokio::test]
async fn a_coordinator_asks_the_caller_of_the_team_and_the_task_goes_on() {
    for version in &VERSIONS {
        let (hub, mut lead, _dev, mut user) = duo().await;
        let web = hub.web();
        let send = |message: Value| {
            let params = json!({ "message": message });
            version.call(&web, "/a2a/agents/duo", version.send, &params)
        };
        let asking = async {
            let request = lead.expect_message("the weather?").await;
            let ask = json!({"type": "ask", "request_id": request, "ask_id": "q-1", "kind": "input", "text": "which city?"});
            lead.line.send(ask).await;
            request
        };
        let first = send((version.message)("the weather?"));
        let ((_, sent), request) = tokio::join!(answer(first), asking);
        let (_, task) = version.item(&sent["result"]);
        let state = task["status"]["state"].as_str().unwrap().to_lowercase();
        assert!(
            state.replace('_', "-").ends_with("input-required"),
            "{task}"
        );
        let mut reply = (version.message)("Rome");
        reply["taskId"] = task["id"].clone();
        let going_on = async {
            let told = lead.line.frame().await;
            assert_eq!(
                (&told["type"], &told["content"]),
                (&json!("answer"), &json!("Rome"))
            );
            lead.send_text(&request, "Sunny.").await;
            lead.ends(&request).await;
        };
        let ((_, sent), ()) = tokio::join!(answer(send(reply)), going_on);
        let (_, task) = version.item(&sent["result"]);
        assert!(is(&task["status"], "completed"), "{task}");
        assert_eq!(made(&task), "Sunny.", "{task}");
        user.until_rest(1).await;
        assert_eq!(user.screen.text("lead"), "Sunny.");
    }
}

#[tokio::test]
async fn a_team_has_a_card_and_the_hubs_card_names_it() {
    let (hub, _lead, _dev, _user) = duo().await;
    let web = hub.web();
    for base in ["/a2a/agents/duo", "/a2a/teams/duo"] {
        let (status, card) = web
            .get(&format!("{base}/.well-known/agent-card.json"))
            .await;
        assert_eq!(status, 200, "{card}");
        assert_eq!(card["name"], "duo");
    }
    let (_, card) = web.get("/.well-known/agent-card.json").await;
    assert!(card.to_string().contains("duo"), "{card}");
}

#[tokio::test]
async fn a_caller_of_the_seeds_dialect_calls_a_team() {
    let (hub, mut lead, mut dev, mut user) = duo().await;
    let web = hub.web();
    let request = |text: &str| {
        let parts = json!([{"kind": "text", "text": text}]);
        let message = json!({"messageId": text, "role": "user", "agentId": "duo", "contextId": "c", "parts": parts});
        json!({"jsonrpc": "2.0", "method": "message/send", "id": "1", "params": {"message": message}})
    };
    let send = web.post("/a2a/message/send", request("once"));
    let ((status, sent), ()) = tokio::join!(send, work(&mut lead, &mut dev, "once"));
    assert_eq!(status, 200, "{sent}");
    let task = &sent["result"]["task"];
    assert_eq!(task["status"], "completed");
    assert_eq!(words(&task["history"][1]["parts"]), ANSWER);

    let listen = async {
        let mut events = web.stream("/a2a/message/stream", request("twice")).await;
        let (mut heard, mut last) = (String::new(), None);
        while let Some(event) = events.maybe_next().await {
            if let Some(delta) = event.data["delta"].as_str() {
                heard += delta;
            }
            last = event.event;
        }
        (heard, last.unwrap())
    };
    let ((heard, last), ()) = tokio::join!(listen, work(&mut lead, &mut dev, "twice"));
    assert_eq!((&*heard, &*last), (ANSWER, "task_completed"));
    expect_shown(&mut user, 2).await;

    let events = web.stream("/a2a/message/stream", request("left")).await;
    let requests = begin(&mut lead, &mut dev, "left").await;
    drop(events);
    expect_cancel(&mut lead, &mut dev, &requests).await;
}
