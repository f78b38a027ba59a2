//! Tickets of web pages, at the WebSocket of every door: accepted once, as the creator, and otherwise refused in the
//! protocol's own words before anything happens.

use jackfield_kit::testing::CapturedLog;
use jackfield_testkit::{Raw, TestHub, bridge_register};
use serde_json::{Value, json};

use super::{is_refused_by_bridge, is_taken_by_bridge};

const PAGE: &str = "https://page.example";
const OTHER_PAGE: &str = "https://other.example";

/// The WebSockets, with what a client sends first.
#[derive(Debug, Clone, Copy)]
enum Door {
    Agora,
    Bridge,
    BridgeByUrl,
    Team,
    Agent,
    Publisher,
    Editor,
}

impl Door {
    const ALL: [Self; 7] = [
        Self::Agora,
        Self::Bridge,
        Self::BridgeByUrl,
        Self::Team,
        Self::Agent,
        Self::Publisher,
        Self::Editor,
    ];

    fn path(self) -> &'static str {
        match self {
            Self::Agora | Self::Bridge => "/ws",
            Self::BridgeByUrl => "/ws?agent_id=anns-third",
            Self::Team => "/ws/agent-team/anns-team?replay=false",
            Self::Agent => "/ws/agent/anns-agent",
            Self::Publisher => "/v1/teams/anns-team/events",
            Self::Editor => "/acp/anns-agent",
        }
    }

    /// Sends what a client sends first.
    async fn begin(self, raw: &mut Raw) {
        match self {
            Self::Agora => {
                raw.send(json!({"type": "register", "id": "anns-first"}))
                    .await
            }
            Self::Bridge => raw.send(bridge_register("anns-second")).await,
            Self::BridgeByUrl => raw.send(bridge_register("anns-third")).await,
            Self::Publisher => raw.send(json!([])).await,
            Self::Editor => raw.send(initialize()).await,
            Self::Team | Self::Agent => {}
        }
    }

    /// Checks that the hub takes the client for ann.
    async fn is_open(self, raw: &mut Raw) {
        self.begin(raw).await;
        match self {
            Self::Agora => {
                raw.expect(json!({"type": "registered", "id": "anns-first"}))
                    .await;
            }
            Self::Bridge | Self::BridgeByUrl => is_taken_by_bridge(raw).await,
            Self::Team | Self::Agent => assert_eq!(raw.frame().await["type"], "CONNECTED"),
            Self::Publisher => {
                let answer = raw.frame().await;
                assert_ne!(answer["error"], "unauthorized", "{answer}");
            }
            Self::Editor => {
                let answer = raw.frame().await;
                assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
            }
        }
    }

    /// Checks that the hub refuses the ticket of a connection, in the words of the protocol.
    async fn is_refused(self, hub: &TestHub, way: &Way, why: &str) {
        let connected = way.connect(hub, self.path()).await;
        if let Self::Publisher | Self::Editor = self {
            assert_eq!(connected.map(|_| ()), Err(401));
            return;
        }
        let mut raw = connected.unwrap();
        self.begin(&mut raw).await;
        match self {
            Self::Agora => {
                let fields =
                    json!({"code": "unauthorized", "frame_type": "register", "field": "ticket"});
                let message = raw.expect_error(fields).await;
                assert!(message.contains(why), "{message}");
                raw.send(json!({"type": "list"})).await;
                let fields =
                    json!({"code": "unauthorized", "frame_type": "list", "field": "ticket"});
                raw.expect_error(fields).await;
            }
            Self::Bridge | Self::BridgeByUrl => {
                let frame = raw.frame().await;
                assert_eq!(frame["status"], "error");
                let error = frame["error"].as_str().unwrap();
                assert!(
                    error.starts_with("Authentication failed: ticket: "),
                    "{error}"
                );
                assert!(error.contains(why), "{error}");
                assert_eq!(raw.closed().await, (1008, "Auth failed".to_owned()));
            }
            Self::Team | Self::Agent => {
                let frame = raw.frame().await;
                let payload = &frame["payload"];
                assert_eq!(
                    (&frame["type"], &payload["code"]),
                    (&json!("ERROR"), &json!("UNAUTHORIZED"))
                );
                let message = payload["message"].as_str().unwrap();
                assert!(
                    message.starts_with("ticket: ") && message.contains(why),
                    "{message}"
                );
                assert_eq!(raw.closed().await, (1008, "ticket refused".to_owned()));
            }
            Self::Publisher | Self::Editor => unreachable!(),
        }
        for id in ["anns-first", "anns-second", "anns-third"] {
            assert!(
                hub.hub().agents().get(id).is_none(),
                "{self:?} registered {id}"
            );
        }
    }
}

