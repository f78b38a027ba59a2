//! Where the hub goes by itself, where it does not, and what it takes from there.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::{
    Router,
    body::Body,
    routing::{get, post},
};
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use tokio::{net::TcpListener, sync::Notify, task::JoinSet};

use super::*;
use crate::testing::CapturedLog;

/// Answers each look-up with the next of its answers, the last one for ever.
struct Scripted {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |list: &&[&str]| list.iter().map(|addr| addr.parse().unwrap()).collect();
        Arc::new(Self {
            answers: Mutex::new(answers.iter().map(parse).collect()),
            asked: AtomicUsize::new(0),
        })
    }
}

impl HostResolver for Scripted {
    fn resolve(&self, _: String) -> HostLookup {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut answers = self.answers.lock();
        let answer = if answers.len() > 1 {
            answers.remove(0)
        } else {
            answers[0].clone()
        };
        Box::pin(async move { Ok(answer) })
    }
}

/// What is there to be fetched.
const CARD: &str = "0123456789";

/// A server that answers every post in some way, and counts them.
struct Target {
    port: u16,
    posts: Arc<AtomicUsize>,
    /// Lets what is slow go on.
    go: Arc<Notify>,
    /// What is never answered was asked for.
    asked: Arc<Notify>,
    _server: JoinSet<()>,
}

impl Target {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let posts = Arc::new(AtomicUsize::new(0));
        let counted = posts.clone();
        let count = move || {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        let (here, there) = (count.clone(), count);
        let (go, asked) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (slow, never) = (go.clone(), asked.clone());
        let app = Router::new()
            .route("/card", get(|| async { ([("etag", "1")], CARD) }))
            .route(
                "/slow",
                get(async move || {
                    let begun = stream::once(async { Ok::<_, io::Error>("begun") });
                    let done = stream::once(async move {
                        slow.notified().await;
                        Ok("done")
                    });
                    Body::from_stream(begun.chain(done))
                }),
            )
            .route(
                "/never",
                get(async move || {
                    never.notify_one();
                    std::future::pending::<()>().await;
                }),
            )
            .route(
                "/plain",
                post(move |body: String| async move {
                    here();
                    (
                        StatusCode::SERVICE_UNAVAILABLE,
                        [("retry-after", "7")],
                        body,
                    )
                }),
            )
            .route("/large", post(|| async { "x".repeat(MAX_ANSWER + 1) }))
            .route(
                "/elsewhere",
                post(move || async move {
                    there();
                    (StatusCode::TEMPORARY_REDIRECT, [("location", "/plain")])
                }),
            );
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            port,
            posts,
            go,
            asked,
            _server: server,
        }
    }

    fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    fn posts(&self) -> usize {
        self.posts.load(Ordering::Relaxed)
    }
}

fn private() -> OutboundRules {
    OutboundRules {
        allow_private: true,
        ..OutboundRules::default()
    }
}

#[tokio::test]
async fn an_answer_brings_its_status_its_patience_and_as_much_as_fits() {
    let target = Target::start().await;
    let outbound = Outbound::new(&private()).unwrap();
    let url = target.url("127.0.0.1", "/plain");
    let answer = outbound.post(&url, HeaderMap::new(), "hi").await.unwrap();
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.retry_after, Some(Duration::from_secs(7)));
    assert!(answer.is_whole && answer.body == "hi");
    let url = target.url("127.0.0.1", "/large");
    let answer = outbound.post(&url, HeaderMap::new(), "").await.unwrap();
    assert!(!answer.is_whole);
    assert_eq!(
        (answer.status, answer.body.len()),
        (StatusCode::OK, MAX_ANSWER)
    );
}

