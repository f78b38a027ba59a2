//! Which place is chosen, and what becomes of addresses that cannot be meant.

use std::{net::IpAddr, sync::Arc};

use jackfield_kit::outbound::{HostLookup, HostResolver, OutboundRules};
use serde_json::{Value, json};

use super::*;

/// Every name leads to a public address, but those that begin with `inside`.
struct Names;

impl HostResolver for Names {
    fn resolve(&self, host: String) -> HostLookup {
        let addr: IpAddr = if host.starts_with("inside") {
            [10, 0, 0, 1]
        } else {
            [8, 8, 8, 8]
        }
        .into();
        Box::pin(async move { Ok(vec![addr]) })
    }
}

async fn choose_at(
    typed: &str,
    base: &str,
    card: &Value,
    allow_private: bool,
) -> Result<ChosenEndpoint, String> {
    let (typed, base) = (Url::parse(typed).unwrap(), Url::parse(base).unwrap());
    let rules = OutboundRules {
        allow_private,
        trusted_origins: vec![origin_of(&typed)],
    };
    let outbound = Outbound::with_resolver(&rules, Arc::new(Names)).unwrap();
    let card = ForeignCard::read(&card.to_string()).unwrap();
    let origin = CardOrigin {
        typed: &typed,
        base: &base,
    };
    choose(&card, origin, &outbound).await
}

/// The place that is chosen of a card at the root of `https://agents.example`.
async fn chosen(card: &Value) -> RemoteEndpoint {
    let base = "https://agents.example/";
    choose_at(base, base, card, false).await.unwrap().place
}

fn v10(interfaces: &[(&str, &str, &str)]) -> Value {
    let interfaces: Vec<_> = interfaces
        .iter()
        .map(|(binding, version, url)| json!({"protocolBinding": binding, "protocolVersion": version, "url": url}))
        .collect();
    json!({"name": "a", "supportedInterfaces": interfaces, "capabilities": {"streaming": true}})
}

#[tokio::test]
async fn the_newest_version_is_preferred_then_json_rpc_then_the_cards_order() {
    let url = |path: &str| format!("https://agents.example/{path}");
    for (interfaces, expected) in [
        (
            vec![("JSONRPC", "0.3"), ("HTTP+JSON", "1.0"), ("JSONRPC", "1.0")],
            2,
        ),
        (
            vec![("JSONRPC", "0.3"), ("GRPC", "1.0"), ("HTTP+JSON", "1.0")],
            2,
        ),
        (vec![("HTTP+JSON", "0.3"), ("JSONRPC", "0.3")], 1),
        (vec![("JSONRPC", "1.0"), ("JSONRPC", "1.0")], 0),
        (
            vec![
                ("urn:morse", "1.0"),
                ("JSONRPC", "7.0"),
                ("HTTP+JSON", "0.3"),
            ],
            2,
        ),
    ] {
        let urls: Vec<_> = (0..interfaces.len())
            .map(|at| url(&at.to_string()))
            .collect();
        let offers = interfaces.iter().zip(&urls);
        let offers: Vec<_> = offers
            .map(|((binding, version), url)| (*binding, *version, url.as_str()))
            .collect();
        let place = chosen(&v10(&offers)).await;
        assert_eq!(place.url, urls[expected], "{interfaces:?}");
        assert!(place.streams);
        assert_eq!(place.dialect, Dialect::Official);
    }
}

#[tokio::test]
async fn a_tenant_is_kept() {
    let card = json!({"name": "a", "supportedInterfaces": [
        {"url": "https://agents.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t"},
    ]});
    let place = chosen(&card).await;
    assert_eq!(place.tenant.as_deref(), Some("t"));
    assert_eq!(
        (place.version, place.binding, place.streams),
        (A2aVersion::V10, Binding::JsonRpc, false)
    );
}

