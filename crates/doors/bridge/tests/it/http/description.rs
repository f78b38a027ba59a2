//! The description lists what there is, and nothing else.

use jackfield_kit::testing::spec;
use reqwest::Method;
use serde_json::json;

use crate::http::harness::{BridgeHub, SPEC};

#[tokio::test]
async fn every_route_is_described_and_every_reference_leads_somewhere() {
    let hub = BridgeHub::start().await;
    let mut routes = Vec::new();
    for (path, item) in SPEC["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let method = method.to_uppercase();
            routes.push(format!("{method} {path}"));
            let security = match path.as_str() {
                "/health" => json!([{}]),
                _ => json!([{"platform_secret": []}]),
            };
            assert_eq!(operation["security"], security, "{path}");
            // What is not there answers `not_found`; here, that an agent or a parameter is missing comes first.
            let method: Method = method.parse().unwrap();
            let request = hub
                .platform(method, &path.replace("{id}", "amy"))
                .body("{}");
            let answer = request.send().await.unwrap().text().await.unwrap();
            assert!(!answer.contains("Not found"), "{path}: {answer}");
        }
    }
    routes.sort();
    let wanted = [
        "GET /api/agents/{id}/status",
        "GET /api/relay/events",
        "GET /api/task-status",
        "GET /api/transfers/{id}/{transfer}/content",
        "GET /health",
        "POST /api/a2a/call",
        "POST /api/agents-by-token",
        "POST /api/cancel",
        "POST /api/disconnect",
        "POST /api/relay",
        "POST /api/rtc-signal/{id}",
    ];
    assert_eq!(routes, wanted);
    spec::references_lead_somewhere(&SPEC);
}

#[tokio::test]
async fn a_body_that_is_not_as_described_is_refused_by_field() {
    let hub = BridgeHub::start().await;
    let _amy = hub.attach("amy");
    for (path, operation) in SPEC["paths"].as_object().unwrap() {
        let schema = &operation["post"]["requestBody"]["content"]["application/json"]["schema"];
        let Some(name) = schema["$ref"].as_str() else {
            continue;
        };
        let schema = SPEC.pointer(&name[1..]).unwrap();
        let right = json!({
            "agent_id": "amy", "caller_agent_id": "amy", "target_agent_id": "amy",
            "session_id": "s", "request_id": "r", "content": "hi", "task_description": "hi",
            "token_hash": "00", "transfer_id": "t", "signal_type": "poll",
        });
        let path = path.replace("{id}", "amy");
        for (field, described) in schema["properties"].as_object().unwrap() {
            // Any value will do.
            if described["type"].is_null() && described["oneOf"].is_null() {
                continue;
            }
            for wrong in [json!({"x": 1}), json!([[1]])] {
                let mut body = right.clone();
                body["signal_type"] = json!("offer");
                body[field] = wrong;
                let (status, answer) = hub.post(&path, body).await;
                assert_eq!(status.as_u16(), 400, "{path} {field}: {answer}");
                let message = answer["message"].as_str().unwrap();
                assert!(message.contains(field), "{path} {field}: {message}");
            }
        }
        for field in schema["required"].as_array().unwrap() {
            let field = field.as_str().unwrap();
            let mut body = right.clone();
            body.as_object_mut().unwrap().remove(field);
            let (status, answer) = hub.post(&path, body).await;
            assert_eq!(status.as_u16(), 400, "{path} {field}: {answer}");
        }
    }
}
