//! Paths: the only place where they are expanded, checked and parsed.
//!
//! The original formats a path as Python does and appends it to a URL. Here a placeholder is only a name, its
//! value is encoded as a whole, and the result must be a plain path, with a query (`query.rs`) where the
//! template has one. Servers decode paths, some of them twice. Therefore a path that would lead to another
//! place is refused in its encoded forms too. Any other encoded text is a value and stays a value.

mod query;

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{MAX_PATH, PathParam, PathParams, PeerInputError, code};

/// Characters encoded in the value of a parameter: all except the unreserved characters.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Characters encoded in a path that a peer wrote: all that a path must not contain, so that a goal can be
/// written as plain text.
const PLAIN: &AsciiSet = &VALUE
    .remove(b'/')
    .remove(b'%')
    .remove(b':')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// Number of times a path is decoded to check its possible meanings.
const DECODE_ROUNDS: usize = 3;

/// Error for a NUL character, which some servers take for the end of a text.
const NUL: &str = "must not have a NUL character";

/// Fills the placeholders of `template` with [`PathParams`] and checks the result, see [`check`].
///
/// A placeholder is `{name}` with a name of `A-Z a-z 0-9 _`. A placeholder without a parameter is refused, as
/// is any other brace, and a placeholder in a name of the query. Parameters without a placeholder are not
/// used and may have any value.
pub fn expand(template: &str, params: &PathParams) -> Result<String, PeerInputError> {
    query::check_names(template)?;
    let mut out = String::with_capacity(template.len());
    for piece in TemplatePieces(template) {
        match piece.map_err(|()| leftover_brace())? {
            TemplatePiece::Literal(text) => out.push_str(text),
            TemplatePiece::Name(name) => {
                let missing =
                    || PeerInputError::in_field(name, "is required: the path has a place for it");
                let param = params.get(name);
                let param = param.ok_or_else(|| missing().within("params"))?;
                if matches!(param, PathParam::Structured(_)) {
                    let fault =
                        PeerInputError::in_field(name, "must be a string, a number or a boolean");
                    return Err(fault.within("params"));
                }
                out.extend(utf8_percent_encode(param.as_str(), VALUE));
            }
        }
        // A name may occur often, each time with a long value.
        if out.len() > MAX_PATH {
            return Err(too_long());
        }
    }
    check(&out)
}

/// Returns the start of `text` that fits into the placeholder `name` of `template`, beside the other
/// parameters.
pub fn cut_to_fit<'a>(template: &str, name: &str, params: &PathParams, text: &'a str) -> &'a str {
    let encoded = |text: &str, set| utf8_percent_encode(text, set).map(str::len).sum::<usize>();
    let (mut taken, mut places) = (usize::from(!template.starts_with('/')), 0);
    for piece in TemplatePieces(template).map_while(Result::ok) {
        match piece {
            TemplatePiece::Literal(text) => taken += encoded(text, query::QUERY),
            TemplatePiece::Name(other) if other == name => places += 1,
            TemplatePiece::Name(other) => {
                let param = params.get(other).map_or("", PathParam::as_str);
                taken += encoded(param, VALUE);
            }
        }
    }
    let room = MAX_PATH.saturating_sub(taken) / places.max(1);
    let mut length = 0;
    let end = text.char_indices().find(|(at, char)| {
        length += encoded(&text[*at..at + char.len_utf8()], VALUE);
        length > room
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// Checks a path without placeholders and returns its normal form: one leading slash, with all characters
/// encoded that a path must not contain.
///
/// The original strips all leading slashes. Here a path without a leading slash gets one. A path with more
/// than one is refused, because every URL parser takes `//host` for another server. Also refused, as written
/// and after up to three rounds of decoding: `.` and `..` segments (also followed by `;…`, between
/// backslashes and with control characters in them), NUL, and bytes that are not UTF-8. Refused as written
/// only: `//` anywhere, `#`, braces, backslashes, control characters, `@` in the first segment, and `:` there
/// unless a slash precedes it. An encoded slash, `?`, backslash or line break is part of a value and stays
/// encoded.
///
/// A query is accepted: the template that the path must match decides whether a query is allowed, see
/// [`matches()`].
pub fn check(path: &str) -> Result<String, PeerInputError> {
    if path.len() > MAX_PATH {
        return Err(too_long());
    }
    if path.contains('#') {
        return Err(bad_path("must not have a fragment"));
    }
    if path.contains('\\') {
        let problem = "must not have a backslash: encode it, or put such text into input_data";
        return Err(bad_path(problem));
    }
    if path.contains(char::is_control) {
        let problem =
            "must not have control characters: encode them, or put such text into input_data";
        return Err(bad_path(problem));
    }
    if !has_whole_escapes(path) {
        return Err(bad_path("has a % without two hex digits"));
    }
    let (path, query) = query::split(path);
    let (has_slash, rest) = match path.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, path),
    };
    if path.is_empty() {
        return Err(bad_path("must not be empty"));
    }
    if path.contains("//") {
        return Err(bad_path("must not have two slashes in a row"));
    }
    if path.contains(['{', '}']) {
        return Err(leftover_brace());
    }
    let first = rest.split('/').next().unwrap_or_default();
    if first.contains('@') || (!has_slash && first.contains(':')) {
        return Err(bad_path("must not have a scheme or a host"));
    }
    let mut out = String::with_capacity(path.len() + 1);
    out.push('/');
    out.extend(utf8_percent_encode(rest, PLAIN));
    check_decoded(&out)?;
    if let Some(query) = query {
        out.push('?');
        out.push_str(&query::check(query)?);
    }
    if out.len() > MAX_PATH {
        return Err(too_long());
    }
    Ok(out)
}

