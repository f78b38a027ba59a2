//! How agents are attached to the [`AgentRegistry`]: the owner of an id, the connection that holds the id, and
//! [`Attached`], the guard of that connection. Doors call it.

use std::sync::Arc;

use jiff::Timestamp;

use super::AgentRegistry;
use jackfield_model::{AgentId, Failure, Owner, Reason};

use crate::{
    agent::{Link, Profile, Settings, Share},
    call::AgentHandle,
    entry::Entry,
    principal::Principal,
    resume::{AttachMode, ResumeToken, hash},
    store::{AgentRecord, Receipt},
};

/// Guard of a connection that holds an agent. Dropping it detaches the agent.
#[derive(Debug)]
pub struct Attached {
    entry: Arc<Entry>,
    link: Arc<dyn Link>,
    /// Open calls of an earlier connection that this one resumes, oldest first. The agent knows each call by
    /// [`Call::request`]. Frames up to [`Call::received`] need not be repeated. [`AgentHandle::answers`] may not
    /// have got through. A call that the agent does not know and that has no reply ([`Call::has_reply`])
    /// never arrived: its message is sent again.
    ///
    /// [`Call::has_reply`]: crate::call::Call::has_reply
    /// [`Call::request`]: crate::call::Call::request
    /// [`Call::received`]: crate::call::Call::received
    pub adopted: Vec<AgentHandle>,
    /// Resolves when the store has the agent, if there was something to write.
    pub saved: Option<Receipt>,
    resumes: bool,
    resumable: bool,
}

impl Attached {
    /// Returns the entry of the agent.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Whether the connection resumes the open calls of the one before, even if there are none.
    pub fn resumes(&self) -> bool {
        self.resumes
    }

    /// Sets whether the agent cannot be reached for now, although its connection still holds calls. Meanwhile
    /// the agent counts as offline. Ending the absence sends the waiting calls.
    pub fn set_away(&self, is_away: bool) {
        self.entry.set_away(&self.link, is_away);
    }

    /// Sets whether open calls wait for the agent to reconnect when this connection is gone, and durable
    /// calls wait for the next hub when this one stops. Drop this guard before the [`AgentHandle`]s of the
    /// connection then: they end their calls as long as the connection is attached.
    pub fn set_resumable(&mut self, resumable: bool) {
        self.resumable = resumable;
        self.entry.set_resumable(&self.link, resumable);
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.entry.leave(&self.link, self.resumable);
    }
}

impl AgentRegistry {
    /// Attaches an agent. The newest connection wins, if it proves the same owner. `resumes` takes over the
    /// open calls of the previous connection instead of failing them.
    pub fn attach(
        &self,
        principal: &Principal,
        id: &AgentId,
        profile: Profile,
        link: Arc<dyn Link>,
        resumes: bool,
    ) -> Result<Attached, Failure> {
        let mode = if resumes {
            AttachMode::Resume
        } else {
            AttachMode::Fresh
        };
        self.attach_as(principal, id, profile, link, mode)
    }

    /// Attaches an agent whose connection can be resumed later, by showing the returned token. This
    /// connection resumes the last one if `shown` is the token of the last one; the token then stays the
    /// same. Any other token counts as none.
    pub fn attach_resumable(
        &self,
        principal: &Principal,
        id: &AgentId,
        profile: Profile,
        link: Arc<dyn Link>,
        shown: Option<&str>,
    ) -> Result<(Attached, ResumeToken), Failure> {
        let fresh = ResumeToken::new()?;
        let mode = AttachMode::Resumable {
            shown: shown.map(hash),
            fresh: hash(fresh.expose()),
        };
        let attached = self.attach_as(principal, id, profile, link, mode)?;
        let token = match shown {
            Some(shown) if attached.resumes => ResumeToken::shown(shown),
            _ => fresh,
        };
        Ok((attached, token))
    }

    fn attach_as(
        &self,
        principal: &Principal,
        id: &AgentId,
        profile: Profile,
        link: Arc<dyn Link>,
        mode: AttachMode,
    ) -> Result<Attached, Failure> {
        self.check_stopping()?;
        let claim = || self.claim(principal, id, &profile, link.door());
        let (entry, is_new) = match claim() {
            Err(full) if full.reason == Reason::Busy && self.make_room(&principal.owner) => claim(),
            claimed => claimed,
        }?;
        self.attach_link(entry, is_new, profile, link, mode)
    }

    /// Reserves an id for an agent that the hub itself reaches, before the first connection: the agent is
    /// listed, and calls may wait for it. The receipt is for the write, if one was needed.
    pub fn reserve(
        &self,
        principal: &Principal,
        id: &AgentId,
        profile: &Profile,
        door: &'static str,
    ) -> Result<(Arc<Entry>, Option<Receipt>), Failure> {
        self.check_stopping()?;
        let (entry, is_new) = self.claim(principal, id, profile, door)?;
        entry.set_reserved();
        let saved = if is_new {
            let saved = entry.save_to(&*self.store);
            Some(saved.ok_or_else(|| entry.removed())?)
        } else {
            None
        };
        Ok((entry, saved))
    }

    /// Attaches an agent at its reserved entry. Fails if the entry was given up meanwhile.
    pub fn attach_at(
        &self,
        entry: &Arc<Entry>,
        profile: Profile,
        link: Arc<dyn Link>,
    ) -> Result<Attached, Failure> {
        self.attach_reserved(entry, profile, link, AttachMode::Fresh)
    }

