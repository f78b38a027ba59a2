//! Callers of every binding and version, which write their requests by hand.

use jackfield_kit::testing::SseReader;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::official::harness::{A2aHub, ECHO, json_of, stream_of, told};

/// A binding in a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    Rpc10,
    Rpc03,
    Rest10,
    Rest03,
}

use Binding::{Rest03, Rest10, Rpc03, Rpc10};

pub(crate) const ALL: [Binding; 4] = [Rpc10, Rpc03, Rest10, Rest03];

impl Binding {
    pub(crate) fn is_rpc(self) -> bool {
        matches!(self, Rpc10 | Rpc03)
    }

    pub(crate) fn is_new(self) -> bool {
        matches!(self, Rpc10 | Rest10)
    }

    /// A message of one part; `more` are further members of it.
    pub(crate) fn message(self, text: &str, more: &str) -> String {
        let text = json!(text);
        match self {
            Rpc10 | Rest10 => format!(
                r#"{{"messageId":"m-1","role":"ROLE_USER","parts":[{{"text":{text}}}]{more}}}"#
            ),
            Rpc03 => format!(
                r#"{{"kind":"message","messageId":"m-1","role":"user","parts":[{{"kind":"text","text":{text}}}]{more}}}"#
            ),
            Rest03 => format!(
                r#"{{"message_id":"m-1","role":"ROLE_USER","content":[{{"text":{text}}}]{more}}}"#
            ),
        }
    }

    /// What an answer holds, without the envelope.
    pub(crate) fn result(self, body: &Value) -> Value {
        if !self.is_rpc() {
            assert_eq!(body.get("jsonrpc"), None);
            return body.clone();
        }
        assert_eq!(body["jsonrpc"], "2.0");
        assert_eq!(body["id"], "r-1");
        assert_eq!(body.get("error"), None, "{body}");
        body.get("result").expect("a result").clone()
    }

    /// The task in an answer to a message.
    pub(crate) fn sent_task(self, body: &Value) -> Value {
        let result = self.result(body);
        match self {
            Rpc03 => {
                assert_eq!(result["kind"], "task");
                result
            }
            Rpc10 | Rest10 | Rest03 => result["task"].clone(),
        }
    }

    /// What the state is called.
    pub(crate) fn state(self, name: &str) -> String {
        match self {
            Rpc03 => name.to_owned(),
            Rest03 if name == "canceled" => "TASK_STATE_CANCELLED".to_owned(),
            Rpc10 | Rest10 | Rest03 => {
                format!("TASK_STATE_{}", name.to_uppercase().replace('-', "_"))
            }
        }
    }

    /// Status, code and reason of a refusal.
    pub(crate) fn refusal(self, status: u16, body: &Value) -> (u16, i64, String) {
        let (code, data) = match self {
            Rpc10 => (&body["error"]["code"], &body["error"]["data"][0]["reason"]),
            Rpc03 => (&body["error"]["code"], &body["error"]["data"]["reason"]),
            Rest10 => (
                &body["error"]["code"],
                &body["error"]["details"][0]["reason"],
            ),
            Rest03 => (&body["code"], &body["data"]["reason"]),
        };
        let code = code.as_i64().unwrap_or_else(|| panic!("{self:?}: {body}"));
        (status, code, data.as_str().unwrap().to_owned())
    }
}

