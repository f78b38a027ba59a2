//! Test server with fixed pages that records its requests.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use axum::{Router, extract::State, response::Response};
use http::{HeaderMap, StatusCode, Uri};
use jackfield_kit::outbound::Url;
use parking_lot::Mutex;
use tokio::{net::TcpListener, task::JoinSet};

/// Pages by path, and the recorded requests.
#[derive(Debug, Default)]
struct Pages {
    pages: HashMap<String, VecDeque<StaticPage>>,
    asked: Vec<(String, HeaderMap)>,
}

#[derive(Debug, Clone)]
struct StaticPage {
    status: StatusCode,
    headers: Vec<(&'static str, String)>,
    body: String,
}

/// Server on a port of its own. Unknown paths give 404.
#[derive(Debug)]
pub(super) struct StaticSite {
    origin: String,
    pages: Arc<Mutex<Pages>>,
    _server: JoinSet<()>,
}

impl StaticSite {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let pages = Arc::<Mutex<Pages>>::default();
        let app = Router::new().fallback(answer).with_state(pages.clone());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            origin,
            pages,
            _server: server,
        }
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    pub(super) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}{path}", self.origin)).unwrap()
    }

    /// Serves a body at a path, including the query.
    pub(super) fn put(&self, path: &str, body: impl Into<String>) {
        self.answer(path, 200, &[], body);
    }

    /// Serves an answer with status and headers. Several answers at a path come in order; the last repeats.
    pub(super) fn answer(
        &self,
        path: &str,
        status: u16,
        headers: &[(&'static str, &str)],
        body: impl Into<String>,
    ) {
        let page = StaticPage {
            status: StatusCode::from_u16(status).unwrap(),
            headers: headers
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect(),
            body: body.into(),
        };
        let mut pages = self.pages.lock();
        let there = pages.pages.entry(path.to_owned()).or_default();
        there.push_back(page);
    }

    /// Returns the requested paths, in order.
    pub(super) fn paths(&self) -> Vec<String> {
        let pages = self.pages.lock();
        pages.asked.iter().map(|(path, _)| path.clone()).collect()
    }

    /// Returns a header of the last request.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let pages = self.pages.lock();
        let (_, headers) = pages.asked.last()?;
        Some(headers.get(name)?.to_str().unwrap().to_owned())
    }
}

async fn answer(State(pages): State<Arc<Mutex<Pages>>>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path_and_query().unwrap().to_string();
    let mut pages = pages.lock();
    pages.asked.push((path.clone(), headers));
    let mut response = Response::builder();
    let Some(page) = pages.pages.get_mut(&path).and_then(next) else {
        return response.status(404).body("not here".into()).unwrap();
    };
    for (name, value) in &page.headers {
        response = response.header(*name, value);
    }
    response.status(page.status).body(page.body.into()).unwrap()
}

fn next(there: &mut VecDeque<StaticPage>) -> Option<StaticPage> {
    if there.len() > 1 {
        return there.pop_front();
    }
    there.front().cloned()
}
