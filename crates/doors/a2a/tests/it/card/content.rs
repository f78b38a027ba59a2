//! What stands in the cards.

use jackfield_a2a::{A2aVersion, Cards};
use jackfield_core::{agent::Profile, principal::Principal};
use jackfield_kit::auth::Ingress;
use jackfield_model::{AgentId, Extension, Owner, Skill};
use reqwest::Method;
use serde_json::{Value, json};

use crate::card::harness::{A2aHub, ECHO, HUB, SITE, key};

fn echo() -> Profile {
    let skill = |id: &str, name: Option<&str>, description: Option<&str>| Skill {
        id: id.into(),
        name: name.map(Into::into),
        description: description.map(Into::into),
    };
    Profile {
        name: "Echo".into(),
        description: Some("Says it again.".into()),
        agent_type: Some("agno".into()),
        skills: vec![
            skill("repeat", Some("Repeat"), Some("Repeats what it hears.")),
            skill("bare", None, Some("")),
            skill("", None, None),
        ],
        version: Some("2.1.0".into()),
        input_modes: vec!["text/plain".into()],
        extensions: vec![Extension {
            uri: "urn:x".into(),
            description: None,
            required: true,
        }],
        ..Profile::default()
    }
}

fn without_signatures(mut card: Value) -> Value {
    let signatures = card.as_object_mut().unwrap().remove("signatures").unwrap();
    assert!(!signatures.as_array().unwrap().is_empty());
    card
}

#[tokio::test]
async fn an_agents_card_is_readable_for_both_generations() {
    let hub = A2aHub::start().await;
    let _echo = hub.attach("echo", echo());
    let url = format!("{SITE}/a2a/agents/echo");
    let expected = json!({
        "name": "Echo",
        "description": "Says it again.",
        "version": "2.1.0",
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            {"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
        ],
        "protocolVersion": "0.3.0",
        "url": url,
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [
            {"url": url, "transport": "JSONRPC"},
            {"url": url, "transport": "HTTP+JSON"},
        ],
        "supportsAuthenticatedExtendedCard": true,
        "provider": {"organization": "Jackfield", "url": SITE},
        "capabilities": {
            "streaming": true,
            "pushNotifications": false,
            "stateTransitionHistory": false,
            "extendedAgentCard": true,
            "extensions": [{"uri": "urn:x", "required": true}],
        },
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain", "application/json", "application/octet-stream"],
        "skills": [
            {"id": "repeat", "name": "Repeat", "description": "Repeats what it hears.", "tags": ["repeat", "agno"]},
            {"id": "bare", "name": "bare", "description": "bare", "tags": ["bare", "agno"]},
        ],
    });
    assert_eq!(without_signatures(hub.card(ECHO).await), expected);
}

#[tokio::test]
async fn all_addresses_of_an_agent_show_the_same_card() {
    let hub = A2aHub::start().await;
    let _echo = hub.attach("echo", echo());
    let card = hub.card(ECHO).await;
    for kind in ["agents", "teams", "workflows"] {
        for path in ["agent-card.json", "agent.json"] {
            let path = format!("/a2a/{kind}/echo/.well-known/{path}");
            assert_eq!(hub.card(&path).await, card, "{path}");
        }
    }
}

