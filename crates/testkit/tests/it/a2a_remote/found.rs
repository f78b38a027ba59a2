//! The agents of published servers with several: what the hub finds, and that what it finds can be added and called.

use serde_json::{Value, json};

use crate::a2a_remote::{
    server::{Published, RemoteFixture},
    servers::{ADK, AGNO, LANGGRAPH},
};

/// Finds the agents of a server that was started with `many`. Returns the fixture, the kind of the server and the
/// agents; `None` if the server isn't installed.
async fn found(published: Published) -> Option<(RemoteFixture, Value, Vec<Value>)> {
    let fixture = RemoteFixture::start_apart(published).await?;
    let url = format!("http://{}", fixture.proxy.addr());
    // Adding the address itself says that there are several.
    let web = fixture.hub.web();
    let (status, refused) = web.post("/v1/remotes", json!({"url": url})).await;
    assert_eq!(
        (status, &refused["cause"]),
        (400, &json!("other_address")),
        "{refused}"
    );
    let (status, mut found) = web.post("/v1/discover", json!({"url": url})).await;
    assert_eq!(status, 200, "{found}");
    let Value::Array(agents) = found["remotes"].take() else {
        panic!("{found}");
    };
    Some((fixture, found["server"].take(), agents))
}

/// The ids of agents in this state.
fn ids<'a>(agents: &'a [Value], state: &str) -> Vec<&'a str> {
    let mut ids: Vec<_> = agents
        .iter()
        .filter(|it| it["state"] == state)
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    ids
}

/// Adds every agent that can be added, and calls each.
async fn added_and_called(fixture: &RemoteFixture, agents: &[Value]) {
    let web = fixture.hub.web();
    for agent in agents.iter().filter(|it| it["state"] == "new") {
        let body = json!({"url": agent["url"], "id": agent["id"]});
        let (status, added) = web.post("/v1/remotes", body).await;
        assert_eq!(
            (status, &added["state"]),
            (201, &json!("online")),
            "{added}"
        );
        let call = format!("/v1/agents/{}/calls", agent["id"].as_str().unwrap());
        let body = json!({"text": "hello", "stream": false});
        let (status, reply) = web.post(&call, body).await;
        assert_eq!(status, 200, "{agent} {reply}");
        assert!(
            reply.to_string().contains("Hello, world"),
            "{agent} {reply}"
        );
    }
    let (_, again) = web
        .post(
            "/v1/discover",
            json!({"url": format!("http://{}", fixture.proxy.addr())}),
        )
        .await;
    let again = again["remotes"].as_array().unwrap();
    assert_eq!(ids(again, "new"), [] as [&str; 0], "{again:?}");
    assert_eq!(ids(again, "added"), ids(agents, "new"));
}

#[tokio::test]
async fn the_agents_of_an_agent_os_are_found_added_and_called() {
    let many = Published {
        binding: "many",
        path: "",
        ..AGNO
    };
    let Some((fixture, server, agents)) = found(many).await else {
        return;
    };
    assert_eq!(server, "an Agno AgentOS");
    assert_eq!(
        ids(&agents, "new"),
        ["agno-actor", "agno-second", "both", "flow"]
    );
    assert_eq!(ids(&agents, "unusable"), ["hidden"]);
    added_and_called(&fixture, &agents).await;
}

#[tokio::test]
async fn the_apps_of_google_adk_are_found_added_and_called() {
    let many = Published {
        script: "adk_apps.py",
        ..ADK
    };
    let Some((fixture, server, agents)) = found(many).await else {
        return;
    };
    assert_eq!(server, "a server of Google ADK");
    assert_eq!(ids(&agents, "new"), ["dice", "hello"]);
    assert_eq!(ids(&agents, "unusable"), ["bare"]);
    added_and_called(&fixture, &agents).await;
}

#[tokio::test]
async fn the_assistants_of_langgraph_are_found_added_and_called() {
    let many = Published {
        binding: "many",
        ..LANGGRAPH
    };
    let Some((fixture, server, agents)) = found(many).await else {
        return;
    };
    assert_eq!(server, "a LangGraph server");
    assert_eq!(ids(&agents, "new"), ["actor", "second"]);
    added_and_called(&fixture, &agents).await;
}
