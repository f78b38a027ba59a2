//! [`ConnectedAgent`], a connected agent: attached to the hub and working on messages.
//!
//! Path of a message: lock of its conversation, slot of the machine-wide queue, working folder, attached
//! files, driver; finally the resulting files, if the caller asks for them.

use std::{fmt, path::PathBuf, sync::Arc, time::SystemTime};

use jackfield_sdk::{Agent, AgentFailure, Error, Hub, HubAddress, Message, Reply};
use jackfield_transfer::sweep_parts;
use tracing::warn;

use crate::{
    AgentToken, Driver, DriverOutput, McpServer, OwnerDecision, Reaper, Turn,
    agent_token::TokenFile,
    attachments::Attachments,
    connect_event::{ConnectEvent, ConnectListener, MessageReport},
    driver_output::reply_failure,
    files::FileTransfers,
    owner::{OwnerApproval, OwnerTerminal},
    queue::{MachineQueue, QueueEntry, QueueSlot},
    session_locks::{SessionLock, SessionLocks},
    sessions::Sessions,
    workspace::Workspaces,
};

/// A local agent to connect to a hub. [`run_until`](Self::run_until) connects it.
pub struct ConnectedAgent {
    /// Id and description of the agent.
    pub agent: Agent,
    /// [`Driver`] of the agent.
    pub driver: Arc<dyn Driver>,
    /// Address of the hub.
    pub address: HubAddress,
    /// Machine-wide [`MachineQueue`].
    pub queue: MachineQueue,
    /// Project and folders of clients ([`Workspaces`]).
    pub workspaces: Workspaces,
    /// Fetcher for files attached to messages.
    pub attachments: Attachments,
    /// Folder for archives being received; an interrupted upload continues there.
    pub parts: PathBuf,
    /// Stored conversations of the agent ([`Sessions`]).
    pub sessions: Sessions,
    /// Terminal at which the owner may approve tools.
    pub desk: Arc<dyn OwnerTerminal>,
    /// Whether the agent may use all tools without approval.
    pub is_trusted: bool,
    /// MCP server through which the agent can call other agents; call and token are added to its environment.
    pub mcp: Option<McpServer>,
    /// Token for programs that the agent starts; `None` if the agent may not call other agents.
    pub token: Option<AgentToken>,
    /// Receiver of [`ConnectEvent`].
    pub listener: ConnectListener,
    /// Ends the processes of the [`Driver`].
    pub reaper: Reaper,
}

impl fmt::Debug for ConnectedAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connect")
            .field("agent", &self.agent)
            .field("driver", &self.driver)
            .finish_non_exhaustive()
    }
}

impl ConnectedAgent {
    /// Attaches the [`Agent`] and serves messages until `stop` resolves or the hub ends the attachment for good.
    /// All started processes have ended when this method returns.
    pub async fn run_until(self, stop: impl Future<Output = ()> + Send) -> Result<(), Error> {
        let hub = Hub::new(self.address.clone())?;
        let (listener, reaper) = (self.listener.clone(), self.reaper.clone());
        let (cut, moved) = (listener.clone(), listener.clone());
        let followed = (hub.clone(), self.attachments.clone());
        let agent = self
            .agent
            .clone()
            .agent_type(self.driver.kind())
            .hub(self.address.clone())
            .on_disconnect(move |error, wait| {
                let why = error_text(error);
                cut(ConnectEvent::Cut { why, wait });
            })
            .on_moved(move |address| {
                let (hub, attachments) = &followed;
                let at = address.base().to_owned();
                moved(ConnectEvent::Moved { hub: at });
                if let Err(error) = hub.move_to(address.clone()) {
                    warn!(%error, "the hub's new address cannot be used");
                }
                if let Err(error) = attachments.move_to(address) {
                    warn!(%error, "files of the hub cannot be fetched from its new address");
                }
            });
        if let Err(error) = sweep_parts(&self.parts).await {
            warn!(%error, "files that nobody sent to the end cannot be removed");
        }
        let files = FileTransfers::new(hub.clone(), self.workspaces.clone(), self.parts.clone());
        let worker = Arc::new(MessageWorker {
            connect: self,
            hub,
            turns: SessionLocks::default(),
            files: files.clone(),
        });
        let heard = files.clone();
        let agent = agent
            .on_message(move |message, reply| {
                let worker = worker.clone();
                async move { Ok(worker.handle(message, reply).await?) }
            })
            .on_signal(move |signal, signaller| heard.handle_signal(signal, signaller));
        let ended = agent
            .run_until(stop, || listener(ConnectEvent::Attached))
            .await;
        files.finish().await;
        reaper.finish().await;
        ended
    }
}

/// Formats an error with its innermost cause, which is the informative one.
fn error_text(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    match error {
        Error::Tls { why, .. } => return format!("{error}; {}", why.remedy()),
        Error::Untrusted { why, .. } => return format!("{error}; {}", why.remedy),
        _ => {}
    }
    let (text, root) = (error.to_string(), cause.to_string());
    match root == text {
        true => text,
        false => format!("{text} ({root})"),
    }
}

/// Variable that names the token file, for commands.
const TOKEN_FILE: &str = "JACKFIELD_TOKEN_FILE";

/// State shared by all messages.
struct MessageWorker {
    connect: ConnectedAgent,
    hub: Hub,
    turns: SessionLocks,
    files: FileTransfers,
}

impl MessageWorker {
    async fn handle(self: Arc<Self>, message: Message, reply: Reply) -> Result<(), AgentFailure> {
        let telling = MessageReport::begin(self.connect.listener.clone(), &message);
        let result = self.clone().carry_out(message, reply).await;
        telling.end(&result);
        result
    }

