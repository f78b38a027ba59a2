//! A workflow: steps one after another, as one agent.

use std::future::Future;

use crate::{
    Agent, DoneState, Failure, HandlerError, Message, Reply, Skill,
    member::{Answered, MemberCall, Words},
};

/// Steps one after another, as one agent: what a step answers is what the next one is told, and what the last one answers
/// is the answer. What the steps before it say is streamed as status. A step that fails ends the workflow; one that
/// rejects the message, or waits for another, ends it with its own answer.
///
/// ```no_run
/// # async fn example(writer: jackfield_sdk::Agent) -> Result<(), jackfield_sdk::Error> {
/// use jackfield_sdk::{Agent, Workflow};
///
/// let workflow = Workflow::new("report")
///     .step("outline", |text| async move { Ok(format!("an outline of {text}")) })
///     .agent(writer);
/// Agent::from(workflow).run().await
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Workflow {
    agent: Agent,
    steps: Vec<Agent>,
}

impl Workflow {
    /// A workflow with this id, and no steps yet.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            agent: Agent::new(id).agent_type("workflow"),
            steps: Vec::new(),
        }
    }

    /// A name for people.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.agent = self.agent.name(name);
        self
    }

    /// What it is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.agent = self.agent.description(description);
        self
    }

    /// Something it can do; call it once for each.
    pub fn skill(mut self, skill: impl Into<Skill>) -> Self {
        self.agent = self.agent.skill(skill);
        self
    }

    /// The next step: an agent, a team or another workflow. Its id is the step's name.
    pub fn agent(mut self, agent: impl Into<Agent>) -> Self {
        self.steps.push(agent.into());
        self
    }

    /// The next step: what it makes of a text.
    pub fn step<F, R>(self, name: impl Into<String>, step: F) -> Self
    where
        F: Fn(String) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, HandlerError>> + Send + 'static,
    {
        self.agent(Agent::new(name).on_message(move |message, reply| {
            let made = step(message.text);
            async move { Ok(reply.text(made.await?).await?) }
        }))
    }
}

impl From<Workflow> for Agent {
    fn from(workflow: Workflow) -> Self {
        let Workflow { agent, steps } = workflow;
        agent.on_message(move |message, reply| run(steps.clone(), message, reply))
    }
}

async fn run(steps: Vec<Agent>, message: Message, reply: Reply) -> Result<(), HandlerError> {
    let Some((last, before)) = steps.split_last() else {
        return Err("this workflow has no steps".into());
    };
    let mut input = message.clone();
    for step in before {
        let Answered { text, done } = run_step(step, input, &reply, Words::Status).await?;
        if done.state != DoneState::Completed {
            reply.text(text).await?;
            reply.close_like(done);
            return Ok(());
        }
        for file in done.attachments {
            reply.attach(file).await?;
        }
        input = message.saying(text);
    }
    let answered = run_step(last, input, &reply, Words::Answer).await?;
    reply.close_like(answered.done);
    Ok(())
}

async fn run_step(
    step: &Agent,
    input: Message,
    reply: &Reply,
    words: Words,
) -> Result<Answered, HandlerError> {
    reply.status(format!("step {}", step.id)).await?;
    let answered = MemberCall::begin(step, input, reply).finish(words).await;
    answered.map_err(|failure| {
        let message = format!("step {} failed: {}", step.id, failure.message);
        Failure::new(failure.code, message).into()
    })
}
