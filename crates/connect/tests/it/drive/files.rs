//! Files of clients, requested in raw JSON over the hub's API.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use jackfield_testkit::answer;
use reqwest::Method;
use serde_json::{Value, json};

use crate::drive::fixture::{Fixture, pairs};

/// Writes files and prints a line.
const WRITES: &str = "echo content > made.txt; mkdir -p node_modules; echo x > node_modules/x; \
                      echo key > .env; echo made";

fn transfer(id: &str, end: &str) -> String {
    format!("/v1/agents/bob/transfers/{id}{end}")
}

/// Returns the end of a call for files of this client.
async fn done(fixture: &Fixture, client: &str) -> Value {
    let body = json!({"text": "go", "with_files": true, "client_id": client});
    fixture.call_with(body).await.until("done").await
}

/// Returns the agent's next signal about a transfer.
async fn next_signal(fixture: &Fixture, id: &str) -> Value {
    let path = transfer(id, "/signals?wait=20s");
    let (status, mut body) = fixture
        .hub
        .web()
        .post(&path, json!({"signal_type": "poll"}))
        .await;
    assert_eq!(status, 200, "{body}");
    body["signals"][0].take()
}

#[tokio::test]
async fn what_was_made_for_a_client_is_offered_and_can_be_fetched_as_often_as_one_likes() {
    let fixture = Fixture::start().await;
    let bob = fixture.shell(WRITES).await;
    let done = done(&fixture, "c-1").await;
    let offer = &done["file_transfer_offer"];
    assert_eq!(offer["file_count"], 1, "{done}");
    let id = offer["transfer_id"].as_str().unwrap();
    let size = usize::try_from(offer["zip_size"].as_u64().unwrap()).unwrap();
    let fetch = async |from: usize| {
        let asked = fixture
            .hub
            .web()
            .ask(Method::GET, &transfer(id, "/content"));
        let asked = asked.header("Range", format!("bytes={from}-"));
        let got = asked.send().await.unwrap();
        assert_eq!(got.status(), 206);
        got.bytes().await.unwrap()
    };
    let whole = fetch(0).await;
    assert_eq!(whole.len(), size);
    assert_eq!(fetch(size / 2).await, whole[size / 2..]);
    assert!(whole.windows(8).any(|name| name == b"made.txt"));
    assert!(!whole.windows(4).any(|name| name == b".env"));
    bob.stop().await;
}

#[tokio::test]
async fn without_a_client_and_without_files_nothing_is_offered() {
    let fixture = Fixture::start().await;
    let _bob = fixture.shell("cat > /dev/null").await;
    assert_eq!(done(&fixture, "c-1").await.get("file_transfer_offer"), None);
    fs::write(fixture.project().join("mine.txt"), "mine").unwrap();
    // The client's folder links to the project; project files aren't offered as the client's.
    assert_eq!(done(&fixture, "c-1").await.get("file_transfer_offer"), None);
    let open_call = fixture
        .call_with(json!({"text": "go", "with_files": true}))
        .await;
    let why =
        "no files are offered: the call names no client_id, and only folders of clients are sent";
    assert_eq!(
        open_call.transcript().await,
        pairs(&[("status", why), ("done", "")])
    );
}

/// Returns the status chunks of a call for files of the client `c-1`.
async fn statuses(fixture: &Fixture) -> Vec<String> {
    let body = json!({"text": "go", "with_files": true, "client_id": "c-1"});
    let transcript = fixture.call_with(body).await.transcript().await;
    let statuses = transcript.into_iter().filter(|(kind, _)| kind == "status");
    statuses.map(|(_, text)| text).collect()
}

#[tokio::test]
async fn what_is_not_sent_is_told_by_reason_and_name_whether_or_not_there_is_an_archive() {
    let fixture = Fixture::start().await;
    let script = "rm -rf made.txt; mkdir -p build empty; echo x > build/x; echo key > .env.local; echo x > 'a:b'; \
                  ln -sf /etc/hosts far; [ \"$(cat)\" = go ] || echo content > made.txt";
    let _bob = fixture.shell(script).await;
    let why = r#"not sent: never sent: ".env.local", "build/"; names that cannot be sent: "a:b" (begins like that of a drive); links: "far"; empty folders: "empty/""#;
    assert_eq!(statuses(&fixture).await, [why]);
    let body = json!({"text": "more", "with_files": true, "client_id": "c-1"});
    let transcript = fixture.call_with(body).await.transcript().await;
    assert!(
        transcript.contains(&("status".to_owned(), why.to_owned())),
        "{transcript:?}"
    );
}

