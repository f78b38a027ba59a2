//! What a viewer says: messages, stops, decisions. They are carried out one after another beside the socket, which goes on
//! meanwhile; a refusal comes back as mail, and so does that a message is kept whose viewer gave it a name.

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

use super::Subject;
use crate::{
    TeamDoor,
    team::{
        stage::ViewerId,
        teams::{Decision, Undecided},
    },
    translate,
    wire::{ClientMessage, code},
};

/// How many of its messages may be on their way, or answered without its having read so.
const UNANSWERED: usize = 64;

/// What became of something that a viewer said, as far as it is told.
#[derive(Debug)]
pub(super) enum Outcome {
    /// What the viewer called so is kept as this task, or was the answer that a member waited for.
    Accepted {
        message_id: String,
        task: Option<TaskId>,
    },
    Refused(Refusal),
}

/// What could not be done.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
    /// What the viewer called it.
    pub(super) message_id: Option<String>,
}

impl Refusal {
    fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            message_id: None,
        }
    }
}

/// What is not answered yet. A message has it until it is done, its answer until that is told: whoever does not read
/// cannot go on asking.
type Unanswered = OwnedSemaphorePermit;

/// What became of it, on its way to the viewer.
pub(super) type Outcomes = Mailbox<(Outcome, Unanswered)>;

/// What a viewer wants done.
pub(super) struct Orders {
    /// Made with the first of them: most viewers only watch.
    queue: Option<Sender<(ClientMessage, Unanswered)>>,
    unanswered: Arc<Semaphore>,
    /// Where the viewer hears of them.
    pub(super) outcomes: Arc<Outcomes>,
}

impl Orders {
    pub(super) fn new(outcomes: Outcomes) -> Self {
        Self {
            queue: None,
            unanswered: Arc::new(Semaphore::new(UNANSWERED)),
            outcomes: Arc::new(outcomes),
        }
    }

    /// Takes one more; what was said before is done before.
    pub(super) fn give(
        &mut self,
        message: ClientMessage,
        door: &TeamDoor,
        principal: &Principal,
        subject: &Subject,
        viewer: Option<ViewerId>,
    ) -> Result<(), Refusal> {
        let Ok(unanswered) = self.unanswered.clone().try_acquire_owned() else {
            let text = format!("{UNANSWERED} of your messages are on their way; wait for them");
            return Err(Refusal {
                message_id: name_of(&message),
                ..Refusal::new("BUSY", text)
            });
        };
        let queue = self.queue.get_or_insert_with(|| {
            let (queue, orders) = channel(UNANSWERED);
            let worker = Worker {
                door: door.clone(),
                principal: principal.clone(),
                subject: subject.clone(),
                viewer,
                outcomes: self.outcomes.clone(),
            };
            door.tasks.spawn(worker.run(orders));
            queue
        });
        // There is room for as many as may be unanswered, and the worker ends after this side does.
        queue.try_send((message, unanswered)).ok();
        Ok(())
    }
}

/// Carries out what one viewer says, in order. What it has said is done even if it leaves.
struct Worker {
    door: TeamDoor,
    principal: Principal,
    subject: Subject,
    viewer: Option<ViewerId>,
    outcomes: Arc<Outcomes>,
}

impl Worker {
    async fn run(self, mut orders: Receiver<(ClientMessage, Unanswered)>) {
        while let Some((message, unanswered)) = orders.recv().await {
            let message_id = name_of(&message);
            let outcome = match (self.carry_out(message).await, message_id) {
                (Ok(_), None) => continue,
                (Ok(task), Some(message_id)) => Outcome::Accepted { message_id, task },
                (Err(refusal), message_id) => Outcome::Refused(Refusal {
                    message_id,
                    ..refusal
                }),
            };
            // A viewer that has left hears nothing.
            self.outcomes.post((outcome, unanswered)).ok();
        }
    }

    /// Does it; says which task was begun, if one was.
    async fn carry_out(&self, message: ClientMessage) -> Result<Option<TaskId>, Refusal> {
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
                    return Err(Refusal::new(code::INVALID_MESSAGE, text));
                }
                let mut message = translate::message(content, &context_file_paths, image_urls);
                message.id = message_id;
                let (teams, principal) = (&self.door.teams, &self.principal);
                let said = match &self.subject {
                    Subject::Team(id, _) => {
                        let target = target.as_deref();
                        let viewer = self.viewer;
                        teams.say(principal, id, target, message, viewer).await
                    }
                    Subject::Agent(id) => teams.say_to_agent(principal, id, message).await,
                };
                let is_of_member = target.is_some();
                said.map(|task| task.map(|task| task.record().id))
                    .map_err(|failure| refusal(&failure, is_of_member))
            }
            ClientMessage::StopGeneration { target } => {
                let stopped = match &self.subject {
                    Subject::Team(id, _) => {
                        let target = target.as_deref();
                        self.door.teams.stop(&self.principal, id, target)
                    }
                    Subject::Agent(id) => self.door.teams.stop_agent(&self.principal, id),
                };
                let is_of_member = target.is_some();
                stopped
                    .map(|_| None)
                    .map_err(|failure| refusal(&failure, is_of_member))
            }
            ClientMessage::Decide { approve, decision } => {
                let decision = Decision {
                    run: decision.run,
                    target: decision.target,
                    invocation: Some(decision.invocation_id),
                    approved: approve,
                    reason: decision.reason,
                };
                let decided = match &self.subject {
                    Subject::Team(id, _) => self.door.teams.decide(&self.principal, id, &decision),
                    Subject::Agent(id) => {
                        let teams = &self.door.teams;
                        teams.decide_agent(&self.principal, id, &decision)
                    }
                };
                decided
                    .map(|()| None)
                    .map_err(|undecided| undone(&undecided, &decision))
            }
        }
    }
}

/// What the viewer called a message, to hear what becomes of it.
fn name_of(message: &ClientMessage) -> Option<String> {
    match message {
        ClientMessage::SendMessage { message_id, .. } => message_id.clone(),
        ClientMessage::StopGeneration { .. } | ClientMessage::Decide { .. } => None,
    }
}

fn refusal(failure: &Failure, is_of_member: bool) -> Refusal {
    let code = match failure.reason {
        Reason::NotFound if is_of_member => "TARGET_MEMBER_NOT_PLACED".to_owned(),
        _ => failure.reason.label().to_uppercase(),
    };
    Refusal::new(code, failure.text.clone())
}

fn undone(undecided: &Undecided, decision: &Decision) -> Refusal {
    let id = decision.invocation.as_deref().unwrap_or_default();
    match undecided {
        Undecided::Stale => Refusal::new(
            "STALE_APPROVAL_TOKEN",
            format!("the token of {id:?} is of another run; use the one that came last"),
        ),
        Undecided::NotPending => Refusal::new(
            "APPROVAL_INVOCATION_NOT_PENDING",
            format!(
                "no call of this team waits for a decision on {id:?}; if an outside runtime published the request, that \
                 runtime decides"
            ),
        ),
        // A viewer always names the id.
        Undecided::OtherMember | Undecided::Several(_) => Refusal::new(
            "APPROVAL_TARGET_MISMATCH",
            format!("{id:?} is not of that member, or of several; name it by its member_route_key"),
        ),
        Undecided::NoMember(failure) => {
            Refusal::new("APPROVAL_TARGET_MISMATCH", failure.text.clone())
        }
        Undecided::NotAllowed => Refusal::new(
            "UNAUTHORIZED",
            format!("{id:?} is for the owner of the member to decide"),
        ),
        Undecided::Failed(failure) => refusal(failure, false),
    }
}
