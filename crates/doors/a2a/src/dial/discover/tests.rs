//! Servers with several agents. The bodies are those that the published servers were seen to answer with, cut to
//! what is read; the testkit runs the servers themselves.

use jackfield_kit::outbound::OutboundRules;
use serde_json::{Value, json};

use super::*;
use crate::dial::{spec::Auth, static_site::StaticSite};

const NEW: &str = "/.well-known/agent-card.json";

fn outbound() -> Outbound {
    Outbound::new(&OutboundRules::default()).unwrap()
}

fn card(name: &str) -> String {
    json!({
        "name": name, "description": format!("{name} says something"),
        "supportedInterfaces": [{"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    })
    .to_string()
}

async fn discovered(site: &StaticSite, path: &str) -> Result<DiscoveredAgents, NothingFound> {
    let credentials = Credentials::new(&Auth::default(), outbound()).unwrap();
    discover(&outbound(), &site.url(path), &credentials, |_| false).await
}

/// The kind of the server; and of each agent the path to add, the name, and whether it has a card.
async fn listed(site: &StaticSite, path: &str) -> (Option<&'static str>, Value) {
    let found = discovered(site, path).await.unwrap();
    let agents = found.agents.iter().map(|agent| {
        let path = agent.url.strip_prefix(site.origin()).unwrap_or(&agent.url);
        json!([path, agent.name, agent.card.is_ok()])
    });
    (found.server, agents.collect())
}

fn agno(interfaces: &Value) -> String {
    json!({
        "os_id": "x",
        "agents": [{"id": "basic", "name": "Basic"}, {"id": "late", "name": null}, {"id": ".."}, {"name": "no id"}],
        "teams": [{"id": "both teams", "name": "Both"}],
        "workflows": [],
        "interfaces": interfaces,
    })
    .to_string()
}

#[tokio::test]
async fn one_card_is_one_agent() {
    let site = StaticSite::start().await;
    site.put(NEW, card("Echo"));
    let (server, agents) = listed(&site, "").await;
    assert_eq!(server, None);
    assert_eq!(agents, json!([["/", "Echo", true]]));
    let found = discovered(&site, "").await.unwrap();
    let expected = CardFacts {
        description: Some("Echo says something".to_owned()),
        speaks: "A2A 1.0, JSONRPC".to_owned(),
    };
    assert_eq!(found.agents[0].card, Ok(expected));
    assert_eq!(site.paths(), [NEW, NEW], "nothing else is asked");
}

#[tokio::test]
async fn agents_teams_and_workflows_of_agno_are_found_by_their_addresses() {
    let site = StaticSite::start().await;
    site.put("/config", agno(&json!([])));
    site.put(
        "/a2a/agents/basic/.well-known/agent-card.json",
        card("Basic Agent"),
    );
    site.put(
        "/a2a/teams/both%20teams/.well-known/agent.json",
        card("Both"),
    );
    let (server, agents) = listed(&site, "/").await;
    assert_eq!(server, Some("an Agno AgentOS"));
    assert_eq!(
        agents,
        json!([
            ["/a2a/agents/basic", "Basic Agent", true],
            ["/a2a/agents/late", "late", false],
            ["/a2a/teams/both%20teams", "Both", true],
        ])
    );
    let found = discovered(&site, "/").await.unwrap();
    let why = found.agents[1].card.as_ref().unwrap_err();
    assert!(
        why.contains("/a2a/agents/late/.well-known/agent-card.json (404 Not Found)"),
        "{why}"
    );
    assert!(
        found.hint.unwrap().contains("A2A(agents="),
        "{:?}",
        found.hint
    );
}

#[tokio::test]
async fn a_server_may_stand_below_a_path_and_have_its_interface_elsewhere() {
    let site = StaticSite::start().await;
    let interfaces = json!([{"type": "agui", "route": "/agui"}, {"type": "a2a", "route": "/talk"}]);
    site.put("/os/config", agno(&interfaces));
    site.put(
        "/os/talk/agents/basic/.well-known/agent-card.json",
        card("Basic"),
    );
    let (_, agents) = listed(&site, "/os/").await;
    assert_eq!(agents[0], json!(["/os/talk/agents/basic", "Basic", true]));
}

#[tokio::test]
async fn apps_of_google_adk_are_found_by_their_names() {
    let site = StaticSite::start().await;
    site.put("/list-apps", r#"["dice","no card"]"#);
    site.put("/a2a/dice/.well-known/agent-card.json", card("Dice"));
    let (server, agents) = listed(&site, "").await;
    assert_eq!(server, Some("a server of Google ADK"));
    assert_eq!(
        agents,
        json!([
            ["/a2a/dice", "Dice", true],
            ["/a2a/no%20card", "no card", false]
        ])
    );
}

#[tokio::test]
async fn assistants_of_langgraph_are_found_by_their_ids() {
    let site = StaticSite::start().await;
    let missing =
        r#"{"error":{"code":-32602,"message":"Missing required query parameter: assistant_id"}}"#;
    site.answer(NEW, 400, &[], missing);
    let id = "d018f524-aeca-55dc-83d8-e798e4679906";
    let assistants =
        json!([{"assistant_id": id, "graph_id": "actor", "name": "actor", "version": 1}]);
    site.put("/assistants/search", assistants.to_string());
    site.put(&format!("{NEW}?assistant_id={id}"), card("Actor"));
    let (server, agents) = listed(&site, "").await;
    assert_eq!(server, Some("a LangGraph server"));
    let url = format!("/?assistant_id={id}");
    assert_eq!(agents, json!([[url, "Actor", true]]));
    assert_eq!(
        discovered(&site, "").await.unwrap().agents[0].key,
        "d018f524"
    );
}

#[tokio::test]
async fn agents_of_another_hub_are_found_by_its_card() {
    let site = StaticSite::start().await;
    let hub = json!({
        "name": "Jackfield", "description": "A switchboard for AI agents. Each skill is an agent: call it.",
        "supportedInterfaces": [{"url": "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "skills": [{"id": "echo", "name": "Echo"}, {"id": "ann@far", "name": "Ann"}],
    });
    site.put(NEW, hub.to_string());
    site.put("/a2a/agents/echo/.well-known/agent-card.json", card("Echo"));
    let (server, agents) = listed(&site, "").await;
    assert_eq!(server, Some("a hub"));
    assert_eq!(
        agents,
        json!([
            ["/a2a/agents/echo", "Echo", true],
            ["/a2a/agents/ann@far", "Ann", false]
        ])
    );
    let site = StaticSite::start().await;
    let mut empty = hub;
    empty["skills"] = json!([{"id": "switchboard", "name": "Switchboard"}]);
    site.put(NEW, empty.to_string());
    assert_eq!(listed(&site, "").await, (Some("a hub"), json!([])));
}

#[tokio::test]
async fn catalogs_are_read_and_their_links_to_other_servers_are_not_followed() {
    let site = StaticSite::start().await;
    let there = "http://127.0.0.1:9/.well-known/agent-card.json";
    let entries = json!({"specVersion": "1.0", "entries": [
        {"identifier": "urn:a", "displayName": "Dice", "type": "application/a2a-agent-card+json", "url": "/dice/agent-card.json"},
        {"identifier": "urn:b", "displayName": "Far", "mediaType": "application/a2a-agent-card+json", "url": there},
        {"identifier": "urn:c", "displayName": "Tools", "type": "application/mcp-server-card+json", "url": "/mcp"},
    ]});
    site.put("/.well-known/ai-catalog.json", entries.to_string());
    site.put("/dice/agent-card.json", card("Dice"));
    let expected = json!([
        ["/dice/agent-card.json", "Dice", true],
        [there, "Far", false]
    ]);
    assert_eq!(listed(&site, "").await.1, expected);
    let found = discovered(&site, "").await.unwrap();
    let why = found.agents[1].card.as_ref().unwrap_err();
    assert_eq!(
        why,
        &format!("it is at another server; add {there} by itself")
    );

    let site = StaticSite::start().await;
    let linkset = json!({"linkset": [
        {"anchor": "/dice", "describedby": [{"href": "/dice/.well-known/agent.json", "title": "Dice"}]},
        {"anchor": "/api", "service-desc": [{"href": "/openapi.json"}]},
    ]});
    site.put("/.well-known/api-catalog.json", linkset.to_string());
    site.put("/dice/.well-known/agent.json", card("Dice"));
    let (server, agents) = listed(&site, "").await;
    assert_eq!(server, Some("a server with an API catalog"));
    assert_eq!(
        agents,
        json!([["/dice/.well-known/agent.json", "Dice", true]])
    );
    assert_eq!(discovered(&site, "").await.unwrap().agents[0].key, "dice");
}

#[tokio::test]
async fn where_nothing_is_found_everything_that_was_tried_is_told_with_its_answer() {
    let site = StaticSite::start().await;
    site.answer("/config", 401, &[], "");
    site.put("/list-apps", "<html>");
    let nothing = discovered(&site, "").await.unwrap_err().to_string();
    for told in [
        "there is no card at S/.well-known/agent-card.json (404 Not Found), nor at S/.well-known/agent.json (404 Not Found)",
        "; and no list of agents at S/config (401 Unauthorized), nor at S/list-apps (another kind of document)",
        "S/.well-known/ai-catalog.json (404 Not Found)",
        "S/.well-known/api-catalog (404 Not Found)",
    ] {
        let told = told.replace("S/", &format!("{}/", site.origin()));
        assert!(nothing.contains(&told), "{told}: {nothing}");
    }
}

#[tokio::test]
async fn a_card_of_its_own_or_a_server_out_of_reach_is_asked_for_no_lists() {
    for (path, status, asked) in [
        ("/cards/echo.json", 404, 3),
        ("/?assistant_id=7", 404, 2),
        ("", 401, 1),
        ("", 301, 1),
    ] {
        let site = StaticSite::start().await;
        site.answer(NEW, status, &[("location", "/elsewhere")], "");
        let nothing = discovered(&site, path).await.unwrap_err();
        assert_eq!(nothing.tried, []);
        assert_eq!(site.paths().len(), asked, "{path} {status}");
    }
}

#[tokio::test]
async fn of_other_documents_nothing_is_made() {
    for (path, body) in [
        ("/config", r#"{"agents":7}"#),
        ("/config", r#"{"agents":[{"id":"a"}]}"#),
        ("/list-apps", r#"{"apps":[]}"#),
        ("/list-apps", "[]"),
        ("/.well-known/ai-catalog.json", r#"{"entries":[{}]}"#),
        (
            "/.well-known/api-catalog",
            r#"{"linkset":[{"describedby":[{"href":"/openapi.json"}]}]}"#,
        ),
    ] {
        let site = StaticSite::start().await;
        site.put(path, body);
        assert!(discovered(&site, "").await.is_err(), "{path} {body}");
    }
}

#[test]
fn langgraph_is_asked_for_one_more_than_is_looked_at() {
    let asked: Value = serde_json::from_str(frameworks::ASSISTANTS).unwrap();
    assert_eq!(asked["limit"], MAX_AGENTS + 1);
}

#[tokio::test]
async fn a_long_list_is_cut_and_told() {
    let site = StaticSite::start().await;
    let apps: Vec<_> = (0..MAX_AGENTS + 20)
        .map(|number| format!("app{number}"))
        .collect();
    site.put("/list-apps", json!(apps).to_string());
    let found = discovered(&site, "").await.unwrap();
    assert_eq!((found.agents.len(), found.is_cut), (MAX_AGENTS, true));
    // The card, the lists before, and two places for the card of each app.
    assert!(
        site.paths().len() <= 4 + 2 * MAX_AGENTS,
        "{}",
        site.paths().len()
    );
}
