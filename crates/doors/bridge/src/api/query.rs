//! Query parameters by name. As in bodies, an empty value counts as missing, and unknown names are ignored.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Query as Parse};
use http::request::Parts;

use super::RelayApiError;

/// Names and values of a query; empty if the query is unreadable.
#[derive(Debug)]
pub(crate) struct RelayQuery(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for RelayQuery {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let parsed = Parse::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        Ok(Self(parsed.map_or_else(|_| Vec::new(), |parsed| parsed.0)))
    }
}

impl RelayQuery {
    /// Returns a required parameter.
    pub(crate) fn required(&self, name: &str) -> Result<&str, RelayApiError> {
        let found = self
            .0
            .iter()
            .find(|(key, value)| key == name && !value.is_empty());
        match found {
            Some((_, value)) => Ok(value),
            None => Err(RelayApiError::bad_query(format!(
                "query parameter {name} is missing"
            ))),
        }
    }
}
