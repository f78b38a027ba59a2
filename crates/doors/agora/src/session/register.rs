//! Identity of a connection: `register` and `list`.

use jackfield_core::{agent::Profile, entry::AgentView, hub::Wanted, principal::Principal};
use jackfield_kit::{api::store_failure, mailbox::MAILBOX, ticket::TICKET_PARAMETER};
use jackfield_model::{AgentId, Failure, Reason, Skill};
use jackfield_wire::echo;

use super::{AgoraRegistration, AgoraSession, frames::FrameRefusal};
use crate::{
    link::AgoraLink,
    wire::{AgentListEntry, CALL_PREFIX, ErrorFrame, ListFrame, RegisterFrame, downlink},
};

/// Longest name, description or endpoint.
const MAX_WORDS: usize = 4096;
/// Error text for an agent without a required token.
const NEEDS_TOKEN: &str = "a token is needed: put it into register.token, or into the header Authorization: Bearer TOKEN of \
                           the handshake; see `jackfield token create`";
/// Maximum number of capabilities of an agent.
const MAX_CAPABILITIES: usize = 256;

impl AgoraSession {
    /// Registers the connection as an agent, or updates the profile of a registered one.
    pub(super) async fn on_register(&mut self, register: RegisterFrame<'_>) {
        if let Err(FrameRefusal { failure, field }) = self.register(&register).await {
            self.agora.hub.metrics().refused(crate::DOOR);
            let (agent, why) = (echo(&register.id), &*failure.text);
            tracing::info!(agent, why, "agent refused");
            let frame = downlink::error(&ErrorFrame {
                frame_type: Some("register".into()),
                field: field.map(Into::into),
                ..ErrorFrame::new(failure.reason.name(), &failure.text)
            });
            self.queue(&frame);
        }
    }

    async fn register(&mut self, register: &RegisterFrame<'_>) -> Result<(), FrameRefusal> {
        let bad_id = |text: String| FrameRefusal::field("id", Failure::new(Reason::Invalid, text));
        let id = AgentId::parse(&register.id).map_err(|error| bad_id(error.to_string()))?;
        if id.as_str().starts_with(CALL_PREFIX) {
            return Err(bad_id(format!("an id may not begin with {CALL_PREFIX:?}")));
        }
        let profile = profile_from(register, &id)?;
        let hub = self.agora.hub.clone();
        if let Some(registered) = &self.registered {
            if registered.entry().id != id {
                let text = format!(
                    "this connection is {} already; open another one for {id}",
                    registered.entry().id
                );
                return Err(FrameRefusal::field(
                    "id",
                    Failure::new(Reason::Conflict, text),
                ));
            }
            if let Some(saved) = hub.agents().refresh(&registered.attached, profile) {
                saved.await.map_err(|error| store_failure(&error))?;
            }
            self.queue(&downlink::registered(id.as_str()));
            return Ok(());
        }
        let token = self.line.token_or(register.token.as_deref());
        let token = token.map(str::to_owned);
        let token = token.as_deref();
        let principal = self
            .agora
            .gatekeeper
            .admit(token, self.line.ingress())
            .map_err(|failure| match token {
                None if self.line.ingress().has_ticket() => {
                    FrameRefusal::field(TICKET_PARAMETER, failure)
                }
                None => {
                    FrameRefusal::field("token", Failure::new(Reason::Unauthorized, NEEDS_TOKEN))
                }
                Some(_) => FrameRefusal::field("token", failure),
            })?;
        self.line.count_for_owner(&principal.owner)?;
        let link = AgoraLink::new(
            id.clone(),
            self.line.ready_handle(MAILBOX),
            self.line.liveness().clone(),
        );
        let mut attached = hub
            .agents()
            .attach(&principal, &id, profile, link.clone(), false)
            .map_err(|failure| FrameRefusal::field("id", self.with_token(failure, token)))?;
        let saved = attached.saved.take();
        self.registered = Some(Box::new(AgoraRegistration {
            attached,
            link,
            principal: principal.as_agent(id.clone()),
            account: hub.shared().budget.account(&principal.owner),
        }));
        if let Some(saved) = saved
            && let Err(error) = saved.await
        {
            // Agents that already wrote to this one are notified.
            self.leave();
            return Err(store_failure(&error).into());
        }
        let owner = principal.owner.as_str();
        tracing::info!(agent = %id, owner, "agent registered");
        if self.is_unknown(token) {
            tracing::warn!(agent = %id, owner, "this hub does not know the token that the agent shows");
        }
        self.line.set_authenticated(principal.grant.revoked.clone());
        self.queue(&downlink::registered(id.as_str()));
        Ok(())
    }

