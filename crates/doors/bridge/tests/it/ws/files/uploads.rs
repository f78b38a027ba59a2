//! Announcing an archive to an agent over `/v1`.

use super::*;

#[tokio::test]
async fn an_announced_archive_reaches_the_agent_as_the_signal_that_it_knows() {
    let mut place = Place::open().await;
    let mut body = offer("up", 5);
    body["client_id"] = json!("ann-1");
    let announced = place.ann.post("/v1/agents/amy/transfers", &body).await;
    assert_eq!(announced, (201, json!({"transfer_id": "up"})));
    let heard = place.signal().await;
    assert_eq!(
        (
            &heard["signal_type"],
            &heard["client_id"],
            &heard["from_agent_id"]
        ),
        (
            &json!("prepare-upload"),
            &json!("ann-1"),
            &json!("http-caller")
        )
    );
    let said: Value = serde_json::from_str(heard["payload"].as_str().unwrap()).unwrap();
    assert_eq!(said, offer("up", 5));
    assert_eq!(
        place.ann.post("/v1/agents/amy/transfers", &body).await.0,
        201,
        "again"
    );
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_by_field() {
    let mut place = Place::open().await;
    for (field, wrong) in [
        ("transfer_id", json!("../up")),
        ("transfer_id", json!(5)),
        ("zip_size", json!(0)),
        ("zip_size", json!(-1)),
        ("zip_sha256", json!("ab")),
        ("file_count", json!("many")),
        ("client_id", json!("../ann")),
        ("surprise", json!(1)),
    ] {
        let mut body = offer("up", 5);
        body[field] = wrong;
        let (status, answer) = place.ann.post("/v1/agents/amy/transfers", &body).await;
        assert_eq!(status, 400, "{answer}");
        assert!(
            answer["message"].as_str().unwrap().contains(field),
            "{answer}"
        );
    }
    let (status, _) = place
        .ann
        .post("/v1/agents/nobody/transfers", &offer("up", 5))
        .await;
    assert_eq!(status, 404);
    let announced = format!("{}/signals", path("up"));
    let say = json!({"signal_type": "prepare-upload", "payload": offer("up", 5).to_string()});
    assert_eq!(place.ann.post(&announced, &say).await.0, 403);
    assert!(place.amy.sync().await.is_empty());
}

#[tokio::test]
async fn what_was_said_under_an_id_before_is_not_said_to_who_announces_it() {
    let mut place = Place::open().await;
    // For the platform, about a transfer that the hub does not know.
    place
        .amy
        .send(json!({
            "type": "rtc_signal", "transfer_id": "up", "target_agent_id": "http-caller",
            "signal_type": "answer", "payload": "for the platform",
        }))
        .await;
    assert!(place.amy.sync().await.is_empty());
    assert_eq!(
        place
            .bob
            .post("/v1/agents/amy/transfers", &offer("up", 5))
            .await
            .0,
        201
    );
    let heard = place.bob.says("up", &json!({"signal_type": "poll"})).await;
    assert_eq!(heard, (200, json!({"signals": []})));
}
