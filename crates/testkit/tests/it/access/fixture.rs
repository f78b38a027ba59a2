//! A hub with ann's things, and a caller.

use jackfield_model::{AgentId, Owner};
use jackfield_testkit::TestHub;
use reqwest::Client;
use serde_json::json;

/// The kinds of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    Admin,
    Owner,
    Other,
    Invite,
    Platform,
    Stranger,
    Nobody,
    Proxy,
}

impl Caller {
    pub(crate) const ALL: [Self; 8] = [
        Self::Admin,
        Self::Owner,
        Self::Other,
        Self::Invite,
        Self::Platform,
        Self::Stranger,
        Self::Nobody,
        Self::Proxy,
    ];

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Owner => "owner",
            Self::Other => "other",
            Self::Invite => "invite",
            Self::Platform => "platform",
            Self::Stranger => "stranger",
            Self::Nobody => "none",
            Self::Proxy => "proxy",
        }
    }

    /// Whether the caller has no rights to ann's things.
    pub(crate) fn is_foreign(self) -> bool {
        matches!(
            self,
            Self::Other | Self::Stranger | Self::Nobody | Self::Proxy
        )
    }
}

/// The origin of a web page that may use the hub.
pub(crate) const PAGE: &str = "https://page.example";

/// The environment of a caller.
pub(crate) struct AccessFixture {
    pub(crate) hub: TestHub,
    /// Opens a connection for each request.
    pub(crate) client: Client,
    /// The caller's authentication headers.
    pub(crate) shows: Vec<(&'static str, String)>,
    /// The token among them.
    pub(crate) token: Option<String>,
    /// A task of ann's.
    pub(crate) task: String,
    /// A response of ann's.
    pub(crate) response: String,
    /// The id of ann's token.
    pub(crate) ann: String,
}

impl AccessFixture {
    pub(crate) async fn new(caller: Caller) -> Self {
        let hub = TestHub::start_with(|config| {
            if caller != Caller::Proxy {
                config.listen = "0.0.0.0:0".parse().unwrap();
                config.public_url = Some("https://hub.example.com".to_owned());
            }
            config.p2p.enabled = true;
            config.allowed_origins = vec![PAGE.to_owned()];
            config.allow_private_outbound = true;
        })
        .await;
        let ann = hub.token("ann", &["agent:anns-*"]).await;
        let agent = hub.agora_of(&ann, "anns-agent").await;
        let web = hub.web_of(&ann);
        let ask = json!({"model": "anns-agent", "input": "anns-words", "background": true});
        let (status, response) = web.post("/v1/responses", ask).await;
        assert_eq!(status, 200, "{response}");
        // The agent is offline, so no call waits for its answers.
        drop(agent);
        let member = json!({"name": "first", "agent": "anns-agent"});
        let team = json!({"id": "anns-team", "coordinator": "first", "members": [member]});
        let (status, made) = web.post("/v1/teams", team).await;
        assert_eq!(status, 201, "{made}");
        let remote = json!({"id": "anns-remote", "url": "http://127.0.0.1:9", "keep": true});
        // Adding a remote agent requires an admin.
        let root = hub.token("root", &["admin"]).await;
        let (status, made) = hub.web_of(&root).post("/v1/remotes", remote).await;
        assert_eq!(status, 201, "{made}");
        let call = json!({"text": "anns-words", "detach": true, "wait_online": "1h"});
        let (status, made) = web.post("/v1/agents/anns-agent/calls", call).await;
        assert_eq!(status, 202, "{made}");
        let task = made["task"].as_str().unwrap();
        let tokens = hub.hub().tokens();
        let laptop = AgentId::parse("anns-laptop").unwrap();
        let owner = Owner::parse("ann").unwrap();
        let invite = tokens.create_for(laptop, "invite".to_owned(), owner);
        let invite = invite.await.unwrap().secret;
        let token = match caller {
            Caller::Admin => Some(root),
            Caller::Owner => Some(ann),
            Caller::Other => Some(hub.token("bob", &["agent:bobs-*"]).await),
            Caller::Invite => Some(invite),
            Caller::Stranger => Some(hub.token("eve", &[]).await),
            Caller::Platform | Caller::Nobody | Caller::Proxy => None,
        };
        let shows = match caller {
            Caller::Platform => vec![("x-platform-secret", hub.platform_secret())],
            Caller::Proxy => vec![("x-forwarded-for", "203.0.113.7".to_owned())],
            _ => token
                .iter()
                .map(|token| ("authorization", format!("Bearer {token}")))
                .collect(),
        };
        let client = Client::builder().pool_max_idle_per_host(0).build();
        let client = client.unwrap();
        let ann = hub.hub().tokens().list();
        let ann = ann.iter().find(|it| it.owner.as_str() == "ann").unwrap();
        Self {
            task: task.to_owned(),
            response: response["id"].as_str().unwrap().to_owned(),
            ann: ann.id.to_string(),
            hub,
            client,
            shows,
            token,
        }
    }
}
