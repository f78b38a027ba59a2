//! Allowed destinations and headers of callbacks, with the settings of a real configuration file (docs/promises.md, The
//! way out).

use crate::kill::{agent::Agent, hub::Hub, platform::relay, receiver::Receiver};

/// Listed destinations get the platform's own secret. Other destinations get a signature.
#[tokio::test]
async fn the_secret_is_shown_to_trusted_origins_only_and_the_signature_to_all() {
    let (mut trusted, mut other) = (Receiver::start(), Receiver::start());
    let config = format!("callback_trusted_origins = [{:?}]\n", trusted.origin());
    let mut hub = Hub::start_with(&config).await;
    let secret = hub.platform().secret;
    for round in ["before", "after"] {
        let mut amy = Agent::register(&hub, "amy").await;
        for (receiver, shown) in [(&mut trusted, Some(&*secret)), (&mut other, None)] {
            let request = format!("{round}-{}", receiver.origin().rsplit(':').next().unwrap());
            let relay = relay("amy", &request, &receiver.url());
            hub.platform().relay(&relay).await;
            amy.expect(&request).await;
            amy.done(&request, "answer").await;
            let mut post = receiver.next().await;
            // The last post before the kill may be repeated.
            while post.request() != request {
                post.ok().await;
                post = receiver.next().await;
            }
            assert_eq!(post.header("x-platform-secret"), shown);
            assert_eq!(post.header("content-type"), Some("application/json"));
            post.assert_signed(&hub.callback_key());
            post.ok().await;
        }
        // Both secrets are created once.
        hub = hub.kill().await.start().await;
        assert_eq!(hub.platform().secret, secret);
    }
}

/// The callback base is set by the operator, so it may be a private address even where callers' URLs
/// may not.
#[tokio::test]
async fn a_callback_without_a_host_goes_to_the_base_also_after_a_kill() {
    let mut receiver = Receiver::start();
    let config = format!("callback_base = \"{}/base/\"\n", receiver.origin());
    let hub = Hub::start_strict(&config).await;
    let mut amy = Agent::register(&hub, "amy").await;
    let other = Receiver::start();
    let refused = relay("amy", "r0", &other.url());
    let (status, answer) = hub.platform().post("/api/relay", &refused).await;
    assert_eq!(status, 400, "{answer}");
    for (request, url) in [("r1", "tasks/7/callback?x=1"), ("r2", "/tasks/8")] {
        hub.platform().relay(&relay("amy", request, url)).await;
        amy.expect(request).await;
    }
    amy.done("r1", "answer").await;
    let first = receiver.next().await;
    assert_eq!(first.path, "/base/tasks/7/callback?x=1");
    let hub = hub.kill().await.start().await;
    let _amy = Agent::register(&hub, "amy").await;
    let mut paths = Vec::new();
    for _ in 0..2 {
        let post = receiver.next().await;
        assert_eq!(
            post.header("x-platform-secret"),
            None,
            "a base is no origin"
        );
        post.assert_signed(&hub.callback_key());
        paths.push((post.request(), post.path.clone()));
        post.ok().await;
    }
    paths.sort();
    let expected = [("r1", "/base/tasks/7/callback?x=1"), ("r2", "/tasks/8")];
    assert_eq!(
        paths,
        expected.map(|(request, path)| (request.to_owned(), path.to_owned()))
    );
}
