//! Callers of this door and a server that the hub dials: what is said by the one reaches the other whole, and what the
//! server's card says stands in the hub's.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    routing::{get, post},
};
use http::HeaderMap;
use jackfield_a2a::Remotes;
use jackfield_core::{hub::Request, principal::Principal, store::memory::MemoryStore};
use jackfield_kit::{
    outbound::{Outbound, OutboundRules},
    tasks::Tasks,
    testing::soon,
};
use jackfield_model::{AgentId, End, Message};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};

use crate::official::harness::{A2aHub, answer, told};

const SEND: &str = "/a2a/agents/far/message:send";

/// A server of one version, which insists on an extension. It asks back if it is told `ask`.
struct Far {
    asked: mpsc::Receiver<(HeaderMap, Value)>,
    _remotes: Remotes,
    _server: JoinSet<()>,
}

type Told = mpsc::Sender<(HeaderMap, Value)>;

impl Far {
    /// Dialled by a hub, as `far`.
    async fn dialled_by(hub: &A2aHub, version: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut card = json!({
            "name": "Far",
            "capabilities": {"streaming": false, "extensions": [
                {"uri": "urn:must", "required": true, "params": {"k": 1}},
            ]},
            "documentationUrl": "https://docs.example/far",
            "provider": {"organization": "Acme", "url": "https://acme.example"},
            "skills": [
                {"id": "roll", "name": "Roll", "description": "Rolls dice.", "tags": ["dice", "games"],
                 "examples": ["roll a d20"], "inputModes": ["text/plain"], "outputModes": ["text/csv"]},
                {"id": "plain", "name": "Plain", "description": "Says little of itself."},
            ],
        });
        if version == "1.0" {
            card["supportedInterfaces"] =
                json!([{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]);
        } else {
            card["protocolVersion"] = json!("0.3.0");
            card["url"] = json!(url);
        }
        let (told, asked) = mpsc::channel(16);
        let app = Router::new()
            .route(
                "/.well-known/agent-card.json",
                get(async move || Json(card)),
            )
            .route("/", post(say))
            .with_state(told);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        let id = AgentId::parse("far").unwrap();
        let spec = serde_json::from_value(json!({"url": url})).unwrap();
        let remotes = Remotes::start(
            hub.hub.clone(),
            Arc::new(MemoryStore::default()),
            Outbound::new(&OutboundRules::default()).unwrap(),
            Tasks::new(),
            vec![(id.clone(), spec)],
        );
        let remotes = remotes.await.unwrap();
        soon(remotes.wait_until_tried(&id)).await.unwrap();
        Self {
            asked,
            _remotes: remotes,
            _server: server,
        }
    }

    async fn was_asked(&mut self) -> (HeaderMap, Value) {
        soon(self.asked.recv()).await.unwrap()
    }
}

async fn say(State(told): State<Told>, headers: HeaderMap, Json(body): Json<Value>) -> Json<Value> {
    let is_new = body["method"] == "SendMessage";
    let asks = body["params"]["message"]["parts"][0]["text"] == "ask";
    let text = |text: &str| match is_new {
        true => json!({"text": text}),
        false => json!({"kind": "text", "text": text}),
    };
    let result = match (is_new, asks) {
        (true, true) => {
            let question =
                json!({"messageId": "q", "role": "ROLE_AGENT", "parts": [text("which?")]});
            let status = json!({"state": "TASK_STATE_INPUT_REQUIRED", "message": question});
            json!({"task": {"id": "t", "contextId": "c", "status": status}})
        }
        (true, false) => {
            let status = json!({"state": "TASK_STATE_COMPLETED"});
            json!({"task": {"id": "t", "contextId": "c", "status": status}})
        }
        (false, _) => {
            json!({"kind": "message", "messageId": "m", "role": "agent", "parts": [text("ok")]})
        }
    };
    let id = body["id"].clone();
    told.send((headers, body)).await.unwrap();
    Json(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// What a caller says with all that can be said besides; `more` are further members of the message.
fn request(text: &str, more: &Value) -> String {
    let mut message = json!({
        "messageId": "mine", "role": "ROLE_USER", "parts": [{"text": text}],
        "metadata": {"of": "message", "both": 1}, "extensions": ["urn:opt"],
    });
    let more = more.as_object().unwrap().clone();
    message.as_object_mut().unwrap().extend(more);
    json!({
        "message": message,
        "configuration": {"acceptedOutputModes": ["text/csv"]},
        "metadata": {"of_request": "yes", "both": 2},
    })
    .to_string()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_dialled_server_is_told_all_that_was_asked_besides_the_message() {
    for (version, name, other) in [
        ("1.0", "a2a-extensions", "x-a2a-extensions"),
        ("0.3", "x-a2a-extensions", "a2a-extensions"),
    ] {
        let hub = A2aHub::start().await;
        let mut far = Far::dialled_by(&hub, version).await;
        let said = hub
            .request(SEND, request("hi", &json!({})))
            .header("A2A-Extensions", "urn:opt, urn:must");
        let (status, sent) = told(said).await;
        assert_eq!(status, 200, "{sent}");
        let (headers, body) = far.was_asked().await;
        assert_eq!(header(&headers, name), Some("urn:opt,urn:must"));
        assert_eq!(header(&headers, other), None);
        let params = &body["params"];
        assert_eq!(params["metadata"], json!({"of_request": "yes", "both": 2}));
        let modes = &params["configuration"]["acceptedOutputModes"];
        assert_eq!(modes, &json!(["text/csv"]));
        let message = &params["message"];
        assert_eq!(message["metadata"], json!({"of": "message", "both": 1}));
        assert_eq!(message["extensions"], json!(["urn:opt"]));
        assert_eq!(message["messageId"], "mine");
    }
}

#[tokio::test]
async fn for_callers_of_other_doors_the_hub_declares_what_the_card_requires() {
    let hub = A2aHub::start().await;
    let mut far = Far::dialled_by(&hub, "1.0").await;
    let target = AgentId::parse("far").unwrap();
    let request = Request::new(Principal::local(), "own", target, Message::text("hi"));
    let asking = hub.hub.calls().open(request).unwrap();
    let (_, end) = soon(asking.replies().finish()).await;
    assert!(matches!(end, End::Done(_)), "{end:?}");
    let (headers, body) = far.was_asked().await;
    assert_eq!(header(&headers, "a2a-extensions"), Some("urn:must"));
    assert_eq!(body["params"].get("metadata"), None);
}

#[tokio::test]
async fn an_answer_stays_the_message_that_it_was_in_the_history_and_at_the_server() {
    let hub = A2aHub::start().await;
    let mut far = Far::dialled_by(&hub, "1.0").await;
    let say = |body: String| {
        let said = hub.request(SEND, body);
        told(said.header("A2A-Extensions", "urn:must"))
    };
    let (_, asked) = say(request("ask", &json!({}))).await;
    assert_eq!(
        asked["task"]["status"]["state"],
        "TASK_STATE_INPUT_REQUIRED"
    );
    far.was_asked().await;
    let parts = json!([{"data": {"d": 1}, "metadata": {"p": 1}}, {"text": "one"}, {"text": "two"}]);
    let more = json!({"taskId": asked["task"]["id"], "messageId": "my-answer", "parts": parts});
    let (_, done) = say(request("", &more)).await;
    assert_eq!(done["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let (headers, body) = far.was_asked().await;
    assert_eq!(header(&headers, "a2a-extensions"), Some("urn:must"));
    let params = &body["params"];
    assert_eq!(params["metadata"], json!({"of_request": "yes", "both": 2}));
    let told = params["message"].clone();
    assert_eq!(
        (&told["taskId"], &told["contextId"]),
        (&json!("t"), &json!("c"))
    );
    let history = done["task"]["history"].as_array().unwrap();
    let shown = history.iter().find(|it| it["messageId"] == "my-answer");
    for message in [&told, shown.unwrap()] {
        assert_eq!(message["messageId"], "my-answer");
        assert_eq!(message["metadata"], json!({"of": "message", "both": 1}));
        assert_eq!(message["extensions"], json!(["urn:opt"]));
        assert_eq!(message["parts"], parts);
    }
}

#[tokio::test]
async fn agents_of_other_doors_get_the_metadata_of_message_and_request_in_one() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("far");
    let said = hub.post(SEND, request("hi", &json!({})));
    let heard = async {
        let serving = agent.next_call().await;
        let metadata = serving.call().message.metadata.clone().unwrap();
        answer(serving, "ok");
        serde_json::from_str::<Value>(metadata.get()).unwrap()
    };
    let ((_, sent), metadata) = tokio::join!(said, heard);
    assert_eq!(
        metadata,
        json!({"of": "message", "both": 1, "of_request": "yes"})
    );
    let own = &sent["task"]["history"][0]["metadata"];
    assert_eq!(own, &json!({"of": "message", "both": 1}), "as it was said");
}

#[tokio::test]
async fn the_card_of_a_dialled_agent_says_what_its_own_card_says() {
    let hub = A2aHub::start().await;
    let _far = Far::dialled_by(&hub, "1.0").await;
    let (_, card) = hub.get("/a2a/agents/far/.well-known/agent-card.json").await;
    assert_eq!(card["documentationUrl"], "https://docs.example/far");
    assert_eq!(
        card["provider"],
        json!({"organization": "Acme", "url": "https://acme.example"})
    );
    assert_eq!(
        card["capabilities"]["extensions"],
        json!([{"uri": "urn:must", "required": true, "params": {"k": 1}}])
    );
    assert_eq!(
        card["skills"],
        json!([
            {"id": "roll", "name": "Roll", "description": "Rolls dice.", "tags": ["dice", "games"],
             "examples": ["roll a d20"], "inputModes": ["text/plain"], "outputModes": ["text/csv"]},
            {"id": "plain", "name": "Plain", "description": "Says little of itself.", "tags": ["plain", "a2a"]},
        ])
    );
}
