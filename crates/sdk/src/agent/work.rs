//! Runs an agent's handler on one message, in a task of its own, independent of the transport.

use std::{
    panic::AssertUnwindSafe,
    task::{Context, Poll},
};

use futures_util::FutureExt as _;
use tokio::{sync::mpsc, task::JoinSet};

use super::{
    Agent, Message,
    failure::Failure,
    output::{End, LARGEST, Output, Said, json_len, outlet},
    reply::{Abilities, Reply},
};

/// An agent's work on one message. Dropping it drops the handler at its current await point.
#[derive(Debug)]
pub(crate) struct Work {
    said: mpsc::Receiver<Said>,
    _handler: JoinSet<()>,
}

impl Agent {
    /// Starts the handler on a message.
    pub(crate) fn work_on(&self, message: Message, abilities: Abilities) -> Work {
        let (outlet, said) = outlet();
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
                Ok(Err(error)) => End::Failed(Failure::of(error)),
                Err(panic) => End::Failed(Failure::of_panic(&*panic)),
            };
            // Fails if the call is over; the end is not needed then.
            outlet.say(Output::End(end)).await.ok();
        });
        Work {
            said,
            _handler: tasks,
        }
    }
}

fn done(reply: &Reply) -> End {
    let done = reply.done();
    if json_len(&done) > LARGEST {
        let text = "the agent's result is larger than the hub takes at once";
        return End::Failed(Failure::new("internal_error", text));
    }
    End::Done(done)
}

impl Work {
    /// Polls the next output item; an [`End`] is the last.
    pub(crate) fn poll_said(&mut self, cx: &mut Context<'_>) -> Poll<Option<Said>> {
        self.said.poll_recv(cx)
    }
}
