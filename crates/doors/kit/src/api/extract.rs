//! Extractors for the handlers of the API: the caller ([`AuthenticatedCaller`]), ids in the path ([`PathId`], [`PathIds`]), the
//! query ([`ApiQuery`]) and the body ([`JsonBody`], [`TextBody`]). Each refuses bad input with a clear message. Bodies
//! are counted while reading, and JSON never nests deeper than the limit.

use std::{convert::Infallible, fmt::Display, str::FromStr};

use axum::extract::{FromRequest, FromRequestParts, OptionalFromRequest, Path, Query, Request};
use bytes::Bytes;
use http::{HeaderMap, request::Parts};
use jackfield_core::principal::Principal;
use jackfield_model::Failure;
use serde::de::DeserializeOwned;

use super::{ApiError, ApiState, invalid};
use crate::{auth::Ingress, body, json, ticket::TICKET_PARAMETER};

/// Default number of items on a page.
const PAGE: usize = 50;
/// Maximum number of items on a page: some 100 KB.
const PAGE_MAX: usize = 200;

/// Extractor for the authenticated caller.
#[derive(Debug)]
pub struct AuthenticatedCaller(pub Principal);

impl<S: ApiState> FromRequestParts<S> for AuthenticatedCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let admitted = state.gatekeeper().admit_request(parts);
        Ok(Self(admitted.map_err(|failure| {
            let field = Ingress::of_request(parts).has_ticket();
            ApiError::from(failure).with_field(field.then(|| TICKET_PARAMETER.to_owned()))
        })?))
    }
}

/// Extractor for the id in the path; any text.
#[derive(Debug)]
pub struct PathId(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(invalid("the id in the path is not UTF-8").into()),
        }
    }
}

/// Extractor for two ids in the path; any texts.
#[derive(Debug)]
pub struct PathIds(pub String, pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathIds {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<(String, String)>::from_request_parts(parts, state).await {
            Ok(Path((id, other))) => Ok(Self(id, other)),
            Err(_) => Err(invalid("the path is not UTF-8").into()),
        }
    }
}

/// Extractor for the query. [`finish`](Self::finish) refuses unknown parameters.
#[derive(Debug)]
pub struct ApiQuery(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for ApiQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
            .map_err(|error| invalid(format!("the query is malformed: {error}")))?;
        Ok(Self(query.0))
    }
}

impl ApiQuery {
    /// Removes and returns all values of a parameter that may be repeated.
    pub fn all(&mut self, name: &str) -> Vec<String> {
        let values = self.0.extract_if(.., |(key, _)| key == name);
        values.map(|(_, value)| value).collect()
    }

    /// Removes and returns a parameter that may be given once.
    pub fn one<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<Option<T>, Failure> {
        let mut values = self.all(name);
        let value = values.pop();
        if !values.is_empty() {
            return Err(invalid(format!("query parameter {name} is given twice")));
        }
        value
            .map(|value| {
                value
                    .parse()
                    .map_err(|error| invalid(format!("query parameter {name}: {error}")))
            })
            .transpose()
    }

    /// Removes and returns the page size: the parameter `limit`.
    pub fn limit(&mut self) -> Result<usize, Failure> {
        let limit = self.one("limit")?.unwrap_or(PAGE);
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(invalid(format!(
                "query parameter limit must be 1 to {PAGE_MAX}"
            )));
        }
        Ok(limit)
    }

    /// Refuses the remaining parameters.
    pub fn finish(self) -> Result<(), Failure> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(invalid(format!(
                "query parameter {name:?} is unknown here; see /openapi.json"
            ))),
        }
    }
}

/// Returns a header as text, if present.
pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Failure> {
    headers
        .get(name)
        .map(|value| {
            value
                .to_str()
                .map_err(|_| invalid(format!("header {name} is not plain ASCII")))
        })
        .transpose()
}

/// Extractor for a JSON body.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<S: ApiState, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let text = read(request, state).await?;
        Ok(Self(json::parse(&text, state.hub().limits().json_depth)?))
    }
}

/// Extractor for a body that the handler reads later, after checking the sender's permission.
#[derive(Debug)]
pub struct UnreadBody(Request);

impl<S: Send + Sync> FromRequest<S> for UnreadBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        Ok(Self(request))
    }
}

impl UnreadBody {
    /// Reads the body as JSON.
    pub async fn read<T: DeserializeOwned>(self, state: &impl ApiState) -> Result<T, ApiError> {
        let body = <JsonBody<T> as FromRequest<_>>::from_request(self.0, state);
        Ok(body.await?.0)
    }

    /// Reads the body as text.
    pub async fn read_text(self, state: &impl ApiState) -> Result<String, ApiError> {
        let TextBody(text) = TextBody::from_request(self.0, state).await?;
        Ok(text)
    }
}

/// Extractor for an optional JSON body.
impl<S: ApiState, T: DeserializeOwned> OptionalFromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>, ApiError> {
        let text = read(request, state).await?;
        if text.is_empty() {
            return Ok(None);
        }
        let body = json::parse(&text, state.hub().limits().json_depth)?;
        Ok(Some(Self(body)))
    }
}

async fn read(request: Request, state: &impl ApiState) -> Result<Bytes, Failure> {
    let limits = state.hub().limits();
    body::read(request.into_body(), limits.message, limits.write_stuck).await
}

/// Extractor for a text body.
#[derive(Debug)]
pub struct TextBody(pub String);

impl<S: ApiState> FromRequest<S> for TextBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let text = read(request, state).await?;
        match String::from_utf8(text.into()) {
            Ok(text) => Ok(Self(text)),
            Err(_) => Err(invalid("the body is not UTF-8").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &str) -> ApiQuery {
        ApiQuery(
            Query::try_from_uri(&format!("/x?{query}").parse().unwrap())
                .unwrap()
                .0,
        )
    }

    #[test]
    fn a_query_is_read_by_name_and_what_is_left_is_refused() {
        let mut given = params("skill=a&limit=5&skill=b%20c&agent=");
        assert_eq!(given.all("skill"), ["a", "b c"]);
        assert_eq!(given.one::<u32>("limit").unwrap(), Some(5));
        assert_eq!(given.one::<String>("agent").unwrap().as_deref(), Some(""));
        assert_eq!(given.one::<String>("before").unwrap(), None);
        assert!(given.finish().is_ok());
        let refused = params("lmit=5").finish().unwrap_err();
        assert!(refused.text.contains("lmit"));
        assert!(params("limit=5&limit=6").one::<u32>("limit").is_err());
        assert!(
            params("limit=x")
                .one::<u32>("limit")
                .unwrap_err()
                .text
                .contains("limit")
        );
    }
}
