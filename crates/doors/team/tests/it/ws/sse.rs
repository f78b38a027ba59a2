//! The stream of envelopes.

use jackfield_core::principal::Principal;
use jackfield_kit::testing::{SOON, Sse, SseReader};
use jackfield_model::{AgentId, Event};
use serde_json::{Value, json};

use crate::ws::harness::*;

async fn get(hub: &TeamHub, path: &str, headers: &[(&str, &str)]) -> reqwest::Response {
    let url = format!("http://{}/v1/teams/{path}", hub.addr);
    let mut request = reqwest::Client::new().get(url).timeout(SOON);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    soon(request.send()).await.unwrap()
}

/// A stream whose snapshot was read.
async fn stream(hub: &TeamHub, path: &str, headers: &[(&str, &str)]) -> (SseReader, Value) {
    let mut reader = SseReader::of(get(hub, path, headers).await).await;
    let first = reader.next().await.unwrap();
    assert_eq!(first.event.as_deref(), Some("snapshot"));
    (reader, first.data)
}

/// All envelopes up to the one that says that the team does nothing any more.
async fn until_idle(reader: &mut SseReader) -> Vec<Sse> {
    let mut all = Vec::new();
    loop {
        let next = reader.next().await.unwrap();
        assert_eq!(next.event.as_deref(), Some("envelope"));
        let is_idle =
            next.data["event_source_type"] == "TEAM" && next.data["data"]["new_status"] == "IDLE";
        all.push(next);
        if is_idle {
            return all;
        }
    }
}

#[tokio::test]
async fn a_reader_gets_the_snapshot_then_the_seeds_envelopes() {
    let hub = TeamHub::start().await;
    let mut agents = hub.nested();
    let (mut reader, snapshot) = stream(&hub, "web/events", &[]).await;
    assert_eq!(snapshot["team"]["id"], "web");
    assert_eq!(snapshot["team"]["agents"].as_array().unwrap().len(), 4);
    assert_eq!(
        (&snapshot["tasks"], &snapshot["approvals"]),
        (&json!([]), &json!([]))
    );
    let (mut speaker, mut viewer) = (hub.viewer("web").await, hub.viewer("web").await);
    speaker.say("go", Some("dba")).await;
    let working = agents[3].next_call().await;
    working.push(Event::text("done"));
    working.finish(done());
    let flat = viewer.until_idle().await;
    let all = until_idle(&mut reader).await;
    assert_eq!(all.len(), flat.len());
    for (number, (one, flat)) in (1..).zip(all.iter().zip(&flat)) {
        let stamp = &flat["payload"]["team_stream_event_envelope"];
        assert_eq!(one.data["sequence"], number);
        assert_eq!(
            (&one.data["sequence"], &one.data["team_run_id"]),
            (&stamp["sequence"], &stamp["team_run_id"])
        );
        let run = stamp["team_run_id"].as_str().unwrap();
        assert_eq!(one.id.as_deref(), Some(&*format!("{run}:{number}")));
        assert_eq!(one.data["team_id"], "web");
    }
    assert_eq!(all[0].data["data"], json!({"new_status": "RUNNING"}));
    // Three wrappers around what the member said.
    let is_word = |one: &&Sse| one.data.to_string().contains("SEGMENT_CONTENT");
    let word = &all.iter().find(is_word).unwrap().data;
    let mut inner = word;
    for (node, team) in [("backend", "back"), ("db", "db"), ("core", "core")] {
        assert_eq!(inner["event_source_type"], "SUB_TEAM");
        assert_eq!(inner["data"]["sub_team_node_name"], node);
        let outer = inner;
        inner = &inner["data"]["sub_team_event"];
        assert_eq!(inner["team_id"], team);
        assert_ne!(inner["event_id"], outer["event_id"]);
    }
    assert_eq!(inner["event_source_type"], "AGENT");
    assert_eq!(inner["data"]["agent_name"], "dba");
    let said = &inner["data"]["agent_event"];
    assert_eq!(
        (&said["event_type"], &said["agent_id"]),
        (&json!("segment_event"), &json!("a-dba"))
    );
    assert_eq!(said["data"]["payload"], json!({"delta": "done"}));
}

