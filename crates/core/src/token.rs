//! [`Tokens`]: creates tokens, looks them up by their hash, and revokes them. Held in memory, written through to the store. The locks `by_hash` and `grants` are leaves, and are not held together.

use std::{fmt, sync::Arc, time::Duration};

use jackfield_model::{AgentId, Owner, TokenId};
use jiff::Timestamp;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{
    principal::{Grant, Pattern, Principal, Scopes, Who},
    store::{Store, StoreError, TokenRecord},
};

/// Prefix of a person's token, for people and scanners.
pub const PREFIX: &str = "jf_";

/// Time that a revoked or expired token stays known: its users are told so, and lists show it. After that it
/// is unknown.
const DEAD_KEPT: Duration = Duration::from_secs(30 * 86_400);
/// Largest number of dead tokens; the oldest are forgotten first. Every invite makes a token, so that there
/// may be many over time.
const DEAD_MAX: usize = 1000;

/// Prefix of a token that stands for one agent. Some published programs for agents take only tokens with this
/// prefix. The prefix is part of the token, as the other one is: a token has one spelling.
pub const AGENT_PREFIX: &str = "ah_";

/// A new token: shown once, then only its hash is known.
pub struct NewToken {
    /// Stored record of the token.
    pub record: TokenRecord,
    /// The token itself.
    pub secret: String,
}

impl fmt::Debug for NewToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewToken")
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

/// Result of looking up a token.
#[derive(Debug)]
pub enum TokenLookup {
    /// A valid token.
    Valid(Principal),
    /// A revoked or expired token.
    Dead,
    /// No token of this hub.
    Unknown,
}

#[derive(Debug)]
struct LiveToken {
    record: TokenRecord,
    grant: Arc<Grant>,
}

/// All tokens of the hub.
#[derive(Debug)]
pub struct Tokens {
    store: Arc<dyn Store>,
    by_hash: RwLock<FxHashMap<[u8; 32], LiveToken>>,
    /// Grants by the public ids of their tokens.
    grants: RwLock<FxHashMap<TokenId, Arc<Grant>>>,
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn new_secret(prefix: &str) -> Result<String, StoreError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok(bytes.iter().fold(prefix.to_owned(), |text, byte| {
        text + &format!("{byte:02x}")
    }))
}

impl LiveToken {
    fn new(record: TokenRecord) -> Self {
        // Scopes were checked when the token was made; unreadable scopes of an older or newer hub grant
        // nothing.
        let scopes = Scopes::parse(record.scopes.iter().map(String::as_str)).unwrap_or_default();
        let grant = Grant {
            token: Some(record.id),
            scopes,
            desk_of: record.agent.clone(),
            expires_at: record.expires_at,
            ..Grant::default()
        };
        if record.revoked_at.is_some() {
            grant.revoked.cancel();
        }
        Self {
            record,
            grant: Arc::new(grant),
        }
    }

    fn is_dead(&self, now: Timestamp) -> bool {
        self.died_at(now).is_some()
    }

    /// Returns since when the token is revoked or expired.
    fn died_at(&self, now: Timestamp) -> Option<Timestamp> {
        let expired = self.record.expires_at.filter(|at| *at <= now);
        self.record.revoked_at.into_iter().chain(expired).min()
    }

    /// Whether the token may be forgotten once it is dead. Tokens of admins may not: the secret may stand in
    /// the data directory, from where an unknown one is taken as a new token at the next start.
    fn may_be_forgotten(&self) -> bool {
        !self.grant.scopes.admin
    }
}

impl Tokens {
    /// Creates the registry from the stored tokens.
    pub fn new(store: Arc<dyn Store>, records: Vec<TokenRecord>) -> Self {
        let by_hash: FxHashMap<_, _> = records
            .into_iter()
            .map(|record| (record.hash, LiveToken::new(record)))
            .collect();
        let grants = by_hash
            .values()
            .map(|live| (live.record.id, live.grant.clone()))
            .collect();
        Self {
            store,
            by_hash: RwLock::new(by_hash),
            grants: RwLock::new(grants),
        }
    }

    /// Creates a token of an owner. It works once the store has it.
    pub async fn create(
        &self,
        name: String,
        owner: Owner,
        scopes: &Scopes,
        valid_for: Option<Duration>,
    ) -> Result<NewToken, StoreError> {
        self.add(new_secret(PREFIX)?, name, owner, scopes, valid_for)
            .await
    }

    /// Creates a token that stands for one agent of an owner, and for nothing else.
    pub async fn create_for(
        &self,
        agent: AgentId,
        name: String,
        owner: Owner,
    ) -> Result<NewToken, StoreError> {
        let scopes = Scopes {
            agent: vec![Pattern::new(agent.as_str())],
            ..Scopes::default()
        };
        let secret = new_secret(AGENT_PREFIX)?;
        self.keep(secret, name, owner, Some(agent), &scopes, None)
            .await
    }

