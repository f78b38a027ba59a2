//! Requests for lists of agents. Each request without a list is recorded with the server's answer.

use http::{HeaderValue, Method, StatusCode, header};
use jackfield_kit::outbound::{FetchResponse, Outbound, OutboundError, TIMEOUT, Url};
use serde::de::DeserializeOwned;

use crate::dial::{
    credentials::Credentials,
    find::{MAX_CARD, TriedUrl, at, headers},
};

/// Largest list in bytes: a list has more than a card, as frameworks describe their agents in it.
const MAX_LIST: usize = 4 * MAX_CARD;

/// A server that is asked for lists.
#[derive(Debug)]
pub(super) struct Probe<'a> {
    outbound: &'a Outbound,
    credentials: &'a Credentials,
    /// Typed URL without a slash at its end.
    base: Url,
    tried: Vec<TriedUrl>,
}

impl<'a> Probe<'a> {
    /// Returns the probe of a server. Returns `None` for a URL that names a single agent: a card's own URL, or one
    /// with a query.
    pub(super) fn new(
        outbound: &'a Outbound,
        url: &Url,
        credentials: &'a Credentials,
    ) -> Option<Self> {
        let path = url.path().trim_end_matches('/');
        if path.ends_with(".json") || url.query().is_some() {
            return None;
        }
        Some(Self {
            outbound,
            credentials,
            base: at(url, path),
            tried: Vec::new(),
        })
    }

    /// Returns the typed URL.
    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    /// Returns the URL of a path below the typed one.
    pub(super) fn url(&self, path: &str) -> Url {
        at(
            &self.base,
            &format!("{}{path}", self.base.path().trim_end_matches('/')),
        )
    }

    /// Returns the requests that brought no list.
    pub(super) fn into_tried(self) -> Vec<TriedUrl> {
        self.tried
    }

    /// Fetches a path below the typed URL, whatever the status is.
    pub(super) async fn fetch(&mut self, path: &str) -> Option<FetchResponse> {
        let url = self.url(path);
        let headers = headers(self.credentials).await.ok()?;
        let fetched = self.outbound.fetch(url.as_str(), headers, MAX_LIST).await;
        self.record(&url, fetched)
    }

    /// Reads the JSON at a path below the typed URL, as a list that `read` understands.
    pub(super) async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Option<T> {
        let fetched = self.fetch(path).await?;
        self.read(path, &fetched)
    }

    /// Reads the JSON answer to a JSON request.
    pub(super) async fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &'static str,
    ) -> Option<T> {
        let url = self.url(path);
        let mut headers = headers(self.credentials).await.ok()?;
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let fetched = tokio::time::timeout(TIMEOUT, self.exchange(&url, headers, body)).await;
        let fetched = match fetched {
            Ok(fetched) => self.record(&url, fetched)?,
            Err(_) => {
                let answer = format!("no answer within {} seconds", TIMEOUT.as_secs());
                self.tried.push(TriedUrl::new(&url, answer));
                return None;
            }
        };
        self.read(path, &fetched)
    }

    async fn exchange(
        &self,
        url: &Url,
        headers: http::HeaderMap,
        body: &'static str,
    ) -> Result<FetchResponse, OutboundError> {
        let opened = self
            .outbound
            .open(Method::POST, url.as_str(), headers, body, None);
        let opened = opened.await?;
        let (status, headers) = (opened.status(), opened.headers().clone());
        let body = opened.whole(MAX_LIST).await;
        Ok(FetchResponse {
            status,
            headers,
            is_whole: body.is_ok(),
            body: body.unwrap_or_default(),
        })
    }

    /// Records a request that got no answer.
    fn record(
        &mut self,
        url: &Url,
        fetched: Result<FetchResponse, OutboundError>,
    ) -> Option<FetchResponse> {
        match fetched {
            Ok(fetched) => Some(fetched),
            Err(error) => {
                self.tried.push(TriedUrl::new(url, error));
                None
            }
        }
    }

    fn read<T: DeserializeOwned>(&mut self, path: &str, fetched: &FetchResponse) -> Option<T> {
        let list = match fetched.status {
            StatusCode::OK if fetched.is_whole => serde_json::from_slice(&fetched.body).ok(),
            _ => None,
        };
        if list.is_none() {
            self.note(path, fetched);
        }
        list
    }

    /// Records an answer that has no list of agents.
    pub(super) fn note(&mut self, path: &str, fetched: &FetchResponse) {
        let answer = match fetched.status {
            StatusCode::OK if fetched.is_whole => "another kind of document".to_owned(),
            StatusCode::OK => "too large, or cut off".to_owned(),
            status => status.to_string(),
        };
        self.tried.push(TriedUrl::new(&self.url(path), answer));
    }
}
