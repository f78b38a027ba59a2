//! The contract of dialling, proved by a protocol that is made up here: `[[agent]]`, the routes and the stored
//! records work for a door that is nothing but its folder (`pigeon.rs`) and a line in the list of protocols.

mod pigeon;

use std::{io, path::Path, sync::Arc, time::Duration};

use jackfield_core::{
    hub::Hub,
    limits::Limits,
    principal::{Principal, Scopes},
    store::memory::MemoryStore,
};
use jackfield_model::Owner;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use super::*;
use crate::{
    auth::Gatekeeper,
    door::{DoorConfig as _, DoorContext, HubEndpoint, SecretStore},
    outbound::{Outbound, OutboundRules},
    server::Server,
    tasks::Tasks,
    testing::spec,
};

const PROTOCOLS: &[&dyn RemoteProtocol] = &[pigeon::REMOTES];

#[derive(Debug)]
struct NoSecrets;

impl SecretStore for NoSecrets {
    fn load_or_create(&self, _: &str) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn load(&self, _: &str) -> io::Result<Option<String>> {
        Ok(None)
    }

    fn folder(&self) -> &Path {
        Path::new("/nowhere")
    }
}

/// A hub with the one door.
struct PigeonHub {
    hub: Hub,
    url: String,
    spec: Value,
    _server: JoinSet<()>,
}

fn targets(file: Value) -> Vec<DialTarget> {
    serde_json::from_value(file).unwrap()
}

impl PigeonHub {
    async fn start(store: Arc<MemoryStore>, file: Value) -> Self {
        let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let context = DoorContext {
            hosts: Arc::default(),
            files: crate::files::Files::for_hub(&hub),
            gatekeeper: Gatekeeper::new(hub.clone(), true),
            hub: hub.clone(),
            tasks: Tasks::new(),
            outbound: Outbound::new(&OutboundRules::default()).unwrap(),
            allow_private_outbound: false,
            store,
            secrets: Arc::new(NoSecrets),
            remotes: check_configured(PROTOCOLS, &targets(file)).unwrap().into(),
            address: HubEndpoint {
                configured: addr,
                bound: addr,
                base_url: None,
                tls: None,
            },
            version: "0",
        };
        let opened = pigeon::Config.open(&context).await.unwrap();
        let diallers: Vec<_> = opened.dialler.into_iter().collect();
        let (router, api) = routes::router(hub.clone(), context.gatekeeper, diallers);
        let server = Server::new(vec![listener], router, Tasks::new());
        let mut running = JoinSet::new();
        running.spawn(async move {
            server.run(Duration::ZERO).await;
        });
        let mut spec = serde_json::to_value(&api).unwrap();
        spec["components"]["schemas"]["Error"] = json!({"type": "object"});
        Self {
            hub,
            url: format!("http://{addr}"),
            spec,
            _server: running,
        }
    }

    /// Asks the hub, and checks the answer against the description.
    async fn ask(
        &self,
        token: Option<&str>,
        method: Method,
        path: &str,
        body: Value,
    ) -> (u16, Value) {
        let client = reqwest::Client::new();
        let mut request = client.request(method.clone(), format!("{}{path}", self.url));
        if !body.is_null() {
            request = request.header("content-type", "application/json");
            request = request.body(body.to_string());
        }
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or_default();
        spec::check(&self.spec, method.as_str(), path, status, &body);
        (status, body)
    }

    async fn add(&self, body: Value) -> (u16, Value) {
        self.ask(None, Method::POST, "/v1/remotes", body).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.ask(None, Method::GET, path, Value::Null).await
    }

    async fn delete(&self, path: &str) -> (u16, Value) {
        self.ask(None, Method::DELETE, path, Value::Null).await
    }

    fn has_agent(&self, id: &str) -> bool {
        self.hub.agents().find(&Principal::local(), id).is_ok()
    }
}

#[tokio::test]
async fn a_third_protocol_is_in_the_file_added_listed_removed_and_there_after_a_restart() {
    let store = Arc::<MemoryStore>::default();
    let file = json!([{"id": "roof", "url": "pigeon://roof", "birds": 3}]);
    let hub = PigeonHub::start(store.clone(), file).await;
    let (status, added) = hub
        .add(json!({"address": "pigeon://barn", "id": "barn", "birds": 2}))
        .await;
    assert_eq!(status, 201);
    assert_eq!(
        added,
        json!({
            "id": "barn", "protocol": "pigeon", "url": "pigeon://barn", "owner": "local", "configured": false,
            "state": "online", "agents": ["barn"], "address": "pigeon://barn", "birds": 2
        })
    );
    let (_, list) = hub.get("/v1/remotes").await;
    let list = list["remotes"].as_array().unwrap();
    let facts: Vec<_> = list
        .iter()
        .map(|it| (it["id"].as_str().unwrap(), it["configured"] == true))
        .collect();
    assert_eq!(facts, [("barn", false), ("roof", true)]);

    // One that is not reached is added only if it is meant.
    let nowhere = |keep| json!({"url": pigeon::NOWHERE, "id": "gone", "birds": 1, "keep": keep});
    let (status, refused) = hub.add(nowhere(false)).await;
    assert_eq!((status, &refused["error"]), (502, &json!("offline")));
    assert_eq!(hub.add(nowhere(true)).await.1["state"], "offline");

    // By its id or its address; one of the file stays.
    assert_eq!(hub.delete("/v1/remotes/roof").await.0, 409);
    assert_eq!(hub.get("/v1/remotes/pigeon%3A%2F%2Fbarn").await.0, 200);
    assert_eq!(hub.delete("/v1/remotes/pigeon%3A%2F%2Fbarn").await.0, 204);
    assert!(hub.has_agent("roof") && !hub.has_agent("barn"));
    let (status, refused) = hub.delete("/v1/remotes/pigeon%3A%2F%2Fbarn").await;
    assert_eq!(
        (status, &refused["message"]),
        (404, &json!("no loft \"pigeon://barn\""))
    );

    let hub = PigeonHub::start(store, json!([])).await;
    let (_, list) = hub.get("/v1/remotes").await;
    let list = list["remotes"].as_array().unwrap();
    let ids: Vec<_> = list.iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["gone"], "{list:?}");
}

