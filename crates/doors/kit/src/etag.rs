//! Conditional requests by entity tag.

use http::{HeaderMap, HeaderValue, header};

/// Returns whether the header `If-None-Match` contains `tag`: in a list of tags, weak ones included, or by
/// `*`. `tag` is a strong tag without a comma.
pub fn matches_if_none_match(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .any(|had| had == "*" || had.strip_prefix("W/").unwrap_or(had).as_bytes() == tag.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_again_alone_in_a_list_and_as_a_weak_one() {
        let tag = HeaderValue::from_static(r#""abc""#);
        for (given, is_known) in [
            (&[r#""abc""#][..], true),
            (&[r#"W/"abc""#], true),
            (&[r#""x", "abc""#], true),
            (&[r#""x,y",W/"abc" "#], true),
            (&[r#""x""#, r#""abc""#], true),
            (&["*"], true),
            (&[], false),
            (&[""], false),
            (&[r#""x""#], false),
            (&["abc"], false),
            (&[r#"w/"abc""#], false),
            (&[r#""ABC""#], false),
            (&[r#""abcd", "ab""#], false),
            (&["\"ab\u{e9}\""], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in given {
                let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
                headers.append(header::IF_NONE_MATCH, value);
            }
            assert_eq!(matches_if_none_match(&headers, &tag), is_known, "{given:?}");
        }
    }
}
