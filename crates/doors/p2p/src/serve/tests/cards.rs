//! The cards: what a peer may call, within the size that it can read, and by paths that work as they stand.

use super::*;

fn card(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn the_hubs_card_has_a_skill_for_each_agent_that_a_peer_may_call() {
    let hub = hub().await;
    let _ann = agent_of(&hub, "ann", "secret", &["x"], "bridge");
    let _writer = agent(&hub, "writer", &["poem", "song"]);
    let host = HubHost::new(
        hub.clone(),
        Files::for_hub(&hub),
        HandoffTerms {
            default_agent: None,
            ..terms()
        },
        [],
    );
    let card = card(&host.card(PEER, Origin::Elsewhere));
    assert_eq!(card["name"], "Jackfield");
    let words = json!({"type": ["string", "object"]});
    let writer = json!({
        "id": "writer",
        "name": "writer",
        "description": "writer does its work. Skills: poem, song.",
        "path": "/agents/writer/ask",
        "method": "POST",
        "input_schema": words,
        "output_schema": words,
    });
    assert_eq!(card["skills"], json!([writer]));
    let same = whole(&host, &json!({"method": "GET", "path": "/card"})).await;
    assert_eq!(same, host.card(PEER, Origin::Elsewhere));
}

#[tokio::test]
async fn an_agents_own_card_has_its_skills_and_each_path_leads_to_it() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &["poem", "a/b c", "..", "card"]);
    let host = host(&hub);
    let text = whole(
        &host,
        &json!({"method": "GET", "path": "/agents/writer/card"}),
    )
    .await;
    let card = card(&text);
    let skills = card["skills"].as_array().unwrap();
    let ids: Vec<_> = skills
        .iter()
        .map(|skill| skill["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        ["writer", "poem", "a/b c"],
        "what no path can lead to is not shown"
    );
    for skill in skills {
        let request = json!({"method": skill["method"], "path": skill["path"], "input_data": "x"});
        let serve = async {
            let call = writer.next_call().await;
            let metadata = call.call().message.metadata.as_ref();
            let said = metadata.map(|json| serde_json::from_str::<Value>(json.get()).unwrap());
            let expected = (skill["id"] != "writer").then(|| json!({"skill": skill["id"]}));
            assert_eq!(said, expected);
            call.finish(End::done());
        };
        tokio::join!(whole(&host, &request), serve);
    }
}

#[tokio::test]
async fn a_default_agent_is_a_skill_of_its_own() {
    let hub = hub().await;
    let host = host(&hub);
    assert_eq!(
        card(&host.card(PEER, Origin::Elsewhere))["skills"],
        json!([]),
        "it is not there"
    );
    let _writer = agent(&hub, "writer", &[]);
    let card = card(&host.card(PEER, Origin::Elsewhere));
    assert_eq!(card["skills"][0]["path"], "/{goal}");
    assert_eq!(
        card["skills"][0]["params_schema"]["required"],
        json!(["goal"])
    );
}

#[tokio::test]
async fn the_card_of_many_agents_is_small_enough_and_says_where_the_others_are() {
    let hub = hub().await;
    let skills: Vec<_> = (0..20).map(|n| format!("skill-number-{n}")).collect();
    let skills: Vec<_> = skills.iter().map(String::as_str).collect();
    let agents: Vec<_> = (0..200)
        .map(|n| agent(&hub, &format!("agent-{n:03}"), &skills))
        .collect();
    let host = host(&hub);
    let text = host.card(PEER, Origin::Elsewhere);
    assert!(text.len() <= 16 * 1024, "{}", text.len());
    let card = card(&text);
    assert!(!card["skills"].as_array().unwrap().is_empty());
    assert!(
        card["description"]
            .as_str()
            .unwrap()
            .contains("GET /agents")
    );
    let list = whole(&host, &json!({"method": "GET", "path": "/agents"})).await;
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["agents"].as_array().unwrap().len(), agents.len());
    let first = &list["agents"][0];
    assert_eq!(first["id"], "agent-000");
    assert_eq!(first["path"], "/agents/agent-000/ask");
    assert_eq!(first["card"], "/agents/agent-000/card");
    assert_eq!(first["online"], true);
}
