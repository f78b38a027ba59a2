//! How agents come to the hub: whose an id is, and the connection that holds it.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Hub, stopping};
use jackfield_model::{AgentId, Failure, Owner, Reason};

use crate::{
    agent::{Link, Profile, Settings, Share},
    call::Serving,
    entry::Entry,
    principal::Principal,
    resume::{Coming, ResumeToken, hash},
    store::{AgentRecord, Receipt},
};

/// A connection that holds an agent. Dropping it means that the agent is gone.
#[derive(Debug)]
pub struct Attached {
    entry: Arc<Entry>,
    link: Arc<dyn Link>,
    /// Open calls of an earlier connection that this one goes on with, oldest first. [`Call::request`] is how the agent
    /// knows each, [`Call::received`] what need not be repeated, [`Serving::answers`] what may not have got through. One
    /// that the agent does not know and that has no reply ([`Call::has_reply`]) never arrived: its message is written
    /// again.
    ///
    /// [`Call::has_reply`]: crate::call::Call::has_reply
    /// [`Call::request`]: crate::call::Call::request
    /// [`Call::received`]: crate::call::Call::received
    pub adopted: Vec<Serving>,
    /// Resolves when the store has the agent, if there was something to write.
    pub saved: Option<Receipt>,
    resumes: bool,
    resumable: bool,
}

impl Attached {
    /// The agent's place.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Whether it goes on with what was open before, be it nothing.
    pub fn resumes(&self) -> bool {
        self.resumes
    }

    /// Whether the agent cannot be reached for now, although its connection still holds calls that may get through. It counts
    /// as offline meanwhile. Saying that it can be reached sends it the calls that wait.
    pub fn set_away(&self, is_away: bool) {
        self.entry.set_away(&self.link, is_away);
    }

    /// Whether open calls wait for the agent to come back when this connection is gone, and kept ones at the next hub
    /// when this one stops. Then drop this before the [`Serving`]s that the connection holds: they end their calls as
    /// long as the connection is attached.
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

impl Hub {
    /// Attaches an agent. The newest connection wins, if it proves the same owner. `resumes` takes over the open
    /// calls of the previous connection instead of failing them.
    pub fn attach(
        &self,
        principal: &Principal,
        id: &AgentId,
        profile: Profile,
        link: Arc<dyn Link>,
        resumes: bool,
    ) -> Result<Attached, Failure> {
        let coming = if resumes {
            Coming::Resuming
        } else {
            Coming::Anew
        };
        self.attach_as(principal, id, profile, link, coming)
    }

    /// Attaches an agent whose connection may be resumed by another one that shows the returned token. It resumes itself
    /// if `shown` is the token of the last connection; then the token stays. Any other token is as good as none.
    pub fn attach_resumable(
        &self,
        principal: &Principal,
        id: &AgentId,
        profile: Profile,
        link: Arc<dyn Link>,
        shown: Option<&str>,
    ) -> Result<(Attached, ResumeToken), Failure> {
        let fresh = ResumeToken::new()?;
        let coming = Coming::Resumable {
            shown: shown.map(hash),
            fresh: hash(fresh.expose()),
        };
        let attached = self.attach_as(principal, id, profile, link, coming)?;
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
        coming: Coming,
    ) -> Result<Attached, Failure> {
        if self.is_stopping() {
            return Err(stopping());
        }
        let claim = || self.claim(principal, id, &profile, link.door());
        let (entry, is_new) = match claim() {
            Err(full) if full.reason == Reason::Busy && self.make_room(&principal.owner) => claim(),
            claimed => claimed,
        }?;
        self.hold(entry, is_new, profile, link, coming)
    }

    /// Takes an id for an agent that the hub reaches by itself, before it does: the agent is listed, and calls may wait
    /// for it. The receipt is for what had to be written.
    pub fn reserve(
        &self,
        principal: &Principal,
        id: &AgentId,
        profile: &Profile,
        door: &'static str,
    ) -> Result<(Arc<Entry>, Option<Receipt>), Failure> {
        if self.is_stopping() {
            return Err(stopping());
        }
        let (entry, is_new) = self.claim(principal, id, profile, door)?;
        entry.set_reserved();
        let saved = if is_new {
            let saved = entry.save_to(&*self.0.store);
            Some(saved.ok_or_else(|| entry.removed())?)
        } else {
            None
        };
        Ok((entry, saved))
    }

