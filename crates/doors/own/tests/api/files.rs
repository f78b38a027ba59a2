//! Files by their links: fetched as they are, by anybody who has the link, and by nobody else.

use std::time::Duration;

use jackfield_core::{limits::Limits, units::Size};
use jackfield_model::{File, FileSource};
use jiff::Timestamp;
use reqwest::{Method, Response, StatusCode};
use serde_json::json;

use crate::harness::OwnHub;

/// A hub that trusts nobody by address, so that only links let one in.
async fn closed(limits: Limits) -> OwnHub {
    OwnHub::start_with(false, limits).await
}

fn file(name: &str, mime: &str, base64: &str) -> File {
    File {
        name: Some(name.to_owned()),
        mime: Some(mime.to_owned()),
        source: FileSource::Bytes(base64.into()),
    }
}

impl OwnHub {
    /// The path and query of a new link.
    fn link(&self, file: &File) -> String {
        self.path_of(&self.files.link(file).unwrap())
    }

    fn path_of(&self, url: &str) -> String {
        let origin = format!("http://{}", self.addr);
        url.strip_prefix(&origin).unwrap().to_owned()
    }

    /// Follows a link with nothing but the link.
    async fn follow(&self, path: &str) -> Response {
        self.ask(Method::GET, path).send().await.unwrap()
    }

    /// A link that must be refused as described.
    async fn refused(&self, path: &str) -> (u16, String) {
        let response = self.follow(path).await;
        let (status, body) = self.checked(&Method::GET, path, response).await;
        (status.as_u16(), body["error"].as_str().unwrap().to_owned())
    }
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers()[name].to_str().unwrap()
}

#[tokio::test]
async fn a_link_is_followed_without_a_token_and_gives_the_bytes_as_a_download() {
    let hub = closed(Limits::default()).await;
    let content: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
    let base64 = {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        STANDARD.encode(&content)
    };
    let path = hub.link(&file("plot.png", "image/png", &base64));
    for method in [Method::GET, Method::HEAD] {
        let response = hub.ask(method.clone(), &path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        for (name, value) in [
            ("content-type", "image/png"),
            ("content-length", "300000"),
            (
                "content-disposition",
                "attachment; filename*=UTF-8''plot.png",
            ),
            ("x-content-type-options", "nosniff"),
            ("cache-control", "private, no-store"),
            ("content-security-policy", "sandbox"),
        ] {
            assert_eq!(header(&response, name), value);
        }
        let body = response.bytes().await.unwrap();
        let expected: &[u8] = if method == Method::GET { &content } else { b"" };
        assert!(body == expected, "{method}");
    }
    let whoami = hub.follow("/v1/whoami").await;
    assert_eq!(
        whoami.status(),
        StatusCode::UNAUTHORIZED,
        "the hub is closed"
    );
}

#[tokio::test]
async fn a_link_that_the_hub_did_not_sign_is_forbidden() {
    let hub = closed(Limits::default()).await;
    let path = hub.link(&file("a.txt", "text/plain", "aGk="));
    let (before, signature) = path.split_once("&sig=").unwrap();
    let (place, _) = before.split_once('?').unwrap();
    let flipped = if signature.starts_with('0') { "1" } else { "0" };
    for forged in [
        format!("{before}&sig={flipped}{}", &signature[1..]),
        format!("{before}&sig="),
        before.to_owned(),
        place.to_owned(),
        path.replace("a.txt", "b.txt"),
        path.replace("expires=", "expires=9"),
        path.replace("/files/", "/files/0"),
    ] {
        let refused = hub.refused(&forged).await;
        assert_eq!(refused, (403, "unauthorized".to_owned()), "{forged}");
    }
    // What nobody asked for is not ignored, and what is no text is no link.
    for malformed in [
        format!("{path}&sig={signature}"),
        format!("{path}&download=1"),
        path.replace("a.txt", "%FF"),
    ] {
        let refused = hub.refused(&malformed).await;
        assert_eq!(refused, (400, "invalid".to_owned()), "{malformed}");
    }
    let token = hub.token("root", &["admin"]).await;
    let response = hub.ask(Method::GET, before).bearer_auth(token).send();
    let status = response.await.unwrap().status();
    assert_eq!(status, StatusCode::FORBIDDEN, "no token is a signature");
    assert_eq!(hub.follow(&path).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_link_that_has_ended_and_one_whose_file_made_room_are_gone() {
    let hub = closed(Limits {
        files_total: Size(2000),
        ..Limits::default()
    })
    .await;
    let old = Timestamp::now() - Duration::from_secs(3601);
    let first = file("a.txt", "text/plain", "aGk=");
    let ended = hub.files.link_at(&first, old).unwrap();
    let gone = (410, "not_found".to_owned());
    assert_eq!(hub.refused(&hub.path_of(&ended)).await, gone);
    let path = hub.link(&first);
    assert_eq!(hub.follow(&path).await.status(), StatusCode::OK);
    hub.link(&file("b.txt", "text/plain", &"aGk0".repeat(250)));
    assert_eq!(hub.refused(&path).await, gone);
    // Linked again, it is there again.
    let again = hub.link(&first);
    assert_eq!(hub.follow(&again).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn names_and_types_of_strangers_do_no_harm() {
    let hub = closed(Limits::default()).await;
    for (name, mime, told_name, told_mime) in [
        (
            "a\"; filename=\"evil.exe",
            "text/html",
            "a%22%3B%20filename%3D%22evil.exe",
            "text/html",
        ),
        (
            "a\r\nSet-Cookie: x=1",
            "text/plain\r\nX-Evil: 1",
            "aSet-Cookie%3A%20x%3D1",
            "application/octet-stream",
        ),
        (
            "日本 é.txt",
            "",
            "%E6%97%A5%E6%9C%AC%20%C3%A9.txt",
            "application/octet-stream",
        ),
        ("../../etc/passwd", "text/plain", "passwd", "text/plain"),
        ("..", "text/plain", "file", "text/plain"),
        (
            "a?b#c%2Fd&e=f",
            "text/plain",
            "a%3Fb%23c%252Fd%26e%3Df",
            "text/plain",
        ),
    ] {
        let response = hub.follow(&hub.link(&file(name, mime, "aGk="))).await;
        assert_eq!(response.status(), StatusCode::OK, "{name}");
        assert_eq!(
            header(&response, "content-disposition"),
            format!("attachment; filename*=UTF-8''{told_name}")
        );
        assert_eq!(header(&response, "content-type"), told_mime, "{name}");
        assert!(!response.headers().contains_key("set-cookie"));
        assert!(!response.headers().contains_key("x-evil"));
        assert_eq!(response.bytes().await.unwrap(), &b"hi"[..]);
    }
}

#[tokio::test]
async fn only_get_and_head_are_answered() {
    let hub = closed(Limits::default()).await;
    let path = hub.link(&file("a.txt", "text/plain", "aGk="));
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        let response = hub.ask(method.clone(), &path).send().await.unwrap();
        assert_eq!(header(&response, "allow"), "GET,HEAD");
        let (status, body) = hub.checked(&method, &path, response).await;
        assert_eq!(
            (status, &body["error"]),
            (StatusCode::METHOD_NOT_ALLOWED, &json!("invalid"))
        );
    }
}