#[tokio::test]
async fn a_card_that_offers_nothing_callable_is_refused_with_what_it_offers() {
    for (card, expected) in [
        (
            json!({"name": "a"}),
            "it names no place to call: neither supportedInterfaces nor url does",
        ),
        (
            v10(&[
                ("GRPC", "1.0", "agents.example:443"),
                ("urn:morse", "1.0", "https://m.example"),
            ]),
            "it offers nothing that can be called (JSONRPC or HTTP+JSON, version 0.3 or 1.0, over HTTP), but only \
             GRPC 1.0 at agents.example:443, urn:morse 1.0 at https://m.example",
        ),
        (
            v10(&[
                ("JSONRPC", "2.0", "https://agents.example"),
                ("JSONRPC", "1.0", "ws://agents.example"),
            ]),
            "it offers nothing that can be called (JSONRPC or HTTP+JSON, version 0.3 or 1.0, over HTTP), but only \
             JSONRPC 2.0 at https://agents.example, JSONRPC 1.0 at ws://agents.example",
        ),
    ] {
        let base = "https://agents.example/";
        let why = choose_at(base, base, &card, false).await.unwrap_err();
        assert_eq!(why, expected);
    }
}

#[tokio::test]
async fn slashes_at_the_end_stay_as_the_card_has_them_where_they_matter() {
    for (binding, url, expected) in [
        (
            "JSONRPC",
            "https://agents.example",
            "https://agents.example",
        ),
        (
            "JSONRPC",
            "https://agents.example/",
            "https://agents.example/",
        ),
        (
            "JSONRPC",
            "https://agents.example?k=v",
            "https://agents.example?k=v",
        ),
        (
            "JSONRPC",
            "https://agents.example/rpc/#top",
            "https://agents.example/rpc/",
        ),
        (
            "JSONRPC",
            "https://agents.example:443/rpc",
            "https://agents.example/rpc",
        ),
        (
            "HTTP+JSON",
            "https://agents.example/rest/",
            "https://agents.example/rest",
        ),
    ] {
        assert_eq!(
            chosen(&v10(&[(binding, "1.0", url)])).await.url,
            expected,
            "{url}"
        );
    }
}

