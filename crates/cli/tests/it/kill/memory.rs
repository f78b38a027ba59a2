//! State of a resuming agent between connections: its token, its open requests, and its unacknowledged frames.

use std::collections::BTreeMap;

use jackfield_testkit::bridge_register;
use serde_json::{Value, json};

use crate::kill::agent::text;

/// The state.
#[derive(Default)]
pub(crate) struct Memory {
    token: Option<String>,
    open: BTreeMap<String, OpenAnswer>,
}

/// An answer.
#[derive(Default)]
struct OpenAnswer {
    /// Number of written frames.
    sent: u64,
    /// Unacknowledged frames.
    kept: Vec<Value>,
    /// Whether the last frame is the end.
    is_over: bool,
}

impl Memory {
    /// The first frame of a connection.
    pub(crate) fn register(&self, id: &str) -> Value {
        let mut frame = bridge_register(id);
        frame["extensions"] = json!(["resume"]);
        if let Some(token) = &self.token {
            let open = self.open.iter();
            let open = open.map(|(id, work)| json!({"request_id": id, "sent": work.sent}));
            frame["resume"] = json!({"token": token, "open": open.collect::<Vec<_>>()});
        }
        frame
    }

    /// Reads the hub's reply to the registration. Returns the frames to write again.
    pub(crate) fn registered(&mut self, frame: &Value) -> Vec<Value> {
        assert_eq!(frame["status"], "ok", "{frame}");
        let resume = &frame["resume"];
        self.token = Some(text(resume, "token"));
        for gone in list(&resume["gone"]) {
            self.open.remove(gone.as_str().expect("an id"));
        }
        let mut again = Vec::new();
        for held in list(&resume["open"]) {
            let (id, have) = (text(held, "request_id"), held["have"].as_u64());
            if let Some(work) = self.open.get_mut(&id) {
                work.forget(have.expect("a number"));
                again.extend(work.kept.clone());
            }
        }
        again
    }

    /// Begins to work on a request.
    pub(crate) fn begin(&mut self, request: &str) {
        let before = self.open.insert(request.to_owned(), OpenAnswer::default());
        assert!(before.is_none(), "{request} is sent twice");
    }

    /// Numbers a frame of an answer and keeps it.
    pub(crate) fn keep(&mut self, mut frame: Value) -> Value {
        let work = self.open.get_mut(&text(&frame, "request_id"));
        let work = work.expect("a request that it works on");
        work.sent += 1;
        work.is_over = frame["type"] == "done";
        frame["seq"] = json!(work.sent);
        work.kept.push(frame.clone());
        frame
    }

    /// Reads an `ack`, and drops the acknowledged frames.
    pub(crate) fn acked(&mut self, ack: &Value) {
        let id = text(ack, "request_id");
        let Some(work) = self.open.get_mut(&id) else {
            return;
        };
        work.forget(ack["seq"].as_u64().expect("a number"));
        if work.is_over && work.kept.is_empty() {
            self.open.remove(&id);
        }
    }

    /// Whether an answer has unacknowledged frames.
    pub(crate) fn keeps(&self, request: &str) -> bool {
        let work = self.open.get(request);
        work.is_some_and(|work| !work.kept.is_empty())
    }

    /// Requests without a written end.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let open = self.open.iter().filter(|(_, work)| !work.is_over);
        open.map(|(id, _)| id.clone()).collect()
    }
}

impl OpenAnswer {
    fn forget(&mut self, up_to: u64) {
        let is_later = |frame: &Value| frame["seq"].as_u64().is_some_and(|seq| seq > up_to);
        self.kept.retain(is_later);
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