/// The first request of an editor.
fn initialize() -> Value {
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

/// A handshake of a page: its origin, and where the ticket stands.
#[derive(Debug)]
struct Way {
    origin: &'static str,
    ticket: String,
    is_protocol: bool,
}

impl Way {
    fn query(ticket: &str) -> Self {
        Self {
            origin: PAGE,
            ticket: ticket.to_owned(),
            is_protocol: false,
        }
    }

    fn protocol(ticket: &str) -> Self {
        Self {
            is_protocol: true,
            ..Self::query(ticket)
        }
    }

    async fn connect(&self, hub: &TestHub, path: &str) -> Result<Raw, u16> {
        let Self {
            origin,
            ticket,
            is_protocol,
        } = self;
        let origin = ("origin", *origin);
        if *is_protocol {
            // The client fails the connection unless the hub selects one of the offered subprotocols.
            let offered = format!("jackfield, jackfield.ticket.{ticket}");
            let headers = [origin, ("sec-websocket-protocol", &offered)];
            return Raw::connect_with(hub.addr(), path, &headers).await;
        }
        let sign = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{sign}ticket={ticket}");
        Raw::connect_with(hub.addr(), &path, &[origin]).await
    }
}

/// A hub that trusts no address, with ann's offline agent in ann's team, and ann's token.
async fn hub() -> (TestHub, String) {
    let hub = TestHub::start_with(|config| {
        config.listen = "0.0.0.0:0".parse().unwrap();
        config.allowed_origins = vec![PAGE.to_owned(), OTHER_PAGE.to_owned()];
    })
    .await;
    let ann = hub.token("ann", &["agent:anns-*"]).await;
    drop(hub.agora_of(&ann, "anns-agent").await);
    let member = json!({"name": "first", "agent": "anns-agent"});
    let team = json!({"id": "anns-team", "coordinator": "first", "members": [member]});
    let (status, made) = hub.web_of(&ann).post("/v1/teams", team).await;
    assert_eq!(status, 201, "{made}");
    (hub, ann)
}

/// Makes a ticket for pages of [`PAGE`].
async fn ticket(hub: &TestHub, token: &str) -> String {
    let (status, made) = hub
        .web_of(token)
        .post("/v1/tickets", json!({"origin": PAGE}))
        .await;
    assert_eq!(status, 201, "{made}");
    made["ticket"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_websocket_takes_a_ticket_by_query_and_by_subprotocol() {
    for door in Door::ALL {
        let (hub, ann) = hub().await;
        for way in [Way::query, Way::protocol] {
            let way = way(&ticket(&hub, &ann).await);
            let mut raw = way.connect(&hub, door.path()).await.unwrap();
            door.is_open(&mut raw).await;
        }
    }
}

#[tokio::test]
async fn a_ticket_opens_one_connection_and_a_second_one_is_refused() {
    for door in Door::ALL {
        let (hub, ann) = hub().await;
        let way = Way::query(&ticket(&hub, &ann).await);
        let mut first = way.connect(&hub, Door::Team.path()).await.unwrap();
        Door::Team.is_open(&mut first).await;
        door.is_refused(&hub, &way, "used already").await;
        let way = Way {
            is_protocol: true,
            ..way
        };
        door.is_refused(&hub, &way, "used already").await;
    }
}

#[tokio::test]
async fn a_ticket_of_another_page_a_revoked_token_or_nobody_is_refused() {
    for door in Door::ALL {
        let (hub, ann) = hub().await;
        let elsewhere = Way {
            origin: OTHER_PAGE,
            ..Way::query(&ticket(&hub, &ann).await)
        };
        door.is_refused(&hub, &elsewhere, "another origin").await;
        let unlisted = Way {
            origin: "https://evil.example",
            ..Way::query(&ticket(&hub, &ann).await)
        };
        assert_eq!(
            unlisted.connect(&hub, door.path()).await.map(|_| ()),
            Err(403)
        );
        door.is_refused(&hub, &Way::protocol("jt_guess"), "used already")
            .await;
        let revoked = Way::query(&ticket(&hub, &ann).await);
        revoke_all(&hub).await;
        door.is_refused(&hub, &revoked, "revoked").await;
    }
}

async fn revoke_all(hub: &TestHub) {
    let tokens = hub.hub().tokens();
    for record in tokens.list() {
        tokens.revoke(record.id).await.unwrap();
    }
}

#[tokio::test]
async fn a_connection_ends_with_the_token_of_its_ticket() {
    for door in Door::ALL {
        let (hub, ann) = hub().await;
        let way = Way::query(&ticket(&hub, &ann).await);
        let mut raw = way.connect(&hub, door.path()).await.unwrap();
        door.is_open(&mut raw).await;
        revoke_all(&hub).await;
        let closed = tokio::time::timeout(std::time::Duration::from_secs(5), async {
            while raw.maybe_text().await.is_some() {}
        });
        closed
            .await
            .unwrap_or_else(|_| panic!("{door:?} stayed open"));
    }
}

#[tokio::test]
async fn a_ticket_has_the_rights_of_its_token_whatever_the_first_frame_says() {
    let (hub, ann) = hub().await;
    let root = hub.token("root", &["admin"]).await;
    // Ann's token may not register this id.
    let mut raw = Way::query(&ticket(&hub, &ann).await)
        .connect(&hub, "/ws")
        .await
        .unwrap();
    raw.send(json!({"type": "register", "id": "roots-agent", "token": root}))
        .await;
    raw.expect_error(json!({"code": "unauthorized", "frame_type": "register", "field": "id"}))
        .await;
    let mut raw = Way::query(&ticket(&hub, &ann).await)
        .connect(&hub, "/ws")
        .await
        .unwrap();
    let mut register = bridge_register("roots-agent");
    register["token"] = json!(root);
    raw.send(register).await;
    let error = "Authentication failed: this token may register agent:anns-* only";
    is_refused_by_bridge(&mut raw, error, "Auth failed").await;
    let bob = hub.token("bob", &[]).await;
    let mut raw = Way::query(&ticket(&hub, &bob).await)
        .connect(&hub, Door::Team.path())
        .await
        .unwrap();
    assert_eq!(raw.frame().await["payload"]["code"], "TEAM_NOT_FOUND");
}

#[tokio::test]
async fn where_no_token_is_needed_a_bad_ticket_is_refused_all_the_same() {
    let hub = TestHub::start_with(|config| config.allowed_origins = vec![PAGE.to_owned()]).await;
    let way = Way::query("jt_guess");
    let mut raw = way.connect(&hub, "/ws").await.unwrap();
    raw.send(json!({"type": "register", "id": "a"})).await;
    let fields = json!({"code": "unauthorized", "frame_type": "register", "field": "ticket"});
    raw.expect_error(fields).await;
    // A page of a listed origin needs none there.
    let mut raw = Raw::connect_with(hub.addr(), "/ws", &[("origin", PAGE)])
        .await
        .unwrap();
    raw.register("a").await;
    let refused = Raw::connect_with(hub.addr(), "/ws", &[("origin", OTHER_PAGE)]).await;
    assert_eq!(refused.map(|_| ()), Err(403));
}

#[tokio::test]
async fn a_ticket_opens_nothing_but_a_websocket() {
    let (hub, ann) = hub().await;
    let ticket = ticket(&hub, &ann).await;
    for path in ["/v1/agents", "/v1/events", "/v1/teams/anns-team/events"] {
        let (status, answer) = hub.web().get(&format!("{path}?ticket={ticket}")).await;
        assert_eq!(
            (status, &answer["error"]),
            (401, &Value::from("unauthorized")),
            "{path}"
        );
    }
    let mut raw = Way::query(&ticket)
        .connect(&hub, Door::Team.path())
        .await
        .unwrap();
    Door::Team.is_open(&mut raw).await;
}

#[tokio::test]
async fn no_ticket_is_logged() {
    let (log, _capturing) = CapturedLog::start("jackfield");
    for door in Door::ALL {
        let (hub, ann) = hub().await;
        for way in [Way::query, Way::protocol] {
            let way = way(&ticket(&hub, &ann).await);
            let mut raw = way.connect(&hub, door.path()).await.unwrap();
            door.is_open(&mut raw).await;
            way.connect(&hub, door.path()).await.ok();
        }
    }
    let text = log.text();
    assert!(
        text.contains("ticket made") && text.contains("ticket refused"),
        "{text}"
    );
    assert!(!text.contains("jt_"), "{text}");
}