#[tokio::test]
async fn a_reader_that_comes_back_goes_on_where_it_was() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    viewer.say("go", None).await;
    boss.next_call().await.finish(done());
    viewer.until_idle().await;
    let (mut reader, _) = stream(&hub, "web/events", &[]).await;
    let all = until_idle(&mut reader).await;
    let third = all[2].id.clone().unwrap();
    let back = [("Last-Event-ID", third.as_str())];
    let run = third.strip_suffix(":3").unwrap();
    let with_run = format!("web/events?after_sequence=3&team_run_id={run}");
    for (path, headers) in [
        ("web/events", &back[..]),
        ("web/events?replay=false", &back[..]),
        ("web/events?after_sequence=3", &[][..]),
        (&*with_run, &[][..]),
    ] {
        let (mut reader, _) = stream(&hub, path, headers).await;
        assert_eq!(until_idle(&mut reader).await, all[3..], "{path}");
    }
    // A run that is not known any more: all that is retained.
    let other = [("Last-Event-ID", "run_of_yesterday:3")];
    let (mut reader, _) = stream(&hub, "web/events", &other).await;
    assert_eq!(until_idle(&mut reader).await, all);
    let other = "web/events?after_sequence=3&team_run_id=run_of_yesterday";
    let (mut reader, _) = stream(&hub, other, &[]).await;
    assert_eq!(until_idle(&mut reader).await, all);
    // Nothing of the past.
    let (mut reader, _) = stream(&hub, "web/events?replay=false", &[]).await;
    viewer.say("again", None).await;
    boss.next_call().await.finish(done());
    let next = until_idle(&mut reader).await;
    assert_eq!(next[0].data["sequence"], all.len() as u64 + 1);
}

#[tokio::test]
async fn the_snapshot_has_the_open_questions() {
    let hub = TeamHub::start().await;
    let mut agents = hub.nested();
    let mut viewer = hub.viewer("web").await;
    viewer.say("go", Some("head")).await;
    let working = agents[2].next_call().await;
    ask(&working, "call_1");
    viewer.until("TOOL_APPROVAL_REQUESTED").await;
    let (_, snapshot) = stream(&hub, "web/events", &[]).await;
    assert_eq!(
        snapshot["approvals"],
        json!([{
            "route_key": "backend/db/head", "invocation_id": "call_1",
            "tool_name": "rm", "arguments": {"path": "/tmp/x"}, "message": "May I?",
        }])
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let hub = TeamHub::start().await;
    let _boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    for (path, headers, status) in [
        ("x/events", &[][..], 404),
        ("web/events?after_sequence=x", &[][..], 400),
        ("web/events?tasks=delta", &[][..], 400),
        ("web/events", &[("Last-Event-ID", "x")][..], 400),
        ("web/events", &[("Last-Event-ID", "run:-1")][..], 400),
        ("web/events", &[("Upgrade", "websocket")][..], 400),
    ] {
        let response = get(&hub, path, headers).await;
        assert_eq!(response.status().as_u16(), status, "{path} {headers:?}");
        let body: Value = response.json().await.unwrap();
        assert!(
            body["error"].is_string() && body["message"].is_string(),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_stream_says_why_it_ends() {
    let hub = TeamHub::start_with(false, Default::default()).await;
    let (ann, ann_as) = hub.token("ann", &["agent:*"]).await;
    let (other, other_as) = hub.token("ann", &["agent:*"]).await;
    let _boss = hub.attach_for(&ann_as, "a-boss");
    for team in ["one", "two", "three"] {
        hub.team_for(&ann_as, team, &["boss=a-boss"]);
    }
    let (ann, other) = (format!("Bearer {ann}"), format!("Bearer {other}"));
    let (mut removed, _) = stream(&hub, "one/events", &[("Authorization", &ann)]).await;
    let (mut revoked, _) = stream(&hub, "two/events", &[("Authorization", &other)]).await;
    let (mut stopped, _) = stream(&hub, "three/events", &[("Authorization", &ann)]).await;

    let id = AgentId::parse("one").unwrap();
    hub.teams.remove(&Principal::local(), &id).unwrap();
    let last = removed.next().await.unwrap();
    assert_eq!(
        (last.event.as_deref(), &last.data["error"]),
        (Some("failed"), &json!("not_found"))
    );
    assert_eq!(removed.next().await, None);

    let token = other_as.grant.token.unwrap();
    hub.hub.tokens().revoke(token).await.unwrap();
    let last = revoked.next().await.unwrap();
    assert_eq!(
        (last.event.as_deref(), &last.data["error"]),
        (Some("failed"), &json!("unauthorized"))
    );
    assert_eq!(revoked.next().await, None);

    // A run, so that there is a last word.
    let message = jackfield_model::Message::text("go");
    let said = hub
        .teams
        .send_message(&ann_as, "three", None, message, None)
        .await;
    said.unwrap();
    hub.stop().await;
    let mut rest = Vec::new();
    while let Some(next) = stopped.next().await {
        rest.push(next);
    }
    let [.., status, last] = &rest[..] else {
        panic!("{rest:?}")
    };
    assert_eq!(status.event.as_deref(), Some("envelope"));
    assert!(
        rest.iter()
            .any(|one| one.data["data"]["new_status"] == "SHUTTING_DOWN")
    );
    assert_eq!(
        (last.event.as_deref(), &last.data["error"]),
        (Some("failed"), &json!("stopping"))
    );
}
