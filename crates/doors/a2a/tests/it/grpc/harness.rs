//! The gRPC binding: a client that was generated from the published definition, and its streams and refusals as JSON.

use std::ops::Deref;

use a2a_pb::{proto, proto::a2a_service_client::A2aServiceClient, protojson};
use jackfield_a2a::{A2aDoor, Cards, router};
use jackfield_core::limits::Limits;
pub(crate) use jackfield_kit::testing::{Scripted, soon};
use jackfield_kit::{
    outbound::{Outbound, OutboundRules},
    testing::{TestHub, TestSettings, answer_text},
};
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tonic::{
    Code, Request, Status, Streaming,
    transport::{Channel, Endpoint},
};
use tonic_types::{ErrorDetails, StatusExt as _};

/// A hub with this door.
pub(crate) struct A2aHub(TestHub);

impl Deref for A2aHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.0
    }
}

impl A2aHub {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        Self::start_as(trusts_everyone, limits, |a2a| {
            let outbound = Outbound::new(&OutboundRules::default()).unwrap();
            a2a.with_cards(Cards::at("https://hub.example.com"))
                .with_outbound(outbound)
        })
        .await
    }

    /// A hub that shows no cards and notifies nobody.
    pub(crate) async fn start_bare() -> Self {
        Self::start_as(true, Limits::default(), |a2a| a2a).await
    }

    async fn start_as(
        trusts_everyone: bool,
        limits: Limits,
        furnish: impl FnOnce(A2aDoor) -> A2aDoor,
    ) -> Self {
        let settings = TestSettings {
            limits,
            trusts_everyone,
            ..TestSettings::default()
        };
        Self(crate::start(settings, |door| router(furnish(door))).await)
    }

    /// A client on a connection of its own.
    pub(crate) async fn client(&self) -> Client {
        self.client_at("").await
    }

    /// The same, whose channel keeps a path.
    pub(crate) async fn client_at(&self, path: &str) -> Client {
        let url = format!("http://{}", self.addr);
        let channel = Endpoint::from_shared(url.clone()).unwrap().connect().await;
        let origin = format!("{url}{path}").parse().unwrap();
        let stub = A2aServiceClient::with_origin(channel.unwrap(), origin);
        Client {
            stub: stub.max_decoding_message_size(64 << 20),
            metadata: Vec::new(),
        }
    }
}

/// A message of one set of generated types as the same of the other.
fn same<From: Message, To: Message + Default>(from: &From) -> To {
    To::decode(from.encode_to_vec().as_slice()).unwrap()
}

fn from_json<Json: Message + DeserializeOwned, To: Message + Default>(json: Value) -> To {
    same(&serde_json::from_value::<Json>(json).unwrap())
}

fn to_json<From: Message, Json: Message + Default + Serialize>(from: &From) -> Value {
    serde_json::to_value(same::<From, Json>(from)).unwrap()
}

/// Calls the service.
pub(crate) struct Client {
    stub: A2aServiceClient<Channel>,
    metadata: Vec<(&'static str, String)>,
}

/// A method with the types of its message and of its answer.
macro_rules! unary {
    ($($method:ident: $asked:ident => $answer:ident,)*) => {
        impl Client {
            $(pub(crate) async fn $method(&mut self, asked: Value) -> Result<Value, Status> {
                let asked: proto::$asked = from_json::<protojson::$asked, _>(asked);
                let request = self.request(asked);
                let answer = soon(self.stub.$method(request)).await?.into_inner();
                Ok(to_json::<proto::$answer, protojson::$answer>(&answer))
            })*
        }
    };
}

unary! {
    send_message: SendMessageRequest => SendMessageResponse,
    get_task: GetTaskRequest => Task,
    list_tasks: ListTasksRequest => ListTasksResponse,
    cancel_task: CancelTaskRequest => Task,
    create_task_push_notification_config: TaskPushNotificationConfig => TaskPushNotificationConfig,
    get_task_push_notification_config: GetTaskPushNotificationConfigRequest => TaskPushNotificationConfig,
    list_task_push_notification_configs: ListTaskPushNotificationConfigsRequest => ListTaskPushNotificationConfigsResponse,
    get_extended_agent_card: GetExtendedAgentCardRequest => AgentCard,
}

impl Client {
    /// Sends this along with every request.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.metadata.push((name, value.into()));
        self
    }

