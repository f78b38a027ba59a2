//! Paths in all disguises.

use percent_encoding::percent_decode;
use proptest::prelude::*;

use super::*;
use crate::p2p::path::{PeerRoute, check, cut_to_fit, expand, matches, route};

fn params(list: &[(&str, &str)]) -> PathParams {
    let pairs = list.iter();
    pairs
        .map(|(name, text)| ((*name).to_owned(), PathParam::from(*text)))
        .collect()
}

#[track_caller]
fn refused(path: &str, problem: &str) {
    match check(path) {
        Ok(checked) => panic!("{path:?} was taken for {checked:?}"),
        Err(fault) => {
            assert_eq!(fault.field.as_deref(), Some("path"), "{path:?}");
            assert!(fault.problem.starts_with(problem), "{path:?}: {fault}");
        }
    }
}

#[test]
fn placeholders_are_filled_with_encoded_values() {
    let params = params(&[
        ("goal", "plan a trip to Köln/Bonn?"),
        ("id", "helper-1.b_c~"),
        ("unused", "../.."),
    ]);
    for (template, path) in [
        ("/{goal}", "/plan%20a%20trip%20to%20K%C3%B6ln%2FBonn%3F"),
        ("{goal}", "/plan%20a%20trip%20to%20K%C3%B6ln%2FBonn%3F"),
        ("/agents/{id}/run", "/agents/helper-1.b_c~/run"),
        ("/v{id}.json", "/vhelper-1.b_c~.json"),
        ("/{id}/{id}", "/helper-1.b_c~/helper-1.b_c~"),
        ("/plain", "/plain"),
    ] {
        assert_eq!(expand(template, &params), Ok(path.to_owned()), "{template}");
    }
    let typed = PathParams::from([
        ("n".to_owned(), PathParam::Number("7".into())),
        ("b".to_owned(), PathParam::Flag(false)),
    ]);
    assert_eq!(expand("/{n}/{b}", &typed), Ok("/7/false".into()));
}

#[test]
fn a_placeholder_is_a_name_and_nothing_more() {
    let params = params(&[("a", "x"), ("", "x"), ("a.b", "x"), ("0", "x")]);
    assert_eq!(expand("/{0}", &params), Ok("/x".into()));
    for template in [
        "/{a.__class__.__mro__}",
        "/{a:>1000}",
        "/{a!r}",
        "/{a[0]}",
        "/{}",
        "/{ a }",
        "/{{a}}",
        "/{a}}",
        "/{a",
        "/a}",
        "/{a{a}}",
        "/{ä}",
    ] {
        let fault = expand(template, &params).unwrap_err();
        assert_eq!(fault.code, 400);
        let sentence = r#"field "path" has a brace that is no {name} of letters, digits and _"#;
        assert_eq!(fault.to_string(), sentence, "{template}");
    }
    let fault = expand("/{b}", &params).unwrap_err();
    assert_eq!(
        fault.to_string(),
        r#"field "params.b" is required: the path has a place for it"#
    );
    assert!(expand("/{a}", &PathParams::new()).is_err());
}

#[test]
fn values_cannot_lead_out_of_their_place() {
    for value in [
        "..",
        ".",
        "%2e%2e",
        "%252e%252e",
        "..;x",
        "",
        "a/../b",
        "a\\..\\b",
        "..\\b",
        ".\n.",
        "\r..",
        "%2e%0a.",
        "\0",
    ] {
        let params = params(&[("id", value), ("dot", ".")]);
        assert!(expand("/agents/{id}/x", &params).is_err(), "{value:?}");
        assert!(expand("/agents/{dot}{dot}/x", &params).is_err());
    }
    for value in ["/host", "\\host", "\n/host", "\\/host"] {
        assert!(
            expand("/{a}", &params(&[("a", value)])).is_err(),
            "{value:?}"
        );
    }
    // Whole addresses and queries are only text there.
    let params = params(&[("id", "http://evil/?a#b@c:1")]);
    assert_eq!(
        expand("/agents/{id}", &params),
        Ok("/agents/http%3A%2F%2Fevil%2F%3Fa%23b%40c%3A1".into())
    );
}

