//! The owner's decisions on tool calls. The question goes to the hub, where any program of the owner can
//! answer, and at the same time to the [`OwnerTerminal`]: the terminal at which the agent was connected. The first
//! answer wins. An answer at the desk is sent to the hub, so that all viewers see one decision.

use std::{fmt, pin::Pin, time::Duration};

use http::Method;
use jackfield_sdk::{Backoff, Error, Hub, Reply, ReplyError, ToolApproval, encode};
use serde_json::{Value, json};

use crate::OwnerDecision;

/// First and longest wait before sending a decision to the hub again.
const WAITS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// An approval question to the owner, shown at a [`OwnerTerminal`].
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// Id of the call, if the hub sent it.
    pub call: Option<String>,
    /// Id of the question within its call.
    pub ask_id: String,
    /// The caller.
    pub caller: Option<String>,
    /// Name of the tool.
    pub tool: String,
    /// Arguments of the tool call.
    pub arguments: Value,
}

/// Future of a [`OwnerDecision`] at the desk. Dropping it withdraws the question.
pub type TerminalDecision = Pin<Box<dyn Future<Output = OwnerDecision> + Send>>;

/// A terminal at which the owner may decide.
pub trait OwnerTerminal: fmt::Debug + Send + Sync + 'static {
    /// Shows a question. The future never resolves if the owner is absent.
    fn ask(&self, request: ApprovalRequest) -> TerminalDecision;
}

/// Asks the owner of an agent within one call.
#[derive(Debug)]
pub(crate) struct OwnerApproval<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) desk: &'a dyn OwnerTerminal,
    pub(crate) call: Option<String>,
    pub(crate) caller: Option<String>,
}

impl OwnerApproval<'_> {
    /// Waits for the owner's decision, at the desk or at the hub.
    pub(crate) async fn decide(
        self,
        reply: Reply,
        tool: String,
        arguments: Value,
    ) -> Result<OwnerDecision, ReplyError> {
        let pending = reply.ask_approval(&tool, arguments.clone()).await?;
        let ask_id = pending.ask_id().to_owned();
        let request = ApprovalRequest {
            call: self.call.clone(),
            ask_id: ask_id.clone(),
            caller: self.caller.clone(),
            tool,
            arguments,
        };
        let elsewhere = pending.decided();
        tokio::pin!(elsewhere);
        let here = tokio::select! {
            decided = &mut elsewhere => return decided.map(decision),
            here = self.desk.ask(request) => here,
        };
        // The hub's decision counts, because a different answer may have arrived earlier.
        tokio::select! {
            decided = &mut elsewhere => return decided.map(decision),
            is_taken = self.send_decision(&ask_id, &here) => if !is_taken {
                return Ok(here);
            },
        }
        elsewhere.await.map(decision)
    }

    /// Sends the desk's decision to the hub. Returns `false` if the hub refuses it, although the owner has
    /// decided.
    async fn send_decision(&self, ask_id: &str, decision: &OwnerDecision) -> bool {
        let Some(call) = &self.call else {
            return false;
        };
        let path = format!("/v1/calls/{}/answer", encode(call));
        let mut body = json!({"ask_id": ask_id, "approved": decision.approved});
        if let Some(reason) = &decision.reason {
            body["reason"] = json!(reason);
        }
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        loop {
            let told = self.hub.request::<Value>(Method::POST, &path, Some(&body));
            match told.await {
                Ok(_) => return true,
                Err(error) if error.is_retryable() => {}
                // An earlier answer exists; it arrives through the reply.
                Err(Error::Refused { code, .. }) if code == "conflict" => return true,
                // The question may still be on its way to the hub. If the call is over, this future is
                // dropped.
                Err(Error::Refused { code, .. }) if code == "not_found" => {}
                Err(error) => {
                    tracing::warn!(%error, "the hub does not take the owner's decision");
                    return false;
                }
            }
            tokio::time::sleep(backoff.next_wait()).await;
        }
    }
}

fn decision(approval: ToolApproval) -> OwnerDecision {
    OwnerDecision {
        approved: approval.approved,
        reason: approval.reason,
    }
}
