//! The query string of a list: the search, its shape and its page.

use axum::extract::{FromRequestParts as _, Request};
use jackfield_kit::api::ApiQuery;
use jackfield_model::Failure;

use super::{PeerQuery, invalid};

/// Default number of entries per page.
const PAGE: usize = 100;
/// Most entries per page: some 500 KB of the usual ones.
const PAGE_MAX: usize = 1000;

/// A parsed query string.
pub(super) struct Query {
    pub(super) sought: PeerQuery,
    pub(super) is_list: bool,
    limit: usize,
    offset: usize,
}

impl Query {
    /// Parses the query string of a request.
    pub(super) async fn of(request: Request) -> Result<Self, Failure> {
        let (mut parts, _) = request.into_parts();
        let query = parts.uri.query().unwrap_or_default();
        // A later client of the original asks like this.
        let is_bare = !query.is_empty() && !query.contains(['=', '&']);
        if is_bare {
            let named = format!("/?agent_name={query}");
            parts.uri = named.parse().map_err(|_| malformed())?;
        }
        let params = ApiQuery::from_request_parts(&mut parts, &()).await;
        let mut params = params.map_err(|_| malformed())?;
        let sought = PeerQuery {
            name: params.one("agent_name")?,
            skill: params.one("skill")?,
            text: params.one("q")?,
        };
        let format: Option<String> = params.one("format")?;
        let is_list = match format.as_deref() {
            None => false,
            Some("list") => true,
            Some(_) => return Err(invalid("query parameter format must be list")),
        };
        let limit = params.one("limit")?.unwrap_or(PAGE);
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(invalid(format!(
                "query parameter limit must be 1 to {PAGE_MAX}"
            )));
        }
        let offset = params.one("offset")?.unwrap_or(0);
        params.finish()?;
        Ok(Self {
            sought,
            is_list,
            limit,
            offset,
        })
    }

    /// Returns the requested page of a list.
    pub(super) fn page<T>(&self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.offset).take(self.limit).collect()
    }
}

fn malformed() -> Failure {
    invalid("the query is malformed")
}