    /// Adds a secret that was made elsewhere as a token.
    pub async fn add(
        &self,
        secret: String,
        name: String,
        owner: Owner,
        scopes: &Scopes,
        valid_for: Option<Duration>,
    ) -> Result<NewToken, StoreError> {
        self.keep(secret, name, owner, None, scopes, valid_for)
            .await
    }

    async fn keep(
        &self,
        secret: String,
        name: String,
        owner: Owner,
        agent: Option<AgentId>,
        scopes: &Scopes,
        valid_for: Option<Duration>,
    ) -> Result<NewToken, StoreError> {
        let created_at = Timestamp::now();
        let record = TokenRecord {
            id: TokenId::new(),
            name,
            owner,
            agent,
            hash: hash(&secret),
            scopes: scopes.to_texts(),
            created_at,
            // A span too long to be added counts as no end.
            expires_at: valid_for.and_then(|span| created_at.checked_add(span).ok()),
            revoked_at: None,
        };
        self.store.save_token(record.clone()).await?;
        let live = LiveToken::new(record.clone());
        self.grants.write().insert(record.id, live.grant.clone());
        self.by_hash.write().insert(record.hash, live);
        Ok(NewToken { record, secret })
    }

    /// Finds the principal of a token.
    pub fn look_up(&self, secret: &str) -> TokenLookup {
        let hash = hash(secret);
        let by_hash = self.by_hash.read();
        match by_hash.get(&hash) {
            Some(live) if bool::from(live.record.hash.ct_eq(&hash)) => {
                if live.is_dead(Timestamp::now()) {
                    return TokenLookup::Dead;
                }
                let agent = live.record.agent.clone();
                TokenLookup::Valid(Principal {
                    owner: live.record.owner.clone(),
                    who: agent.map_or(Who::Person, Who::Agent),
                    grant: live.grant.clone(),
                })
            }
            _ => TokenLookup::Unknown,
        }
    }

    /// Returns the grant of the token with this id. An unknown token counts as revoked.
    pub(crate) fn grant(&self, id: TokenId) -> Arc<Grant> {
        let known = self.grants.read().get(&id).cloned();
        known.unwrap_or_else(|| {
            let gone = Grant {
                token: Some(id),
                ..Grant::default()
            };
            gone.revoked.cancel();
            Arc::new(gone)
        })
    }

    /// Whether the token with this id still works; `None`, for things set up without a token, always does.
    pub(crate) fn still_allows(&self, id: Option<TokenId>) -> bool {
        id.is_none_or(|id| !self.grant(id).is_over())
    }

    /// Lists all tokens, oldest first.
    pub fn list(&self) -> Vec<TokenRecord> {
        let mut records: Vec<_> = self
            .by_hash
            .read()
            .values()
            .map(|live| live.record.clone())
            .collect();
        records.sort_by_key(|record| record.id);
        records
    }

    /// Revokes a token and closes its connections. Returns false if there is no such token.
    pub async fn revoke(&self, id: TokenId) -> Result<bool, StoreError> {
        let revoked = {
            let mut by_hash = self.by_hash.write();
            by_hash
                .values_mut()
                .find(|live| live.record.id == id)
                .map(|live| {
                    live.record.revoked_at.get_or_insert_with(Timestamp::now);
                    live.grant.revoked.cancel();
                    live.record.clone()
                })
        };
        let Some(record) = revoked else {
            return Ok(false);
        };
        self.store.save_token(record).await?;
        // Its callbacks end too: those that are not deleted here are not sent either.
        self.store.drop_callbacks(vec![id]).await?;
        Ok(true)
    }

