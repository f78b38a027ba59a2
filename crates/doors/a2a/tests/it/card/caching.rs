//! What caches are told.

use jackfield_core::agent::Profile;
use reqwest::{Method, Response, StatusCode};

use crate::card::harness::{A2aHub, ECHO, HUB};

fn header<'r>(response: &'r Response, name: &str) -> &'r str {
    response.headers()[name].to_str().unwrap()
}

#[tokio::test]
async fn a_card_that_the_reader_has_is_not_sent_again() {
    let hub = A2aHub::start().await;
    let _echo = hub.attach("echo", Profile::default());
    for path in [ECHO, HUB] {
        let first = hub.get(path).await;
        assert_eq!(header(&first, "cache-control"), "public, max-age=60");
        let (tag, modified) = (header(&first, "etag"), header(&first, "last-modified"));
        assert!(
            tag.starts_with('"') && tag.ends_with('"'),
            "{tag} is strong"
        );
        assert!(modified.ends_with(" GMT"), "{modified}");
        let lists = [
            tag.to_owned(),
            format!("W/{tag}"),
            format!("\"other\", {tag}"),
            "*".to_owned(),
        ];
        for list in lists {
            let asked = hub.ask(Method::GET, path).header("if-none-match", &list);
            let response = asked.send().await.unwrap();
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{list}");
            for name in ["etag", "last-modified", "cache-control", "vary"] {
                assert_eq!(header(&response, name), header(&first, name), "{name}");
            }
            assert_eq!(response.text().await.unwrap(), "");
        }
        let asked = hub
            .ask(Method::GET, path)
            .header("if-none-match", "\"other\"");
        assert_eq!(asked.send().await.unwrap().status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn head_says_what_get_would() {
    let hub = A2aHub::start().await;
    let _echo = hub.attach("echo", Profile::default());
    let get = hub.get(ECHO).await;
    let head = hub.ask(Method::HEAD, ECHO).send().await.unwrap();
    assert_eq!(head.status(), StatusCode::OK);
    for name in [
        "etag",
        "last-modified",
        "cache-control",
        "content-type",
        "content-length",
    ] {
        assert_eq!(header(&head, name), header(&get, name), "{name}");
    }
    assert_eq!(head.text().await.unwrap(), "");
}

#[tokio::test]
async fn a_changed_card_has_another_tag_and_an_unchanged_one_the_same_bytes() {
    let hub = A2aHub::start().await;
    let echo = hub.attach("echo", Profile::default());
    let first = hub.get(ECHO).await;
    let tag = header(&first, "etag").to_owned();
    let bytes = first.bytes().await.unwrap();
    // Signatures are another every time, so these would differ if it were signed again.
    assert_eq!(hub.get(ECHO).await.bytes().await.unwrap(), bytes);
    drop(echo);
    let profile = Profile {
        description: Some("New.".into()),
        ..Profile::default()
    };
    let _echo = hub.attach("echo", profile);
    let asked = hub.ask(Method::GET, ECHO).header("if-none-match", &tag);
    let changed = asked.send().await.unwrap();
    assert_eq!(changed.status(), StatusCode::OK);
    assert_ne!(header(&changed, "etag"), tag);
    assert!(changed.text().await.unwrap().contains("New."));
}

#[tokio::test]
async fn a_card_that_has_not_changed_since_a_date_is_not_sent_again() {
    let hub = A2aHub::start().await;
    let _echo = hub.attach("echo", Profile::default());
    let first = hub.get(ECHO).await;
    let modified = header(&first, "last-modified").to_owned();
    for (since, status) in [
        (modified.as_str(), StatusCode::NOT_MODIFIED),
        ("Fri, 01 Jan 2100 00:00:00 GMT", StatusCode::NOT_MODIFIED),
        ("Sat, 01 Jan 2000 00:00:00 GMT", StatusCode::OK),
        ("yesterday", StatusCode::OK),
    ] {
        let asked = hub.ask(Method::GET, ECHO);
        let response = asked.header("if-modified-since", since).send().await;
        assert_eq!(response.unwrap().status(), status, "{since}");
    }
    // A tag says more than a date.
    let asked = hub.ask(Method::GET, ECHO).header("if-none-match", "\"x\"");
    let asked = asked.header("if-modified-since", &modified);
    assert_eq!(asked.send().await.unwrap().status(), StatusCode::OK);
}
