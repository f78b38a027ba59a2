//! Where cards are looked for, and what is said when there is none.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
};

use jackfield_kit::outbound::OutboundRules;
use serde_json::json;

use super::{
    super::{
        Dialect,
        spec::{Auth, OAuth, SecretLocation},
        static_site::StaticSite,
    },
    *,
};
use crate::wire::card::Binding;

/// A card of version 1.0 with one place.
fn card(url: &str) -> String {
    json!({
        "name": "Echo", "version": "1.2",
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    })
    .to_string()
}

fn outbound() -> Outbound {
    Outbound::new(&OutboundRules::default()).unwrap()
}

fn nothing_to_show() -> Credentials {
    Credentials::new(&Auth::default(), outbound()).unwrap()
}

async fn found(site: &StaticSite, path: &str) -> Result<FoundCard, CardFetchError> {
    find(&outbound(), &site.url(path), &nothing_to_show()).await
}

const NEW: &str = "/.well-known/agent-card.json";
const OLD: &str = "/.well-known/agent.json";

#[tokio::test]
async fn a_card_is_found_below_what_was_typed_or_there_or_at_the_root() {
    for (typed, at, tried) in [
        ("", NEW, vec![NEW]),
        ("/", NEW, vec![NEW]),
        ("/", OLD, vec![NEW, OLD]),
        (
            "/one",
            "/one/.well-known/agent-card.json",
            vec!["/one/.well-known/agent-card.json"],
        ),
        (
            "/one/",
            "/one/.well-known/agent.json",
            vec![
                "/one/.well-known/agent-card.json",
                "/one/.well-known/agent.json",
            ],
        ),
        (
            "/cards/echo.json",
            "/cards/echo.json",
            vec!["/cards/echo.json"],
        ),
        ("/.well-known/agent.json", OLD, vec![OLD]),
        (
            "/?assistant_id=7",
            "/.well-known/agent-card.json?assistant_id=7",
            vec!["/.well-known/agent-card.json?assistant_id=7"],
        ),
        (
            "/one",
            NEW,
            vec![
                "/one/.well-known/agent-card.json",
                "/one/.well-known/agent.json",
                NEW,
            ],
        ),
        (
            "/one/two",
            OLD,
            vec![
                "/one/two/.well-known/agent-card.json",
                "/one/two/.well-known/agent.json",
                NEW,
                OLD,
            ],
        ),
        ("/echo.json", NEW, vec!["/echo.json", NEW]),
    ] {
        let site = StaticSite::start().await;
        site.put(at, card("/rpc"));
        let found = found(&site, typed).await.unwrap();
        assert_eq!(site.paths(), tried, "{typed}");
        assert_eq!(found.url, format!("{}{at}", site.origin()));
        assert_eq!(found.place.url, format!("{}/rpc", site.origin()));
        assert_eq!(&*found.raw, card("/rpc"));
        assert_eq!(found.profile.name, "Echo");
        assert_eq!(found.signature, SignatureCheck::None);
        // A card of somebody above is somebody else's, perhaps.
        let is_above = tried[0] != at && typed.len() > 1;
        let is_above = is_above && !at.starts_with(typed.trim_end_matches('/'));
        assert_eq!(
            found.warnings.len(),
            usize::from(is_above),
            "{typed} {:?}",
            found.warnings
        );
    }
}

#[tokio::test]
async fn relative_places_are_below_the_agent() {
    let site = StaticSite::start().await;
    site.put("/one/.well-known/agent-card.json", card("rpc"));
    let here = found(&site, "/one").await.unwrap();
    assert_eq!(here.place.url, format!("{}/one/rpc", site.origin()));
    site.put("/cards/one.json", card("../rpc"));
    let there = found(&site, "/cards/one.json").await.unwrap();
    assert_eq!(there.place.url, format!("{}/rpc", site.origin()));
}

#[tokio::test]
async fn agnos_agents_are_found_by_their_own_address() {
    let site = StaticSite::start().await;
    let url = format!("{}/a2a/agents/basic/v1/message:stream", site.origin());
    let card = json!({
        "name": "Basic Agent", "url": url, "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC",
        "capabilities": {"streaming": true, "extensions": null}, "signatures": null,
    });
    site.put(
        "/a2a/agents/basic/.well-known/agent-card.json",
        card.to_string(),
    );
    let found = found(&site, "/a2a/agents/basic").await.unwrap();
    let expected = RemoteEndpoint {
        url: format!("{}/a2a/agents/basic", site.origin()),
        binding: Binding::JsonRpc,
        dialect: Dialect::Agno,
        version: A2aVersion::V03,
        tenant: None,
        streams: true,
    };
    assert_eq!(found.place, expected);
}

#[tokio::test]
async fn the_newest_version_is_asked_for() {
    let site = StaticSite::start().await;
    site.put(NEW, card("/"));
    found(&site, "").await.unwrap();
    assert_eq!(site.header("a2a-version").as_deref(), Some("1.0"));
    assert_eq!(site.header("accept").as_deref(), Some("application/json"));
    assert_eq!(site.header("authorization"), None);
}

#[tokio::test]
async fn what_the_operator_gives_is_shown() {
    let site = StaticSite::start().await;
    site.put(NEW, card("/"));
    let auth = Auth {
        // A variable that every test run has.
        headers: vec![(
            "X-Crate".into(),
            SecretLocation::Env("CARGO_PKG_NAME".into()),
        )],
        ..Auth::default()
    };
    let credentials = Credentials::new(&auth, outbound()).unwrap();
    find(&outbound(), &site.url("/"), &credentials)
        .await
        .unwrap();
    assert_eq!(site.header("x-crate").as_deref(), Some("jackfield-a2a"));

    let auth = Auth {
        bearer: Some(SecretLocation::Env("JACKFIELD_NOT_SET_ANYWHERE".into())),
        ..Auth::default()
    };
    let credentials = Credentials::new(&auth, outbound()).unwrap();
    let trouble = find(&outbound(), &site.url("/"), &credentials)
        .await
        .unwrap_err();
    assert!(
        matches!(trouble, CardFetchError::Credentials(_)),
        "{trouble}"
    );
}

