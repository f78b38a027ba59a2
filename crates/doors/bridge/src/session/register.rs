//! The first frame of a connection: authentication and registration of the agent, checked in the order of the
//! original hub.

use std::{sync::Arc, time::Duration};

use jackfield_core::{agent::Closing, call::Call, entry::Entry, principal::Principal};
use jackfield_kit::{
    api::store_failure, mailbox::MAILBOX, ticket::TICKET_PARAMETER, ws_connection::WsConnectionEnd,
};
use jackfield_model::{AgentId, Reason};
use jackfield_wire::bridge::{
    RegisterRefusal, Uplink,
    downlink::{self, Registered as Accepted, ResumeGrant as Back},
    extension, parse,
    uplink::Register,
};

use super::{BridgeAgentSession, BridgeRegistration, profile::profile_from, resume::ResumedWork};
use crate::{
    door::{ConnectionRecord, token_hash},
    lineage::Takeover,
    link::{BridgeLink, BridgeMail, Extensions},
    served_request::cancel_frame,
};

impl BridgeAgentSession {
    /// Handles the first frame, which must be `register`.
    pub(super) async fn on_first(&mut self, text: &str) -> Option<WsConnectionEnd> {
        let register = match parse(text, self.bridge.max_depth) {
            Ok(Uplink::Register(register)) => register,
            Err(malformed) if malformed.is_not_an_object() => {
                return Some(self.refuse("Invalid JSON", RegisterRefusal::NotJson));
            }
            Err(malformed) if malformed.frame_type.as_deref() == Some("register") => {
                return Some(self.refuse(&malformed.to_string(), RegisterRefusal::Invalid));
            }
            _ => {
                let text = "First message must be register";
                return Some(self.refuse(text, RegisterRefusal::NotRegister));
            }
        };
        if !register.bridge_version.is_supported() {
            let mut text = register.bridge_version.refusal();
            // No other sign tells that the client meant the bridge protocol.
            if register.bridge_version.is_missing() && self.url_id.is_none() {
                text += " (Agora agents send \"id\", not \"agent_id\")";
            }
            return Some(self.refuse(&text, RegisterRefusal::Version));
        }
        match self.register(&register).await {
            Ok(left) => left,
            Err((text, refusal)) => Some(self.refuse(&text, refusal)),
        }
    }

    /// Registers the agent. The error holds the text for the agent and the [`RegisterRefusal`]. A connection
    /// that is replaced at once returns a regular [`WsConnectionEnd`].
    async fn register(
        &mut self,
        register: &Register<'_>,
    ) -> Result<Option<WsConnectionEnd>, (String, RegisterRefusal)> {
        let not_now = |text: String| (text, RegisterRefusal::NotNow);
        let invalid = |text: String| (text, RegisterRefusal::Invalid);
        let id = AgentId::parse(&register.agent_id).map_err(|error| invalid(error.to_string()))?;
        // The original hub lets a connection for one id register a different id, and so hijack it.
        if let Some(url_id) = &self.url_id
            && AgentId::parse(url_id).as_ref() != Ok(&id)
        {
            let text = "agent_id differs from the one in the URL".to_owned();
            return Err((text, RegisterRefusal::Unauthorized));
        }
        let extensions = extensions_from(register);
        let profile = profile_from(register, &id, extensions.meta).map_err(invalid)?;
        let refused = || {
            let text = "Authentication failed".to_owned();
            (text, RegisterRefusal::Unauthorized)
        };
        let token = self.line.token_or(register.token.as_deref());
        let came = self.line.ingress();
        let admitted = self.bridge.gatekeeper.admit(token, came);
        let principal = admitted.map_err(|failure| match came.has_ticket() {
            // Whoever has a ticket is told why it is refused; a reason reveals no token.
            true => {
                let text = format!(
                    "Authentication failed: {TICKET_PARAMETER}: {}",
                    failure.text
                );
                (text, RegisterRefusal::Unauthorized)
            }
            false => refused(),
        })?;
        if !principal.may_register(&id) {
            return Err((out_of_scope(&principal), RegisterRefusal::Unauthorized));
        }
        // The connection drops its own token once the agent is authenticated.
        let owner_token = token.map(str::to_owned);
        self.line
            .count_for_owner(&principal.owner)
            .map_err(|failure| not_now(failure.text.into_owned()))?;
        let link = BridgeLink::new(
            id.clone(),
            extensions,
            self.line.ready_handle(MAILBOX),
            self.line.liveness().clone(),
        );
        let hub = &self.bridge.hub;
        let back = register.resume.as_ref().filter(|_| extensions.resume);
        let attached = if extensions.resume {
            let shown = back.map(|back| &*back.token);
            let attached =
                hub.agents()
                    .attach_resumable(&principal, &id, profile, link.clone(), shown);
            attached.map(|(attached, token)| (attached, Some(token)))
        } else {
            let attached = hub
                .agents()
                .attach(&principal, &id, profile, link.clone(), false);
            attached.map(|attached| (attached, None))
        };
        let (mut attached, token) = attached.map_err(|failure| match failure.reason {
            Reason::Unauthorized => refused(),
            _ => not_now(failure.text.into_owned()),
        })?;
        let adopted = std::mem::take(&mut attached.adopted);
        let saved = attached.saved.take();
        let known_by = token.as_ref().map(|token| token_hash(token.expose()));
        let calls = back.and_then(|back| back.calls.as_deref());
        let lineages = &self.bridge.lineages;
        let Some((lineage, found)) = lineages.join(&attached, &link, known_by, calls) else {
            return Ok(Some(Closing::Replaced.into()));
        };
        self.registered = Some(Box::new(BridgeRegistration {
            attached,
            link: link.clone(),
            principal: principal.as_agent(id.clone()),
            reader: found.reader,
            lineage: lineage.clone(),
        }));
        if let Some(saved) = saved {
            saved
                .await
                .map_err(|error| not_now(store_failure(&error).text.into_owned()))?;
        }
        let place = self.registered.as_ref().map(|it| it.entry().clone());
        let attachment = attachment(register, owner_token.as_deref(), place.as_ref());
        self.bridge.note_attached(&id, attachment);
        self.line.set_authenticated(principal.grant.revoked.clone());
        let listed = back.map_or(&[][..], |back| &back.open);
        let mut resumed = super::resume::resume(adopted, listed, &lineage);
        let accepted = Accepted {
            extensions: confirmed(extensions),
            resume: token.as_ref().map(|token| Back {
                token: token.expose().into(),
                grace_ms: grace_ms(self.line.limits().resume_grace.0),
                open: std::mem::take(&mut resumed.open),
                gone: resumed.gone.clone(),
            }),
        };
        let owner = principal.owner.as_str();
        tracing::info!(agent = %id, owner, "agent registered");
        self.queue(&downlink::registered(&accepted));
        self.continue_work(resumed, found);
        Ok(None)
    }