#[test]
fn words_of_every_kind_fill_a_place() {
    for (words, path) in [
        ("plan a trip\nto Rome", "/plan%20a%20trip%0Ato%20Rome"),
        ("a\r\n\tb", "/a%0D%0A%09b"),
        ("C:\\Users and %0a", "/C%3A%5CUsers%20and%20%250a"),
        ("a/b .. c", "/a%2Fb%20..%20c"),
        ("\u{85}\u{7f}", "/%C2%85%7F"),
    ] {
        let filled = expand("/{goal}", &params(&[("goal", words)]));
        assert_eq!(filled, Ok(path.to_owned()));
        // The peer that gets it filled in takes it for the same words.
        assert_eq!(check(path), Ok(path.to_owned()));
        assert!(matches("/{goal}", path));
        assert_eq!(route(path), Ok(PeerRoute::Goal(words.to_owned())));
    }
    let long = "x".repeat(MAX_PATH - 1);
    assert_eq!(
        expand("/{goal}", &params(&[("goal", &long)])),
        Ok(format!("/{long}"))
    );
}

#[test]
fn of_words_that_are_too_long_the_start_fits() {
    for (template, letter) in [
        ("/{a}", "x"),
        ("{a}", "ä"),
        ("/say it/{a}/{b}", "\n"),
        ("/{a}/x/{a}", "€"),
        ("/s?q={a}&n=ä b", "😀"),
    ] {
        let words = letter.repeat(MAX_PATH);
        let with = |a: &str| params(&[("a", a), ("b", "Köln")]);
        let fits = cut_to_fit(template, "a", &with(""), &words);
        assert!(words.starts_with(fits) && expand(template, &with(fits)).is_ok());
        let more = &words[..fits.len() + letter.len()];
        let fault = expand(template, &with(more)).unwrap_err();
        assert_eq!(fault.code, 413, "{template}");
        assert_eq!(cut_to_fit(template, "a", &with(""), "short"), "short");
    }
    let full = "/x".repeat(MAX_PATH);
    assert_eq!(cut_to_fit(&full, "a", &PathParams::new(), "words"), "");
    for broken in ["/{", "/{a}/}", "/{{a}}", "/{a.b}/{a}"] {
        assert_eq!(
            cut_to_fit(broken, "a", &PathParams::new(), "words"),
            "words"
        );
    }
}

#[test]
fn a_name_that_occurs_often_cannot_make_a_path_endless() {
    let long = "ä".repeat(500);
    let fault = expand(&"/{a}".repeat(100), &params(&[("a", &long)])).unwrap_err();
    assert_eq!((fault.code, fault.field.as_deref()), (413, Some("path")));
    assert!(expand("/{a}", &params(&[("a", &long)])).is_ok());
    assert_eq!(check(&"/a".repeat(MAX_PATH)).unwrap_err().code, 413);
    // Encoding makes it longer.
    assert_eq!(check(&"/ä".repeat(MAX_PATH / 3)).unwrap_err().code, 413);
}

#[test]
fn honest_paths_come_out_in_one_form() {
    for (path, checked) in [
        ("/run", "/run"),
        ("run", "/run"),
        ("agents/a@hub/run", "/agents/a@hub/run"),
        ("/agents/urn:a:b@hub/run", "/agents/urn:a:b@hub/run"),
        ("/Note: do it", "/Note:%20do%20it"),
        ("/Köln", "/K%C3%B6ln"),
        ("/a%20b", "/a%20b"),
        ("/100%25", "/100%25"),
        ("/a;v=1,2/b", "/a;v=1,2/b"),
        ("/v1.0/..x/x../.../.x", "/v1.0/..x/x../.../.x"),
        ("/see%20http%3A%2F%2Fx", "/see%20http%3A%2F%2Fx"),
        ("/", "/"),
        ("/a/", "/a/"),
    ] {
        assert_eq!(check(path), Ok(checked.to_owned()), "{path}");
        assert_eq!(check(checked), Ok(checked.to_owned()), "{checked}");
    }
}

