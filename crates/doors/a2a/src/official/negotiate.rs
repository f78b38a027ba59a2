//! Content negotiation: protocol version, media type of the body, accepted media types.

use std::borrow::Cow;

use axum::{
    body::{Body, Bytes},
    extract::Query as Parsed,
};
use http::{HeaderMap, Uri, header};
use jackfield_kit::body;

use super::failure::fault_from;
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    v03_proto::FileBytes,
};
use crate::{A2aDoor, seed::is_json};

/// Media type of plain JSON.
pub(super) const JSON: &str = "application/json";
/// Media type of A2A JSON, since version 1.0.1.
pub(super) const A2A_JSON: &str = "application/a2a+json";
/// Media type of an event stream.
const EVENT_STREAM: &str = "text/event-stream";
/// Start of the `User-Agent` of the published Python client.
const PYTHON_CLIENT: &[u8] = b"python-httpx";

/// Names and values of a query string.
#[derive(Debug, Default)]
pub(crate) struct QueryPairs(Vec<(String, String)>);

impl QueryPairs {
    pub(crate) fn of(uri: &Uri) -> Result<Self, A2aError> {
        let parsed = Parsed::<Vec<(String, String)>>::try_from_uri(uri);
        let malformed = |error| {
            A2aError::new(
                A2aErrorKind::InvalidParams,
                format!("the query is malformed: {error}"),
            )
        };
        Ok(Self(parsed.map_err(malformed)?.0))
    }

    /// Returns the value of `name`; an empty value counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        let found = self.pairs().find(|(given, _)| *given == name);
        let found = found.filter(|(_, value)| !value.is_empty());
        found.map(|(_, value)| value.to_owned())
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Returns the name of the version in the header, or in the query if the header is empty; `None` if both are
/// absent. The case of the parameter's name does not matter.
pub(crate) fn version_name<'a>(
    headers: &'a HeaderMap,
    query: &'a QueryPairs,
) -> Option<Cow<'a, str>> {
    let header = headers.get(A2aVersion::HEADER);
    let header = header.map(|value| String::from_utf8_lossy(value.as_bytes().trim_ascii()));
    if header.as_ref().is_some_and(|said| !said.is_empty()) {
        return header;
    }
    let mut pairs = query.pairs();
    let found = pairs.find(|(name, _)| name.eq_ignore_ascii_case(A2aVersion::HEADER));
    found.map(|(_, value)| value.trim().into()).or(header)
}

/// Returns the version of a request, by [`version_name`]. An empty name means 0.3.
pub(super) fn version(
    headers: &HeaderMap,
    query: &QueryPairs,
) -> Result<Option<A2aVersion>, A2aError> {
    let Some(said) = version_name(headers, query) else {
        return Ok(None);
    };
    if said.is_empty() {
        return Ok(Some(A2aVersion::V03));
    }
    let known = A2aVersion::from_name(&said).map(Some);
    known.ok_or_else(|| {
        let text = format!("version '{said}' is not spoken here; use 1.0 or 0.3");
        A2aError::new(A2aErrorKind::VersionNotSupported, text).with("supportedVersions", "1.0, 0.3")
    })
}

/// Returns true if the version header is present and empty.
pub(super) fn is_version_empty(headers: &HeaderMap) -> bool {
    let said = headers.get(A2aVersion::HEADER);
    said.is_some_and(|said| said.as_bytes().trim_ascii().is_empty())
}

/// Returns how often a REST client of 0.3 encodes file bytes in base64. The Python client encodes twice; its
/// HTTP library identifies the client.
pub(super) fn file_bytes(headers: &HeaderMap) -> FileBytes {
    let agent = headers.get(header::USER_AGENT);
    let is_python = agent.is_some_and(|agent| agent.as_bytes().starts_with(PYTHON_CLIENT));
    if is_python {
        FileBytes::Twice
    } else {
        FileBytes::Once
    }
}

/// Reads a body, which may be empty. A non-empty body must have a JSON media type or none.
pub(super) async fn read_body(
    a2a: &A2aDoor,
    headers: &HeaderMap,
    body: Body,
) -> Result<Bytes, A2aError> {
    let limits = a2a.hub.limits();
    let body = body::read(body, limits.message, limits.write_stuck).await;
    let body = body.map_err(fault_from)?;
    if !body.is_empty() {
        check_body_type(headers)?;
    }
    Ok(body)
}

