//! The sidecar's entry in a registry. The test acts as the registry.

use jackfield_peer::proof::Statement;
use jackfield_registry::{Registry, RegistryRules};

use super::*;

/// A request to the registry, and the channel for its response.
struct RegistryRequest {
    what: String,
    token: Option<String>,
    body: Value,
    answer: tokio::sync::oneshot::Sender<(u16, Value)>,
}

struct FakeRegistry {
    url: String,
    requests: mpsc::Receiver<RegistryRequest>,
    _server: JoinSet<()>,
}

async fn register(
    State(to): State<mpsc::Sender<RegistryRequest>>,
    method: Method,
    uri: Uri,
    headers: http::HeaderMap,
    body: Bytes,
) -> Response {
    let (answer, answered) = tokio::sync::oneshot::channel();
    let token = headers.get(header::AUTHORIZATION);
    let requests = RegistryRequest {
        what: format!("{method} {}", uri.path()),
        token: token.map(|token| token.to_str().unwrap().to_owned()),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        answer,
    };
    to.send(requests).await.unwrap();
    let (status, body) = answered.await.unwrap();
    let status = StatusCode::from_u16(status).unwrap();
    (status, axum::Json(body)).into_response()
}

impl FakeRegistry {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/registry/", listener.local_addr().unwrap());
        let (to, requests) = mpsc::channel(16);
        let app = Router::new().fallback(any(register)).with_state(to);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            url,
            requests,
            _server: server,
        }
    }

    fn at(&self, token: Option<&str>) -> Option<RegistryAt> {
        Some(RegistryAt {
            url: self.url.clone(),
            token: token.map(ToOwned::to_owned),
        })
    }

    /// Answers the next request, which must match `what`.
    async fn answer(&mut self, what: &str, status: u16, body: Value) -> (Option<String>, Value) {
        let requests = soon(self.requests.recv()).await.unwrap();
        assert_eq!(requests.what, what);
        requests.answer.send((status, body)).unwrap();
        (requests.token, requests.body)
    }
}

#[tokio::test]
async fn it_registers_with_its_signature_and_takes_leave_at_the_end() {
    let agent = Agent::start().await;
    let mut fake = FakeRegistry::start().await;
    let setting = SidecarConfig {
        registry: fake.at(Some("secret")),
        ..setting(&agent.url)
    };
    let peer = setting.key.public().to_peer_id();
    // A real registry checks the registration.
    let judge = Registry::new(RegistryRules {
        allow_private: true,
    });
    let own = format!("/registry/register/{peer}");
    let sidecar = Sidecar::open(setting).await.unwrap();
    let challenge = json!({"peer_id": peer.to_string(), "challenge": judge.challenge(&peer)});
    fake.answer(&format!("GET {own}"), 200, challenge.clone())
        .await;
    let registered = json!({"status": "registered", "peer_id": peer.to_string()});
    let (token, body) = fake
        .answer("POST /registry/register", 200, registered)
        .await;
    assert_eq!(token.as_deref(), Some("Bearer secret"));
    assert_eq!(body["agent_name"], "Shop");
    assert_eq!(body["capabilities"], json!(["buy", "list", "move", "tell"]));
    assert_eq!(body["card"]["skills"][1]["path"], "/items");
    let at = sidecar.node().addresses()[0].to_string();
    assert_eq!(body["addrs"], json!([at]));
    assert_eq!(body["challenge"], challenge["challenge"]);
    let addresses = [at];
    let statement = Statement::Register {
        name: "Shop",
        addresses: &addresses,
    };
    assert!(is_signed(&peer, &body, &statement));
    until(&sidecar, |it| it.listing == ListingStatus::Listed).await;

    let mut closing = JoinSet::new();
    closing.spawn(sidecar.close(Duration::from_secs(5)));
    fake.answer(&format!("GET {own}"), 200, challenge).await;
    let (_, body) = fake.answer(&format!("DELETE {own}"), 204, json!({})).await;
    assert_eq!(body["peer_id"], peer.to_string());
    assert!(is_signed(&peer, &body, &Statement::Remove));
    soon(closing.join_all()).await;
}

fn is_signed(peer: &PeerId, body: &Value, statement: &Statement<'_>) -> bool {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use jackfield_peer::keys::PublicKey;
    let key = PublicKey::try_decode_protobuf(peer.as_ref().digest()).unwrap();
    let text = statement.text(peer, body["challenge"].as_str().unwrap());
    let signature = STANDARD.decode(body["signature"].as_str().unwrap());
    key.verify(text.as_bytes(), &signature.unwrap())
}

#[tokio::test]
async fn a_registry_that_knows_no_signatures_is_taken_too_and_one_that_refuses_is_told_of_and_asked_again()
 {
    let agent = Agent::start().await;
    let mut fake = FakeRegistry::start().await;
    let relay = PeerId::random();
    let setting = SidecarConfig {
        registry: fake.at(None),
        // An address without a listener.
        relays: vec![format!("/ip4/127.0.0.1/tcp/1/p2p/{relay}").parse().unwrap()],
        ..setting(&agent.url)
    };
    let peer = setting.key.public().to_peer_id();
    let sidecar = Sidecar::open(setting).await.unwrap();
    let own = format!("GET /registry/register/{peer}");
    for (status, error) in [(401, "a token is needed"), (500, "oh")] {
        fake.answer(&own, 404, json!({"detail": "Not Found"})).await;
        let (token, body) = fake
            .answer("POST /registry/register", status, json!({"error": error}))
            .await;
        assert_eq!((token, body.get("signature")), (None, None));
        let through = format!("/ip4/127.0.0.1/tcp/1/p2p/{relay}/p2p-circuit/p2p/{peer}");
        assert_eq!(body["addrs"][1], through.as_str(), "{body}");
        let failed = until(
            &sidecar,
            |it| matches!(&it.listing, ListingStatus::Failed { why, .. } if why.contains(error)),
        );
        let is_refused = matches!(
            failed.await.listing,
            ListingStatus::Failed {
                is_refused: true,
                ..
            }
        );
        assert_eq!(is_refused, status == 401);
    }
    fake.answer(&own, 404, json!({})).await;
    fake.answer("POST /registry/register", 200, json!({})).await;
    until(&sidecar, |it| it.listing == ListingStatus::Listed).await;
    // A new address is registered at once.
    let external = "/dns4/shop.example/tcp/4001";
    sidecar
        .node()
        .add_external_address(external.parse().unwrap());
    fake.answer(&own, 404, json!({})).await;
    let (_, body) = fake.answer("POST /registry/register", 200, json!({})).await;
    assert!(body["addrs"].to_string().contains(external), "{body}");
}