    async fn carry_out(
        self: Arc<Self>,
        mut message: Message,
        reply: Reply,
    ) -> Result<(), AgentFailure> {
        let connect = &self.connect;
        // Wait for the conversation first, to occupy no slot meanwhile.
        let _turn = self.turn(&message, &reply).await?;
        let _place = self.slot(&message, &reply).await?;
        let dir = connect
            .workspaces
            .folder(message.client_id.as_deref())
            .await?;
        let attached = connect.attachments.fetch(&message, &dir).await;
        for problem in attached.problems {
            // Report the problem to the agent and to the caller.
            message.text += &format!("\n\n({problem})");
            reply
                .status(problem)
                .await
                .map_err(|error| reply_failure(&error))?;
        }
        let token = match &connect.token {
            Some(token) => token.file(&self.hub).await,
            None => None,
        };
        let turn = Turn {
            files: attached.files,
            native_session: connect.sessions.native_id(&message.session),
            dir,
            env: self.environment(&message, token.as_ref()),
            mcp: self.mcp(&message, token.as_ref()),
            message,
        };
        let voice = self.voice(&turn.message, reply.clone());
        let wanted = turn.message.with_files;
        let (client, dir) = (turn.message.client_id.clone(), turn.dir.clone());
        let began = SystemTime::now();
        connect.driver.work(turn, voice).await?;
        if wanted {
            let offered = self.files.offer(client.as_deref(), &dir, began, &reply);
            offered.await.map_err(|error| reply_failure(&error))?;
        }
        Ok(())
    }

    async fn turn(&self, message: &Message, reply: &Reply) -> Result<SessionLock, AgentFailure> {
        if let Some(turn) = self.turns.try_lock(&message.session) {
            return Ok(turn);
        }
        let text = "waiting for the message before it in this conversation";
        reply
            .status(text)
            .await
            .map_err(|error| reply_failure(&error))?;
        Ok(self.turns.lock(&message.session).await)
    }

    async fn slot(&self, message: &Message, reply: &Reply) -> Result<QueueSlot, AgentFailure> {
        let waiting = match self.connect.queue.line_up().await? {
            QueueEntry::Place(place) => return Ok(place),
            QueueEntry::Waiting(waiting) => waiting,
        };
        (self.connect.listener)(ConnectEvent::Waiting {
            request: message.request_id.clone(),
            ahead: waiting.ahead(),
        });
        let text = match waiting.ahead() {
            0 => "waiting for a free place".to_owned(),
            ahead => format!("waiting for a free place, {ahead} before it"),
        };
        reply
            .status(text)
            .await
            .map_err(|error| reply_failure(&error))?;
        Ok(waiting.slot().await?)
    }

    /// Returns the environment variables that describe the message to processes.
    fn environment(&self, message: &Message, token: Option<&TokenFile>) -> Vec<(String, String)> {
        let address = self.hub.address();
        let mut env = vec![
            ("JACKFIELD_HUB", address.base()),
            ("JACKFIELD_AGENT", self.connect.agent.id()),
            ("JACKFIELD_SESSION", &message.session),
        ];
        if let Some(call) = &message.call {
            env.push(("JACKFIELD_CALL", call));
        }
        let ca = address.trust().ca();
        if let Some(ca) = &ca {
            env.push(("JACKFIELD_CA", ca));
        }
        let file = match token {
            Some(TokenFile::Agent(file)) => Some(file.display().to_string()),
            // The owner's own token has more rights than the agent may have.
            Some(TokenFile::Owner(_)) | None => None,
        };
        if let Some(file) = &file {
            env.push((TOKEN_FILE, file));
        }
        env.into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn mcp(&self, message: &Message, token: Option<&TokenFile>) -> Option<McpServer> {
        let mut server = self.connect.mcp.clone()?;
        server.env.extend(self.environment(message, token));
        if let Some(TokenFile::Owner(file)) = token {
            let file = file.display().to_string();
            server.env.push((TOKEN_FILE.to_owned(), file));
        }
        Some(server)
    }

    fn voice(self: &Arc<Self>, message: &Message, reply: Reply) -> DriverOutput {
        let (call, caller) = (message.call.clone(), message.caller.clone());
        let worker = self.clone();
        let owner = move |reply: Reply, tool, arguments| {
            let (worker, call, caller) = (worker.clone(), call.clone(), caller.clone());
            let deciding = async move {
                if worker.connect.is_trusted {
                    return Ok(OwnerDecision {
                        approved: true,
                        reason: None,
                    });
                }
                let owner = OwnerApproval {
                    hub: &worker.hub,
                    desk: &*worker.connect.desk,
                    call,
                    caller,
                };
                owner.decide(reply, tool, arguments).await
            };
            Box::pin(deciding) as _
        };
        let (worker, session) = (self.clone(), message.session.clone());
        let keeper = move |native: &str| worker.connect.sessions.store(&session, native);
        DriverOutput::new(reply, Arc::new(owner), Arc::new(keeper))
    }
}

#[cfg(test)]
mod tests {
    use jackfield_sdk::UntrustedHub;

    use super::*;

    #[test]
    fn a_hub_that_is_not_trusted_is_told_with_the_remedy() {
        let error = Error::Untrusted {
            url: "http://127.0.0.1:7411".to_owned(),
            why: UntrustedHub {
                why: "it runs as bob".to_owned(),
                remedy: "name it with --hub".to_owned(),
            },
        };
        let text = error_text(&error);
        assert_eq!(
            text,
            "the hub at http://127.0.0.1:7411 is not trusted: it runs as bob; name it with --hub"
        );
    }
}