/// Refuses a body with a media type other than JSON. A missing media type counts as JSON.
fn check_body_type(headers: &HeaderMap) -> Result<(), A2aError> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(value.as_bytes());
    let kind = text.split(';').next().unwrap_or_default().trim();
    if kind.is_empty() || is_json(kind) {
        return Ok(());
    }
    let text = format!("content type '{kind}' is not supported; send {JSON}");
    Err(A2aError::new(A2aErrorKind::ContentType, text))
}

/// Returns the media type of a REST answer: [`A2A_JSON`], unless the client accepts only plain JSON.
pub(super) fn answer_type(headers: &HeaderMap) -> &'static str {
    if accepts(headers, JSON) && !accepts(headers, A2A_JSON) {
        JSON
    } else {
        A2A_JSON
    }
}

/// Returns true if a streaming client accepts an error as an event: every client does, unless `Accept` names
/// plain JSON and no event stream.
pub(super) fn takes_events(headers: &HeaderMap) -> bool {
    accepts(headers, EVENT_STREAM) || !accepts(headers, JSON)
}

/// Returns true if `Accept` names the media type `kind`.
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    let mut values = values.filter_map(|value| value.to_str().ok());
    values.any(|value| {
        let mut kinds = value.split(',');
        kinds.any(|named| {
            let named = named.split(';').next().unwrap_or_default().trim();
            named.eq_ignore_ascii_case(kind)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[test]
    fn the_header_names_the_version_before_the_query_does() {
        let none = QueryPairs::of(&"/x".parse().unwrap()).unwrap();
        let query = QueryPairs::of(&"/x?a2a-version=0.3.0".parse().unwrap()).unwrap();
        let empty = HeaderMap::new();
        let read = |headers: &HeaderMap, query: &QueryPairs| version(headers, query).unwrap();
        assert_eq!(read(&empty, &none), None);
        assert_eq!(read(&with("a2a-version", ""), &none), Some(A2aVersion::V03));
        let blank = QueryPairs::of(&"/x?A2A-Version=".parse().unwrap()).unwrap();
        assert_eq!(read(&empty, &blank), Some(A2aVersion::V03));
        let named = QueryPairs::of(&"/x?A2A-Version=1.0".parse().unwrap()).unwrap();
        assert_eq!(
            read(&with("a2a-version", ""), &named),
            Some(A2aVersion::V10)
        );
        assert_eq!(read(&empty, &query), Some(A2aVersion::V03));
        let new = with("a2a-version", " 1.0.1");
        assert_eq!(read(&new, &query), Some(A2aVersion::V10));
        let refused = version(&with("a2a-version", "99.0"), &none).unwrap_err();
        assert_eq!(refused.kind, A2aErrorKind::VersionNotSupported);
    }

    #[test]
    fn only_the_python_client_puts_bytes_into_base64_twice() {
        let told = |agent| file_bytes(&with("user-agent", agent));
        assert_eq!(told("python-httpx/0.28.1"), FileBytes::Twice);
        for other in ["node", "python-requests/2.32", "not python-httpx"] {
            assert_eq!(told(other), FileBytes::Once, "{other}");
        }
        assert_eq!(file_bytes(&HeaderMap::new()), FileBytes::Once);
    }

    #[test]
    fn plain_json_is_for_those_who_take_nothing_else() {
        for (accept, kind) in [
            ("*/*", A2A_JSON),
            ("application/json", JSON),
            ("Application/JSON;q=0.9, text/html", JSON),
            ("application/json, application/a2a+json", A2A_JSON),
            ("text/event-stream", A2A_JSON),
        ] {
            assert_eq!(answer_type(&with("accept", accept)), kind, "{accept}");
        }
        assert_eq!(answer_type(&HeaderMap::new()), A2A_JSON);
    }

    #[test]
    fn only_who_names_plain_json_alone_takes_no_events() {
        assert!(takes_events(&HeaderMap::new()));
        assert!(takes_events(&with("accept", "text/event-stream")));
        assert!(takes_events(&with(
            "accept",
            "application/json, text/event-stream"
        )));
        assert!(!takes_events(&with("accept", "application/json")));
    }
}
