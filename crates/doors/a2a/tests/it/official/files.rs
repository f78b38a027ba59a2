//! The bytes of files in REST of 0.3, on which its published clients disagree: each gets them as it gives them.

use jackfield_core::call::AgentHandle;
use jackfield_kit::testing::Scripted;
use jackfield_model::{Artifact, End, Event, FileSource, Part};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::official::harness::{A2aHub, ECHO, all_of, stream_of, told};

const PYTHON: &str = "python-httpx/0.28.1";
const NODE: &str = "node";

/// What a file holds: bytes that are no text, and a text that is base64 itself. Each in base64, and that in base64 again.
const FILES: [(&str, &str); 2] = [("/9j/4A==", "LzlqLzRBPT0="), ("YUdrPQ==", "WVVkclBRPT0=")];

fn as_client(request: RequestBuilder, client: Option<&str>) -> RequestBuilder {
    match client {
        Some(client) => request.header("User-Agent", client),
        None => request,
    }
}

fn send(hub: &A2aHub, how: &str, client: Option<&str>, bytes: &str) -> RequestBuilder {
    let body = format!(
        r#"{{"request":{{"messageId":"m-1","role":"ROLE_USER","content":[{{"file":{{"fileWithBytes":"{bytes}","mimeType":"a/b","name":"f"}}}}]}}}}"#
    );
    as_client(
        hub.request(&format!("{ECHO}/v1/message:{how}"), body),
        client,
    )
}

/// Answers a call with the file that it brings, whose bytes are told.
fn echo(serving: AgentHandle) -> String {
    let file = serving.call().message.files().next().unwrap().clone();
    let FileSource::Bytes(bytes) = &file.source else {
        panic!("{file:?}");
    };
    let bytes = bytes.to_string();
    serving.push(Event::Artifact(Artifact {
        id: "a".into(),
        parts: vec![Part::File(file)],
        ..Artifact::default()
    }));
    serving.finish(End::done());
    bytes
}

async fn echoed(agent: &mut Scripted) -> String {
    echo(agent.next_call().await)
}

fn bytes_in(parts: &Value) -> &str {
    let file = &parts[0]["file"];
    assert_eq!(
        (&file["mimeType"], &file["name"]),
        (&"a/b".into(), &"f".into())
    );
    file["fileWithBytes"].as_str().unwrap()
}

#[tokio::test]
async fn the_python_client_gets_bytes_in_base64_twice_and_others_once() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    for (once, twice) in FILES {
        for (client, bytes) in [(None, once), (Some(NODE), once), (Some(PYTHON), twice)] {
            let ((status, sent), seen) =
                tokio::join!(told(send(&hub, "send", client, bytes)), echoed(&mut agent));
            assert_eq!((status, &*seen), (200, once), "{client:?}: {sent}");
            let task = &sent["task"];
            assert_eq!(
                bytes_in(&task["artifacts"][0]["parts"]),
                bytes,
                "{client:?}"
            );
            assert_eq!(
                bytes_in(&task["history"][0]["content"]),
                bytes,
                "{client:?}"
            );

            let path = format!("{ECHO}/v1/tasks/{}", task["id"].as_str().unwrap());
            let look = hub.ask(Method::GET, &path);
            let (_, task) = told(as_client(look, client)).await;
            assert_eq!(
                bytes_in(&task["artifacts"][0]["parts"]),
                bytes,
                "{client:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_stream_has_the_bytes_as_its_client_does() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let (once, twice) = FILES[0];
    for (client, bytes) in [(NODE, once), (PYTHON, twice)] {
        let mut stream = stream_of(send(&hub, "stream", Some(client), bytes)).await;
        assert_eq!(echoed(&mut agent).await, once);
        let all = all_of(&mut stream).await;
        let mut updates = all.iter().filter_map(|it| it.get("artifactUpdate"));
        let update = updates.next().unwrap();
        assert_eq!(bytes_in(&update["artifact"]["parts"]), bytes, "{client}");
    }
}

#[tokio::test]
async fn a_form_with_kinds_has_bytes_in_base64_once_for_every_client() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let (bytes, _) = FILES[1];
    let body = format!(
        r#"{{"message":{{"kind":"message","messageId":"m-1","role":"user","parts":[{{"kind":"file","file":{{"bytes":"{bytes}"}}}}]}}}}"#
    );
    for client in [NODE, PYTHON] {
        let request = hub.request(&format!("{ECHO}/v1/message:send"), body.clone());
        let request = as_client(request, Some(client));
        let ((_, task), seen) = tokio::join!(told(request), echoed(&mut agent));
        assert_eq!(seen, bytes, "{client}");
        assert_eq!(task["artifacts"][0]["parts"][0]["file"]["bytes"], bytes);
    }
}
