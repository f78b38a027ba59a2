//! Where callbacks may go: never to private addresses that a request names, unless the operator said so.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use jackfield_bridge::CallbackRules;
use jackfield_core::principal::Principal;
use jackfield_kit::outbound::{HostLookup, HostResolver, Outbound, OutboundRules};
use serde_json::json;

use crate::http::{
    callbacks::async_body,
    harness::{BridgeHub, done, soon},
    receiver::{CallbackReceiver, calling_back, lenient, strict},
};

async fn hub_with(rules: CallbackRules) -> BridgeHub {
    BridgeHub::start_with(Arc::default(), Default::default(), calling_back(rules)).await
}

#[tokio::test]
async fn a_callback_to_a_private_address_is_refused_at_once() {
    let mut called = CallbackReceiver::start().await;
    let hub = hub_with(strict()).await;
    let mut amy = hub.attach("amy");
    for url in [
        called.origin(),
        called.origin().replace("127.0.0.1", "localhost"),
        "http://169.254.169.254/latest/meta-data/".into(),
        "http://[::ffff:10.0.0.1]/".into(),
        "http://2130706433/".into(),
        "https://user:pass@example.com/".into(),
        "file:///etc/passwd".into(),
        "/relative".into(),
        "//example.com/relative".into(),
    ] {
        let (status, answer) = hub.post("/api/relay", async_body("r1", &url)).await;
        assert_eq!(
            (status.as_u16(), &answer["error"]),
            (400, &json!("invalid_message")),
            "{url}"
        );
        assert!(
            answer["message"].as_str().unwrap().contains("callback_url"),
            "{answer}"
        );
    }
    assert!(amy.has_nothing_to_do() && called.is_idle());
    // The operator may allow it, for all or for one origin.
    let trusting = CallbackRules {
        trusted_origins: vec![called.origin()],
        ..strict()
    };
    for rules in [lenient(), trusting] {
        let hub = hub_with(rules).await;
        amy = hub.attach("amy");
        let (status, _) = hub
            .post("/api/relay", async_body("r1", &called.origin()))
            .await;
        assert_eq!(status.as_u16(), 202);
        amy.next_call().await.finish(done("x"));
        called.next().await.ok();
    }
}

#[tokio::test]
async fn a_relative_callback_is_relative_to_the_base_and_cannot_lead_away_from_it() {
    let mut called = CallbackReceiver::start().await;
    let rules = CallbackRules {
        base: Some(format!("{}/platform/", called.origin())),
        ..strict()
    };
    let hub = hub_with(rules).await;
    let mut amy = hub.attach("amy");
    for (url, path) in [
        ("/api/tasks/7/callback", "/api/tasks/7/callback"),
        ("tasks/7", "/platform/tasks/7"),
        ("../x", "/x"),
    ] {
        let (status, answer) = hub.post("/api/relay", async_body("r1", url)).await;
        assert_eq!(status.as_u16(), 202, "{answer}");
        amy.next_call().await.finish(done("x"));
        let post = called.next().await;
        assert_eq!(post.path, path);
        assert_eq!(
            post.header("x-platform-secret"),
            None,
            "a base is no trusted origin"
        );
        post.ok();
    }
    let (status, answer) = hub
        .post("/api/relay", async_body("r1", "//127.0.0.1:1/x"))
        .await;
    assert_eq!(status.as_u16(), 400, "{answer}");
}

/// `home.example` leads home, `moving.example` from its second look-up on.
#[derive(Default)]
struct Home(AtomicBool);

impl HostResolver for Home {
    fn resolve(&self, host: String) -> HostLookup {
        let home: IpAddr = [127, 0, 0, 1].into();
        let away: IpAddr = [93, 184, 215, 14].into();
        let has_moved = host == "moving.example" && self.0.swap(true, Ordering::Relaxed);
        Box::pin(async move {
            match host.as_str() {
                "home.example" => Ok(vec![home]),
                "moving.example" if has_moved => Ok(vec![home]),
                "moving.example" => Ok(vec![away]),
                _ => Err(io::Error::other("no such host")),
            }
        })
    }
}

async fn hub_at_home() -> BridgeHub {
    let home = Arc::new(Home::default());
    let outbound = Outbound::with_resolver(&OutboundRules::default(), home).unwrap();
    hub_with(CallbackRules {
        outbound,
        ..strict()
    })
    .await
}

#[tokio::test]
async fn a_callback_to_a_name_with_a_private_address_is_refused_at_once() {
    let hub = hub_at_home().await;
    let amy = hub.attach("amy");
    let body = async_body("r1", "http://home.example/");
    let (status, answer) = hub.post("/api/relay", body).await;
    assert_eq!(
        (status.as_u16(), &answer["error"]),
        (400, &json!("invalid_message"))
    );
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("callback_url") && message.contains("home.example"),
        "{message}"
    );
    assert!(amy.has_nothing_to_do());
    // One that cannot be looked up now is judged when it is called.
    let body = async_body("r2", "http://nowhere.example/");
    assert_eq!(hub.post("/api/relay", body).await.0.as_u16(), 202);
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_later_is_given_up_with_the_remedy() {
    let called = CallbackReceiver::start().await;
    let hub = hub_at_home().await;
    let mut amy = hub.attach("amy");
    let url = format!("http://moving.example:{}/", called.port);
    let (status, _) = hub.post("/api/relay", async_body("r1", &url)).await;
    assert_eq!(status.as_u16(), 202);
    amy.next_call().await.finish(done("x"));
    let callbacks = hub.hub.callbacks();
    let dead = soon(async {
        loop {
            if let Some(dead) = callbacks
                .list(&Principal::local(), true, 10)
                .await
                .unwrap()
                .pop()
            {
                return dead;
            }
            tokio::task::yield_now().await;
        }
    });
    let why = dead.await.last_error.unwrap();
    assert!(
        why.contains("moving.example") && why.contains("--allow-private-outbound"),
        "{why}"
    );
    assert!(called.is_idle());
}