#[tokio::test]
async fn relative_addresses_are_relative_to_the_agent_whose_card_it_is() {
    for (url, expected) in [
        ("/rpc", "https://agents.example/rpc"),
        ("rpc", "https://agents.example/one/rpc"),
        ("./", "https://agents.example/one/"),
        ("../two", "https://agents.example/two"),
        ("//agents.example/rpc", "https://agents.example/rpc"),
        ("agents.example:443/rpc", "https://agents.example/rpc"),
    ] {
        let card = v10(&[("JSONRPC", "1.0", url)]);
        let choice = choose_at(
            "https://agents.example/one",
            "https://agents.example/one/",
            &card,
            false,
        )
        .await;
        let choice = choice.unwrap();
        assert_eq!(choice.place.url, expected, "{url}");
        assert!(choice.warnings.is_empty(), "{url} {:?}", choice.warnings);
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_meant_or_may_not_be_called_is_replaced_by_the_typed_one() {
    for (typed, said, allow_private, expected) in [
        // Samples say where they listen, or what they call themselves.
        (
            "https://agents.example",
            "http://localhost:9999/",
            false,
            "https://agents.example/",
        ),
        (
            "https://agents.example",
            "http://localhost:9999/rpc?k=v",
            true,
            "https://agents.example/rpc?k=v",
        ),
        (
            "http://10.0.0.5:8080",
            "http://0.0.0.0:8080",
            true,
            "http://10.0.0.5:8080",
        ),
        (
            "http://127.0.0.1:8080",
            "http://0.0.0.0:8080/",
            true,
            "http://127.0.0.1:8080/",
        ),
        (
            "http://127.0.0.1:8080",
            "http://[::]:8080/x",
            true,
            "http://127.0.0.1:8080/x",
        ),
        // Inside of a container.
        (
            "https://agents.example",
            "http://172.17.0.2/rpc",
            false,
            "https://agents.example/rpc",
        ),
        (
            "https://agents.example",
            "http://inside.example/rpc",
            false,
            "https://agents.example/rpc",
        ),
        // Behind a proxy that speaks TLS.
        (
            "https://agents.example",
            "http://agents.example:8080/rpc",
            true,
            "https://agents.example/rpc",
        ),
        // Not to be followed either way.
        (
            "https://agents.example",
            "https://me:s3cret@other.example/rpc",
            true,
            "https://agents.example/rpc",
        ),
    ] {
        let card = v10(&[("JSONRPC", "1.0", said)]);
        let choice = choose_at(typed, typed, &card, allow_private).await.unwrap();
        assert_eq!(choice.place.url, expected, "{said}");
        let [warning] = choice.warnings.as_slice() else {
            panic!("{said}: {:?}", choice.warnings);
        };
        assert!(
            warning.contains(&format!("; {expected} is called instead: ")),
            "{warning}"
        );
        assert!(!warning.contains("s3cret"), "{warning}");
    }
}

#[tokio::test]
async fn another_origin_is_kept_where_the_rules_allow_it_and_people_are_told() {
    for (typed, said, allow_private, is_open) in [
        (
            "https://agents.example",
            "https://rpc.example/a",
            false,
            false,
        ),
        ("https://agents.example", "http://10.0.0.7:80/a", true, true),
        (
            "http://127.0.0.1:8080",
            "http://127.0.0.1:9090/a",
            true,
            false,
        ),
    ] {
        let card = v10(&[("JSONRPC", "1.0", said)]);
        let choice = choose_at(typed, typed, &card, allow_private).await.unwrap();
        assert_eq!(choice.place.url, said.replace(":80/", "/"), "{said}");
        let [warning] = choice.warnings.as_slice() else {
            panic!("{said}: {:?}", choice.warnings);
        };
        assert_eq!(warning.contains(", unencrypted"), is_open, "{warning}");
    }
}

#[tokio::test]
async fn a_url_that_names_a_method_is_agnos() {
    for method in ["stream", "send"] {
        let url = format!("https://agents.example/a2a/agents/basic/v1/message:{method}");
        let card = json!({"name": "a", "url": url, "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC"});
        let place = chosen(&card).await;
        assert_eq!(place.url, "https://agents.example/a2a/agents/basic");
        assert_eq!(place.dialect, Dialect::Agno);
        assert_eq!(
            (place.version, place.binding),
            (A2aVersion::V03, Binding::JsonRpc)
        );
    }
    // REST has its methods there anyway.
    let url = "https://agents.example/one/v1/message:send";
    let card = json!({"name": "a", "url": url, "preferredTransport": "HTTP+JSON"});
    let place = chosen(&card).await;
    assert_eq!(
        (place.url.as_str(), place.dialect),
        ("https://agents.example/one", Dialect::Official)
    );
    // Behind a proxy both are mended.
    let url = "http://localhost:7777/a2a/agents/basic/v1/message:stream";
    let place = chosen(&json!({"name": "a", "url": url})).await;
    assert_eq!(place.url, "https://agents.example/a2a/agents/basic");
    assert_eq!(place.dialect, Dialect::Agno);
}

#[tokio::test]
async fn the_names_of_this_machine_are_one() {
    for (typed, said) in [
        ("http://127.0.0.1:8080", "http://localhost:8080/a"),
        ("http://localhost:8080", "http://[::1]:8080/a"),
    ] {
        let card = v10(&[("JSONRPC", "1.0", said)]);
        for allow_private in [true, false] {
            let choice = choose_at(typed, typed, &card, allow_private).await.unwrap();
            assert_eq!(choice.place.url, format!("{typed}/a"));
            assert!(choice.warnings.is_empty(), "{:?}", choice.warnings);
        }
    }
}
