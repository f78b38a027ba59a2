//! Operations with their params, and their results. All bindings share both types.

use http::HeaderMap;
use serde_json::value::RawValue;

use super::{Updates, Visit};
use crate::wire::official::{
    Version,
    error::Fault,
    method::Operation,
    model::{
        GetParams, Item, ListParams, Page, PushConfig, PushCreateParams, PushListParams, PushPage,
        PushParams, SendParams, Task, TaskParams,
    },
};

/// Request header with the id of the last event that a reconnecting reader received.
const LAST_EVENT: &str = "last-event-id";

/// Operation together with its params.
#[derive(Debug)]
pub(super) enum Ask {
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

/// Result of an [`Ask`].
#[derive(Debug)]
pub(super) enum Answer {
    /// Task, or a message in place of a task.
    Sent(Item),
    Stream(Box<Updates>),
    Task(Box<Task>),
    Page(Page),
    Push(PushConfig),
    Pushes(PushPage),
    Deleted,
    /// Agent card, already serialized.
    Card(String),
}

impl Ask {
    /// Reads the params of an [`Operation`] from a JSON-RPC call.
    pub(super) fn read(
        operation: Operation,
        version: Version,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<Self, Fault> {
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

impl Visit {
    /// Runs an [`Ask`] and returns its [`Answer`].
    pub(super) async fn answer(&self, ask: Ask) -> Result<Answer, Fault> {
        Ok(match ask {
            Ask::Send(params) => Answer::Sent(self.send(params).await?),
            Ask::Stream(params) => Answer::Stream(Box::new(self.stream(params).await?)),
            Ask::Get(params) => Answer::Task(Box::new(self.get(params).await?)),
            Ask::List(params) => Answer::Page(self.list(params).await?),
            Ask::Cancel(params) => Answer::Task(Box::new(self.cancel(params).await?)),
            Ask::Subscribe(params) => {
                let after = last_event(&self.headers);
                Answer::Stream(Box::new(self.subscribe(params, after).await?))
            }
            Ask::CreatePush(params) => Answer::Push(self.create_push(params).await?),
            Ask::GetPush(params) => Answer::Push(self.get_push(params).await?),
            Ask::ListPush(params) => Answer::Pushes(self.list_push(params).await?),
            Ask::DeletePush(params) => {
                self.delete_push(params).await?;
                Answer::Deleted
            }
            Ask::ExtendedCard(tenant) => Answer::Card(self.extended_card(tenant.as_deref())?),
        })
    }
}

fn last_event(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(LAST_EVENT)?.to_str().ok()?;
    (!value.is_empty()).then_some(value)
}
