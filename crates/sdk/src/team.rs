//! [`Team`], several agents as one agent, and a coordinator that calls them.

use std::{future::Future, pin::Pin, sync::Arc};

use futures_util::{StreamExt as _, stream::FuturesOrdered};

use crate::{
    Agent, AgentFailure, HandlerError, MemberCall, Message, Reply, Skill,
    member::{MemberReply, MemberText},
};

type CoordinatorFuture = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send>>;
type Coordinator = Arc<dyn Fn(Message, Reply, TeamMembers) -> CoordinatorFuture + Send + Sync>;

/// Several agents as one. The coordinator asks the members and answers for the team. Without a coordinator,
/// the message goes to all members at once, and the answers are joined under the members' names.
///
/// ```no_run
/// # async fn example(
/// #     researcher: jackfield_sdk::Agent,
/// #     critic: jackfield_sdk::Agent,
/// # ) -> Result<(), jackfield_sdk::Error> {
/// use jackfield_sdk::{Agent, Team};
///
/// let team = Team::new("desk")
///     .member(researcher)
///     .member(critic)
///     .coordinator(|message, reply, team| async move {
///         let facts = team.ask("researcher", message.text)?.text().await?;
///         reply.text(team.ask("critic", facts)?.text().await?).await?;
///         Ok(())
///     });
/// Agent::from(team).run().await
/// # }
/// ```
#[derive(Clone)]
pub struct Team {
    agent: Agent,
    members: Vec<Agent>,
    coordinator: Option<Coordinator>,
}

impl std::fmt::Debug for Team {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Team")
            .field("agent", &self.agent)
            .field("members", &self.members)
            .finish_non_exhaustive()
    }
}

impl Team {
    /// Creates a team with this id, without members.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            agent: Agent::new(id).agent_type("team"),
            members: Vec::new(),
            coordinator: None,
        }
    }

    /// Sets the display name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.agent = self.agent.name(name);
        self
    }

    /// Sets the description of the team's purpose.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.agent = self.agent.description(description);
        self
    }

    /// Adds a skill. Call once per skill.
    pub fn skill(mut self, skill: impl Into<Skill>) -> Self {
        self.agent = self.agent.skill(skill);
        self
    }

    /// Adds a member: an [`Agent`], a [`Workflow`](crate::Workflow) or a team. The member is named by its id
    /// and replaces an earlier member with the same id.
    pub fn member(mut self, agent: impl Into<Agent>) -> Self {
        let agent = agent.into();
        self.members.retain(|member| member.id != agent.id);
        self.members.push(agent);
        self
    }

    /// Sets the coordinator: a message handler like [`Agent::on_message`] with access to the [`TeamMembers`].
    pub fn coordinator<F, R>(mut self, coordinator: F) -> Self
    where
        F: Fn(Message, Reply, TeamMembers) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.coordinator = Some(Arc::new(move |message, reply, members| {
            Box::pin(coordinator(message, reply, members))
        }));
        self
    }
}

impl From<Team> for Agent {
    fn from(team: Team) -> Self {
        let agents: Arc<[Agent]> = team.members.into();
        let coordinator = team
            .coordinator
            .unwrap_or_else(|| Arc::new(|_, reply, members| Box::pin(ask_all(reply, members))));
        team.agent.on_message(move |message, reply| {
            let members = TeamMembers {
                agents: agents.clone(),
                message: message.clone(),
                reply: reply.clone(),
            };
            coordinator(message, reply, members)
        })
    }
}

/// The members of a team, for a coordinator that works on a message.
#[derive(Debug, Clone)]
pub struct TeamMembers {
    agents: Arc<[Agent]>,
    message: Message,
    reply: Reply,
}

impl TeamMembers {
    /// Iterates over the members' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.agents.iter().map(|agent| agent.id.as_str())
    }

    /// Starts a member's work on `text`. Read the reply event by event or as a whole. Several members may
    /// work at once. The members share the team's conversation.
    pub fn ask(&self, name: &str, text: impl Into<String>) -> Result<MemberCall, AgentFailure> {
        let member = self.agents.iter().find(|agent| agent.id == name);
        let member = member.ok_or_else(|| {
            AgentFailure::new("not_found", format!("this team has no member {name:?}"))
        })?;
        let message = self.message.with_text(text.into());
        Ok(MemberCall::begin(member, message, &self.reply))
    }
}

/// Sends the message to all members at once and joins the answers under the members' names. A failed member
/// is reported in place of its answer. The team fails only if all members fail.
async fn ask_all(reply: Reply, members: TeamMembers) -> Result<(), HandlerError> {
    let answers = members.agents.iter().map(|agent| {
        let call = MemberCall::begin(agent, members.message.clone(), &reply);
        async move { (agent, call.finish(MemberText::Kept).await) }
    });
    // In the order of the members, each as soon as its answer and all earlier answers are complete.
    let mut answers: FuturesOrdered<_> = answers.collect();
    let (mut is_first, mut failed) = (true, Vec::new());
    let mut has_answer = false;
    while let Some((agent, answer)) = answers.next().await {
        let text = match answer {
            Ok(MemberReply { text, done }) => {
                has_answer = true;
                for file in done.attachments {
                    reply.attach(file).await?;
                }
                text
            }
            Err(failure) => {
                let text = format!("(failed: {})", failure.message);
                failed.push(failure);
                text
            }
        };
        let name = agent.name.as_deref().unwrap_or(&agent.id);
        let gap = if is_first { "" } else { "\n\n" };
        is_first = false;
        reply.text(format!("{gap}{name}:\n{text}")).await?;
    }
    if has_answer {
        return Ok(());
    }
    match failed.into_iter().next() {
        Some(failure) => Err(failure.into()),
        None => Err("this team has no members".into()),
    }
}