/// Refuses a path that would lead to another place after a server decodes it.
fn check_decoded(path: &str) -> Result<(), PeerInputError> {
    let mut path = Cow::Borrowed(path);
    for round in 0..=DECODE_ROUNDS {
        if path.contains('\0') {
            return Err(bad_path(NUL));
        }
        // Some URL parsers skip line breaks and tabs, and treat a backslash as a slash.
        let seen = path.replace(char::is_control, "").replace('\\', "/");
        if seen.starts_with("//") {
            return Err(bad_path("must not have two slashes in a row"));
        }
        if seen.split('/').any(is_dot_segment) {
            return Err(bad_path("must not have . or .. segments"));
        }
        if round == DECODE_ROUNDS {
            break;
        }
        let decoded = percent_decode_str(&path).decode_utf8();
        let decoded = decoded.map_err(|_| not_utf8())?;
        if decoded == path {
            break;
        }
        path = Cow::Owned(decoded.into_owned());
    }
    Ok(())
}

/// Returns whether a segment means the current or the parent folder. Some servers first remove the text after
/// a `;`.
fn is_dot_segment(segment: &str) -> bool {
    matches!(segment.split(';').next(), Some("." | ".."))
}

fn has_whole_escapes(path: &str) -> bool {
    path.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// The target of a path at the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerRoute {
    /// `/card`: the card of the hub.
    Card,
    /// `/agents`: all agents that the caller may see.
    Agents,
    /// `/agents/{id}/card`: the card of an agent.
    AgentCard(String),
    /// `/agents/{id}/…`: a request to an agent.
    Agent {
        /// Decoded id of the agent.
        id: String,
        /// Encoded path after the id, with a leading slash and the query, if any.
        rest: String,
    },
    /// `/{goal}`: a request to the hub's default agent, as at the original's agents. Holds the decoded goal.
    Goal(String),
}

