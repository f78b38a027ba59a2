//! The query of a path: pairs of a fixed name and a value, which may contain placeholders.
//!
//! A query cannot lead to another path, so dots and slashes are plain text. A value must never become a pair
//! of its own.

use percent_encoding::{AsciiSet, percent_decode_str, utf8_percent_encode};

use super::{NUL, PLAIN, PeerInputError, bad_path, decode, fits, leftover_brace, not_utf8};

/// Characters encoded in a query that a peer wrote. Some servers treat `;` as `&`.
pub(super) const QUERY: &AsciiSet = &PLAIN.add(b';');

/// Splits a path from its query, if any.
pub(super) fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path, None),
    }
}

/// Refuses a template with a placeholder in a name of the query.
pub(super) fn check_names(template: &str) -> Result<(), PeerInputError> {
    let mut names = split(template).1.into_iter().flat_map(pairs);
    match names.any(|(name, _)| name.contains(['{', '}'])) {
        true => Err(bad_path("must not have a gap in the name of a query")),
        false => Ok(()),
    }
}

/// Checks a query with complete escapes, and returns it with all characters encoded that a query must not
/// contain.
pub(super) fn check(query: &str) -> Result<String, PeerInputError> {
    if query.contains('?') {
        return Err(bad_path("must not have more than one ?"));
    }
    if query.contains(['{', '}']) {
        return Err(leftover_brace());
    }
    if pairs(query).any(|(name, _)| name.is_empty()) {
        return Err(bad_path("must have a name for each value of its query"));
    }
    let decoded = percent_decode_str(query).decode_utf8();
    if decoded.map_err(|_| not_utf8())?.contains('\0') {
        return Err(bad_path(NUL));
    }
    Ok(utf8_percent_encode(query, QUERY).collect())
}

/// Returns whether a checked query is an expansion of the template's query: the same names in the same order.
pub(super) fn matches(template: &str, query: &str) -> bool {
    let mut given = pairs(query);
    pairs(template)
        .map(Some)
        .chain([None])
        .all(|wanted| match (wanted, given.next()) {
            (Some((name, wanted)), Some((given_name, given))) => {
                let fits = match (wanted, given) {
                    (Some(pattern), Some(value)) => fits(pattern, &decode(value)),
                    (None, None) => true,
                    _ => false,
                };
                fits && decode(name) == decode(given_name)
            }
            (None, None) => true,
            _ => false,
        })
}

/// Returns the names and values, as written.
fn pairs(query: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (pair, None),
    })
}