    /// Continues the open work of the previous connection.
    fn continue_work(&mut self, resumed: ResumedWork<'_>, found: Takeover) {
        let Some(link) = self.registered.as_ref().map(|it| it.link.clone()) else {
            return;
        };
        // Queued at once, because they precede the frames read from the same replies from now on; their
        // number is small.
        for frame in found.frames {
            self.queue(&frame);
        }
        for call_id in found.calls {
            self.read_reply(call_id);
        }
        let is_gone = |call: &&Arc<Call>| {
            let mut gone = resumed.gone.iter();
            call.is_ended() && gone.any(|gone| *gone == call.request.as_str())
        };
        // Calls that were cancelled while the agent was disconnected.
        let cancelled = found.parked.iter().filter(is_gone);
        let cancels = cancelled.map(|call| BridgeMail::Frame(cancel_frame(call)));
        self.first.extend(cancels);
        for serving in resumed.going_on {
            let call = serving.call().clone();
            let answers = self.serve(serving, &link).repeated_answers();
            self.first
                .extend(answers.into_iter().map(BridgeMail::Frame));
            if call.acked() > 0 {
                self.acks.add(&call.request, call.acked(), 0);
            }
        }
        self.first
            .extend(resumed.unseen.into_iter().map(BridgeMail::Call));
        if !self.first.is_empty() {
            // These items are handled together with the mail.
            self.line.ready_handle(MAILBOX).notify();
        }
    }
}

/// Returns the error text for a token that may not register the agent. Naming the token's own scopes reveals
/// no secret.
fn out_of_scope(principal: &Principal) -> String {
    let mut scopes = principal.grant.scopes.to_texts();
    scopes.retain(|scope| scope.starts_with("agent:"));
    match scopes.as_slice() {
        [] => "Authentication failed: this token may register no agent".to_owned(),
        scopes => {
            let scopes = scopes.join(", ");
            format!("Authentication failed: this token may register {scopes} only")
        }
    }
}

/// Builds the [`ConnectionRecord`], the connection data visible to the platform.
fn attachment(
    register: &Register<'_>,
    token: Option<&str>,
    place: Option<&Arc<Entry>>,
) -> ConnectionRecord {
    let now = Some(jiff::Timestamp::now());
    let agent_type = register.agent_type.as_deref().unwrap_or_default();
    let capabilities = register.capabilities.iter().map(ToString::to_string);
    ConnectionRecord {
        place: place.map(Arc::downgrade).unwrap_or_default(),
        token_hash: token.map(token_hash),
        agent_type: agent_type.to_owned(),
        capabilities: capabilities.collect(),
        connected_at: now,
        last_heartbeat: now,
        active_sessions: 0,
    }
}

fn grace_ms(grace: Duration) -> u64 {
    u64::try_from(grace.as_millis()).unwrap_or(u64::MAX)
}

fn extensions_from(register: &Register<'_>) -> Extensions {
    let has = |name: &str| {
        register
            .extensions
            .iter()
            .any(|extension| extension == name)
    };
    Extensions {
        resume: has(extension::RESUME),
        artifacts: has(extension::ARTIFACTS),
        input: has(extension::INPUT),
        meta: has(extension::META),
    }
}

fn confirmed(extensions: Extensions) -> Vec<std::borrow::Cow<'static, str>> {
    let Extensions {
        resume,
        artifacts,
        input,
        meta,
    } = extensions;
    [
        (resume, extension::RESUME),
        (artifacts, extension::ARTIFACTS),
        (input, extension::INPUT),
        (meta, extension::META),
    ]
    .into_iter()
    .filter(|(is_on, _)| *is_on)
    .map(|(_, name)| name.into())
    .collect()
}
