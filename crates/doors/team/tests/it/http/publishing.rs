//! What outside runtimes publish: who may say what, kept whole, all or none.

use jackfield_core::{agent::Share, limits::Limits, units::Size};
use reqwest::Method;
use serde_json::{Value, json};

use crate::http::harness::{TeamHub, is_refused, team};

const EVENTS: &str = "/v1/teams/all/events";

fn status_of(name: &str, status: &str) -> Value {
    json!({
        "event_source_type": "AGENT",
        "data": {
            "agent_name": name,
            "agent_event": {"event_type": "agent_status_updated", "data": {"new_status": status}},
        },
    })
}

fn within(node: &str, team: &str, inner: &Value) -> Value {
    json!({
        "team_id": team,
        "event_source_type": "SUB_TEAM",
        "data": {"sub_team_node_name": node, "sub_team_event": inner},
    })
}

#[tokio::test]
async fn an_envelope_is_completed_numbered_and_otherwise_kept_as_it_is() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    let mut envelope = status_of("lead", "executing_tool");
    envelope["flavour"] = json!({"deep": [1, 2.50, "\u{e9}"]});
    envelope["data"]["agent_event"]["data"]["extra"] = json!("kept");
    envelope["sequence"] = json!(7000);
    let (status, accepted) = hub.post(EVENTS, envelope.clone()).await;
    assert_eq!(status, 202);
    let run = accepted["team_run_id"].as_str().unwrap();
    assert_eq!(
        accepted,
        json!({"accepted": 1, "team_run_id": run, "last_sequence": 1})
    );
    let (_, shown) = hub.get("/v1/teams/all").await;
    assert_eq!(shown["agents"][0]["status"], "executing_tool");
    assert_eq!(
        (&shown["run"]["id"], &shown["run"]["sequence"]),
        (&json!(run), &json!(1))
    );

    let told = hub.events("all").await.next().await.unwrap();
    assert_eq!(told.event.as_deref(), Some("envelope"));
    assert_eq!(told.id, Some(format!("{run}:1")));
    let mut data = told.data;
    assert_eq!(
        (&data["sequence"], &data["team_run_id"]),
        (&json!(1), &json!(run))
    );
    assert_eq!(data["team_id"], "all");
    assert_eq!(data["event_id"].as_str().unwrap().len(), 36);
    assert!(data["timestamp"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        data["data"]["agent_event"]["agent_id"], "a",
        "the hub knows who it is"
    );
    for added in [
        "team_run_id",
        "team_id",
        "event_id",
        "timestamp",
        "sequence",
    ] {
        data.as_object_mut().unwrap().remove(added);
    }
    data["data"]["agent_event"]
        .as_object_mut()
        .unwrap()
        .remove("agent_id");
    envelope.as_object_mut().unwrap().remove("sequence");
    assert_eq!(data, envelope);
}

#[tokio::test]
async fn a_list_is_shown_in_its_order_among_the_rest() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    let list = ["idle", "executing_tool", "idle"].map(|status| status_of("lead", status));
    let (status, accepted) = hub.post(EVENTS, json!(list)).await;
    assert_eq!(
        (status, &accepted["accepted"], &accepted["last_sequence"]),
        (202, &json!(3), &json!(3))
    );
    let task = json!({"tasks": [{"task_name": "x", "assignee_name": "lead"}]});
    assert_eq!(hub.post("/v1/teams/all/tasks", task).await.0, 201);
    let nested = within("backend", "all", &status_of("chief", "idle"));
    let (_, accepted) = hub.post(EVENTS, nested).await;
    assert_eq!(accepted["last_sequence"], 5);
    let mut events = hub.events("all").await;
    let mut kinds = Vec::new();
    for _ in 0..5 {
        let envelope = events.next().await.unwrap().data;
        kinds.push(envelope["event_source_type"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds, ["AGENT", "AGENT", "AGENT", "TASK_PLAN", "SUB_TEAM"]);
}

#[tokio::test]
async fn what_is_published_to_an_inner_team_is_shown_in_the_outer_one() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    hub.post(EVENTS, status_of("lead", "idle")).await;
    let (status, _) = hub
        .post(
            "/v1/teams/back/events",
            status_of("chief", "executing_tool"),
        )
        .await;
    assert_eq!(status, 202);
    let mut events = hub.events("all").await;
    events.next().await.unwrap();
    let told = events.next().await.unwrap().data;
    assert_eq!(told["data"]["sub_team_node_name"], "backend");
    let inner = &told["data"]["sub_team_event"];
    assert_eq!(
        (&inner["team_id"], &inner["data"]["agent_name"]),
        (&json!("back"), &json!("chief"))
    );
}