#[test]
fn dot_segments_are_refused_in_every_encoding() {
    for path in [
        "..",
        ".",
        "/..",
        "/.",
        "/../etc/passwd",
        "/a/../b",
        "/a/./b",
        "/a/..",
        "/a/../",
        "/%2e%2e/b",
        "/%2E%2E/b",
        "/.%2e/b",
        "/%2e./b",
        "/%2e/b",
        "/a%2f..%2fb",
        "/a%2F%2E%2E%2Fb",
        "/%252e%252e/b",
        "/%252e%252e%252fb",
        "/a%252f..%252fb",
        "/%25252e%25252e/b",
        "/%25%32%65%25%32%65/b",
        "/%2%65%2%65/b",
        "/..;/b",
        "/..;a=b/c",
        "/%2e%2e;/b",
        "/%2e%2e%3b/b",
        "/a%5C..",
        "/a%5c..%5cb",
        "/..%255cb",
        "/.%0a./b",
        "/%09../b",
    ] {
        match path {
            "/%2%65%2%65/b" => refused(path, "has a % without two hex digits"),
            _ => refused(path, "must not have . or .. segments"),
        }
    }
}

#[test]
fn other_hosts_fragments_and_strange_bytes_are_refused() {
    for path in [
        "//host/x",
        "///x",
        "/a//b",
        "http://evil/x",
        "/http://evil",
        "a//",
        "//",
    ] {
        refused(path, "must not have two slashes in a row");
    }
    for path in [
        "/%2Fhost",
        "/%2f%2fhost",
        "/%252Fhost",
        "%2F%2Fhost",
        "%2Fhost",
        "/%5Chost",
        "/%0a%2Fhost",
    ] {
        refused(path, "must not have two slashes in a row");
    }
    for path in [
        "/@host/x",
        "user@host/x",
        "user:pw@host",
        "/user@host",
        "javascript:x",
        "host:80/x",
        "file:/x",
    ] {
        refused(path, "must not have a scheme or a host");
    }
    for path in ["/a#b", "#", "/a?b=c#d"] {
        refused(path, "must not have a fragment");
    }
    for path in ["/a\\b", "\\\\host\\x", "/..\\b", "/a?b=\\"] {
        refused(path, "must not have a backslash");
    }
    for path in [
        "/a\0",
        "/a?b=\n",
        "/a\r\nb",
        "/a\nb",
        "/a\tb",
        "/a\u{7f}",
        "/a\u{85}b",
    ] {
        refused(path, "must not have control characters");
    }
    for path in ["/a%00", "/a%2500", "/a?b=%00"] {
        refused(path, "must not have a NUL character");
    }
    for path in ["/100%", "/%", "/%2", "/%zz", "/%u002e%u002e/", "/%é"] {
        refused(path, "has a % without two hex digits");
    }
    for path in ["/%c0%ae%c0%ae/b", "/%ff", "/%80", "/%25ff", "/%e0%80%ae"] {
        refused(path, "has encoded bytes that are not UTF-8");
    }
    refused("", "must not be empty");
    refused("/{a}", "has a brace");
}

