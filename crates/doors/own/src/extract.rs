//! What handlers take out of a request: who asks ([`Caller`]), the id in the path ([`Id`]), the query ([`Params`]) and
//! the body ([`Body`]), each refused with a clear word. Bodies are counted while they are read, and never nest deeper
//! than the limit.

use std::{fmt::Display, str::FromStr};

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use http::{HeaderMap, request::Parts};
use jackfield_core::{failure::Failure, principal::Principal};
use jackfield_kit::{body, json};
use serde::de::DeserializeOwned;

use crate::{
    OwnState,
    failure::{Problem, invalid},
};

/// How many things a page has, if not said.
const PAGE: usize = 50;
/// How many things a page may have: some 100 KB.
const PAGE_MAX: usize = 200;

/// Who asks, as the connection proved it.
#[derive(Debug)]
pub(crate) struct Caller(pub(crate) Principal);

impl FromRequestParts<OwnState> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &OwnState) -> Result<Self, Problem> {
        Ok(Self(state.gatekeeper.admit_headers(&parts.headers)?))
    }
}

/// The id in the path; any text.
#[derive(Debug)]
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(invalid("the id in the path is not UTF-8").into()),
        }
    }
}

/// The query. A parameter that nobody asked for is refused.
#[derive(Debug)]
pub(crate) struct Params(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
            .map_err(|error| invalid(format!("the query is malformed: {error}")))?;
        Ok(Self(query.0))
    }
}

impl Params {
    /// All values of a parameter that may be repeated.
    pub(crate) fn all(&mut self, name: &str) -> Vec<String> {
        let values = self.0.extract_if(.., |(key, _)| key == name);
        values.map(|(_, value)| value).collect()
    }

    /// A parameter that may be given once.
    pub(crate) fn one<T: FromStr<Err: Display>>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, Failure> {
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

    /// How many things a page may have: the parameter `limit`.
    pub(crate) fn limit(&mut self) -> Result<usize, Failure> {
        let limit = self.one("limit")?.unwrap_or(PAGE);
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(invalid(format!(
                "query parameter limit must be 1 to {PAGE_MAX}"
            )));
        }
        Ok(limit)
    }

    /// Refuses what is left over.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(invalid(format!(
                "query parameter {name:?} is unknown here; see /openapi.json"
            ))),
        }
    }
}

/// A header as text, if it is given.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Failure> {
    headers
        .get(name)
        .map(|value| {
            value
                .to_str()
                .map_err(|_| invalid(format!("header {name} is not plain ASCII")))
        })
        .transpose()
}

/// A body of JSON.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<OwnState> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &OwnState) -> Result<Self, Problem> {
        let limits = state.hub.limits();
        let text = body::read(request.into_body(), limits.message, limits.write_stuck).await?;
        Ok(Self(json::parse(&text, limits.json_depth)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &str) -> Params {
        Params(
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