#[tokio::test]
async fn forged_names_and_nesting_are_refused_by_field_and_nothing_is_shown() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    let with = |pointer: &str, value: Value| {
        let mut envelope = within(
            "backend",
            "all",
            &within("store", "back", &status_of("dba", "idle")),
        );
        *envelope.pointer_mut(pointer).unwrap() = value;
        envelope
    };
    let deep = (0..17).fold(status_of("lead", "idle"), |inner, _| {
        within("backend", "all", &inner)
    });
    let no_name = json!({"event_source_type": "AGENT", "data": {"agent_event": {"event_type": "error_event", "data": {}}}});
    for (body, word) in [
        (status_of("stranger", "idle"), "\"data.agent_name\""),
        (status_of("backend", "idle"), "\"data.agent_name\""),
        (status_of("dba", "idle"), "\"data.agent_name\""),
        (with("/team_id", json!("back")), "\"team_id\""),
        (with("/team_id", json!("other")), "\"team_id\""),
        (
            with("/data/sub_team_node_name", json!("lead")),
            "\"data.sub_team_node_name\"",
        ),
        (
            with("/data/sub_team_node_name", json!("store")),
            "\"data.sub_team_node_name\"",
        ),
        (
            with("/data/sub_team_event/team_id", json!("all")),
            "\"data.sub_team_event.team_id\"",
        ),
        (
            with("/data/sub_team_event/data/sub_team_node_name", json!("dba")),
            "\"data.sub_team_event.data.sub_team_node_name\"",
        ),
        (
            with(
                "/data/sub_team_event/data/sub_team_event/data/agent_name",
                json!("lead"),
            ),
            "\"data.sub_team_event.data.sub_team_event.data.agent_name\"",
        ),
        (
            with("/data/sub_team_event", json!(5)),
            "data.sub_team_event",
        ),
        (
            with("/event_source_type", json!("PERSON")),
            "\"event_source_type\"",
        ),
        (deep, "16"),
        (no_name, "data.agent_name"),
        (
            json!({"event_source_type": "TEAM", "data": {"new_status": "DANCING"}}),
            "\"data.new_status\"",
        ),
        (
            json!({"event_source_type": "TASK_PLAN", "data": {}}),
            "\"data\"",
        ),
        (json!([]), "empty"),
        (json!("x"), ""),
        (json!(null), ""),
        (json!([[]]), "[0]"),
    ] {
        is_refused(&hub.post(EVENTS, body).await, 400, "invalid", word);
    }
    for text in ["", "{", "{}{}", "\u{feff}{}", &"[".repeat(100_000)] {
        let answer = hub
            .send(hub.ask(Method::POST, EVENTS).body(text.to_owned()))
            .await;
        is_refused(&answer, 400, "invalid", "");
    }
    let answer = hub
        .send(hub.ask(Method::POST, EVENTS).body(vec![b'"', 0xff, b'"']))
        .await;
    is_refused(&answer, 400, "invalid", "UTF-8");
    assert_eq!(hub.sequence("all").await, 0);
}

#[tokio::test]
async fn a_list_with_one_bad_envelope_changes_nothing() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    let good = || status_of("lead", "executing_tool");
    for (bad, word) in [
        (status_of("stranger", "idle"), "\"[2].data.agent_name\""),
        (json!({"event_source_type": "AGENT"}), "\"[2].data\""),
        (
            within("nowhere", "all", &good()),
            "\"[2].data.sub_team_node_name\"",
        ),
    ] {
        let answer = hub.post(EVENTS, json!([good(), good(), bad, good()])).await;
        is_refused(&answer, 400, "invalid", word);
    }
    let (_, shown) = hub.get("/v1/teams/all").await;
    assert!(shown.get("run").is_none(), "it was not even activated");
    assert_eq!(shown["agents"][0]["status"], "idle");
}