#[tokio::test]
async fn an_address_of_one_remote_is_found_as_it_is_and_nothing_is_added() {
    let hub = PigeonHub::start(Arc::default(), json!([])).await;
    let find = async |body| hub.ask(None, Method::POST, "/v1/discover", body).await;
    let barn = json!({"url": "pigeon://barn", "birds": 2});
    let (status, found) = find(barn.clone()).await;
    let one = |state, id| {
        let mut remote = json!({"url": "pigeon://barn", "name": "pigeon://barn", "state": state});
        if let Some(id) = id {
            remote["id"] = json!(id);
        }
        json!({
            "protocol": "pigeon", "url": "pigeon://barn", "remotes": [remote], "truncated": false
        })
    };
    assert_eq!((status, found), (200, one("new", None)));
    let (_, list) = hub.get("/v1/remotes").await;
    assert_eq!(list["remotes"], json!([]));
    let added = json!({"url": "pigeon://barn", "id": "barn", "birds": 2});
    assert_eq!(hub.add(added).await.0, 201);
    assert_eq!(find(barn).await.1, one("added", Some("barn")));
    let (status, refused) = find(json!({"url": "raven://barn"})).await;
    assert_eq!((status, &refused["field"]), (400, &json!("url")));
}

#[tokio::test]
async fn only_admins_add_and_only_owners_see() {
    let hub = PigeonHub::start(Arc::default(), json!([])).await;
    let barn = json!({"url": "pigeon://barn", "id": "barn", "birds": 2});
    assert_eq!(hub.add(barn.clone()).await.0, 201);
    let token = "t".repeat(40);
    let owner = Owner::parse("ann").unwrap();
    let tokens = hub.hub.tokens();
    let none = Scopes::default();
    let made = tokens.add(token.clone(), "ann".to_owned(), owner, &none, None);
    made.await.unwrap();
    let ask = async |method, path: &str, body| hub.ask(Some(&token), method, path, body).await;
    assert_eq!(ask(Method::POST, "/v1/remotes", barn.clone()).await.0, 401);
    assert_eq!(ask(Method::POST, "/v1/discover", barn).await.0, 401);
    let (_, list) = ask(Method::GET, "/v1/remotes", Value::Null).await;
    assert_eq!(list["remotes"], json!([]));
    for name in ["barn", "pigeon%3A%2F%2Fbarn", "pigeon%3A%2F%2Fother"] {
        let path = format!("/v1/remotes/{name}");
        assert_eq!(ask(Method::GET, &path, Value::Null).await.0, 404);
        assert_eq!(ask(Method::DELETE, &path, Value::Null).await.0, 404);
    }
}

#[tokio::test]
async fn what_is_wrong_is_named_by_its_field() {
    let hub = PigeonHub::start(Arc::default(), json!([])).await;
    for (body, field) in [
        (json!({"url": "https://a.example"}), "url"),
        (json!({"url": "a.example", "protocol": "raven"}), "protocol"),
        (json!({"url": "pigeon://a", "birds": 1}), "id"),
        (json!({"url": "pigeon://a", "id": "a"}), ""),
        (
            json!({"url": "pigeon://a", "id": "a", "birds": "two"}),
            "birds",
        ),
        (json!({"url": "pigeon://a", "id": "a", "birds": 0}), "birds"),
        (
            json!({"url": "pigeon://a", "id": "a", "birds": 1, "cats": 1}),
            "cats",
        ),
    ] {
        let (status, refused) = hub.add(body.clone()).await;
        assert_eq!(
            (status, &refused["error"]),
            (400, &json!("invalid")),
            "{body}"
        );
        let named = refused["field"].as_str().unwrap_or_default();
        assert_eq!(named, field, "{body}: {refused}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(field), "{body}: {message}");
    }
    let (_, list) = hub.get("/v1/remotes").await;
    assert_eq!(list["remotes"], json!([]));
}

#[test]
fn an_error_of_the_file_names_the_table_and_the_key() {
    for (agent, named) in [
        (
            json!({"id": "a", "url": "ftp://a.example"}),
            ["[[agent]] a", "ftp://a.example"],
        ),
        (
            json!({"id": "a", "url": "pigeon://a", "birds": 1, "cats": 1}),
            ["[[agent]] a", "cats"],
        ),
        (
            json!({"url": "pigeon://a", "birds": 1}),
            ["[[agent]] \"pigeon://a\"", "\"id\""],
        ),
        (
            json!({"id": "a", "url": "pigeon://a", "protocol": "raven"}),
            ["[[agent]] a", "raven"],
        ),
    ] {
        let refused = check_configured(PROTOCOLS, &targets(json!([agent])));
        let text = refused.unwrap_err().to_string();
        assert!(named.iter().all(|it| text.contains(it)), "{text}");
    }
    // An address that no protocol claims is dialled by the named one.
    let plain = targets(json!([{"id": "a", "url": "roof", "protocol": "pigeon", "birds": 1}]));
    let checked = check_configured(PROTOCOLS, &plain).unwrap();
    assert_eq!(checked, plain);
}
