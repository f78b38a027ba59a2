//! Runs an agent's handler on one message, in a task of its own, independent of the transport.

use std::{
    panic::AssertUnwindSafe,
    task::{Context, Poll},
};

use futures_util::FutureExt as _;
use tokio::{sync::mpsc, task::JoinSet};

use super::{
    Agent, Message,
    failure::AgentFailure,
    output::{AgentOutput, HandlerEnd, LARGEST, QueuedOutput, json_len, output_channel},
    reply::{OutputSupport, Reply},
};

/// An agent's work on one message. Dropping it drops the handler at its current await point.
#[derive(Debug)]
pub(crate) struct HandlerTask {
    said: mpsc::Receiver<QueuedOutput>,
    _handler: JoinSet<()>,
}

impl Agent {
    /// Starts the handler on a message.
    pub(crate) fn work_on(&self, message: Message, abilities: OutputSupport) -> HandlerTask {
        let (outlet, said) = output_channel();
        let reply = Reply::new(outlet.clone(), abilities);
        let handler = self.handler.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let work = async {
                match &handler {
                    Some(handler) => handler(message, reply.clone()).await,
                    None => Err("this agent takes no messages".into()),
                }
            };
            let end = match AssertUnwindSafe(work).catch_unwind().await {
                Ok(Ok(())) => done(&reply),
                Ok(Err(error)) => HandlerEnd::Failed(AgentFailure::of(error)),
                Err(panic) => HandlerEnd::Failed(AgentFailure::of_panic(&*panic)),
            };
            // Fails if the call is over; the end is not needed then.
            outlet.send(AgentOutput::End(end)).await.ok();
        });
        HandlerTask {
            said,
            _handler: tasks,
        }
    }
}

fn done(reply: &Reply) -> HandlerEnd {
    let done = reply.done();
    if json_len(&done) > LARGEST {
        let text = "the agent's result is larger than the hub takes at once";
        return HandlerEnd::Failed(AgentFailure::new("internal_error", text));
    }
    HandlerEnd::Done(done)
}

impl HandlerTask {
    /// Polls the next output item; an [`HandlerEnd`] is the last.
    pub(crate) fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Option<QueuedOutput>> {
        self.said.poll_recv(cx)
    }
}
