//! Web origins: the part of a page's address that a browser sends as `Origin`.

use crate::door::ConfigError;

/// Checks an origin that an operator lists under `key`. Patterns are refused: a page of a listed origin may do
/// what its visitor may do, so each origin is a decision.
pub fn check_origin(key: &str, origin: &str) -> Result<(), ConfigError> {
    let refused = |why: &str| Err(ConfigError(format!("{key} {origin:?} {why}")));
    if origin == "*" {
        return refused(
            "would let every web page use this hub as its visitor: on a hub without tokens, any page that the operator opens; list the origins of your pages, such as \"https://console.example.com\"",
        );
    }
    if origin == "null" {
        return refused(
            "is the origin of every file, and of a frame in any web page; serve the page by HTTP, such as with `python3 -m http.server`, and list its origin",
        );
    }
    if origin.contains('*') {
        return refused("is a pattern; list each origin in full");
    }
    let Some((scheme, rest)) = origin.split_once("://") else {
        return refused("must have a scheme, such as \"https://console.example.com\"");
    };
    let host = rest.strip_suffix('/').unwrap_or(rest);
    if host.is_empty() || scheme.is_empty() {
        return refused("must name a scheme and a host, such as \"https://console.example.com\"");
    }
    if host.contains(['/', '?', '#', '@', ' ']) {
        return refused("must end after the host and the port: browsers send no path");
    }
    let usual = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return Ok(()),
    };
    if let Some(host) = host.strip_suffix(usual) {
        let text =
            format!("has the usual port, which browsers leave out: write \"{scheme}://{host}\"");
        return refused(&text);
    }
    Ok(())
}

/// Returns whether two texts are the same origin. A slash at the end does not count, nor does upper case.
pub fn is_same_origin(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|origin| origin.trim_end_matches('/'));
    one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_listed_in_full_and_every_other_way_is_refused_with_a_remedy() {
        for origin in [
            "https://console.example.com",
            "http://localhost:8000/",
            "http://127.0.0.1:8000",
            "chrome-extension://abcdef",
        ] {
            check_origin("allowed_origins", origin).unwrap();
        }
        for (origin, why) in [
            ("*", "every web page"),
            ("null", "serve the page"),
            ("https://*.example.com", "in full"),
            ("console.example.com", "scheme"),
            ("https://", "host"),
            ("https://console.example.com/app", "no path"),
            (
                "https://console.example.com:443",
                "https://console.example.com\"",
            ),
        ] {
            let error = check_origin("allowed_origins", origin).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("allowed_origins") && text.contains(why),
                "{text}"
            );
        }
    }

    #[test]
    fn origins_are_compared_without_case_and_slash() {
        assert!(is_same_origin("https://A.example/", "https://a.example"));
        assert!(!is_same_origin("https://a.example", "http://a.example"));
        assert!(!is_same_origin(
            "https://a.example",
            "https://a.example:8443"
        ));
    }
}