/// Returns the [`PeerRoute`] of a path without placeholders, after [`check`]. A trailing slash makes no
/// difference. Only paths of agents may have a query.
pub fn route(path: &str) -> Result<PeerRoute, PeerInputError> {
    let path = check(path)?;
    let (path, query) = query::split(&path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut segments = path.splitn(4, '/').skip(1);
    let first = segments.next().map(decode).unwrap_or_default();
    let id = segments.next().map(decode);
    let rest = segments.next();
    match (&*first, id, rest) {
        ("agents", Some(id), rest) if rest.map(decode).as_deref() != Some("card") => {
            let query = query.map(|query| format!("?{query}"));
            Ok(PeerRoute::Agent {
                id,
                rest: format!("/{}{}", rest.unwrap_or_default(), query.unwrap_or_default()),
            })
        }
        _ if query.is_some() => Err(bad_path("must not have a query")),
        ("card", None, None) => Ok(PeerRoute::Card),
        ("agents", None, None) => Ok(PeerRoute::Agents),
        ("agents", Some(id), Some(_)) => Ok(PeerRoute::AgentCard(id)),
        (goal, None, None) if !goal.trim().is_empty() => Ok(PeerRoute::Goal(first)),
        _ => Err(bad_path("leads nowhere").with_code(code::NOT_FOUND)),
    }
}

/// Returns whether a checked path without placeholders is an expansion of `template`. Each placeholder stands
/// for at least one character of one segment, or of one value of the query.
pub fn matches(template: &str, path: &str) -> bool {
    let (template, wanted) = query::split(template);
    let (path, given) = query::split(path);
    let fits_query = match (wanted, given) {
        (Some(wanted), Some(given)) => query::matches(wanted, given),
        (wanted, given) => wanted == given,
    };
    let template = template.trim_start_matches('/').split('/');
    let path = path.trim_start_matches('/').split('/');
    let mut path = path.map(decode);
    let mut template = template.map(Some).chain([None]);
    fits_query
        && template.all(|pattern| match (pattern, path.next()) {
            (Some(pattern), Some(segment)) => fits(pattern, &segment),
            (None, None) => true,
            _ => false,
        })
}

/// Returns whether a decoded segment or query value matches the segment or value of a template.
fn fits(pattern: &str, segment: &str) -> bool {
    let mut literals = vec![String::new()];
    for piece in TemplatePieces(pattern) {
        match (piece, literals.last_mut()) {
            (Ok(TemplatePiece::Literal(text)), Some(literal)) => *literal = decode(text),
            (Ok(TemplatePiece::Name(_)), _) => literals.push(String::new()),
            _ => return false,
        }
    }
    let Some((last, before)) = literals.split_last() else {
        return false;
    };
    let [first, between @ ..] = before else {
        return segment == last;
    };
    let Some(mut rest) = segment.strip_prefix(first.as_str()) else {
        return false;
    };
    for literal in between {
        // The shortest non-empty value leaves most text for the following literals.
        let Some(value) = rest.chars().next().map(char::len_utf8) else {
            return false;
        };
        let Some(at) = rest[value..].find(literal.as_str()) else {
            return false;
        };
        rest = &rest[value + at + literal.len()..];
    }
    let value = rest.strip_suffix(last.as_str());
    value.is_some_and(|value| !value.is_empty())
}

/// Decodes a part of a checked path, whose encoded bytes are UTF-8.
fn decode(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

/// A piece of a template: text or a placeholder.
enum TemplatePiece<'a> {
    Literal(&'a str),
    Name(&'a str),
}

/// Iterator over the pieces of a template; an error for a brace outside a placeholder.
struct TemplatePieces<'a>(&'a str);

impl<'a> Iterator for TemplatePieces<'a> {
    type Item = Result<TemplatePiece<'a>, ()>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.0;
        if text.is_empty() {
            return None;
        }
        match text.find(['{', '}']) {
            None => {
                self.0 = "";
                Some(Ok(TemplatePiece::Literal(text)))
            }
            Some(0) => {
                let inside = text.strip_prefix('{');
                let Some((name, rest)) = inside.and_then(|inside| inside.split_once('}')) else {
                    return Some(Err(()));
                };
                self.0 = rest;
                Some(if is_name(name) {
                    Ok(TemplatePiece::Name(name))
                } else {
                    Err(())
                })
            }
            Some(at) => {
                let (literal, rest) = text.split_at(at);
                self.0 = rest;
                Some(Ok(TemplatePiece::Literal(literal)))
            }
        }
    }
}

/// Returns whether a placeholder has a plain name. Python's placeholders could also access objects and pad to
/// any width.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_plain)
}

fn bad_path(problem: &'static str) -> PeerInputError {
    PeerInputError::in_field("path", problem)
}

fn not_utf8() -> PeerInputError {
    bad_path("has encoded bytes that are not UTF-8")
}

fn leftover_brace() -> PeerInputError {
    bad_path("has a brace that is no {name} of letters, digits and _")
}

fn too_long() -> PeerInputError {
    PeerInputError::too_large(MAX_PATH, "bytes").within("path")
}