    /// Explains an id that belongs to a different owner: an agent with a token unknown to the hub acts as
    /// `local`, not as the token's owner.
    fn with_token(&self, mut failure: Failure, token: Option<&str>) -> Failure {
        if failure.reason == Reason::Unauthorized && self.is_unknown(token) {
            let text = failure.text.to_mut();
            text.push_str(" (this hub does not know the token, so you are \"local\" to it)");
        }
        failure
    }

    fn is_unknown(&self, token: Option<&str>) -> bool {
        token.is_some_and(|token| !self.agora.gatekeeper.has_issued(token))
    }

    /// Answers `list` with the agents visible to the sender.
    pub(super) fn on_list(&mut self, list: &ListFrame<'_>) {
        let principal = match self.viewer() {
            Ok(principal) => principal,
            Err(failure) => {
                let has_ticket = self.line.ingress().has_ticket();
                let frame = downlink::error(&ErrorFrame {
                    frame_type: Some("list".into()),
                    field: has_ticket.then(|| TICKET_PARAMETER.into()),
                    ..ErrorFrame::new(failure.reason.name(), &failure.text)
                });
                return self.queue(&frame);
            }
        };
        // A peer that only lists agents gets more time to register.
        self.line.extend_registration();
        let wanted = Wanted {
            skills: list
                .capabilities
                .iter()
                .map(|capability| capability.to_string())
                .collect(),
            online: true,
        };
        let views = self.agora.hub.agents().discover(&principal, &wanted);
        let times: Vec<String> = views
            .iter()
            .map(|view| view.registered_at.to_string())
            .collect();
        let entries: Vec<_> = views
            .iter()
            .zip(&times)
            .map(|(view, time)| entry_from(view, time))
            .collect();
        self.queue(&downlink::agents(&entries));
    }

    fn viewer(&self) -> Result<Principal, Failure> {
        match &self.registered {
            Some(registered) => Ok(registered.principal.clone()),
            None => {
                let (token, came) = (self.line.token(), self.line.ingress());
                self.agora.gatekeeper.admit(token, came)
            }
        }
    }
}

fn profile_from(register: &RegisterFrame<'_>, id: &AgentId) -> Result<Profile, FrameRefusal> {
    let words = |field: &'static str, text: Option<&str>| match text {
        Some(text) if text.len() > MAX_WORDS => {
            let text = format!("field {field:?} may have at most {MAX_WORDS} bytes");
            Err(FrameRefusal::field(
                field,
                Failure::new(Reason::TooLarge, text),
            ))
        }
        text => Ok(text.map(str::to_owned)),
    };
    if register.capabilities.len() > MAX_CAPABILITIES {
        let text = format!("an agent may list at most {MAX_CAPABILITIES} capabilities");
        let failure = Failure::new(Reason::TooLarge, text);
        return Err(FrameRefusal::field("capabilities", failure));
    }
    let mut skills = Vec::new();
    for capability in &register.capabilities {
        skills.extend(words("capabilities", Some(capability))?.map(|id| Skill {
            id,
            ..Skill::default()
        }));
    }
    Ok(Profile {
        name: words("name", register.name.as_deref())?.unwrap_or_else(|| id.to_string()),
        description: words("description", register.description.as_deref())?,
        agent_type: words("agent_type", register.agent_type.as_deref())?,
        skills,
        endpoint: words("endpoint", register.endpoint.as_deref())?,
        ..Profile::default()
    })
}

fn entry_from<'a>(view: &'a AgentView, registered_at: &'a str) -> AgentListEntry<'a> {
    AgentListEntry {
        id: view.id.as_str().into(),
        name: Some(view.profile.name.as_str().into()),
        endpoint: view.profile.endpoint.as_deref().map(Into::into),
        registered_at: registered_at.into(),
        capabilities: view
            .profile
            .skills
            .iter()
            .map(|skill| skill.id.as_str().into())
            .collect(),
        online: view.online,
        door: Some(view.door.as_str().into()),
        description: view.profile.description.as_deref().map(Into::into),
    }
}