#[tokio::test]
async fn what_an_agent_writes_through_links_to_the_project_is_told() {
    let fixture = Fixture::start().await;
    let script = "mkdir -p plots; cat > plots/a.txt; echo report > report.txt";
    let _bob = fixture.shell(script).await;
    // The first call changes the project's files; the second call finds the changes behind links.
    fixture
        .call_with(json!({"text": "go"}))
        .await
        .until("done")
        .await;
    let transcript = statuses(&fixture).await;
    assert_eq!(transcript.len(), 1, "{transcript:?}");
    let expected =
        r#"files of the project, changed during this call: "plots/a.txt", "report.txt";"#;
    assert!(
        transcript[0].starts_with("not sent: ") && transcript[0].contains(expected),
        "{transcript:?}"
    );
}

#[tokio::test]
async fn what_was_in_the_project_before_a_call_is_not_told() {
    let fixture = Fixture::start().await;
    fs::write(fixture.project().join("mine.txt"), "mine").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let file = fs::File::options()
        .write(true)
        .open(fixture.project().join("mine.txt"));
    file.unwrap().set_modified(long_ago).unwrap();
    let _bob = fixture.shell("cat mine.txt; echo x > made.txt").await;
    assert_eq!(statuses(&fixture).await, Vec::<String>::new());
}

#[tokio::test]
async fn files_that_are_no_longer_kept_are_told_so() {
    let fixture = Fixture::start().await;
    let bob = fixture.shell(WRITES).await;
    let done = done(&fixture, "c-1").await;
    let id = done["file_transfer_offer"]["transfer_id"].as_str().unwrap();
    bob.stop().await;
    let _bob = fixture.shell(WRITES).await;
    let offer = json!({"signal_type": "offer", "payload": "v=0"});
    let path = transfer(id, "/signals?wait=20s");
    let (status, body) = fixture.hub.web().post(&path, offer).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["signals"][0]["signal_type"], "failed", "{body}");
    let reason = body["signals"][0]["payload"].as_str().unwrap();
    assert!(reason.contains("no longer has these files"), "{body}");
}

#[tokio::test]
async fn an_archive_that_cannot_be_taken_is_refused_when_it_is_announced() {
    let fixture = Fixture::start().await;
    let _bob = fixture.shell(WRITES).await;
    let good = json!({"transfer_id": "t-1", "zip_size": 5, "zip_sha256": "ab".repeat(32), "file_count": 1});
    for (changes, expected) in [
        (json!({"transfer_id": "no-client"}), "client_id"),
        (
            json!({"transfer_id": "large", "client_id": "c-1", "zip_size": (200 << 20) + 1}),
            "limit",
        ),
        (
            json!({"transfer_id": "many", "client_id": "c-1", "file_count": 5001}),
            "limit",
        ),
    ] {
        let mut offer = good.clone();
        for (name, value) in changes.as_object().unwrap() {
            offer[name] = value.clone();
        }
        let (status, made) = fixture
            .hub
            .web()
            .post("/v1/agents/bob/transfers", offer)
            .await;
        assert_eq!(status, 201, "{made}");
        let signal = next_signal(&fixture, changes["transfer_id"].as_str().unwrap()).await;
        assert_eq!(signal["signal_type"], "failed", "{signal}");
        assert!(
            signal["payload"].as_str().unwrap().contains(expected),
            "{signal}"
        );
    }
}

#[tokio::test]
async fn what_is_not_what_was_announced_does_not_come_into_the_folder() {
    let fixture = Fixture::start().await;
    let _bob = fixture.shell(WRITES).await;
    let offer = json!({"transfer_id": "t-1", "zip_size": 5, "zip_sha256": "ab".repeat(32), "file_count": 1, "client_id": "c-1"});
    let (status, made) = fixture
        .hub
        .web()
        .post("/v1/agents/bob/transfers", offer)
        .await;
    assert_eq!(status, 201, "{made}");
    let prepared = next_signal(&fixture, "t-1").await;
    assert_eq!(prepared["signal_type"], "prepared");
    assert_eq!(prepared["payload"], r#"{"received":0}"#);
    let path = transfer("t-1", "/content");
    let sent = fixture.hub.web().ask(Method::PUT, &path).body("12345");
    let (status, sent) = answer(sent).await;
    assert_eq!(status, 204, "{sent}");
    let refused = next_signal(&fixture, "t-1").await;
    assert_eq!(refused["signal_type"], "failed", "{refused}");
    assert!(refused["payload"].as_str().unwrap().contains("SHA-256"));
    assert!(!fixture.project().join(".bridge-clients/c-1").exists());
    assert_eq!(fs::read_dir(fixture.parts()).unwrap().count(), 0, "no part");
}
