//! The table of published servers.

use serde_json::json;

use crate::a2a_remote::{
    callers::{Agora, BridgeAgent, Own, Platform, Seed, V1, V03},
    promises::all,
    server::{ACTOR, Lack, Published, RemoteFixture},
};

/// A server of an SDK by the protocol's own project; these lack no capability.
const fn of_sdk(variable: &'static str, script: &'static str, binding: &'static str) -> Published {
    Published {
        variable,
        script,
        binding,
        path: "",
        lacks: &[],
    }
}

pub(crate) const PYTHON_1: Published =
    of_sdk("JACKFIELD_JUDGE_A2A_PYTHON_1", "py_v1.py", "JSONRPC");
const PYTHON_1_REST: Published = of_sdk("JACKFIELD_JUDGE_A2A_PYTHON_1", "py_v1.py", "HTTP+JSON");
pub(crate) const PYTHON_03: Published =
    of_sdk("JACKFIELD_JUDGE_A2A_PYTHON_03", "py_v03.py", "JSONRPC");
const PYTHON_03_REST: Published = of_sdk("JACKFIELD_JUDGE_A2A_PYTHON_03", "py_v03.py", "HTTP+JSON");
pub(crate) const NODE_1: Published = of_sdk("JACKFIELD_JUDGE_A2A_NODE_1", "js_v1.cjs", "JSONRPC");
const NODE_1_REST: Published = of_sdk("JACKFIELD_JUDGE_A2A_NODE_1", "js_v1.cjs", "HTTP+JSON");
pub(crate) const NODE_03: Published =
    of_sdk("JACKFIELD_JUDGE_A2A_NODE_03", "js_v03.cjs", "JSONRPC");
const NODE_03_REST: Published = of_sdk("JACKFIELD_JUDGE_A2A_NODE_03", "js_v03.cjs", "HTTP+JSON");

pub(crate) const AGNO: Published = Published {
    variable: "JACKFIELD_JUDGE_A2A_PYTHON_03",
    script: "agno_server.py",
    binding: "",
    path: "/a2a/agents/actor",
    lacks: &[
        Lack::Questions,
        Lack::Files,
        Lack::Data,
        Lack::Failures,
        Lack::Resuming,
        Lack::Messages,
    ],
};

pub(crate) const ADK: Published = Published {
    variable: "JACKFIELD_JUDGE_A2A_ADK",
    script: "adk_server.py",
    binding: "",
    path: "",
    lacks: &[Lack::Pieces, Lack::Questions, Lack::Data, Lack::Messages],
};

pub(crate) const LANGGRAPH: Published = Published {
    variable: "JACKFIELD_JUDGE_A2A_LANGGRAPH",
    script: "langgraph_server.py",
    binding: "",
    path: "",
    lacks: &[Lack::Pieces, Lack::Files, Lack::Data, Lack::Messages],
};

async fn called_from_every_door(published: Published) {
    let Some(mut fixture) = RemoteFixture::start(published).await else {
        return;
    };
    cards_are_right(&fixture).await;
    let fixture = &mut fixture;
    all::<Own>(fixture).await;
    all::<Agora>(fixture).await;
    all::<BridgeAgent>(fixture).await;
    all::<Platform>(fixture).await;
    all::<Seed>(fixture).await;
    all::<V03>(fixture).await;
    all::<V1>(fixture).await;
}

/// Checks that the server's card is unchanged, and that the hub's card for it points to the hub.
async fn cards_are_right(fixture: &RemoteFixture) {
    let url = fixture.hub.url(&format!("/v1/remotes/{ACTOR}/card"));
    let kept = jackfield_testkit::fetch(&url).await;
    assert_eq!(String::from_utf8(kept).unwrap(), fixture.card().await);
    let base = format!("/a2a/agents/{ACTOR}");
    let card = fixture
        .get(&format!("{base}/.well-known/agent-card.json"))
        .await;
    assert_eq!(card["url"], json!(fixture.hub.url(&base)));
    let theirs: serde_json::Value = serde_json::from_str(&fixture.card().await).unwrap();
    assert_eq!(card["name"], theirs["name"]);
    assert!(
        !card.to_string().contains(&fixture.proxy.addr().to_string()),
        "{card}"
    );
}

#[tokio::test]
async fn a_python_server_of_version_1_0_is_called_from_every_door() {
    called_from_every_door(PYTHON_1).await;
}

#[tokio::test]
async fn a_python_server_of_version_1_0_is_called_from_every_door_by_rest() {
    called_from_every_door(PYTHON_1_REST).await;
}

#[tokio::test]
async fn a_python_server_of_version_0_3_is_called_from_every_door() {
    called_from_every_door(PYTHON_03).await;
}

#[tokio::test]
async fn a_python_server_of_version_0_3_is_called_from_every_door_by_rest() {
    called_from_every_door(PYTHON_03_REST).await;
}

#[tokio::test]
async fn a_javascript_server_of_version_1_0_is_called_from_every_door() {
    called_from_every_door(NODE_1).await;
}

#[tokio::test]
async fn a_javascript_server_of_version_1_0_is_called_from_every_door_by_rest() {
    called_from_every_door(NODE_1_REST).await;
}

#[tokio::test]
async fn a_javascript_server_of_version_0_3_is_called_from_every_door() {
    called_from_every_door(NODE_03).await;
}

#[tokio::test]
async fn a_javascript_server_of_version_0_3_is_called_from_every_door_by_rest() {
    called_from_every_door(NODE_03_REST).await;
}

#[tokio::test]
async fn a_server_of_agno_is_called_from_every_door() {
    called_from_every_door(AGNO).await;
}

#[tokio::test]
async fn a_server_of_google_adk_is_called_from_every_door() {
    called_from_every_door(ADK).await;
}

#[tokio::test]
async fn a_server_of_langgraph_is_called_from_every_door() {
    called_from_every_door(LANGGRAPH).await;
}
