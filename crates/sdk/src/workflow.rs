//! [`Workflow`], agents that run as consecutive steps of one agent.

use std::future::Future;

use crate::{
    Agent, AgentFailure, DoneState, HandlerError, Message, Reply, Skill,
    member::{MemberCall, MemberReply, MemberText},
};

/// Consecutive steps as one agent. The answer of a step is the input of the next step, and the answer of the
/// last step is the workflow's answer. Text of earlier steps is streamed as status. A failed step ends the
/// workflow. A step that rejects its message, or requires further input, ends the workflow with its own
/// answer.
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
    /// Creates a workflow with this id, without steps.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            agent: Agent::new(id).agent_type("workflow"),
            steps: Vec::new(),
        }
    }

    /// Sets the display name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.agent = self.agent.name(name);
        self
    }

    /// Sets the description of the workflow's purpose.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.agent = self.agent.description(description);
        self
    }

    /// Adds a skill. Call once per skill.
    pub fn skill(mut self, skill: impl Into<Skill>) -> Self {
        self.agent = self.agent.skill(skill);
        self
    }

    /// Adds an [`Agent`], a [`Team`](crate::Team) or a workflow as the next step. The agent's id is the
    /// step's name.
    pub fn agent(mut self, agent: impl Into<Agent>) -> Self {
        self.steps.push(agent.into());
        self
    }

    /// Adds a function as the next step. It maps the previous text to the next.
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
        let MemberReply { text, done } = run_step(step, input, &reply, MemberText::Status).await?;
        if done.state != DoneState::Completed {
            reply.text(text).await?;
            reply.end_like(done);
            return Ok(());
        }
        for file in done.attachments {
            reply.attach(file).await?;
        }
        input = message.with_text(text);
    }
    let answered = run_step(last, input, &reply, MemberText::Answer).await?;
    reply.end_like(answered.done);
    Ok(())
}

async fn run_step(
    step: &Agent,
    input: Message,
    reply: &Reply,
    words: MemberText,
) -> Result<MemberReply, HandlerError> {
    reply.status(format!("step {}", step.id)).await?;
    let answered = MemberCall::begin(step, input, reply).finish(words).await;
    answered.map_err(|failure| {
        let message = format!("step {} failed: {}", step.id, failure.message);
        AgentFailure::new(failure.code, message).into()
    })
}
