//! Commands of a viewer: messages, stops and decisions. A task beside the socket executes the commands in
//! order, so the socket never blocks. Refusals return through a mailbox, as do acceptances of messages with
//! an id.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use jackfield_core::principal::Principal;
use jackfield_kit::mailbox::Mailbox;
use jackfield_model::{Failure, Reason, TaskId};
use tokio::sync::{
    OwnedSemaphorePermit, Semaphore,
    mpsc::{Receiver, Sender, channel},
};

use super::ViewedSubject;
use crate::{
    TeamDoor,
    team::{
        feed::ViewerId,
        teams::{DecisionError, ViewerDecision},
    },
    translate,
    wire::{ClientMessage, code},
};

/// Maximum number of unanswered commands per viewer: in execution, or answered without the answer being sent.
const UNANSWERED: usize = 64;

/// Reported result of a [`ClientMessage`].
#[derive(Debug)]
pub(super) enum CommandOutcome {
    /// The message with the id was stored as a task, or answered a member's question (without a task).
    Accepted {
        message_id: String,
        task: Option<TaskId>,
    },
    Refused(CommandRefusal),
}

/// Error reported to the viewer.
#[derive(Debug)]
pub(super) struct CommandRefusal {
    pub(super) code: String,
    pub(super) message: String,
    /// Id of the message, as given by the viewer.
    pub(super) message_id: Option<String>,
}

impl CommandRefusal {
    fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            message_id: None,
        }
    }
}

/// Permit of an unanswered command. The command holds the permit during execution, the answer until it is
/// sent: a viewer that does not read cannot send more commands.
type CommandPermit = OwnedSemaphorePermit;

/// [`Mailbox`] of results for the viewer.
pub(super) type OutcomeMailbox = Mailbox<(CommandOutcome, CommandPermit)>;

/// Command queue of a viewer.
pub(super) struct CommandQueue {
    /// Sender to the [`CommandWorker`]. Created with the first command: most viewers only watch.
    queue: Option<Sender<(ClientMessage, CommandPermit)>>,
    unanswered: Arc<Semaphore>,
    /// Results for the viewer.
    pub(super) outcomes: Arc<OutcomeMailbox>,
}

impl CommandQueue {
    pub(super) fn new(outcomes: OutcomeMailbox) -> Self {
        Self {
            queue: None,
            unanswered: Arc::new(Semaphore::new(UNANSWERED)),
            outcomes: Arc::new(outcomes),
        }
    }

    /// Queues a [`ClientMessage`] behind all earlier messages.
    pub(super) fn submit(
        &mut self,
        message: ClientMessage,
        door: &TeamDoor,
        principal: &Principal,
        subject: &ViewedSubject,
        viewer: Option<ViewerId>,
    ) -> Result<(), CommandRefusal> {
        let Ok(unanswered) = self.unanswered.clone().try_acquire_owned() else {
            let text = format!("{UNANSWERED} of your messages are on their way; wait for them");
            return Err(CommandRefusal {
                message_id: name_of(&message),
                ..CommandRefusal::new("BUSY", text)
            });
        };
        let queue = self.queue.get_or_insert_with(|| {
            let (queue, orders) = channel(UNANSWERED);
            let worker = CommandWorker {
                door: door.clone(),
                principal: principal.clone(),
                subject: subject.clone(),
                viewer,
                outcomes: self.outcomes.clone(),
            };
            door.tasks.spawn(worker.run(orders));
            queue
        });
        // The queue has room for every permit, and the worker outlives the sender.
        queue.try_send((message, unanswered)).ok();
        Ok(())
    }
}

/// Task that executes the commands of a viewer in order. Finishes queued commands even after the viewer
/// disconnects.
struct CommandWorker {
    door: TeamDoor,
    principal: Principal,
    subject: ViewedSubject,
    viewer: Option<ViewerId>,
    outcomes: Arc<OutcomeMailbox>,
}

impl CommandWorker {
    async fn run(self, mut orders: Receiver<(ClientMessage, CommandPermit)>) {
        while let Some((message, unanswered)) = orders.recv().await {
            let message_id = name_of(&message);
            let outcome = match (self.carry_out(message).await, message_id) {
                (Ok(_), None) => continue,
                (Ok(task), Some(message_id)) => CommandOutcome::Accepted { message_id, task },
                (Err(refusal), message_id) => CommandOutcome::Refused(CommandRefusal {
                    message_id,
                    ..refusal
                }),
            };
            // A disconnected viewer receives no result.
            self.outcomes.post((outcome, unanswered)).ok();
        }
    }