#[test]
fn a_query_is_filled_with_values_that_stay_values() {
    let params = params(&[("q", "a&admin=1;x #?+/../é\n"), ("n", "2")]);
    let value = "a%26admin%3D1%3Bx%20%23%3F%2B%2F..%2F%C3%A9%0A";
    for (template, path) in [
        ("/search?q={q}", format!("/search?q={value}")),
        ("s/{n}?q={q}&n={n}&all", format!("/s/2?q={value}&n=2&all")),
        (
            "/s?at=p{n}-{q}&k=ä;b",
            format!("/s?at=p2-{value}&k=%C3%A4%3Bb"),
        ),
    ] {
        assert_eq!(expand(template, &params), Ok(path.clone()), "{template}");
        assert_eq!(check(&path), Ok(path.clone()), "{path}");
        assert!(matches(template, &path), "{template} {path}");
    }
    for (template, problem) in [
        ("/s?{q}", "must not have a gap in the name"),
        ("/s?{q}=1", "must not have a gap in the name"),
        ("/s?a={q}&b{n}=1", "must not have a gap in the name"),
        ("/s?a={q}?b={n}", "must not have more than one ?"),
        ("/s?", "must have a name"),
        ("/s?={q}", "must have a name"),
        ("/s?a={q}&", "must have a name"),
        ("?a={q}", "must not be empty"),
        ("/s?a={q.b}", "has a brace"),
        ("/s?a={q}#b", "must not have a fragment"),
        ("/s?a=%zz", "has a % without"),
        ("/s?a=%ff", "has encoded bytes"),
        ("/../s?a={q}", "must not have . or .. segments"),
    ] {
        let fault = expand(template, &params).unwrap_err();
        assert_eq!(fault.field.as_deref(), Some("path"), "{template}");
        assert!(fault.problem.starts_with(problem), "{template}: {fault}");
    }
}

#[test]
fn a_query_must_be_the_one_that_the_template_declares() {
    let template = "/search?q={q}&lang=en";
    for path in ["/search?q=a%20b&lang=en", "/search?q=..%2F%26&l%61ng=en"] {
        assert!(matches(template, path), "{path}");
    }
    for path in [
        "/search",
        "/search?",
        "/search?q=a",
        "/search?q=&lang=en",
        "/search?q&lang=en",
        "/search?lang=en&q=a",
        "/search?q=a&lang=de",
        "/search?q=a&lang=en&admin=1",
        "/search?x=a&lang=en",
        "/other?q=a&lang=en",
    ] {
        assert!(!matches(template, path), "{path}");
    }
    assert!(!matches("/{goal}", "/run?a=b"));
    assert!(!matches("/run", "/run?a=b"));
    // The hub has none of its own, and passes on what is for an agent.
    for path in [
        "/card?a=b",
        "/agents?a=b",
        "/agents/a/card?b=c",
        "/plan?a=b",
    ] {
        let fault = route(path).unwrap_err();
        assert_eq!(
            (fault.code, &*fault.problem),
            (400, "must not have a query")
        );
    }
    for (path, rest) in [
        ("/agents/a/s?q=b/c", "/s?q=b/c"),
        ("/agents/a?q=b", "/?q=b"),
    ] {
        let agent = PeerRoute::Agent {
            id: "a".into(),
            rest: rest.into(),
        };
        assert_eq!(route(path), Ok(agent));
    }
}