    fn request<T>(&self, asked: T) -> Request<T> {
        let mut request = Request::new(asked);
        for (name, value) in &self.metadata {
            request.metadata_mut().insert(*name, value.parse().unwrap());
        }
        request
    }

    pub(crate) async fn delete_task_push_notification_config(
        &mut self,
        asked: Value,
    ) -> Result<(), Status> {
        type Json = protojson::DeleteTaskPushNotificationConfigRequest;
        let request = self.request(from_json::<Json, _>(asked));
        let deleted = soon(self.stub.delete_task_push_notification_config(request)).await;
        deleted.map(|_| ())
    }

    pub(crate) async fn send_streaming_message(&mut self, asked: Value) -> Result<Stream, Status> {
        let request = self.request(from_json::<protojson::SendMessageRequest, _>(asked));
        let opened = soon(self.stub.send_streaming_message(request)).await?;
        Ok(Stream(opened.into_inner()))
    }

    pub(crate) async fn subscribe_to_task(&mut self, asked: Value) -> Result<Stream, Status> {
        let request = self.request(from_json::<protojson::SubscribeToTaskRequest, _>(asked));
        let opened = soon(self.stub.subscribe_to_task(request)).await?;
        Ok(Stream(opened.into_inner()))
    }
}

/// The client's end of a stream. Dropping it hangs up.
pub(crate) struct Stream(Streaming<proto::StreamResponse>);

impl Stream {
    /// The next element, by the name of what it is; none at the end.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        let next = soon(self.0.message()).await.unwrap()?;
        let json = to_json::<proto::StreamResponse, protojson::StreamResponse>(&next);
        let Value::Object(members) = json else {
            panic!("{json}")
        };
        assert_eq!(members.len(), 1, "{members:?}");
        members.into_iter().next()
    }

    /// The next element, which must be of this name.
    pub(crate) async fn expect(&mut self, name: &str) -> Value {
        let (found, value) = self.next().await.expect("the stream goes on");
        assert_eq!(found, name, "{value}");
        value
    }

    /// What is left of a stream that breaks off, which must be nothing else.
    pub(crate) async fn broken(&mut self) -> (Code, String) {
        refused(soon(self.0.message()).await)
    }

    /// What is left of the stream.
    pub(crate) async fn rest(&mut self) -> Vec<(String, Value)> {
        let mut rest = Vec::new();
        while let Some(next) = self.next().await {
            rest.push(next);
        }
        rest
    }
}

/// A message with these words, for the agent `echo`.
pub(crate) fn said(words: &str) -> Value {
    json!({
        "tenant": "echo",
        "message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": words}]},
    })
}

/// The same, for a task that need not be waited for.
pub(crate) fn begun(words: &str) -> Value {
    let mut asked = said(words);
    asked["configuration"] = json!({"returnImmediately": true});
    asked
}

/// Answers the next call of an agent with these words.
pub(crate) async fn answer(agent: &mut Scripted, words: &str) {
    answer_text(agent.next_call().await, words);
}

/// A refusal as programs read it: its code and reason. It must say whose reason that is, and have a text.
pub(crate) fn refused<T>(answer: Result<T, Status>) -> (Code, String) {
    let status = answer.err().expect("it is refused");
    let info = details(&status).error_info().cloned().expect("it says why");
    assert_eq!(info.domain, "a2a-protocol.org");
    assert!(!status.message().is_empty());
    (status.code(), info.reason)
}

/// What a refusal says beside its text.
pub(crate) fn details(status: &Status) -> ErrorDetails {
    status.check_error_details().unwrap()
}

/// The fields that a refused request had wrong.
pub(crate) fn wrong_fields<T>(answer: Result<T, Status>) -> Vec<String> {
    let status = answer.err().expect("it is refused");
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    let details = details(&status);
    let bad = details.bad_request().expect("it names fields");
    bad.field_violations
        .iter()
        .map(|it| it.field.clone())
        .collect()
}
