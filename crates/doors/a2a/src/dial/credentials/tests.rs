//! How the hub shows remotes who it is, and that no secret gets elsewhere.

use std::{path::PathBuf, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};

use jackfield_kit::outbound::OutboundRules;
use uuid::Uuid;

use super::*;
use crate::dial::{
    scripted::{ScriptStep, ScriptedServer, answer, json},
    spec::OAuth,
};

/// A file with a secret, which goes away again.
struct Secret(PathBuf);

impl Secret {
    fn new(text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("secret-{}", Uuid::new_v4()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn source(&self) -> SecretLocation {
        SecretLocation::File(self.0.clone())
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

fn credentials(auth: &Auth) -> Result<Credentials, String> {
    let rules = OutboundRules {
        allow_private: true,
        ..OutboundRules::default()
    };
    Credentials::new(auth, Outbound::new(&rules).unwrap())
}

async fn applied(credentials: &Credentials) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    credentials.apply(&mut headers).await.map(|()| headers)
}

/// The token that is shown.
async fn shown(credentials: &Credentials) -> String {
    let headers = applied(credentials).await.unwrap();
    headers[AUTHORIZATION].to_str().unwrap().to_owned()
}

/// A client of the authorization server, and the files that hold its name and secret.
fn client(server: &ScriptedServer) -> (Credentials, [Secret; 2]) {
    let files = [Secret::new("the id\n"), Secret::new("hunter2:&\n")];
    let auth = Auth {
        oauth: Some(OAuth {
            token_url: format!("{}/token?tenant=1", server.url),
            client_id: files[0].source(),
            client_secret: files[1].source(),
            scope: Some("a b".to_owned()),
        }),
        ..Auth::default()
    };
    (credentials(&auth).unwrap(), files)
}

fn granted(token: &str, rest: &str) -> Vec<ScriptStep> {
    json(&format!(
        r#"{{"access_token":"{token}","token_type":"Bearer"{rest}}}"#
    ))
}

#[tokio::test]
async fn secrets_are_read_anew_for_each_request_and_not_printed() {
    let file = Secret::new("  first\n");
    let auth = Auth {
        bearer: Some(file.source()),
        headers: vec![("X-Path".to_owned(), SecretLocation::Env("PATH".to_owned()))],
        oauth: None,
    };
    let credentials = credentials(&auth).unwrap();
    let headers = applied(&credentials).await.unwrap();
    assert_eq!(headers[AUTHORIZATION], "Bearer first");
    assert_eq!(headers["x-path"], std::env::var("PATH").unwrap());
    assert!(!format!("{headers:?}{credentials:?}").contains("first"));
    std::fs::write(&file.0, "second").unwrap();
    assert_eq!(shown(&credentials).await, "Bearer second");
}

#[tokio::test]
async fn a_secret_that_is_not_there_is_named_and_not_told() {
    let (empty, unfit) = (Secret::new(" \n"), Secret::new("hunter2\nhunter3"));
    let gone = SecretLocation::File(std::env::temp_dir().join("no such secret"));
    for (source, why) in [
        (empty.source(), "is empty"),
        (unfit.source(), "does not fit into a header"),
        (gone, "no such secret"),
        (
            SecretLocation::Env("JACKFIELD_NO_SUCH_VARIABLE".to_owned()),
            "JACKFIELD_NO_SUCH_VARIABLE",
        ),
    ] {
        let auth = Auth {
            bearer: Some(source),
            ..Auth::default()
        };
        let error = applied(&credentials(&auth).unwrap()).await.unwrap_err();
        assert!(error.contains(why) && !error.contains("hunter"), "{error}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_before_it_is_used() {
    let path = || SecretLocation::Env("PATH".to_owned());
    let header = |name: &str| Auth {
        headers: vec![(name.to_owned(), path())],
        ..Auth::default()
    };
    let twice = Auth {
        bearer: Some(path()),
        ..header("authorization")
    };
    let nowhere = Auth {
        oauth: Some(OAuth {
            token_url: "/token".to_owned(),
            client_id: path(),
            client_secret: path(),
            scope: None,
        }),
        ..Auth::default()
    };
    for (auth, why) in [
        (header("no name"), "no name"),
        (twice, "one header"),
        (nowhere, "token_url"),
    ] {
        let error = credentials(&auth).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    assert!(credentials(&header("Authorization")).is_ok());
}

#[tokio::test]
async fn a_file_that_is_too_large_for_a_secret_is_refused_and_not_cut() {
    let most = usize::try_from(MAX_SECRET).unwrap();
    for (bytes, fits) in [(most, true), (most + 1, false)] {
        let file = Secret::new(&"s".repeat(bytes));
        let auth = Auth {
            bearer: Some(file.source()),
            ..Auth::default()
        };
        let applied = applied(&credentials(&auth).unwrap()).await;
        assert_eq!(applied.is_ok(), fits, "{bytes} bytes");
        if let Err(error) = applied {
            assert!(error.contains("65536 bytes"), "{error}");
            assert!(!error.contains("sss"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_token_is_asked_for_once_by_however_many_and_kept_until_shortly_before_its_end() {
    let scripts = vec![granted("one", r#","expires_in":3600"#), granted("two", "")];
    let mut server = ScriptedServer::start(scripts).await;
    let (credentials, _files) = client(&server);
    let (first, second) = tokio::join!(shown(&credentials), shown(&credentials));
    assert_eq!((&*first, &*second), ("Bearer one", "Bearer one"));
    let asked = server.asked().await;
    assert_eq!(asked.line(), "POST /token?tenant=1");
    let kind = asked.header("content-type");
    assert_eq!(kind, Some("application/x-www-form-urlencoded"));
    // The name and the secret are encoded before they are joined.
    let basic = BASE64_STANDARD.encode("the%20id:hunter2%3A%26");
    let authorization = asked.header("authorization").unwrap();
    assert_eq!(authorization, format!("Basic {basic}"));
    assert_eq!(asked.body, "grant_type=client_credentials&scope=a%20b");

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3560)).await;
    assert_eq!(shown(&credentials).await, "Bearer one");
    tokio::time::advance(Duration::from_secs(15)).await;
    tokio::time::resume();
    assert_eq!(shown(&credentials).await, "Bearer two");
    assert_eq!(server.asked_so_far().len(), 1);
    let debug = format!("{credentials:?}");
    assert!(
        !debug.contains("two") && !debug.contains("hunter2"),
        "{debug}"
    );
}

#[tokio::test]
async fn a_server_that_wants_the_client_in_the_body_gets_it_there_from_then_on() {
    let no = r#"{"error":"invalid_client"}"#;
    for status in ["401 Unauthorized", "400 Bad Request"] {
        let refused = answer(status, "application/json", no);
        let scripts = vec![refused, granted("one", ""), granted("two", "")];
        let mut server = ScriptedServer::start(scripts).await;
        let (credentials, _files) = client(&server);
        assert_eq!(shown(&credentials).await, "Bearer one");
        credentials.refused();
        assert_eq!(shown(&credentials).await, "Bearer two");
        let asked = server.asked_so_far();
        assert!(asked[0].header("authorization").is_some());
        for asked in &asked[1..] {
            assert_eq!(asked.header("authorization"), None);
            let end = "&client_id=the%20id&client_secret=hunter2%3A%26";
            assert!(asked.body.ends_with(end), "{}", asked.body);
        }
    }
}

#[tokio::test]
async fn no_token_is_an_error_that_says_who_gave_none_and_why() {
    let no_scope = r#"{"error":"invalid_scope","error_description":"hunter2 said so"}"#;
    for (script, why) in [
        (
            answer("400 Bad Request", "application/json", no_scope),
            "invalid_scope",
        ),
        (answer("500 Oops", "text/html", "<h1>hunter2"), "500"),
        (json("hunter2"), "holds none"),
        (
            json(r#"{"access_token":"hunter2","token_type":"mac"}"#),
            "bearer",
        ),
        (json(r#"{"access_token":"hunter2\n"}"#), "header"),
    ] {
        let server = ScriptedServer::start(vec![script]).await;
        let (credentials, _files) = client(&server);
        let error = applied(&credentials).await.unwrap_err();
        assert!(error.contains(why) && error.contains("/token"), "{error}");
        assert!(
            !error.contains("hunter2") && !error.contains("tenant"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_life_that_makes_no_sense_is_as_good_as_none() {
    for life in ["0", "-1", "\"soon\"", "1e300", "{}", "null", "\"3600\""] {
        let expires = format!(r#","expires_in":{life}"#);
        let server = ScriptedServer::start(vec![granted("one", &expires)]).await;
        let (credentials, _files) = client(&server);
        assert_eq!(shown(&credentials).await, "Bearer one", "{life}");
    }
}