    /// Attaches an agent at the place that was reserved for it. If that was given up meanwhile, no new one is made.
    pub fn attach_at(
        &self,
        entry: &Arc<Entry>,
        profile: Profile,
        link: Arc<dyn Link>,
    ) -> Result<Attached, Failure> {
        self.hold_at(entry, profile, link, Coming::Anew)
    }

    /// Attaches an agent at the place that was reserved for it, to go on with what is open there, such as calls of before
    /// a restart ([`Attached::adopted`], each with its [`Call::handle`]). The agent need not be there yet: it counts as
    /// offline until [`Attached::set_away`] says that it can be reached.
    ///
    /// [`Call::handle`]: crate::call::Call::handle
    pub fn come_back_at(
        &self,
        entry: &Arc<Entry>,
        profile: Profile,
        link: Arc<dyn Link>,
    ) -> Result<Attached, Failure> {
        self.hold_at(entry, profile, link, Coming::Away)
    }

    /// Gives a place that was reserved to a connection.
    fn hold_at(
        &self,
        entry: &Arc<Entry>,
        profile: Profile,
        link: Arc<dyn Link>,
        coming: Coming,
    ) -> Result<Attached, Failure> {
        if self.is_stopping() {
            return Err(stopping());
        }
        self.hold(entry.clone(), false, profile, link, coming)
    }

    /// Gives an agent's place to a connection.
    fn hold(
        &self,
        entry: Arc<Entry>,
        is_new: bool,
        profile: Profile,
        link: Arc<dyn Link>,
        coming: Coming,
    ) -> Result<Attached, Failure> {
        let taken = entry.take(&link, profile, coming)?;
        // `stop` has told all links that it found; it may have missed this one.
        if self.is_stopping() {
            entry.leave(&link, false);
            return Err(stopping());
        }
        let saved = if is_new || taken.changed {
            let Some(saved) = entry.save_to(&*self.0.store) else {
                entry.leave(&link, false);
                return Err(entry.removed());
            };
            Some(saved)
        } else {
            None
        };
        Ok(Attached {
            entry,
            link,
            adopted: taken.adopted,
            saved,
            resumes: taken.resumes,
            resumable: matches!(coming, Coming::Resumable { .. }),
        })
    }

    /// Takes what an attached agent now says of itself.
    pub fn refresh(&self, attached: &Attached, profile: Profile) -> Option<Receipt> {
        self.describe(&attached.entry, profile)
    }

    /// Takes what is now said of an agent, for a door that has reserved its id. Nothing if it is the same as before.
    pub fn describe(&self, entry: &Entry, profile: Profile) -> Option<Receipt> {
        let changed = entry.set_profile(profile);
        changed.then(|| entry.save_to(&*self.0.store)).flatten()
    }

    /// Forgets the agent of an owner's that is away for longest and that nobody would miss, for one that comes. False if
    /// there is none.
    fn make_room(&self, owner: &Owner) -> bool {
        let mut absent: Vec<_> = {
            let agents = self.0.agents.read();
            let theirs = agents.values().filter(|entry| entry.owner() == owner);
            let since = |entry: &Arc<Entry>| Some((entry.unmissed_since()?, entry.id.clone()));
            theirs.filter_map(since).collect()
        };
        absent.sort_unstable();
        // The receipt is nobody's: what is written next comes after it.
        let forgotten = absent
            .into_iter()
            .find(|(_, id)| self.forget_unmissed(id).is_some());
        if let Some((_, agent)) = &forgotten {
            tracing::info!(%agent, %owner, "forgotten to make room: it was away for longest");
        }
        forgotten.is_some()
    }

    /// The agent's place, made if the id is free. An id is its first owner's.
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
        let mut agents = self.0.agents.write();
        if let Some(entry) = agents.get(id) {
            if *entry.owner() != principal.owner {
                return Err(taken());
            }
            if let Some(resolver) = &self.0.resolver {
                resolver.check_claim(id)?;
            }
            return Ok((entry.clone(), false));
        }
        // Counted only when an id is new: a linear look there, nothing on the way of calls.
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
        let entry = Arc::new(Entry::new(record, door, self.0.shared.clone()));
        agents.insert(id.clone(), entry.clone());
        drop(agents);
        if let Some(resolver) = &self.0.resolver {
            resolver.introduced(self, id);
        }
        Ok((entry, true))
    }
}
