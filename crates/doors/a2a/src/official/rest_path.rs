//! Parser for REST paths below an agent's address. A task's verb shares a segment with the task's id
//! (`tasks/{id}:cancel`), and a router cannot split such a segment.

use std::borrow::Cow;

use http::Method;
use percent_encoding::percent_decode_str;

use crate::wire::official::A2aVersion;

/// REST resource or action that a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RestRoute {
    Send,
    Stream,
    Tasks,
    Task(String),
    Cancel(String),
    Subscribe(String),
    Pushes(String),
    Push(String, String),
    ExtendedCard,
    /// Python Agno's own path for reading a task; the body names the task.
    AgnoGet,
    /// Python Agno's own path for cancelling a task; the body names the task.
    AgnoCancel,
}

/// Parsed REST path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RestPath {
    pub(super) version: A2aVersion,
    /// Agent id at the start of the path, for requests to the hub's own address.
    pub(super) tenant: Option<String>,
    pub(super) place: RestRoute,
}

impl RestPath {
    /// Parses the segments below an address, still percent-encoded.
    pub(super) fn of(segments: &[&str]) -> Option<Self> {
        let segments: Option<Vec<Cow<'_, str>>> = segments.iter().map(|raw| decoded(raw)).collect();
        let segments = segments?;
        let segments: Vec<&str> = segments.iter().map(|segment| &**segment).collect();
        let found = |version, tenant: Option<&str>, place| Self {
            version,
            tenant: tenant.map(str::to_owned),
            place,
        };
        let (first, rest) = segments.split_first()?;
        if *first == "v1" {
            return Some(found(A2aVersion::V03, None, old_place(rest)?));
        }
        if let Some(place) = new_place(&segments) {
            return Some(found(A2aVersion::V10, None, place));
        }
        let place = new_place(rest).filter(|_| !first.is_empty())?;
        Some(found(A2aVersion::V10, Some(first), place))
    }
}

fn decoded(segment: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(segment).decode_utf8().ok()
}

fn old_place(segments: &[&str]) -> Option<RestRoute> {
    match segments {
        ["card"] => Some(RestRoute::ExtendedCard),
        ["tasks:get"] => Some(RestRoute::AgnoGet),
        ["tasks:cancel"] => Some(RestRoute::AgnoCancel),
        _ => common_place(segments),
    }
}

fn new_place(segments: &[&str]) -> Option<RestRoute> {
    match segments {
        ["extendedAgentCard"] => Some(RestRoute::ExtendedCard),
        _ => common_place(segments),
    }
}

fn common_place(segments: &[&str]) -> Option<RestRoute> {
    Some(match segments {
        ["message:send"] => RestRoute::Send,
        ["message:stream"] => RestRoute::Stream,
        ["tasks"] | ["tasks", ""] => RestRoute::Tasks,
        ["tasks", task] => match task.rsplit_once(':') {
            Some((id, "cancel")) => RestRoute::Cancel(id.to_owned()),
            Some((id, "subscribe")) => RestRoute::Subscribe(id.to_owned()),
            _ => RestRoute::Task((*task).to_owned()),
        },
        ["tasks", task, "pushNotificationConfigs"] => RestRoute::Pushes((*task).to_owned()),
        ["tasks", task, "pushNotificationConfigs", id] if !id.is_empty() => {
            RestRoute::Push((*task).to_owned(), (*id).to_owned())
        }
        _ => return None,
    })
}

impl RestRoute {
    /// Returns the HTTP methods that the path accepts. Subscribe accepts two methods because the prose and
    /// the definition of the protocol disagree.
    pub(super) fn methods(&self) -> &'static [Method] {
        match self {
            Self::Send | Self::Stream | Self::Cancel(_) | Self::AgnoGet | Self::AgnoCancel => {
                &[Method::POST]
            }
            Self::Tasks | Self::Task(_) | Self::ExtendedCard => &[Method::GET],
            Self::Subscribe(_) | Self::Pushes(_) => &[Method::GET, Method::POST],
            Self::Push(..) => &[Method::GET, Method::DELETE],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> Option<(A2aVersion, Option<String>, RestRoute)> {
        let segments: Vec<&str> = path.split('/').collect();
        RestPath::of(&segments).map(|found| (found.version, found.tenant, found.place))
    }

    #[test]
    fn a_verb_is_split_from_the_id_before_it() {
        let (new, old) = (A2aVersion::V10, A2aVersion::V03);
        let id = |id: &str| id.to_owned();
        for (path, version, place) in [
            ("message:send", new, RestRoute::Send),
            ("v1/message:stream", old, RestRoute::Stream),
            ("tasks", new, RestRoute::Tasks),
            ("v1/tasks/", old, RestRoute::Tasks),
            ("tasks/a", new, RestRoute::Task(id("a"))),
            ("tasks/a:b", new, RestRoute::Task(id("a:b"))),
            ("tasks/a:b:cancel", new, RestRoute::Cancel(id("a:b"))),
            ("v1/tasks/a%3Asubscribe", old, RestRoute::Subscribe(id("a"))),
            (
                "tasks/a/pushNotificationConfigs",
                new,
                RestRoute::Pushes(id("a")),
            ),
            (
                "v1/tasks/a/pushNotificationConfigs/x%2Fy%20z",
                old,
                RestRoute::Push(id("a"), id("x/y z")),
            ),
            ("extendedAgentCard", new, RestRoute::ExtendedCard),
            ("v1/card", old, RestRoute::ExtendedCard),
            ("v1/tasks:get", old, RestRoute::AgnoGet),
            ("v1/tasks:cancel", old, RestRoute::AgnoCancel),
        ] {
            assert_eq!(at(path), Some((version, None, place)), "{path}");
        }
    }

    #[test]
    fn a_first_segment_that_is_no_operation_is_the_tenant() {
        let found = at("echo/message:send");
        assert_eq!(
            found,
            Some((A2aVersion::V10, Some("echo".into()), RestRoute::Send))
        );
        let found = at("v2/tasks/t");
        let place = RestRoute::Task("t".into());
        assert_eq!(found, Some((A2aVersion::V10, Some("v2".into()), place)));
    }

    #[test]
    fn other_paths_name_nothing() {
        for path in [
            "",
            "v1",
            "card",
            "v1/extendedAgentCard",
            "message:sent",
            "message/send",
            "tasks/a/b",
            "tasks/a/pushNotificationConfigs/",
            "a/b/message:send",
            "/message:send",
            "v1/tasks/%FF",
        ] {
            assert_eq!(at(path), None, "{path}");
        }
    }
}
