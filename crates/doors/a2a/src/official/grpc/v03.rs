//! gRPC binding of version 0.3: the service `a2a.v1.A2AService` on the same port, which the published clients of 0.3 ask
//! for. Its messages name things by resource: `tasks/{id}` and `tasks/{id}/pushNotificationConfigs/{id}`.
//!
//! The JSON form of these messages is what REST clients of 0.3 send, so the binding reads and writes it by the same code:
//! [`proto`] has the messages with their JSON, [`names`] the resource names.
//!
//! The messages have no tenant. At the root, the metadata `tenant` names the agent; else the rules of an address of many
//! agents hold. Below an agent's address, no name is needed.

mod names;
mod proto;

use axum::response::Response;
use http::{HeaderMap, header::USER_AGENT, request::Parts};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};

use super::{
    GrpcExchange,
    bounds::{Bounded, MessageLayout, V03_CREATE_PUSH, V03_SEND},
    translate::read::word,
};
use crate::official::{
    operation::{OperationRequest, OperationResult},
    shape::BindingForm,
};
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    method::Operation,
    model::{GetParams, PushListParams, PushParams, SendParams, StreamItem, TaskParams},
    v03_proto::{self, FileBytes},
};

/// Name of the service, the first segment of a path.
pub(super) const SERVICE: &str = "a2a.v1.A2AService";
/// Metadata that names the agent.
const TENANT: &str = "tenant";
/// Start of the `User-Agent` of gRPC in Python, whose published client puts the text of base64 into the bytes of a file.
const PYTHON_CLIENT: &[u8] = b"grpc-python";

/// Methods with their operations.
const METHODS: [(&str, Operation); 10] = [
    ("SendMessage", Operation::Send),
    ("SendStreamingMessage", Operation::Stream),
    ("GetTask", Operation::Get),
    ("CancelTask", Operation::Cancel),
    ("TaskSubscription", Operation::Subscribe),
    ("CreateTaskPushNotificationConfig", Operation::CreatePush),
    ("GetTaskPushNotificationConfig", Operation::GetPush),
    ("ListTaskPushNotificationConfig", Operation::ListPush),
    ("DeleteTaskPushNotificationConfig", Operation::DeletePush),
    ("GetAgentCard", Operation::ExtendedCard),
];

/// Returns the operation of a method.
pub(super) fn operation(method: &str) -> Option<Operation> {
    let found = METHODS.iter().find(|(name, _)| *name == method);
    found.map(|(_, operation)| *operation)
}

/// Returns the agent that the metadata names.
pub(super) fn tenant(head: &Parts) -> Option<&str> {
    let named = head.headers.get(TENANT)?.to_str().ok()?;
    Some(named).filter(|named| !named.is_empty())
}

/// Returns how often the client puts the bytes of a file into base64 before it writes them.
fn file_bytes(headers: &HeaderMap) -> FileBytes {
    let agent = headers.get(USER_AGENT);
    match agent.is_some_and(|agent| agent.as_bytes().starts_with(PYTHON_CLIENT)) {
        true => FileBytes::Twice,
        false => FileBytes::Once,
    }
}

impl GrpcExchange {
    /// Runs an operation whose messages are those of 0.3.
    pub(super) async fn serve_v03(self, operation: Operation) -> Response {
        let depth = self.inbound.a2a.hub.limits().json_depth;
        let files = file_bytes(&self.inbound.headers);
        match operation {
            Operation::Send => {
                self.unary(
                    move |inbound, asked: proto::SendMessageRequest| async move {
                        let asked = OperationRequest::Send(send(&asked, files, depth)?);
                        written::<proto::StreamResponse>(&inbound.answer(asked).await?, files)
                    },
                )
                .await
            }
            Operation::Stream => {
                let write = move |item: StreamItem| written_item(&item, files);
                self.streaming(
                    move |inbound, asked: proto::SendMessageRequest| async move {
                        inbound.stream(send(&asked, files, depth)?).await
                    },
                    write,
                )
                .await
            }
            Operation::Get => {
                self.unary(move |inbound, asked: proto::GetTaskRequest| async move {
                    let asked = OperationRequest::Get(get(&asked)?);
                    written::<proto::Task>(&inbound.answer(asked).await?, files)
                })
                .await
            }
            Operation::Cancel => {
                self.unary(move |inbound, asked: proto::NameRequest| async move {
                    let asked = OperationRequest::Cancel(task(&asked.name)?);
                    written::<proto::Task>(&inbound.answer(asked).await?, files)
                })
                .await
            }
            Operation::Subscribe => {
                let write = move |item: StreamItem| written_item(&item, files);
                self.streaming(
                    |inbound, asked: proto::NameRequest| async move {
                        inbound.subscribe(task(&asked.name)?, None).await
                    },
                    write,
                )
                .await
            }
            Operation::CreatePush => {
                self.unary(
                    move |inbound, asked: proto::CreatePushConfigRequest| async move {
                        let task = names::task("parent", &asked.parent)?.to_owned();
                        let body = json(&asked)?;
                        let params = A2aVersion::V03.push_from_body(&task, Some(&body), depth)?;
                        let asked = OperationRequest::CreatePush(params);
                        written::<proto::TaskPushNotificationConfig>(
                            &inbound.answer(asked).await?,
                            files,
                        )
                    },
                )
                .await
            }
            Operation::GetPush => {
                self.unary(move |inbound, asked: proto::NameRequest| async move {
                    let asked = OperationRequest::GetPush(push(&asked.name)?);
                    written::<proto::TaskPushNotificationConfig>(
                        &inbound.answer(asked).await?,
                        files,
                    )
                })
                .await
            }
            Operation::ListPush => {
                self.unary(
                    move |inbound, asked: proto::ListPushConfigsRequest| async move {
                        let asked = OperationRequest::ListPush(push_list(&asked)?);
                        written::<proto::ListPushConfigsResponse>(
                            &inbound.answer(asked).await?,
                            files,
                        )
                    },
                )
                .await
            }
            Operation::DeletePush => {
                self.unary(|inbound, asked: proto::NameRequest| async move {
                    inbound.delete_push(push(&asked.name)?).await
                })
                .await
            }
            Operation::ExtendedCard | Operation::List => {
                self.unary(move |inbound, _: proto::GetAgentCardRequest| async move {
                    let asked = OperationRequest::ExtendedCard(None);
                    written::<proto::AgentCard>(&inbound.answer(asked).await?, files)
                })
                .await
            }
        }
    }
}