#[tokio::test]
async fn redirects_are_answers_and_are_not_followed() {
    let target = Target::start().await;
    let outbound = Outbound::new(&private()).unwrap();
    let url = target.url("127.0.0.1", "/elsewhere");
    let answer = outbound.post(&url, HeaderMap::new(), "").await.unwrap();
    assert_eq!(answer.status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(target.posts(), 1);
}

#[tokio::test]
async fn what_is_fetched_is_as_large_as_was_wanted_and_no_larger() {
    let target = Target::start().await;
    let outbound = Outbound::new(&private()).unwrap();
    let url = target.url("127.0.0.1", "/card");
    for (max, is_whole) in [(CARD.len(), true), (CARD.len() - 1, false), (0, false)] {
        let fetched = outbound.fetch(&url, HeaderMap::new(), max).await.unwrap();
        assert_eq!(fetched.status, StatusCode::OK);
        assert_eq!(fetched.headers["etag"], "1");
        assert_eq!(fetched.body, CARD[..max]);
        assert_eq!(fetched.is_whole, is_whole, "{max}");
    }
    let strict = Outbound::new(&OutboundRules::default()).unwrap();
    let error = strict.fetch(&url, HeaderMap::new(), 9).await.unwrap_err();
    assert!(error.is_refusal(), "{error}");
}

#[tokio::test]
async fn what_is_opened_is_read_bit_by_bit_by_the_same_rules() {
    let target = Target::start().await;
    let outbound = Outbound::new(&private()).unwrap();
    let open = async |path: &str, method| {
        let url = target.url("127.0.0.1", path);
        let opened = outbound
            .open(method, &url, HeaderMap::new(), "hi", None)
            .await;
        opened.unwrap()
    };
    let mut opened = open("/plain", Method::POST).await;
    assert_eq!(opened.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(opened.headers()["retry-after"], "7");
    assert_eq!(opened.next().await.unwrap().unwrap(), "hi");
    assert!(opened.next().await.unwrap().is_none());
    let moved = open("/elsewhere", Method::POST).await;
    assert_eq!(moved.status(), StatusCode::TEMPORARY_REDIRECT);
    let card = open("/card", Method::GET).await;
    assert_eq!(card.whole(CARD.len()).await.unwrap(), CARD);
    let card = open("/card", Method::GET).await.whole(CARD.len() - 1).await;
    assert!(matches!(card, Err(BodyError::TooLarge { .. })), "{card:?}");

    let strict = Outbound::new(&OutboundRules::default()).unwrap();
    let url = target.url("127.0.0.1", "/plain");
    let refused = strict
        .open(Method::POST, &url, HeaderMap::new(), "", None)
        .await;
    assert!(refused.unwrap_err().is_refusal());
}

#[tokio::test]
async fn only_the_head_of_what_is_opened_has_a_limit_on_its_time() {
    let target = Target::start().await;
    let outbound = Outbound::new(&private()).unwrap();
    let limit = Some(Duration::from_secs(30));
    let url = target.url("127.0.0.1", "/slow");
    let opened = outbound
        .open(Method::GET, &url, HeaderMap::new(), "", limit)
        .await;
    let mut opened = opened.unwrap();
    assert_eq!(opened.next().await.unwrap().unwrap(), "begun");
    // Far longer than any request may take that is not opened.
    tokio::time::pause();
    tokio::time::advance(TIMEOUT * 1000).await;
    tokio::time::resume();
    target.go.notify_one();
    assert_eq!(opened.next().await.unwrap().unwrap(), "done");

    let url = target.url("127.0.0.1", "/never");
    let asked = outbound.open(Method::GET, &url, HeaderMap::new(), "", limit);
    let (opened, ()) = tokio::join!(asked, async {
        target.asked.notified().await;
        tokio::time::pause();
    });
    let error = opened.unwrap_err();
    assert!(!error.is_refusal(), "{error}");
    assert!(error.to_string().contains("30 seconds"), "{error}");
}

#[tokio::test]
async fn private_places_are_refused_however_they_are_written() {
    let target = Target::start().await;
    let outbound = Outbound::new(&OutboundRules::default()).unwrap();
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "0.0.0.0",
        "[::]",
    ] {
        let url = target.url(host, "/plain");
        let error = outbound.post(&url, HeaderMap::new(), "").await.unwrap_err();
        assert!(
            matches!(error, OutboundError::Private { .. }),
            "{host}: {error}"
        );
        assert!(error.is_refusal() && error.to_string().contains("--allow-private-outbound"));
    }
    assert_eq!(target.posts(), 0);
}

#[tokio::test]
async fn a_name_that_leads_home_is_refused_even_beside_a_public_address() {
    let target = Target::start().await;
    for answers in [
        &["127.0.0.1"][..],
        &["1.1.1.1", "127.0.0.1"],
        &["1.1.1.1", "fd00::1"],
    ] {
        let rules = OutboundRules::default();
        let outbound = Outbound::with_resolver(&rules, Scripted::new(&[answers])).unwrap();
        let url = target.url("callback.example", "/plain");
        let error = outbound.post(&url, HeaderMap::new(), "").await.unwrap_err();
        assert!(error.is_refusal(), "{error}");
        assert!(error.to_string().contains("callback.example"), "{error}");
    }
    assert_eq!(target.posts(), 0);
}

#[tokio::test]
async fn a_url_that_is_to_be_kept_is_judged_by_what_its_name_leads_to_now() {
    let strict = OutboundRules::default();
    for (answers, passes) in [
        (&["1.1.1.1"][..], true),
        (&["127.0.0.1"], false),
        (&["1.1.1.1", "fd00::1"], false),
    ] {
        let outbound = Outbound::with_resolver(&strict, Scripted::new(&[answers])).unwrap();
        let admitted = outbound.admit("https://push.example/hook?x=1").await;
        assert_eq!(admitted.is_ok(), passes, "{answers:?}");
        let by_address = outbound.admit("http://[::1]/").await.unwrap_err();
        assert!(by_address.is_refusal());
    }
    // The operator's own choices are not looked up at all.
    let names = Scripted::new(&[&["127.0.0.1"]]);
    let trusting = OutboundRules {
        trusted_origins: vec!["https://push.example".to_owned()],
        ..strict
    };
    for rules in [trusting, private()] {
        let outbound = Outbound::with_resolver(&rules, names.clone()).unwrap();
        assert!(outbound.admit("https://push.example/hook").await.is_ok());
    }
    assert_eq!(names.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn who_types_another_scheme_than_is_meant_is_told_the_right_one() {
    let target = Target::start().await;
    let outbound = Outbound::new(&private()).unwrap();
    let url = target.url("127.0.0.1", "/card").replace("http:", "https:");
    let refused = outbound.fetch(&url, HeaderMap::new(), 1).await.unwrap_err();
    let right = format!(
        "it does not speak TLS; did you mean {}?",
        target.url("127.0.0.1", "")
    );
    assert!(refused.to_string().contains(&right), "{refused}");
    for (typed, meant) in [
        ("127.0.0.1:7560", "http://127.0.0.1:7560?"),
        ("localhost:7560/a?key=hunter2", "http://localhost:7560/a?"),
        ("agents.example.com", "http://agents.example.com?"),
    ] {
        let refused = outbound.check(typed).unwrap_err().to_string();
        let hint = format!("did you mean {meant}");
        assert!(refused.ends_with(&hint), "{refused}");
        assert!(!refused.contains("hunter2"), "{refused}");
    }
    for typed in ["/relative", "", "mailto:a", "u:p@host", "ftp://a"] {
        let refused = outbound.check(typed).unwrap_err().to_string();
        assert!(!refused.contains("did you mean"), "{refused}");
    }
}

/// How a look-up goes when there is no network.
struct Silent(Option<io::ErrorKind>);

impl HostResolver for Silent {
    fn resolve(&self, _: String) -> HostLookup {
        match self.0 {
            Some(kind) => Box::pin(async move { Err(kind.into()) }),
            None => Box::pin(std::future::pending()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_cannot_be_looked_up_now_passes_until_it_is_posted_to() {
    for how in [Some(io::ErrorKind::NotFound), None] {
        let resolver = Arc::new(Silent(how));
        let outbound = Outbound::with_resolver(&OutboundRules::default(), resolver).unwrap();
        let url = outbound.admit("https://push.example/hook").await.unwrap();
        assert_eq!(url.as_str(), "https://push.example/hook");
    }
}

/// The trick of rebinding: a name that is harmless when it is judged and leads elsewhere when it is connected to.
#[tokio::test]
async fn a_name_is_looked_up_once_and_what_was_judged_is_connected_to() {
    let target = Target::start().await;
    // Nobody listens at the second address: whoever looked again would not get an answer.
    let names = Scripted::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let outbound = Outbound::with_resolver(&private(), names.clone()).unwrap();
    let url = target.url("callback.example", "/plain");
    let answer = outbound.post(&url, HeaderMap::new(), "hi").await.unwrap();
    assert_eq!(answer.body, "hi");
    assert_eq!(names.asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_name_that_turns_private_is_refused_when_it_is_looked_up_again() {
    let judge = CheckingResolver {
        resolver: Scripted::new(&[&["1.1.1.1"], &["127.0.0.1"]]),
        judges: true,
    };
    let look = || reqwest::dns::Resolve::resolve(&judge, "callback.example".parse().unwrap());
    let judged: Vec<_> = look().await.unwrap().map(|addr| addr.ip()).collect();
    assert_eq!(judged, ["1.1.1.1".parse::<IpAddr>().unwrap()]);
    let error = look().await.err().unwrap();
    assert!(error.downcast::<OutboundError>().unwrap().is_refusal());
}

#[tokio::test]
async fn the_operators_origins_are_trusted_and_only_they() {
    let target = Target::start().await;
    let rules = OutboundRules {
        trusted_origins: vec![target.url("127.0.0.1", "")],
        ..OutboundRules::default()
    };
    let outbound = Outbound::new(&rules).unwrap();
    let url = target.url("127.0.0.1", "/plain");
    assert!(outbound.post(&url, HeaderMap::new(), "").await.is_ok());
    assert!(
        outbound.check("http://127.0.0.1:1/plain").is_err(),
        "another port"
    );
    assert!(
        outbound.check(&url.replace("http:", "https:")).is_err(),
        "another scheme"
    );
    let more = outbound
        .trusting(["http://127.0.0.1:1/with/a/path"])
        .unwrap();
    assert!(more.check("http://127.0.0.1:1/plain").is_ok() && more.check(&url).is_ok());
    assert!(outbound.trusting(["127.0.0.1"]).is_err());
}

#[tokio::test]
async fn what_is_no_plain_http_url_is_refused_with_the_reason_and_without_its_secrets() {
    let outbound = Outbound::new(&private()).unwrap();
    for (url, reason) in [
        ("/api/tasks/1/callback", "relative URL"),
        ("ftp://example.com/", "http://"),
        ("file:///etc/passwd", "http://"),
        ("https://ann:hunter2@example.com/", "password"),
        ("https://ann@example.com/", "password"),
        ("https://", "host"),
        ("", "relative URL"),
    ] {
        let error = outbound.check(url).unwrap_err();
        assert!(
            error.is_refusal() && error.to_string().contains(reason),
            "{url}: {error}"
        );
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn an_unreachable_place_is_named_without_the_rest_of_its_url() {
    let outbound = Outbound::new(&private()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("http://127.0.0.1:{port}/path?key=hunter2");
    let error = outbound.post(&url, HeaderMap::new(), "").await.unwrap_err();
    assert!(!error.is_refusal());
    let text = error.to_string();
    assert!(
        text.contains(&format!("127.0.0.1:{port}")) && !text.contains("hunter2"),
        "{text}"
    );
}

#[tokio::test]
async fn the_log_of_a_failed_request_names_the_origin_and_not_the_rest_of_its_url() {
    // The HTTP client's own log is not the project's.
    let (log, _capturing) = CapturedLog::start("jackfield");
    let outbound = Outbound::new(&private()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("http://127.0.0.1:{port}/sesame?key=hunter2");
    let get = Method::GET;
    outbound.post(&url, HeaderMap::new(), "").await.unwrap_err();
    outbound.fetch(&url, HeaderMap::new(), 1).await.unwrap_err();
    let opened = outbound.open(get, &url, HeaderMap::new(), "", None);
    opened.await.unwrap_err();
    let logged = log.text();
    let origin = format!("origin=\"http://127.0.0.1:{port}\"");
    assert_eq!(logged.matches(&origin).count(), 3, "{logged}");
    assert_eq!(logged.matches("no response").count(), 3, "{logged}");
    for secret in ["sesame", "hunter2"] {
        assert!(!logged.contains(secret), "{logged}");
    }
}
