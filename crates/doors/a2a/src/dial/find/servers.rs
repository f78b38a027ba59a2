//! Detection of servers with many agents and without a card at the root. An operator who typed the root
//! learns the kind of server and the addresses of its agents.

use http::StatusCode;
use jackfield_kit::outbound::{FetchResponse, Outbound, Url, origin_of};
use jackfield_wire::json::{self, RawMembers};
use serde_json::value::RawValue;

use super::{MAX_CARD, at, headers};
use crate::dial::credentials::Credentials;
use crate::wire::card::{KINDS, PATH};

/// Largest number of agents to name.
const SHOWN: usize = 5;

/// Describes the server at the URL and the command to type instead, if the server is known and the URL is its
/// root.
pub(in crate::dial) async fn describe(
    outbound: &Outbound,
    url: &Url,
    credentials: &Credentials,
) -> Option<String> {
    if !matches!(url.path(), "" | "/") || url.query().is_some() {
        return None;
    }
    let site = ProbedServer {
        outbound: outbound.trusting([origin_of(url).as_str()]).ok()?,
        url,
        credentials,
    };
    if let Some(told) = site.langgraph().await {
        return Some(told);
    }
    match site.agno().await {
        Some(told) => Some(told),
        None => site.adk().await,
    }
}

/// Server under examination.
struct ProbedServer<'a> {
    outbound: Outbound,
    url: &'a Url,
    credentials: &'a Credentials,
}

impl ProbedServer<'_> {
    async fn fetch(&self, path: &str) -> Option<FetchResponse> {
        let headers = headers(self.credentials).await.ok()?;
        let url = at(self.url, path);
        let fetched = self.outbound.fetch(url.as_str(), headers, MAX_CARD).await;
        fetched.ok().filter(|fetched| fetched.is_whole)
    }

    /// Returns the answer if its status is 200.
    async fn body(&self, path: &str) -> Option<FetchResponse> {
        let fetched = self.fetch(path).await?;
        (fetched.status == StatusCode::OK).then_some(fetched)
    }

    fn origin(&self) -> String {
        origin_of(self.url)
    }

    /// Detects LangGraph, whose cards differ by a query parameter.
    async fn langgraph(&self) -> Option<String> {
        let refused = self.fetch(PATH).await?;
        let says = String::from_utf8_lossy(&refused.body);
        if !refused.status.is_client_error() || !says.contains("assistant_id") {
            return None;
        }
        let origin = self.origin();
        Some(format!(
            "this is a LangGraph server, which has a card for each assistant: type jackfield add '{origin}/?assistant_id=ID', \
             where ID is an assistant_id of: curl {origin}/assistants/search -H 'Content-Type: application/json' -d '{{}}'"
        ))
    }

    async fn agno(&self) -> Option<String> {
        let config = self.body("/config").await?;
        let config: RawMembers<'_> = serde_json::from_slice(&config.body).ok()?;
        let mut paths = Vec::new();
        for kind in KINDS {
            let listed = config.get(kind).and_then(json::elements);
            let ids = listed.into_iter().flatten().filter_map(|entry: &RawValue| {
                RawMembers::of(entry)?.text("id").map(|id| id.into_owned())
            });
            paths.extend(
                ids.filter(|id| is_plain(id))
                    .map(|id| format!("/a2a/{kind}/{id}")),
            );
        }
        let what = "an Agno AgentOS";
        let start = "start it with the interface A2A: AgentOS(interfaces=[A2A(agents=[…])])";
        self.told(what, &paths, start).await
    }

    async fn adk(&self) -> Option<String> {
        let apps = self.body("/list-apps").await?;
        let apps: Vec<String> = serde_json::from_slice(&apps.body).ok()?;
        let apps = apps.iter().filter(|app| is_plain(app));
        let paths: Vec<String> = apps.map(|app| format!("/a2a/{app}")).collect();
        let start = "start it with --a2a, and give each app that shall be called an agent.json";
        self.told("a server of Google ADK", &paths, start).await
    }

    /// Describes a server whose agents have the addresses `paths`. Without any card, the text explains how to
    /// start the server with A2A.
    async fn told(&self, what: &str, paths: &[String], start: &str) -> Option<String> {
        let origin = self.origin();
        let mut with_card = Vec::new();
        for path in paths {
            if with_card.len() > SHOWN {
                break;
            }
            if self.body(&format!("{path}{PATH}")).await.is_some() {
                with_card.push(format!("jackfield add {origin}{path}"));
            }
        }
        if paths.is_empty() {
            return None;
        }
        if with_card.is_empty() {
            return Some(format!("this is {what} that does not speak A2A: {start}"));
        }
        let more = if with_card.len() > SHOWN {
            ", and so on"
        } else {
            ""
        };
        with_card.truncate(SHOWN);
        let commands = with_card.join(", or ");
        Some(format!(
            "this is {what}, whose agents have addresses of their own: type {commands}{more}"
        ))
    }
}

/// Returns true if a name is safe in a command that the operator is asked to type.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}