#[tokio::test]
async fn a_body_may_be_as_large_as_a_message() {
    let limits = Limits {
        message: Size::kib(64),
        ..Limits::default()
    };
    for (limits, size) in [(Limits::default(), 8 << 20), (limits, 64 << 10)] {
        let hub = TeamHub::start_with(true, limits).await;
        let _agents = hub.nested().await;
        let bare = serde_json::to_string(&status_of("lead", "idle")).unwrap();
        let fill = |size: usize| {
            let filler = size - bare.len() - r#","x":"""#.len();
            format!(
                "{},\"x\":\"{}\"}}",
                &bare[..bare.len() - 1],
                "y".repeat(filler)
            )
        };
        let send = |text: String| hub.send(hub.ask(Method::POST, EVENTS).body(text));
        assert_eq!(fill(size).len(), size);
        is_refused(&send(fill(size + 1)).await, 413, "too_large", "at most");
        let (status, accepted) = send(fill(size)).await;
        assert_eq!((status, &accepted["last_sequence"]), (202, &json!(1)));
    }
}

#[tokio::test]
async fn a_member_publishes_only_as_itself_and_others_not_at_all() {
    let hub = TeamHub::closed().await;
    let (ann, her) = hub.token("ann", &["agent:*"]).await;
    let (bob, him) = hub.token("bob", &["agent:*"]).await;
    let (cid, _) = hub.token("cid", &[]).await;
    let (_a, b) = (hub.attach_for(&her, "a"), hub.attach_for(&him, "b"));
    let _other = hub.attach_for(&him, "other");
    let everyone = || Some(Share::Everyone);
    hub.hub
        .agents()
        .change(&him, &b.entry().id, everyone(), None)
        .unwrap()
        .1
        .await
        .unwrap();
    let body = team("all", &["lead=a", "dev=b"]);
    assert_eq!(
        hub.send_as(&ann, Method::POST, "/v1/teams", body).await.0,
        201
    );

    let as_bob = |agent, body| hub.post_as_agent((&bob, agent), EVENTS, body);
    assert_eq!(as_bob("b", status_of("dev", "idle")).await.0, 202);
    let mut forged = status_of("dev", "idle");
    forged["data"]["agent_event"]["agent_id"] = json!("a");
    for (body, word) in [
        (status_of("lead", "error"), "data.agent_name"),
        (forged, "publishes only as itself"),
        (
            json!([status_of("dev", "idle"), status_of("lead", "error")]),
            "[1].data.agent_name",
        ),
        (
            json!({"event_source_type": "TEAM", "data": {"new_status": "ERROR"}}),
            "event_source_type",
        ),
        (
            json!({"event_source_type": "TASK_PLAN", "data": {"tasks": []}}),
            "event_source_type",
        ),
    ] {
        is_refused(&as_bob("b", body).await, 401, "unauthorized", word);
    }
    // Neither an agent that is no member, nor its owner as a person, nor a stranger.
    is_refused(
        &as_bob("other", status_of("dev", "idle")).await,
        404,
        "not_found",
        "all",
    );
    is_refused(
        &as_bob("a", status_of("lead", "idle")).await,
        401,
        "unauthorized",
        "Jackfield-Agent",
    );
    let id = jackfield_model::AgentId::parse("all").unwrap();
    for token in [&bob, &cid] {
        let answer = hub
            .send_as(token, Method::POST, EVENTS, status_of("dev", "idle"))
            .await;
        is_refused(&answer, 404, "not_found", "all");
    }
    hub.hub
        .agents()
        .change(&her, &id, everyone(), None)
        .unwrap()
        .1
        .await
        .unwrap();
    let may_call = hub
        .send_as(&cid, Method::POST, EVENTS, status_of("dev", "idle"))
        .await;
    is_refused(&may_call, 401, "unauthorized", "members");

    let owner = hub
        .send_as(
            &ann,
            Method::POST,
            EVENTS,
            status_of("dev", "executing_tool"),
        )
        .await;
    assert_eq!(
        (owner.0, &owner.1["last_sequence"]),
        (202, &json!(2)),
        "nothing of it was shown"
    );
}
