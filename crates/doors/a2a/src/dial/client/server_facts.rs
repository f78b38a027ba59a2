//! Facts about a server, learnt from its answers, that decide the form of later requests.

use std::collections::VecDeque;

use http::{HeaderMap, header};
use parking_lot::Mutex;

use super::request::ClientRequest;
use crate::dial::endpoint::{Dialect, RemoteEndpoint};
use crate::wire::official::{model::StreamItem, v03_proto::FileBytes};

/// Largest number of remembered tasks. Only tasks with open calls matter.
const TASKS: usize = 1024;

/// Facts about a server.
#[derive(Debug)]
pub(super) struct ServerFacts {
    wants_contexts: bool,
    is_proto: bool,
    known: Mutex<LearntFacts>,
}

#[derive(Debug, Default)]
struct LearntFacts {
    /// Task ids with their context ids, latest last.
    contexts: VecDeque<(String, String)>,
    files: Option<FileBytes>,
}

impl ServerFacts {
    pub(super) fn new(place: &RemoteEndpoint) -> Self {
        Self {
            // Agno finds a task only with the context id.
            wants_contexts: place.dialect == Dialect::Agno,
            is_proto: ClientRequest::is_proto(place),
            known: Mutex::default(),
        }
    }

    /// Records the context of the item's task.
    pub(super) fn item(&self, item: &StreamItem) {
        let (task, context) = match item {
            StreamItem::Task(task) => (&task.id, &task.context_id),
            StreamItem::Status(update) => (&update.task_id, &update.context_id),
            StreamItem::Artifact(update) => (&update.task_id, &update.context_id),
            StreamItem::Message(_) => return,
        };
        self.context(task, context);
    }

    /// Records the context of a task.
    pub(super) fn context(&self, task: &str, context: &str) {
        if !self.wants_contexts {
            return;
        }
        let contexts = &mut self.known.lock().contexts;
        if context.is_empty() || contexts.iter().rev().any(|(known, _)| known == task) {
            return;
        }
        if contexts.len() == TASKS {
            contexts.pop_front();
        }
        contexts.push_back((task.to_owned(), context.to_owned()));
    }

    /// Returns the context of a task.
    pub(super) fn context_of(&self, task: &str) -> Option<String> {
        let known = self.known.lock();
        let mut contexts = known.contexts.iter().rev();
        let found = contexts.find(|(known, _)| known == task);
        found.map(|(_, context)| context.clone())
    }

    /// Records the encoding of file bytes, from the head of an answer. Servers of the Python library have
    /// their own encoding, and their `Server` header names a Python web server.
    pub(super) fn files_of(&self, headers: &HeaderMap) {
        const PYTHON: [&str; 4] = ["uvicorn", "hypercorn", "daphne", "granian"];
        if !self.is_proto {
            return;
        }
        let server = headers.get(header::SERVER);
        let server = server.and_then(|server| server.to_str().ok());
        let is_python = server.is_some_and(|server| PYTHON.iter().any(|it| server.contains(it)));
        let files = if is_python {
            FileBytes::Twice
        } else {
            FileBytes::Once
        };
        self.known.lock().files = Some(files);
    }

    pub(super) fn knows_files(&self) -> bool {
        self.known.lock().files.is_some()
    }

    /// Returns the encoding of file bytes; by default the encoding of the specification.
    pub(super) fn files(&self) -> FileBytes {
        self.known.lock().files.unwrap_or(FileBytes::Once)
    }
}