/// Somebody who calls in a binding.
pub(crate) struct Caller<'a> {
    pub(crate) hub: &'a A2aHub,
    pub(crate) binding: Binding,
    pub(crate) base: &'a str,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(hub: &'a A2aHub, binding: Binding) -> Self {
        Self {
            hub,
            binding,
            base: ECHO,
        }
    }

    /// A call of JSON-RPC.
    fn rpc(&self, names: [&str; 2], params: &str) -> RequestBuilder {
        let [old, new] = names;
        let method = if self.binding.is_new() { new } else { old };
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":"r-1","method":"{method}","params":{params}}}"#);
        let request = self.hub.request(self.base, body);
        if self.binding.is_new() {
            request.header("A2A-Version", "1.0")
        } else {
            request
        }
    }

    /// A request of REST; no body is an empty one.
    fn rest(&self, method: Method, path: &str, body: &str) -> RequestBuilder {
        let version = if self.binding.is_new() { "" } else { "/v1" };
        let path = format!("{}{version}{path}", self.base);
        let request = self.hub.ask(method, &path);
        // Clients say this whether there is a body or not.
        let request = request.header("Content-Type", "application/json");
        request.body(body.to_owned())
    }

    /// A request with a message; `more` are members beside it.
    pub(crate) fn with(&self, is_stream: bool, message: &str, more: &str) -> RequestBuilder {
        let params = format!(r#"{{"message":{message}{more}}}"#);
        match (self.binding.is_rpc(), is_stream) {
            (true, false) => self.rpc(["message/send", "SendMessage"], &params),
            (true, true) => self.rpc(["message/stream", "SendStreamingMessage"], &params),
            (false, false) => self.rest(Method::POST, "/message:send", &params),
            (false, true) => self.rest(Method::POST, "/message:stream", &params),
        }
    }

    pub(crate) fn send(&self, text: &str) -> RequestBuilder {
        self.with(false, &self.binding.message(text, ""), "")
    }

    /// The same, but the answer does not wait for the work.
    pub(crate) fn send_only(&self, text: &str) -> RequestBuilder {
        let more = if self.binding.is_new() {
            r#","configuration":{"returnImmediately":true}"#
        } else {
            r#","configuration":{"blocking":false}"#
        };
        self.with(false, &self.binding.message(text, ""), more)
    }

    pub(crate) fn stream(&self, text: &str) -> RequestBuilder {
        self.with(true, &self.binding.message(text, ""), "")
    }

    pub(crate) fn get(&self, id: &str) -> RequestBuilder {
        if self.binding.is_rpc() {
            return self.rpc(["tasks/get", "GetTask"], &json!({"id": id}).to_string());
        }
        self.rest(Method::GET, &format!("/tasks/{id}"), "")
    }

    /// A look at a task with this many messages, as JSON.
    pub(crate) fn get_some(&self, id: &str, history: &str) -> RequestBuilder {
        match self.binding {
            Rpc10 | Rpc03 => {
                let params = format!(r#"{{"id":"{id}","historyLength":{history}}}"#);
                self.rpc(["tasks/get", "GetTask"], &params)
            }
            Rest10 => {
                let path = format!("/tasks/{id}?historyLength={history}");
                self.rest(Method::GET, &path, "")
            }
            Rest03 => {
                let path = format!("/tasks/{id}?history_length={history}");
                self.rest(Method::GET, &path, "")
            }
        }
    }

    /// A look for tasks by one thing, which is JSON.
    pub(crate) fn list(&self, name: &str, value: &str) -> RequestBuilder {
        if self.binding.is_rpc() {
            let params = format!(r#"{{"{name}":{value}}}"#);
            return self.rpc(["tasks/list", "ListTasks"], &params);
        }
        let path = format!("/tasks?{name}={}", value.trim_matches('"'));
        self.rest(Method::GET, &path, "")
    }

    pub(crate) fn cancel(&self, id: &str) -> RequestBuilder {
        if self.binding.is_rpc() {
            return self.rpc(
                ["tasks/cancel", "CancelTask"],
                &json!({"id": id}).to_string(),
            );
        }
        self.rest(Method::POST, &format!("/tasks/{id}:cancel"), "")
    }

    pub(crate) fn subscribe(&self, id: &str) -> RequestBuilder {
        if self.binding.is_rpc() {
            let params = json!({"id": id}).to_string();
            return self.rpc(["tasks/resubscribe", "SubscribeToTask"], &params);
        }
        self.rest(Method::POST, &format!("/tasks/{id}:subscribe"), "")
    }

    pub(crate) fn create_push(&self, task: &str, url: &str) -> RequestBuilder {
        let config = format!(r#""id":"c-1","url":"{url}","token":"t""#);
        let names = [
            "tasks/pushNotificationConfig/set",
            "CreateTaskPushNotificationConfig",
        ];
        let path = format!("/tasks/{task}/pushNotificationConfigs");
        match self.binding {
            Rpc10 => self.rpc(names, &format!(r#"{{"taskId":"{task}",{config}}}"#)),
            Rpc03 => {
                let params =
                    format!(r#"{{"taskId":"{task}","pushNotificationConfig":{{{config}}}}}"#);
                self.rpc(names, &params)
            }
            Rest10 => self.rest(Method::POST, &path, &format!("{{{config}}}")),
            Rest03 => {
                let name = format!("tasks/{task}/pushNotificationConfigs/c-1");
                let body = format!(
                    r#"{{"parent":"tasks/{task}","configId":"c-1","config":{{"name":"{name}","pushNotificationConfig":{{{config}}}}}}}"#
                );
                self.rest(Method::POST, &path, &body)
            }
        }
    }

    pub(crate) fn push(&self, is_delete: bool, task: &str, id: &str) -> RequestBuilder {
        let names = if is_delete {
            [
                "tasks/pushNotificationConfig/delete",
                "DeleteTaskPushNotificationConfig",
            ]
        } else {
            [
                "tasks/pushNotificationConfig/get",
                "GetTaskPushNotificationConfig",
            ]
        };
        let method = if is_delete {
            Method::DELETE
        } else {
            Method::GET
        };
        match self.binding {
            Rpc10 => self.rpc(names, &json!({"taskId": task, "id": id}).to_string()),
            Rpc03 => {
                let params = json!({"id": task, "pushNotificationConfigId": id});
                self.rpc(names, &params.to_string())
            }
            Rest10 | Rest03 => {
                let path = format!("/tasks/{task}/pushNotificationConfigs/{id}");
                self.rest(method, &path, "")
            }
        }
    }

    pub(crate) fn list_push(&self, task: &str) -> RequestBuilder {
        let names = [
            "tasks/pushNotificationConfig/list",
            "ListTaskPushNotificationConfigs",
        ];
        match self.binding {
            Rpc10 => self.rpc(names, &json!({"taskId": task}).to_string()),
            Rpc03 => self.rpc(names, &json!({"id": task}).to_string()),
            Rest10 | Rest03 => {
                let path = format!("/tasks/{task}/pushNotificationConfigs");
                self.rest(Method::GET, &path, "")
            }
        }
    }

    pub(crate) fn card(&self) -> RequestBuilder {
        match self.binding {
            Rpc10 | Rpc03 => {
                let names = ["agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard"];
                self.rpc(names, "{}")
            }
            Rest10 => self.rest(Method::GET, "/extendedAgentCard", ""),
            Rest03 => self.rest(Method::GET, "/card", ""),
        }
    }

    /// The answer to a request, which must not be refused.
    pub(crate) async fn ok(&self, request: RequestBuilder) -> Value {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let kind = response.headers()["content-type"].to_str().unwrap();
        let wanted = match self.binding {
            Rest10 => "application/a2a+json",
            Rpc10 | Rpc03 | Rest03 => "application/json",
        };
        assert_eq!(kind, wanted);
        let body = json_of(response).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    /// How a request is refused.
    pub(crate) async fn refused(&self, request: RequestBuilder) -> (u16, i64, String) {
        let (status, body) = told(request).await;
        self.binding.refusal(status, &body)
    }

    /// The task that a request with a message begins.
    pub(crate) async fn begun(&self, request: RequestBuilder) -> String {
        let task = self.binding.sent_task(&self.ok(request).await);
        task["id"].as_str().unwrap().to_owned()
    }

    /// The next element of a stream, without the envelope.
    pub(crate) async fn next(&self, stream: &mut SseReader) -> Option<Value> {
        let event = stream.next().await?;
        assert_eq!(event.event, None);
        Some(self.binding.result(&event.data))
    }

    pub(crate) async fn open(&self, request: RequestBuilder) -> SseReader {
        stream_of(request.header("Accept", "text/event-stream")).await
    }
}