    /// Attaches an agent at its reserved entry and resumes its open calls, such as calls of before a restart
    /// ([`Attached::adopted`], each with its [`Call::handle`]). The agent may still be unreachable: it counts
    /// as offline until [`Attached::set_away`] ends the absence.
    ///
    /// [`Call::handle`]: crate::call::Call::handle
    pub fn resume_at(
        &self,
        entry: &Arc<Entry>,
        profile: Profile,
        link: Arc<dyn Link>,
    ) -> Result<Attached, Failure> {
        self.attach_reserved(entry, profile, link, AttachMode::Away)
    }

    /// Gives a reserved entry to a connection.
    fn attach_reserved(
        &self,
        entry: &Arc<Entry>,
        profile: Profile,
        link: Arc<dyn Link>,
        mode: AttachMode,
    ) -> Result<Attached, Failure> {
        self.check_stopping()?;
        self.attach_link(entry.clone(), false, profile, link, mode)
    }

    /// Gives an entry to a connection.
    fn attach_link(
        &self,
        entry: Arc<Entry>,
        is_new: bool,
        profile: Profile,
        link: Arc<dyn Link>,
        mode: AttachMode,
    ) -> Result<Attached, Failure> {
        let taken = entry.take(&link, profile, mode)?;
        // A stop that ran meanwhile may have missed this link.
        if let Err(stopping) = self.check_stopping() {
            entry.leave(&link, false);
            return Err(stopping);
        }
        let saved = if is_new || taken.changed {
            let Some(saved) = entry.save_to(&*self.store) else {
                entry.leave(&link, false);
                return Err(entry.removed());
            };
            Some(saved)
        } else {
            None
        };
        // The span of a connection has this field; elsewhere nothing is recorded.
        tracing::Span::current().record("agent", entry.id.as_str());
        tracing::debug!(agent = %entry.id, resumes = taken.resumes, "agent attached");
        Ok(Attached {
            entry,
            link,
            adopted: taken.adopted,
            saved,
            resumes: taken.resumes,
            resumable: matches!(mode, AttachMode::Resumable { .. }),
        })
    }

    /// Sets the profile of an attached agent.
    pub fn refresh(&self, attached: &Attached, profile: Profile) -> Option<Receipt> {
        self.describe(&attached.entry, profile)
    }

    /// Sets the profile of an agent whose id the door has reserved. Returns `None` if nothing changed.
    pub fn describe(&self, entry: &Entry, profile: Profile) -> Option<Receipt> {
        let changed = entry.set_profile(profile);
        changed.then(|| entry.save_to(&*self.store)).flatten()
    }

    /// Makes room for a new agent: forgets the evictable agent of `owner` that has been offline for longest.
    /// Returns false if there is none.
    fn make_room(&self, owner: &Owner) -> bool {
        let mut absent: Vec<_> = {
            let agents = self.agents.read();
            let theirs = agents.values().filter(|entry| entry.owner() == owner);
            let since = |entry: &Arc<Entry>| Some((entry.evictable_since()?, entry.id.clone()));
            theirs.filter_map(since).collect()
        };
        absent.sort_unstable();
        // The receipt is not needed: later writes come after it.
        let forgotten = absent
            .into_iter()
            .find(|(_, id)| self.forget_evictable(id).is_some());
        if let Some((_, agent)) = &forgotten {
            tracing::info!(%agent, %owner, "forgotten to make room: it was away for longest");
        }
        forgotten.is_some()
    }

    /// Returns the entry of an id, created if the id is free. An id belongs to its first owner.
    fn claim(
        &self,
        principal: &Principal,
        id: &AgentId,
        profile: &Profile,
        door: &'static str,
    ) -> Result<(Arc<Entry>, bool), Failure> {
        if !principal.may_register(id) {
            let text =
                format!("this token may not register agent {id}: it needs a scope like agent:{id}");
            return Err(Failure::new(Reason::Unauthorized, text));
        }
        let taken = || {
            Failure::new(
                Reason::Unauthorized,
                format!("agent id {id} belongs to another owner; choose another id"),
            )
        };
        let mut agents = self.agents.write();
        if let Some(entry) = agents.get(id) {
            if *entry.owner() != principal.owner {
                return Err(taken());
            }
            if let Some(resolver) = &self.resolver {
                resolver.check_claim(id)?;
            }
            return Ok((entry.clone(), false));
        }
        // Counted only for new ids: a linear look, which calls never pay for.
        if agents
            .values()
            .filter(|entry| *entry.owner() == principal.owner)
            .count()
            >= self.limits().agents_per_owner
        {
            let text = format!(
                "owner {} holds as many agents as one may; forget one that is not needed with `jackfield rm AGENT`",
                principal.owner
            );
            return Err(Failure::new(Reason::Busy, text));
        }
        let record = AgentRecord {
            id: id.clone(),
            owner: principal.owner.clone(),
            door: door.to_owned(),
            profile: profile.clone(),
            share: Share::default(),
            settings: Settings::default(),
            registered_at: Timestamp::now(),
            resume: None,
        };
        let entry = Arc::new(Entry::new(record, door, self.shared.clone()));
        agents.insert(id.clone(), entry.clone());
        drop(agents);
        if let Some(resolver) = &self.resolver {
            resolver.introduced(self, id);
        }
        Ok((entry, true))
    }
}