#[tokio::test]
async fn an_agent_that_says_nothing_still_has_all_that_a_card_must_have() {
    let hub = A2aHub::start().await;
    let _quiet = hub.attach("quiet-1", Profile::default());
    let card = hub
        .card("/a2a/agents/quiet-1/.well-known/agent-card.json")
        .await;
    let description = "quiet-1, an agent reached through Jackfield.";
    assert_eq!(card["name"], "quiet-1");
    assert_eq!(card["description"], description);
    assert_eq!(card["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        card["skills"],
        json!([{"id": "quiet-1", "name": "quiet-1", "description": description, "tags": ["general"]}])
    );
    assert_eq!(
        card["defaultInputModes"],
        json!(["text/plain", "application/json", "*/*"])
    );
}

#[tokio::test]
async fn the_request_says_for_which_version_the_card_is() {
    let hub = A2aHub::start().await;
    let _echo = hub.attach("echo", echo());
    let well_known = "/.well-known/agent-card.json";
    let mut cards = Vec::new();
    for version in ["1.0", "0.3"] {
        let by_path = hub
            .card(&format!("/a2a/agents/echo/{version}{well_known}"))
            .await;
        let by_query = hub
            .card(&format!("{ECHO}?x=1&A2A-Version={version}.0"))
            .await;
        let asked = hub.ask(Method::GET, ECHO).header("a2a-version", version);
        let by_header = asked.send().await.unwrap();
        assert_eq!(by_header.headers()["vary"], "authorization, a2a-version");
        let by_header: Value = serde_json::from_str(&by_header.text().await.unwrap()).unwrap();
        assert_eq!(by_path, by_query);
        assert_eq!(by_path, by_header);
        for query in ["a2a-version=", "A2a-VERSION=%20"] {
            let card = hub.card(&format!("{ECHO}?{query}{version}")).await;
            assert_eq!(by_path, card, "{query}");
        }
        // As at the other routes: an empty header leaves it to the query.
        let asked = format!("{ECHO}?A2A-Version={version}");
        let asked = hub.ask(Method::GET, &asked).header("a2a-version", "");
        let both = asked.send().await.unwrap().text().await.unwrap();
        assert_eq!(by_path, serde_json::from_str::<Value>(&both).unwrap());
        cards.push(by_path);
    }
    // The schema of version 1.0 forbids whatever it does not name.
    let fields: Vec<_> = cards[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut allowed = vec![
        "name",
        "description",
        "version",
        "supportedInterfaces",
        "provider",
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
        "signatures",
    ];
    let mut fields = fields;
    fields.sort_unstable();
    allowed.sort_unstable();
    assert_eq!(fields, allowed);
    assert_eq!(cards[0]["capabilities"].get("stateTransitionHistory"), None);
    assert_eq!(cards[1].get("supportedInterfaces"), None);
    assert_eq!(cards[1]["protocolVersion"], "0.3.0");
    // A version that nobody knows is no reason to refuse a card, which says what is spoken.
    let strange = hub.ask(Method::GET, ECHO).header("a2a-version", "99.0");
    let strange: Value =
        serde_json::from_str(&strange.send().await.unwrap().text().await.unwrap()).unwrap();
    assert_eq!(strange, hub.card(ECHO).await);
}

#[tokio::test]
async fn grpc_is_named_by_host_and_port_and_the_agent_is_its_tenant() {
    let cards = Cards::at("https://hub.example.com").with_grpc();
    let hub = A2aHub::start_with(true, cards).await;
    let _echo = hub.attach("echo", echo());
    let card = hub.card(ECHO).await;
    let expected = json!({
        "url": "hub.example.com:443",
        "protocolBinding": "GRPC",
        "protocolVersion": "1.0",
        "tenant": "echo",
    });
    assert_eq!(card["supportedInterfaces"][2], expected);
    // At the hub's own address the request names the agent, or none.
    let own = &hub.card(HUB).await["supportedInterfaces"][2];
    assert_eq!((&own["url"], own.get("tenant")), (&expected["url"], None));
    assert_eq!(card.get("signatures"), None, "no key, no signature");
}

#[tokio::test]
async fn grpc_of_0_3_is_named_where_the_address_says_which_agent_is_meant() {
    let default = Some(AgentId::parse("echo").unwrap());
    for (default, at_agent) in [(default, true), (None, false)] {
        let cards = Cards::at("https://hub.example.com").with_grpc();
        let cards = cards.with_default_agent(default);
        let hub = A2aHub::start_with(true, cards).await;
        let _echo = hub.attach("echo", echo());
        for (path, is_named) in [(ECHO, at_agent), (HUB, true)] {
            let card = hub.card(path).await;
            let named = json!({"url": "hub.example.com:443", "transport": "GRPC"});
            let interfaces = card["additionalInterfaces"].as_array().unwrap();
            assert_eq!(interfaces.contains(&named), is_named, "{path}: {card}");
        }
    }
}

#[tokio::test]
async fn the_hubs_card_has_an_agent_for_every_skill() {
    let hub = A2aHub::start().await;
    let none = hub.card(HUB).await;
    assert_eq!(none["name"], "Jackfield");
    assert_eq!(none["skills"][0]["id"], "switchboard");
    let _agents = (
        hub.attach("echo", echo()),
        hub.attach("quiet", Profile::default()),
    );
    for path in [HUB, "/.well-known/agent.json"] {
        let card = hub.card(path).await;
        let url = format!("{SITE}/a2a");
        assert_eq!(
            card["supportedInterfaces"],
            json!([
                {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                {"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
                {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
                {"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
            ])
        );
        assert_eq!(card["url"], url.as_str());
        assert_eq!(
            card["additionalInterfaces"],
            json!([{"url": url, "transport": "JSONRPC"}, {"url": url, "transport": "HTTP+JSON"}])
        );
        assert_eq!(
            card["skills"][0],
            json!({"id": "echo", "name": "Echo", "description": "Says it again.", "tags": ["agent", "agno"]})
        );
        assert_eq!(card["skills"][1]["id"], "quiet");
    }
}

#[tokio::test]
async fn the_hubs_card_has_the_modes_of_all_its_agents() {
    let hub = A2aHub::start().await;
    let _agent = hub.attach(
        "drawer",
        Profile {
            input_modes: vec!["text/plain".into(), "image/png".into()],
            output_modes: vec!["file".into(), "application/json".into()],
            ..Profile::default()
        },
    );
    let card = hub.card(HUB).await;
    assert_eq!(
        card["defaultInputModes"],
        json!(["text/plain", "application/json", "*/*", "image/png"])
    );
    assert_eq!(
        card["defaultOutputModes"],
        json!([
            "text/plain",
            "application/json",
            "application/octet-stream",
            "file"
        ])
    );
}

#[tokio::test]
async fn a_server_that_was_not_told_its_address_shows_no_card() {
    let hub = A2aHub::start_with(true, Cards::default()).await;
    let _echo = hub.attach("echo", echo());
    for path in [ECHO, HUB] {
        let response = hub.ask(Method::GET, path).header("host", "localhost:6666");
        let response = response.send().await.unwrap();
        assert_eq!(response.status(), 404);
        let body = response.text().await.unwrap();
        assert!(
            body.contains("public URL") && !body.contains("6666"),
            "{body}"
        );
    }
}

#[tokio::test]
async fn an_extended_card_says_more_in_both_versions() {
    let hub = A2aHub::start_with(true, Cards::at(SITE).signed_by(key())).await;
    let echo = hub.attach("echo", echo());
    let (local, id) = (Principal::local(), echo.entry().id.clone());
    for version in [A2aVersion::V03, A2aVersion::V10] {
        let card = hub
            .a2a
            .extended_card_json(&local, &id, version, &Ingress::Directly)
            .unwrap();
        let mut card: Value = serde_json::from_str(&card).unwrap();
        let extensions = card["capabilities"]["extensions"].as_array_mut().unwrap();
        let presence = extensions.pop().unwrap();
        assert_eq!(presence["uri"], "urn:jackfield:presence");
        let params = &presence["params"];
        assert_eq!(params["online"], true);
        assert_eq!(params["door"], "agora");
        assert_eq!(params["owner"], "local");
        assert_eq!(params["type"], "agno");
        // Else it is the public one.
        let public = hub.card(&format!("{ECHO}?A2A-Version={version}")).await;
        assert_eq!(without_signatures(card), without_signatures(public));
    }
    let stranger = Principal::person(Owner::parse("bob").unwrap());
    assert!(
        hub.a2a
            .extended_card_json(&stranger, &id, A2aVersion::V10, &Ingress::Directly)
            .is_err()
    );
}