    /// Closes the connections of expired tokens, drops their callbacks, and forgets tokens that are dead for
    /// long; the sweeper calls it.
    pub fn expire(&self, now: Timestamp) {
        let (mut expired, mut dead) = (Vec::new(), Vec::new());
        for live in self.by_hash.read().values() {
            let Some(died_at) = live.died_at(now) else {
                continue;
            };
            if !live.grant.revoked.is_cancelled() {
                live.grant.revoked.cancel();
                expired.push(live.record.id);
            }
            if live.may_be_forgotten() {
                dead.push((died_at, live.record.id, live.record.hash));
            }
        }
        if !expired.is_empty() {
            // Not awaited: none of them is sent, dropped or not.
            drop(self.store.drop_callbacks(expired));
        }
        let surplus = dead.len().saturating_sub(DEAD_MAX);
        let before = now.checked_sub(DEAD_KEPT).unwrap_or(Timestamp::MIN);
        if surplus == 0 && dead.iter().all(|(died_at, ..)| *died_at >= before) {
            return;
        }
        dead.sort_unstable();
        let is_old = |(at, (died_at, ..)): &(usize, &(Timestamp, TokenId, [u8; 32]))| {
            *at < surplus || *died_at < before
        };
        for (_, (_, id, hash)) in dead.iter().enumerate().take_while(is_old) {
            self.by_hash.write().remove(hash);
            self.grants.write().remove(id);
            // Not awaited: a token that is still stored at the next start is forgotten then.
            drop(self.store.remove_token(*id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryStore;

    fn tokens() -> Tokens {
        Tokens::new(Arc::new(MemoryStore::default()), Vec::new())
    }

    fn owner() -> Owner {
        Owner::parse("ann").unwrap()
    }

    #[tokio::test]
    async fn a_token_is_its_owners_until_it_is_revoked() {
        let tokens = tokens();
        let new = tokens
            .create(
                "laptop".into(),
                owner(),
                &Scopes::parse(["call:*"]).unwrap(),
                None,
            )
            .await
            .unwrap();
        let TokenLookup::Valid(principal) = tokens.look_up(&new.secret) else {
            panic!("not valid")
        };
        assert_eq!(principal.owner, owner());
        assert!(tokens.revoke(new.record.id).await.unwrap());
        assert!(matches!(tokens.look_up(&new.secret), TokenLookup::Dead));
        assert!(
            principal.grant.revoked.is_cancelled(),
            "open sockets are told"
        );
        assert!(!tokens.revoke(TokenId::new()).await.unwrap());
        assert!(matches!(tokens.look_up("jf_guess"), TokenLookup::Unknown));
    }

    #[tokio::test]
    async fn a_token_for_an_agent_is_that_agent_and_not_its_owner() {
        let tokens = tokens();
        let amy = AgentId::parse("amy").unwrap();
        let new = tokens
            .create_for(amy.clone(), "laptop".into(), owner())
            .await
            .unwrap();
        assert!(
            new.secret.starts_with("ah_"),
            "some published programs take no other"
        );
        let TokenLookup::Valid(principal) = tokens.look_up(&new.secret) else {
            panic!("not valid")
        };
        assert_eq!(principal.owner, owner());
        assert_eq!(principal.who, Who::Agent(amy.clone()));
        assert!(principal.may_register(&amy));
        assert!(!principal.may_register(&AgentId::parse("amy2").unwrap()));
        assert!(!principal.may_act_for("ann"));
        assert!(principal.decides_for(&amy, &owner()));
        let itself = principal.as_agent(amy.clone());
        assert!(
            !itself.decides_for(&amy, &owner()),
            "no agent approves for its owner"
        );
    }

    #[tokio::test]
    async fn an_expired_token_is_dead_and_its_sockets_close() {
        let tokens = tokens();
        let new = tokens
            .create(
                "short".into(),
                owner(),
                &Scopes::default(),
                Some(Duration::ZERO),
            )
            .await
            .unwrap();
        assert!(matches!(tokens.look_up(&new.secret), TokenLookup::Dead));
        tokens.expire(Timestamp::now());
        let by_hash = tokens.by_hash.read();
        assert!(by_hash[&new.record.hash].grant.revoked.is_cancelled());
    }

    #[tokio::test]
    async fn dead_tokens_are_forgotten_after_a_month_and_the_oldest_of_too_many_at_once() {
        let store = Arc::new(MemoryStore::default());
        let tokens = Tokens::new(store.clone(), Vec::new());
        let scopes = Scopes::default();
        let live = tokens.create("live".into(), owner(), &scopes, None);
        let live = live.await.unwrap();
        let all = Scopes::admin();
        let admin = tokens.create("admin".into(), owner(), &all, None);
        let admin = admin.await.unwrap();
        tokens.revoke(admin.record.id).await.unwrap();
        let mut dead = Vec::new();
        for _ in 0..=DEAD_MAX {
            let new = tokens.create("dead".into(), owner(), &scopes, None);
            let new = new.await.unwrap();
            tokens.revoke(new.record.id).await.unwrap();
            dead.push(new);
        }
        let (oldest, newest) = (&dead[0], &dead[DEAD_MAX]);
        let now = Timestamp::now();
        tokens.expire(now);
        assert!(matches!(
            tokens.look_up(&oldest.secret),
            TokenLookup::Unknown
        ));
        assert!(matches!(tokens.look_up(&newest.secret), TokenLookup::Dead));
        assert_eq!(tokens.list().len(), 2 + DEAD_MAX);
        tokens.expire(now.checked_add(DEAD_KEPT / 2).unwrap());
        assert_eq!(tokens.list().len(), 2 + DEAD_MAX, "not yet");
        tokens.expire(now.checked_add(2 * DEAD_KEPT).unwrap());
        assert!(matches!(
            tokens.look_up(&newest.secret),
            TokenLookup::Unknown
        ));
        assert!(matches!(
            tokens.look_up(&live.secret),
            TokenLookup::Valid(_)
        ));
        // Its secret may be the one that a start takes as an admin's if nobody knows it.
        assert!(matches!(tokens.look_up(&admin.secret), TokenLookup::Dead));
        let kept = store.load_tokens().await.unwrap();
        assert_eq!(kept, tokens.list());
        assert_eq!(kept.len(), 2);
    }

    #[tokio::test]
    async fn the_secret_is_neither_kept_nor_printed() {
        let tokens = tokens();
        let new = tokens
            .create("t".into(), owner(), &Scopes::default(), None)
            .await
            .unwrap();
        assert!(new.secret.len() == PREFIX.len() + 64);
        assert!(!format!("{new:?}{tokens:?}").contains(&new.secret[PREFIX.len()..]));
    }
}
