//! `add MULTIADDR`, and the output of `show` and `rm` for stored peers.

use jackfield_testkit::TestHub;

use crate::run::Cli;

/// The id of a peer that doesn't exist, at a port without a listener.
const NOBODY: &str =
    "/ip4/127.0.0.1/tcp/1/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";

async fn hub() -> TestHub {
    TestHub::start_with(|config| config.p2p.enabled = true).await
}

#[tokio::test]
async fn a_peer_is_added_its_agent_is_shown_and_both_are_forgotten() {
    let (far, hub) = (hub().await, hub().await);
    let _echo = far.bridge("echo").await;
    let cli = Cli::new(&hub);
    let address = far.peer_addresses().remove(0);
    let peer = address.rsplit('/').next().expect("an id").to_owned();
    let echo = format!("echo@{}", &peer[peer.len() - 12..]);
    let added = cli.run(&["add", &address]).await.ok();
    let added = added.stderr_has(&format!("try it: jackfield call {echo} hello"));
    for line in [
        format!("peer\t{peer}"),
        "called\tJackfield".to_owned(),
        "connection\tonline".to_owned(),
        "relayed\tno".to_owned(),
        format!("agents\t{echo}"),
        "kept\tyes".to_owned(),
    ] {
        assert!(
            added.out.lines().any(|had| had == line),
            "{line:?}: {added:?}"
        );
    }
    let shown = cli.run(&["show", &echo]).await.ok();
    assert!(shown.out.contains(&format!("peer\t{peer}")), "{shown:?}");
    assert!(
        shown.out.contains(&format!("addresses\t{address}")),
        "{shown:?}"
    );
    let shown = cli.run(&["show", &echo, "--json"]).await.ok().json();
    assert_eq!(shown["peer"]["relayed"], false);
    let again = cli.run(&["add", &address, "--json"]).await.ok().json();
    assert_eq!((&again["id"], &again["kept"]), (&peer.into(), &true.into()));

    let peer = format!("/p2p/{}", again["id"].as_str().expect("an id"));
    cli.run(&["rm", &peer]).await.ok().stderr_has("is removed");
    cli.run(&["rm", &peer]).await.code(3).stderr_has("is kept");
    // The peer id alone works too.
    cli.run(&["add", &address]).await.ok();
    let id = peer.trim_start_matches("/p2p/");
    let forgotten = cli.run(&["rm", id, "--json"]).await.ok().json();
    assert_eq!(forgotten["forgotten"], true);
}

#[tokio::test]
async fn another_hub_is_no_server_and_its_agents_and_its_peer_address_are_named() {
    let (far, near) = (hub().await, hub().await);
    let (_amy, _bob) = (far.bridge("amy").await, far.bridge("bob").await);
    let cli = Cli::new(&near);
    let url = far.url("");
    let refused = cli.run(&["add", url.trim_end_matches('/')]).await.code(2);
    assert_eq!(refused.out.lines().count(), 2, "{refused:?}");
    assert!(refused.out.starts_with("amy\t"), "{refused:?}");
    let refused = refused
        .stderr_has("is a hub with 2 agents")
        .stderr_has("--only amy,bob");
    refused.stderr_has(&format!("jackfield add {}", far.peer_addresses()[0]));
    let (_, remotes) = near.web().get("/v1/remotes").await;
    assert_eq!(remotes["remotes"], serde_json::json!([]), "{remotes}");
    // The suggested address can be added.
    let (_, card) = far.web().get("/.well-known/agent-card.json").await;
    let base = card["url"]
        .as_str()
        .or(card["supportedInterfaces"][0]["url"].as_str());
    let amy = format!("{}/agents/amy", base.expect("a URL"));
    cli.run(&["add", &amy])
        .await
        .ok()
        .stderr_has("try it: jackfield call amy");
}

#[tokio::test]
async fn a_peer_that_is_not_there_is_kept_only_if_it_is_meant() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    cli.run(&["add", NOBODY]).await.code(3).stderr_has("--keep");
    let kept = cli.run(&["add", NOBODY, "--keep"]).await.ok();
    let kept = kept.stderr_has("keeps dialling it");
    assert!(kept.out.contains("connection\toffline"), "{kept:?}");
    assert!(kept.out.contains("last error\t"), "{kept:?}");
    cli.run(&["rm", NOBODY]).await.ok();
}

#[tokio::test]
async fn what_cannot_be_meant_of_a_peer_is_refused() {
    let hub = hub().await;
    let cli = Cli::new(&hub);
    for flags in [
        &["--as", "far"][..],
        &["--bearer-env", "TOKEN"],
        &["--bearer-file", "token"],
        &["--header", "X-Key=env:KEY"],
        &["--timeout", "90s"],
    ] {
        let args = [&["add", NOBODY][..], flags].concat();
        cli.run(&args).await.code(2).stderr_has(flags[0]);
    }
    cli.run(&["add", "/ip4/192.0.2.1/tcp/1"])
        .await
        .code(2)
        .stderr_has("/p2p/");
    cli.run(&["rm", "/ip4/192.0.2.1/tcp/1"])
        .await
        .code(2)
        .stderr_has("/p2p/");
    let ashore = TestHub::start().await;
    let refused = Cli::new(&ashore).run(&["add", NOBODY]).await.code(3);
    refused
        .stderr_has("libp2p is not enabled")
        .stderr_has("[p2p]");
}