#[tokio::test]
async fn a_token_that_ran_out_is_fetched_anew_and_shown_once_more() {
    let site = StaticSite::start().await;
    for token in ["old", "new"] {
        let token = json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600});
        site.put("/token", token.to_string());
    }
    site.answer(NEW, 401, &[], "");
    site.put(NEW, card("/"));
    let name = SecretLocation::Env("CARGO_PKG_NAME".into());
    let auth = Auth {
        oauth: Some(OAuth {
            token_url: site.url("/token").into(),
            client_id: name.clone(),
            client_secret: name,
            scope: None,
        }),
        ..Auth::default()
    };
    let trusting = outbound().trusting([site.origin()]).unwrap();
    let credentials = Credentials::new(&auth, trusting).unwrap();
    let found = find(&outbound(), &site.url("/"), &credentials).await;
    found.unwrap();
    assert_eq!(site.paths(), ["/token", NEW, "/token", NEW]);
    assert_eq!(site.header("authorization").as_deref(), Some("Bearer new"));
}

#[tokio::test]
async fn what_is_no_card_is_told_by_its_fault_and_nothing_else_is_tried() {
    let large = format!(r#"{{"name":"{}"}}"#, "x".repeat(10 << 20));
    for (status, headers, body, expected) in [
        (
            200,
            vec![],
            "<html>",
            "the card at S is of no use: it is not JSON: expected value at line 1 column 1",
        ),
        (
            200,
            vec![],
            "[]",
            "the card at S is of no use: it is not a JSON object",
        ),
        (
            200,
            vec![],
            r#"{"url":"/"}"#,
            "the card at S is of no use: name is required",
        ),
        (
            200,
            vec![],
            r#"{"name":"a"}"#,
            "the card at S is of no use: it names no place to call: neither supportedInterfaces nor url does",
        ),
        (
            200,
            vec![],
            large.as_str(),
            "S is larger than 1 MiB, too large for a card",
        ),
        (
            401,
            vec![],
            "",
            "S is not for us: the server answers 401 Unauthorized; say what it is shown, as with --bearer-env VAR or --bearer-file FILE",
        ),
        (
            403,
            vec![],
            "",
            "S is not for us: the server answers 403 Forbidden; say what it is shown, as with --bearer-env VAR or --bearer-file FILE",
        ),
        (500, vec![], "", "S answers 500 Internal Server Error"),
        (204, vec![], "", "S answers 204 No Content"),
        (
            301,
            vec![("location", "http://10.0.0.1/card?token=secret")],
            "",
            "S redirects to http://10.0.0.1/card, which is not followed; add that URL if it is right",
        ),
        (302, vec![], "", "S answers 302 Found"),
    ] {
        let site = StaticSite::start().await;
        site.answer(NEW, status, &headers, body);
        site.put(OLD, card("/"));
        let trouble = found(&site, "").await.unwrap_err();
        let expected = expected.replacen('S', &format!("{}{NEW}", site.origin()), 1);
        assert_eq!(trouble.to_string(), expected);
        assert_eq!(trouble.is_refusal(), status != 500, "{trouble}");
        assert_eq!(site.paths(), [NEW]);
    }
}

#[tokio::test]
async fn a_server_without_a_card_is_told_with_all_that_was_tried() {
    let site = StaticSite::start().await;
    site.answer(&format!("/one{OLD}?k=secret"), 410, &[], "");
    site.answer(&format!("{OLD}?k=secret"), 405, &[], "");
    let trouble = found(&site, "/one?k=secret").await.unwrap_err();
    let origin = site.origin();
    assert_eq!(
        trouble.to_string(),
        format!(
            "there is no card at {origin}/one{NEW} (404 Not Found), nor at {origin}/one{OLD} (410 Gone), nor at \
             {origin}{NEW} (404 Not Found), nor at {origin}{OLD} (405 Method Not Allowed)"
        )
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_out_of_reach_and_not_refused() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = Url::parse(&format!("http://127.0.0.1:{port}")).unwrap();
    let trouble = find(&outbound(), &url, &nothing_to_show())
        .await
        .unwrap_err();
    assert!(!trouble.is_refusal());
    assert!(
        trouble
            .to_string()
            .starts_with(&format!("cannot reach http://127.0.0.1:{port}: ")),
        "{trouble}"
    );
}

#[tokio::test]
async fn a_card_that_breaks_off_is_no_card() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let head = socket.read(&mut [0; 4096]).unwrap();
        assert!(head > 0);
        socket
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"name\":")
            .unwrap();
    });
    let trouble = find(&outbound(), &url, &nothing_to_show())
        .await
        .unwrap_err();
    server.join().unwrap();
    assert_eq!(
        trouble.to_string(),
        format!("{url}.well-known/agent-card.json breaks off after 8 bytes")
    );
    assert!(!trouble.is_refusal());
}

#[tokio::test]
async fn a_mark_before_the_card_is_kept_but_not_read() {
    let site = StaticSite::start().await;
    let marked = format!("\u{feff}{}", card("/"));
    site.put(NEW, marked.clone());
    assert_eq!(&*found(&site, "").await.unwrap().raw, marked);
}