    /// Executes a [`ClientMessage`]. Returns the id of the started task, if any.
    async fn carry_out(&self, message: ClientMessage) -> Result<Option<TaskId>, CommandRefusal> {
        match message {
            ClientMessage::SendMessage {
                content,
                target,
                context_file_paths,
                image_urls,
                message_id,
            } => {
                let is_blank = content.trim().is_empty();
                if is_blank && context_file_paths.is_empty() && image_urls.is_empty() {
                    let text = "field \"payload.content\" is empty: what shall be said?";
                    return Err(CommandRefusal::new(code::INVALID_MESSAGE, text));
                }
                let mut message = translate::message(content, &context_file_paths, image_urls);
                message.id = message_id;
                let (teams, principal) = (&self.door.teams, &self.principal);
                let said = match &self.subject {
                    ViewedSubject::Team(id, _) => {
                        let target = target.as_deref();
                        let viewer = self.viewer;
                        teams
                            .send_message(principal, id, target, message, viewer)
                            .await
                    }
                    ViewedSubject::Agent(id) => {
                        teams.send_message_to_agent(principal, id, message).await
                    }
                };
                let is_of_member = target.is_some();
                said.map(|task| task.map(|task| task.record().id))
                    .map_err(|failure| refusal(&failure, is_of_member))
            }
            ClientMessage::StopGeneration { target } => {
                let stopped = match &self.subject {
                    ViewedSubject::Team(id, _) => {
                        let target = target.as_deref();
                        self.door.teams.stop(&self.principal, id, target)
                    }
                    ViewedSubject::Agent(id) => self.door.teams.stop_agent(&self.principal, id),
                };
                let is_of_member = target.is_some();
                stopped
                    .map(|_| None)
                    .map_err(|failure| refusal(&failure, is_of_member))
            }
            ClientMessage::Decide { approve, decision } => {
                let decision = ViewerDecision {
                    run: decision.run,
                    target: decision.target,
                    invocation: Some(decision.invocation_id),
                    approved: approve,
                    reason: decision.reason,
                };
                let decided = match &self.subject {
                    ViewedSubject::Team(id, _) => {
                        self.door.teams.decide(&self.principal, id, &decision)
                    }
                    ViewedSubject::Agent(id) => {
                        let teams = &self.door.teams;
                        teams.decide_agent(&self.principal, id, &decision)
                    }
                };
                decided
                    .map(|()| None)
                    .map_err(|undecided| decision_refusal(&undecided, &decision))
            }
        }
    }
}

/// Returns the id that the viewer gave to a message, for reporting the result.
fn name_of(message: &ClientMessage) -> Option<String> {
    match message {
        ClientMessage::SendMessage { message_id, .. } => message_id.clone(),
        ClientMessage::StopGeneration { .. } | ClientMessage::Decide { .. } => None,
    }
}

fn refusal(failure: &Failure, is_of_member: bool) -> CommandRefusal {
    let code = match failure.reason {
        Reason::NotFound if is_of_member => "TARGET_MEMBER_NOT_PLACED".to_owned(),
        _ => failure.reason.label().to_uppercase(),
    };
    CommandRefusal::new(code, failure.text.clone())
}

fn decision_refusal(undecided: &DecisionError, decision: &ViewerDecision) -> CommandRefusal {
    let id = decision.invocation.as_deref().unwrap_or_default();
    match undecided {
        DecisionError::Stale => CommandRefusal::new(
            "STALE_APPROVAL_TOKEN",
            format!("the token of {id:?} is of another run; use the one that came last"),
        ),
        DecisionError::NotPending => CommandRefusal::new(
            "APPROVAL_INVOCATION_NOT_PENDING",
            format!(
                "no call of this team waits for a decision on {id:?}; if an outside runtime published the request, that \
                 runtime decides"
            ),
        ),
        // A viewer always names the id of the tool call.
        DecisionError::OtherMember | DecisionError::Several(_) => CommandRefusal::new(
            "APPROVAL_TARGET_MISMATCH",
            format!("{id:?} is not of that member, or of several; name it by its member_route_key"),
        ),
        DecisionError::NoMember(failure) => {
            CommandRefusal::new("APPROVAL_TARGET_MISMATCH", failure.text.clone())
        }
        DecisionError::NotAllowed => CommandRefusal::new(
            "UNAUTHORIZED",
            format!("{id:?} is for the owner of the member to decide"),
        ),
        DecisionError::Failed(failure) => refusal(failure, false),
    }
}
