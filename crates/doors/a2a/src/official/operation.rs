//! Operations with their params, and their results. All bindings share both types.

use http::HeaderMap;
use serde_json::value::RawValue;

use super::{InboundRequest, UpdateStream};
use crate::wire::official::{
    A2aVersion,
    error::A2aError,
    method::Operation,
    model::{
        GetParams, ListParams, PushConfig, PushCreateParams, PushListParams, PushPage, PushParams,
        SendParams, StreamItem, Task, TaskPage, TaskParams,
    },
};

/// Request header with the id of the last event that a reconnecting reader received.
const LAST_EVENT: &str = "last-event-id";

/// Operation together with its params.
#[derive(Debug)]
pub(super) enum OperationRequest {
    Send(SendParams),
    Stream(SendParams),
    Get(GetParams),
    List(ListParams),
    Cancel(TaskParams),
    Subscribe(TaskParams),
    CreatePush(PushCreateParams),
    GetPush(PushParams),
    ListPush(PushListParams),
    DeletePush(PushParams),
    ExtendedCard(Option<String>),
}

/// Result of an [`OperationRequest`].
#[derive(Debug)]
pub(super) enum OperationResult {
    /// Task, or a message in place of a task.
    Sent(StreamItem),
    Stream(Box<UpdateStream>),
    Task(Box<Task>),
    Page(TaskPage),
    Push(PushConfig),
    Pushes(PushPage),
    Deleted,
    /// Agent card, already serialized.
    Card(String),
}

impl OperationRequest {
    /// Reads the params of an [`Operation`] from a JSON-RPC call.
    pub(super) fn read(
        operation: Operation,
        version: A2aVersion,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<Self, A2aError> {
        Ok(match operation {
            Operation::Send => Self::Send(version.read_send(params, max_depth)?),
            Operation::Stream => Self::Stream(version.read_send(params, max_depth)?),
            Operation::Get => Self::Get(version.read_get(params, max_depth)?),
            Operation::List => Self::List(version.read_list(params, max_depth)?),
            Operation::Cancel => Self::Cancel(version.read_task(params, max_depth)?),
            Operation::Subscribe => Self::Subscribe(version.read_task(params, max_depth)?),
            Operation::CreatePush => Self::CreatePush(version.read_push(params, max_depth)?),
            Operation::GetPush => Self::GetPush(version.read_push_params(params, max_depth)?),
            Operation::ListPush => Self::ListPush(version.read_push_list(params, max_depth)?),
            Operation::DeletePush => Self::DeletePush(version.read_push_params(params, max_depth)?),
            Operation::ExtendedCard => Self::ExtendedCard(version.read_tenant(params, max_depth)?),
        })
    }
}

impl InboundRequest {
    /// Runs an [`OperationRequest`] and returns its [`OperationResult`].
    pub(super) async fn answer(&self, ask: OperationRequest) -> Result<OperationResult, A2aError> {
        Ok(match ask {
            OperationRequest::Send(params) => OperationResult::Sent(self.send(params).await?),
            OperationRequest::Stream(params) => {
                OperationResult::Stream(Box::new(self.stream(params).await?))
            }
            OperationRequest::Get(params) => {
                OperationResult::Task(Box::new(self.get(params).await?))
            }
            OperationRequest::List(params) => OperationResult::Page(self.list(params).await?),
            OperationRequest::Cancel(params) => {
                OperationResult::Task(Box::new(self.cancel(params).await?))
            }
            OperationRequest::Subscribe(params) => {
                let after = last_event(&self.headers);
                OperationResult::Stream(Box::new(self.subscribe(params, after).await?))
            }
            OperationRequest::CreatePush(params) => {
                OperationResult::Push(self.create_push(params).await?)
            }
            OperationRequest::GetPush(params) => {
                OperationResult::Push(self.get_push(params).await?)
            }
            OperationRequest::ListPush(params) => {
                OperationResult::Pushes(self.list_push(params).await?)
            }
            OperationRequest::DeletePush(params) => {
                self.delete_push(params).await?;
                OperationResult::Deleted
            }
            OperationRequest::ExtendedCard(tenant) => {
                OperationResult::Card(self.extended_card(tenant.as_deref())?)
            }
        })
    }
}

fn last_event(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(LAST_EVENT)?.to_str().ok()?;
    (!value.is_empty()).then_some(value)
}