#[test]
fn the_hubs_own_paths_are_found() {
    let agent = |id: &str, rest: &str| PeerRoute::Agent {
        id: id.into(),
        rest: rest.into(),
    };
    for (path, expected) in [
        ("/card", PeerRoute::Card),
        ("card", PeerRoute::Card),
        ("/card/", PeerRoute::Card),
        ("/c%61rd", PeerRoute::Card),
        ("/agents", PeerRoute::Agents),
        ("/agents/", PeerRoute::Agents),
        ("/agents/a/card", PeerRoute::AgentCard("a".into())),
        (
            "/agents/a%40hub/card/",
            PeerRoute::AgentCard("a@hub".into()),
        ),
        ("/agents/a", agent("a", "/")),
        ("/agents/a/", agent("a", "/")),
        ("/agents/a@hub/run", agent("a@hub", "/run")),
        ("/agents/%C3%A4%2Fb/x%20y/z", agent("ä/b", "/x%20y/z")),
        ("/agents/a/card/x", agent("a", "/card/x")),
        ("/agents/card", agent("card", "/")),
        ("/plan%20a%20trip", PeerRoute::Goal("plan a trip".into())),
        ("/plan a trip", PeerRoute::Goal("plan a trip".into())),
        ("/a%2Fb", PeerRoute::Goal("a/b".into())),
        ("/Agents", PeerRoute::Goal("Agents".into())),
    ] {
        assert_eq!(route(path), Ok(expected), "{path}");
    }
    for path in ["/", "/a/b", "/card/x", "/agentsx/a", "/%20"] {
        let fault = route(path).unwrap_err();
        assert_eq!(
            (fault.code, fault.to_string()),
            (404, r#"field "path" leads nowhere"#.into())
        );
    }
    assert_eq!(route("/agents/../card").unwrap_err().code, 400);
}

#[test]
fn only_what_a_declared_path_can_become_matches_it() {
    for (template, path) in [
        ("/run", "/run"),
        ("run", "/run"),
        ("/{goal}", "/plan%20a%20trip"),
        ("/{goal}", "/a%2Fb"),
        ("/a/{b}/c/{d}", "/a/1/c/2"),
        ("/v{n}.json", "/v12.json"),
        ("/{a}-{b}", "/1-2-3"),
        ("/{a}{b}", "/12"),
        ("/run me", "/run%20me"),
        ("/", "/"),
    ] {
        assert!(matches(template, path), "{template} {path}");
    }
    for (template, path) in [
        ("/run", "/run/"),
        ("/run", "/Run"),
        ("/run", "/runs"),
        ("/run", "/x/run"),
        ("/{goal}", "/"),
        ("/{goal}", "/a/b"),
        ("/a/{b}/c", "/a/c"),
        ("/v{n}.json", "/v.json"),
        ("/{a}-{b}", "/1-"),
        ("/{a}-{b}", "/-1"),
        ("/{a}{b}", "/1"),
        ("/{a.b}", "/x"),
        ("/{", "/{"),
    ] {
        assert!(!matches(template, path), "{template} {path}");
    }
}

/// Texts made of what disguises are made of.
fn tricky() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "/", ".", "..", "%", "2", "e", "f", "5", "c", "25", "%2e", "%2F", "%25", "%252e", "%5c",
        ";", "a", "\\", "@", ":", "?", "#", "é", "%c3%a9", "\n", "%0a", "%00", " ", "{a}",
    ]);
    prop::collection::vec(token, 0..10).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_accepted_path_ever_becomes_a_dot_segment(path in tricky()) {
        if let Ok(checked) = expand(&path, &params(&[("a", "%2e.")])).or_else(|_| check(&path)) {
            prop_assert!(checked.starts_with('/') && checked.is_ascii());
            prop_assert_eq!(check(&checked), Ok(checked.clone()));
            prop_assert!(!checked.contains(['\\', '#']) && !checked.contains(char::is_control));
            let path = checked.split('?').next().unwrap_or_default();
            let mut bytes = path.as_bytes().to_vec();
            for _ in 0..=3 {
                prop_assert!(!bytes.contains(&0));
                // Control characters left out, and backslashes taken for slashes, as some readers do.
                let mut seen = bytes.clone();
                seen.retain(|byte| *byte >= b' ');
                let mut segments = seen.split(|byte| matches!(byte, b'/' | b'\\'));
                prop_assert!(segments.clone().nth(1) != Some(&[]) || seen == b"/", "{bytes:?}");
                let is_dotted = segments.any(|it| it == b"." || it == b"..");
                prop_assert!(!is_dotted, "{bytes:?}");
                bytes = percent_decode(&bytes).collect();
            }
        }
    }

    #[test]
    fn every_value_stays_in_its_segment(value in prop_oneof![tricky(), any::<String>()]) {
        if let Ok(path) = expand("/agents/{a}/x", &params(&[("a", &value)])) {
            let expected = PeerRoute::Agent { id: value, rest: "/x".into() };
            prop_assert_eq!(route(&path), Ok(expected));
            let is_match = matches("/agents/{a}/x", &path);
            prop_assert!(is_match);
        }
    }

    #[test]
    fn no_text_makes_the_checks_panic(text in any::<String>(), other in any::<String>()) {
        check(&text).ok();
        route(&text).ok();
        expand(&text, &PathParams::new()).ok();
        matches(&text, &other);
        assert!(other.starts_with(cut_to_fit(&text, "a", &PathParams::new(), &other)));
    }
}
