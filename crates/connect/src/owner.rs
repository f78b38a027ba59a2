//! The owner's decisions about tools. The question goes to the hub, where any of the owner's programs can answer it, and at
//! the same time to the desk: the terminal at which the agent was connected. The first answer wins; one that is given at
//! the desk is told to the hub, so that everybody sees one decision.

use std::{fmt, pin::Pin, time::Duration};

use http::Method;
use jackfield_sdk::{Approval, Backoff, Error, Hub, Reply, ReplyError, encode};
use serde_json::{Value, json};

use crate::Decision;

/// How long to wait before the hub is told again, at first and at most.
const WAITS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// A question to the owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The call in which it is asked, if the hub told.
    pub call: Option<String>,
    /// What the question is called in it.
    pub ask_id: String,
    /// Who called.
    pub caller: Option<String>,
    /// The tool.
    pub tool: String,
    /// What it is to be used with.
    pub arguments: Value,
}

/// A decision that somebody at the desk is about to make. Dropping it withdraws the question.
pub type Asked = Pin<Box<dyn Future<Output = Decision> + Send>>;

/// Where the owner may sit.
pub trait Desk: fmt::Debug + Send + Sync + 'static {
    /// Shows a question. Where nobody sits, the decision never comes from here.
    fn ask(&self, request: Request) -> Asked;
}

/// The owner of an agent in one call.
#[derive(Debug)]
pub(crate) struct Owner<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) desk: &'a dyn Desk,
    pub(crate) call: Option<String>,
    pub(crate) caller: Option<String>,
}

impl Owner<'_> {
    /// Lets the owner decide, here or anywhere.
    pub(crate) async fn decide(
        self,
        reply: Reply,
        tool: String,
        arguments: Value,
    ) -> Result<Decision, ReplyError> {
        let pending = reply.ask_approval(&tool, arguments.clone()).await?;
        let ask_id = pending.ask_id().to_owned();
        let request = Request {
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
        // What the hub says counts: somebody may have been faster.
        tokio::select! {
            decided = &mut elsewhere => return decided.map(decision),
            is_taken = self.tell(&ask_id, &here) => if !is_taken {
                return Ok(here);
            },
        }
        elsewhere.await.map(decision)
    }

    /// Tells the hub what was decided at the desk. False if it does not want to know, though the owner has decided.
    async fn tell(&self, ask_id: &str, decision: &Decision) -> bool {
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
                Err(error) if error.is_passing() => {}
                // Somebody was faster, which comes by the reply.
                Err(Error::Refused { code, .. }) if code == "conflict" => return true,
                // The question may be on its way to the hub still; if the call is over, nobody asks any more.
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

fn decision(approval: Approval) -> Decision {
    Decision {
        approved: approval.approved,
        reason: approval.reason,
    }
}