impl Bounded for proto::SendMessageRequest {
    const SHAPE: &'static MessageLayout = &V03_SEND;
}
impl Bounded for proto::GetTaskRequest {}
impl Bounded for proto::NameRequest {}
impl Bounded for proto::CreatePushConfigRequest {
    const SHAPE: &'static MessageLayout = &V03_CREATE_PUSH;
}
impl Bounded for proto::ListPushConfigsRequest {}
impl Bounded for proto::GetAgentCardRequest {}

/// Writes a message as JSON. Fails for numbers that JSON cannot write.
fn json(message: &impl Serialize) -> Result<Box<RawValue>, A2aError> {
    let unwritable =
        |error| A2aError::new(A2aErrorKind::InvalidParams, format!("the message {error}"));
    to_raw_value(message).map_err(unwritable)
}

fn send(
    asked: &proto::SendMessageRequest,
    files: FileBytes,
    depth: usize,
) -> Result<SendParams, A2aError> {
    let body = json(asked)?;
    let mut params = v03_proto::read_send(files, Some(&body), depth)?;
    if asked.configuration.is_some() {
        // An absent value is false in these messages.
        let blocking = &mut params.configuration.return_immediately;
        *blocking = blocking.or(Some(true));
    }
    Ok(params)
}

fn get(asked: &proto::GetTaskRequest) -> Result<GetParams, A2aError> {
    Ok(GetParams {
        tenant: None,
        id: names::task("name", &asked.name)?.to_owned(),
        history_length: count("historyLength", asked.history_length)?,
    })
}

fn task(name: &str) -> Result<TaskParams, A2aError> {
    Ok(TaskParams {
        tenant: None,
        id: names::task("name", name)?.to_owned(),
        metadata: None,
    })
}

fn push(name: &str) -> Result<PushParams, A2aError> {
    let (task_id, id) = names::push_config("name", name)?;
    Ok(PushParams {
        tenant: None,
        task_id: task_id.to_owned(),
        id: Some(id.to_owned()),
    })
}

fn push_list(asked: &proto::ListPushConfigsRequest) -> Result<PushListParams, A2aError> {
    Ok(PushListParams {
        tenant: None,
        task_id: names::task("parent", &asked.parent)?.to_owned(),
        page_size: count("pageSize", asked.page_size)?,
        page_token: word(asked.page_token.clone()),
    })
}

/// Reads a number; 0 is an absent number.
fn count(field: &str, number: i32) -> Result<Option<usize>, A2aError> {
    let number = Some(number).filter(|number| *number != 0);
    let number = number.map(usize::try_from).transpose();
    number.map_err(|_| A2aError::field(field, "must not be negative"))
}

/// Converts an answer into a message, by its JSON.
fn written<Answer: DeserializeOwned>(
    answer: &OperationResult,
    files: FileBytes,
) -> Result<Answer, A2aError> {
    let mut out = String::new();
    BindingForm::Proto03(files).write(answer, &mut out);
    message(&out)
}

fn written_item(item: &StreamItem, files: FileBytes) -> Result<proto::StreamResponse, A2aError> {
    let mut out = String::new();
    v03_proto::write_item(files, item, &mut out);
    message(&out)
}

fn message<Answer: DeserializeOwned>(json: &str) -> Result<Answer, A2aError> {
    serde_json::from_str(json).map_err(|error| {
        tracing::error!(%error, "an answer has no form in gRPC of 0.3");
        A2aError::new(A2aErrorKind::Internal, "the answer cannot be written")
    })
}

#[cfg(test)]
mod tests;
