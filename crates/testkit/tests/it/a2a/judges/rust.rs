//! The published Rust client of version 1.0. It's a dependency of this test, so it always runs.

mod followed;
mod promises;

use std::{future::Future, sync::Arc};

use a2a::{
    A2AError, AgentCard, CancelTaskRequest, GetTaskRequest, Message, Part, Role,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, TRANSPORT_PROTOCOL_GRPC, TRANSPORT_PROTOCOL_HTTP_JSON,
    TRANSPORT_PROTOCOL_JSONRPC, Task,
};
use a2a_client::{
    A2AClient, A2AClientFactory, BoxStream, Transport, agent_card::AgentCardResolver,
    auth::AuthInterceptor,
};
use a2a_grpc::GrpcTransportFactory;
use jackfield_testkit::SOON;
use serde_json::Value;

use super::AgentsFixture;

type Stream = BoxStream<'static, Result<StreamResponse, A2AError>>;

/// A user message, which continues a task if given. The configuration is the protocol's JSON.
fn request(text: &str, task: Option<&Task>, configuration: Option<Value>) -> SendMessageRequest {
    let mut message = Message::new(Role::User, vec![Part::text(text)]);
    message.task_id = task.map(|task| task.id.clone());
    message.context_id = task.map(|task| task.context_id.clone());
    let configuration: Option<SendMessageConfiguration> =
        configuration.map(|fields| serde_json::from_value(fields).unwrap());
    SendMessageRequest {
        message,
        configuration,
        metadata: None,
        tenant: None,
    }
}

/// An agent with a transport.
struct Called {
    factory: A2AClientFactory,
    card: AgentCard,
    transport: &'static str,
    client: A2AClient<Box<dyn Transport>>,
}

impl Called {
    /// Connects by this transport, which must be on the card.
    async fn connect(card: AgentCard, transport: &'static str) -> Self {
        let factory = A2AClientFactory::builder()
            .register(Arc::new(GrpcTransportFactory::new()))
            .preferred_bindings(vec![transport.to_owned()])
            .build();
        let client = connected(&factory, &card, transport).await;
        Self {
            factory,
            card,
            transport,
            client,
        }
    }

    /// Replaces the client; the old client's gRPC connections are closed.
    async fn reconnect(&mut self) {
        self.client = connected(&self.factory, &self.card, self.transport).await;
    }

    /// A client with a token.
    async fn authenticated_client(&self) -> A2AClient<Box<dyn Transport>> {
        let client = connected(&self.factory, &self.card, self.transport).await;
        client.with_interceptors(vec![Arc::new(AuthInterceptor::bearer("any"))])
    }

    async fn send(&self, request: &SendMessageRequest) -> Task {
        match self.client.send_message(request).await.unwrap() {
            SendMessageResponse::Task(task) => task,
            SendMessageResponse::Message(message) => {
                panic!("the answer is a task, but came {message:?}")
            }
        }
    }

    async fn send_text(&self, text: &str) -> Task {
        self.send(&request(text, None, None)).await
    }

    async fn stream(&self, request: &SendMessageRequest) -> Stream {
        self.client.send_streaming_message(request).await.unwrap()
    }

    async fn get(&self, id: &str, history_length: Option<i32>) -> Result<Task, A2AError> {
        let request = GetTaskRequest {
            id: id.to_owned(),
            history_length,
            tenant: None,
        };
        self.client.get_task(&request).await
    }

    async fn stored(&self, id: &str) -> Task {
        self.get(id, None).await.unwrap()
    }

    async fn cancel(&self, id: &str) -> Result<Task, A2AError> {
        let request = CancelTaskRequest {
            id: id.to_owned(),
            metadata: None,
            tenant: None,
        };
        self.client.cancel_task(&request).await
    }

    async fn subscribe(&self, id: &str) -> Result<Stream, A2AError> {
        let request = SubscribeToTaskRequest {
            id: id.to_owned(),
            tenant: None,
        };
        self.client.subscribe_to_task(&request).await
    }
}

async fn connected(
    factory: &A2AClientFactory,
    card: &AgentCard,
    transport: &str,
) -> A2AClient<Box<dyn Transport>> {
    let (client, chosen) = factory.create_from_card_with_interface(card).await.unwrap();
    assert_eq!(chosen.protocol_binding, transport, "the card offers it");
    client
}

/// Runs a promise and prints its name on failure. The timeout is long, since only a defect reaches it.
async fn kept(name: &str, promise: impl Future<Output = ()>) {
    println!("  {name}");
    let in_time = tokio::time::timeout(SOON, promise).await;
    in_time.expect("what was promised comes");
}

async fn judge(transports: &[&'static str]) {
    let fixture = AgentsFixture::start().await;
    let cards = AgentCardResolver::new(None);
    for id in fixture.agents.iter().chain(&fixture.asking) {
        for transport in transports {
            println!("{id} by {transport}");
            let card = cards.resolve(&fixture.url(id)).await.unwrap();
            let mut called = Called::connect(card, transport).await;
            kept("one-shot", promises::one_shot(&called)).await;
            kept("streamed", promises::streamed(&called)).await;
            kept("cancelled", promises::cancelled(&called)).await;
            kept("resubscribed", promises::resubscribed(&mut called)).await;
            kept("looked up", promises::looked_up(&called)).await;
            kept("push configs", promises::push_configs(&called)).await;
            kept("pushed", promises::pushed(&called)).await;
            kept("extended card", promises::extended(&called)).await;
            kept("refused", promises::refused(&called)).await;
            if fixture.asking.contains(id) {
                kept("asked", promises::asked(&called)).await;
            }
        }
    }
}

#[tokio::test]
async fn the_rust_client_calls_agents_of_every_door() {
    judge(&[TRANSPORT_PROTOCOL_JSONRPC, TRANSPORT_PROTOCOL_HTTP_JSON]).await;
}

#[tokio::test]
async fn the_rust_client_calls_agents_of_every_door_by_grpc() {
    judge(&[TRANSPORT_PROTOCOL_GRPC]).await;
}
