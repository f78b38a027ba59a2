//! The first frame: who the agent is, in the order in which the original checks it.

use jackfield_core::{
    agent::{Profile, Skill},
    id::AgentId,
};
use jackfield_kit::line::Leave;
use jackfield_wire::bridge::{
    Fault, Uplink,
    downlink::{self, Registered as Accepted},
    extension, parse,
    uplink::Register,
};

use super::{MAILBOX, Registered, Session};
use crate::{
    bridge::{Attachment, token_hash},
    link::{BridgeLink, Extensions},
};

/// The longest text in a profile, in bytes.
const MAX_WORDS: usize = 4096;
/// How many capabilities an agent may list.
const MAX_CAPABILITIES: usize = 256;

impl Session {
    /// Takes the first frame, which must be `register`.
    pub(super) async fn on_first(&mut self, text: &str) -> Option<Leave> {
        let limits = self.bridge.wire_limits;
        let register = match parse(text, &limits) {
            Ok(Uplink::Register(register)) => register,
            Err(malformed) if malformed.fault == Fault::Syntax => {
                return Some(self.refuse("Invalid JSON", "Invalid JSON"));
            }
            Err(malformed) if malformed.frame_type.as_deref() == Some("register") => {
                return Some(self.refuse(&malformed.to_string(), "Invalid register"));
            }
            _ => return Some(self.refuse("First message must be register", "Expected register")),
        };
        if !register.bridge_version.is_supported() {
            return Some(self.refuse(&register.bridge_version.refusal(), "Version mismatch"));
        }
        match self.register(&register).await {
            Ok(()) => None,
            Err((text, reason)) => Some(self.refuse(&text, reason)),
        }
    }

    async fn register(&mut self, register: &Register<'_>) -> Result<(), (String, &'static str)> {
        let invalid = |text: String| (text, "Invalid register");
        let id = AgentId::parse(&register.agent_id).map_err(|error| invalid(error.to_string()))?;
        // The original lets a connection for one id register another, and so hijack it.
        if let Some(url_id) = &self.url_id
            && AgentId::parse(url_id).as_ref() != Ok(&id)
        {
            let text = "agent_id differs from the one in the URL".to_owned();
            return Err((text, "Auth failed"));
        }
        let profile = profile_from(register, &id).map_err(invalid)?;
        let refused = |_| ("Authentication failed".to_owned(), "Auth failed");
        let token = register.token.as_deref().filter(|token| !token.is_empty());
        let principal = self.bridge.gatekeeper.admit(token).map_err(refused)?;
        let extensions = extensions_from(register);
        let link = BridgeLink::new(
            id.clone(),
            extensions,
            self.line.rope(MAILBOX),
            self.line.signs().clone(),
        );
        let hub = &self.bridge.hub;
        let attached = hub.attach(&principal, &id, profile, link.clone(), false);
        let mut attached = attached.map_err(|failure| {
            use jackfield_core::failure::Reason;
            match failure.reason {
                Reason::Unauthorized => ("Authentication failed".to_owned(), "Auth failed"),
                _ => (failure.text.into_owned(), "Not now"),
            }
        })?;
        if let Some(saved) = attached.saved.take() {
            saved
                .await
                .map_err(|error| (error.to_string(), "Not now"))?;
        }
        let now = Some(jiff::Timestamp::now());
        let attachment = Attachment {
            token_hash: token.map(token_hash),
            agent_type: register
                .agent_type
                .as_deref()
                .unwrap_or_default()
                .to_owned(),
            capabilities: register
                .capabilities
                .iter()
                .map(ToString::to_string)
                .collect(),
            connected_at: now,
            last_heartbeat: now,
            active_sessions: 0,
        };
        self.bridge.note_attached(&id, attachment);
        self.line.known(principal.grant.revoked.clone());
        self.registered = Some(Box::new(Registered {
            attached,
            link,
            principal: principal.as_agent(id),
        }));
        let accepted = Accepted {
            extensions: confirmed(extensions),
            resume: None,
        };
        self.queue(&downlink::registered(&accepted));
        Ok(())
    }
}

fn extensions_from(register: &Register<'_>) -> Extensions {
    let has = |name: &str| {
        register
            .extensions
            .iter()
            .any(|extension| extension == name)
    };
    Extensions {
        // Not yet: the session does not number or acknowledge frames.
        resume: false,
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

fn profile_from(register: &Register<'_>, id: &AgentId) -> Result<Profile, String> {
    let words = |field: &str, text: Option<&str>| match text {
        Some(text) if text.len() > MAX_WORDS => Err(format!(
            "field {field:?} may have at most {MAX_WORDS} bytes"
        )),
        text => Ok(text.filter(|text| !text.is_empty()).map(str::to_owned)),
    };
    if register.capabilities.len() > MAX_CAPABILITIES {
        return Err(format!(
            "field \"capabilities\" may list at most {MAX_CAPABILITIES}"
        ));
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
        endpoint: None,
    })
}
