//! The first frame: who the agent is, in the order in which the original checks it.

use std::{sync::Arc, time::Duration};

use jackfield_core::{agent::Closing, call::Call, entry::Entry, principal::Principal};
use jackfield_kit::{api::store_failure, line::Leave, mailbox::MAILBOX};
use jackfield_model::{AgentId, Reason};
use jackfield_wire::bridge::{
    Uplink,
    downlink::{self, Registered as Accepted, Resumed as Back},
    extension, parse,
    uplink::Register,
};

use super::{Registered, Session, profile::profile_from, resume::Resumed};
use crate::{
    bridge::{Attachment, token_hash},
    lineage::Found,
    link::{BridgeLink, Extensions, Mail},
    served::cancel_frame,
};

impl Session {
    /// Takes the first frame, which must be `register`.
    pub(super) async fn on_first(&mut self, text: &str) -> Option<Leave> {
        let register = match parse(text, self.bridge.max_depth) {
            Ok(Uplink::Register(register)) => register,
            Err(malformed) if malformed.is_no_object() => {
                return Some(self.refuse("Invalid JSON", "Invalid JSON"));
            }
            Err(malformed) if malformed.frame_type.as_deref() == Some("register") => {
                return Some(self.refuse(&malformed.to_string(), "Invalid register"));
            }
            _ => return Some(self.refuse("First message must be register", "Expected register")),
        };
        if !register.bridge_version.is_supported() {
            let mut text = register.bridge_version.refusal();
            // Nothing but this field says that the bridge was meant.
            if register.bridge_version.is_missing() && self.url_id.is_none() {
                text += " (Agora agents send \"id\", not \"agent_id\")";
            }
            return Some(self.refuse(&text, "Version mismatch"));
        }
        match self.register(&register).await {
            Ok(left) => left,
            Err((text, reason)) => Some(self.refuse(&text, reason)),
        }
    }

    /// Registers the agent. Refusals are what is said and the reason of the close; a connection that was replaced at once
    /// leaves like any other.
    async fn register(
        &mut self,
        register: &Register<'_>,
    ) -> Result<Option<Leave>, (String, &'static str)> {
        let invalid = |text: String| (text, "Invalid register");
        let id = AgentId::parse(&register.agent_id).map_err(|error| invalid(error.to_string()))?;
        // The original lets a connection for one id register another, and so hijack it.
        if let Some(url_id) = &self.url_id
            && AgentId::parse(url_id).as_ref() != Ok(&id)
        {
            let text = "agent_id differs from the one in the URL".to_owned();
            return Err((text, "Auth failed"));
        }
        let extensions = extensions_from(register);
        let profile = profile_from(register, &id, extensions.meta).map_err(invalid)?;
        let refused = |_| ("Authentication failed".to_owned(), "Auth failed");
        let token = register.token.as_deref().filter(|token| !token.is_empty());
        let token = token.or(self.line.token());
        let admitted = self.bridge.gatekeeper.admit(token, self.line.came());
        let principal = admitted.map_err(refused)?;
        if !principal.may_register(&id) {
            return Err((out_of_scope(&principal), "Auth failed"));
        }
        // The line forgets its own when the agent is known.
        let owner_token = token.map(str::to_owned);
        self.line
            .belongs_to_owner(&principal.owner)
            .map_err(|failure| (failure.text.into_owned(), "Not now"))?;
        let link = BridgeLink::new(
            id.clone(),
            extensions,
            self.line.rope(MAILBOX),
            self.line.signs().clone(),
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
            Reason::Unauthorized => ("Authentication failed".to_owned(), "Auth failed"),
            _ => (failure.text.into_owned(), "Not now"),
        })?;
        let adopted = std::mem::take(&mut attached.adopted);
        let saved = attached.saved.take();
        let known_by = token.as_ref().map(|token| token_hash(token.expose()));
        let calls = back.and_then(|back| back.calls.as_deref());
        let lineages = &self.bridge.lineages;
        let Some((lineage, found)) = lineages.join(&attached, &link, known_by, calls) else {
            return Ok(Some(Closing::Replaced.into()));
        };
        self.registered = Some(Box::new(Registered {
            attached,
            link: link.clone(),
            principal: principal.as_agent(id.clone()),
            reader: found.reader,
            lineage: lineage.clone(),
        }));
        if let Some(saved) = saved {
            saved
                .await
                .map_err(|error| (store_failure(&error).text.into_owned(), "Not now"))?;
        }
        let place = self.registered.as_ref().map(|it| it.entry().clone());
        let attachment = attachment(register, owner_token.as_deref(), place.as_ref());
        self.bridge.note_attached(&id, attachment);
        self.line.known(principal.grant.revoked.clone());
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
        self.go_on(resumed, found);
        Ok(None)
    }

    /// Goes on with what a connection before had open.
    fn go_on(&mut self, resumed: Resumed<'_>, found: Found) {
        let Some(link) = self.registered.as_ref().map(|it| it.link.clone()) else {
            return;
        };
        // At once, since they come before what is read of the same replies now; there are not many.
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
        // What was cancelled while nobody could be told.
        let cancelled = found.parked.iter().filter(is_gone);
        let cancels = cancelled.map(|call| Mail::Frame(cancel_frame(call)));
        self.first.extend(cancels);
        for serving in resumed.going_on {
            let call = serving.call().clone();
            let answers = self.serve(serving, &link).repeated_answers();
            self.first.extend(answers.into_iter().map(Mail::Frame));
            if call.acked() > 0 {
                self.acks.add(&call.request, call.acked(), 0);
            }
        }
        self.first
            .extend(resumed.unseen.into_iter().map(Mail::Call));
        if !self.first.is_empty() {
            // It is taken like mail, and with it.
            self.line.rope(MAILBOX).notify();
        }
    }
}

/// What a token is told that may not register this agent: its own scopes give nothing away.
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

/// What the platform may know of the connection.
fn attachment(
    register: &Register<'_>,
    token: Option<&str>,
    place: Option<&Arc<Entry>>,
) -> Attachment {
    let now = Some(jiff::Timestamp::now());
    let agent_type = register.agent_type.as_deref().unwrap_or_default();
    let capabilities = register.capabilities.iter().map(ToString::to_string);
    Attachment {
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
