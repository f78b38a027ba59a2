//! [`Budget`]: the memory of all pipes and of the messages of open calls. Pipes lease memory in steps, so that the shared counters are touched rarely. Owners share the budget by the rule of [`Shares`](crate::shares::Shares): each owner has an account of its own, which its pipes hold.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicUsize, Ordering},
};

use jackfield_model::{Failure, Owner, Reason};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::shares::is_fair;

/// First lease of a pipe; a growing pipe doubles its lease up to [`STEP_MAX`].
const STEP_MIN: usize = 4 << 10;
/// Largest step of a lease.
const STEP_MAX: usize = 64 << 10;

/// The bytes that all pipes and messages may hold, or the account of one owner in such a budget.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    total: usize,
    /// Accounts of owners that hold something. A leaf lock.
    accounts: Mutex<FxHashMap<Owner, Weak<Self>>>,
    /// For an account: its budget and its owner.
    whole: Option<(Arc<Self>, Owner)>,
}

impl Budget {
    /// Creates a budget of `total` bytes.
    pub fn new(total: usize) -> Self {
        Self {
            used: AtomicUsize::new(0),
            total,
            accounts: Mutex::default(),
            whole: None,
        }
    }

    /// Returns the account of an owner, which counts in the budget too. The same account as long as it is
    /// held.
    pub fn account(self: &Arc<Self>, owner: &Owner) -> Arc<Self> {
        let mut accounts = self.accounts.lock();
        if let Some(account) = accounts.get(owner).and_then(Weak::upgrade) {
            return account;
        }
        let mut account = Self::new(self.total);
        account.whole = Some((self.clone(), owner.clone()));
        let account = Arc::new(account);
        accounts.insert(owner.clone(), Arc::downgrade(&account));
        account
    }

    /// Whether `more` bytes are a fair share. Two simultaneous requests may both succeed: the excess is
    /// small, and the next request pays for it.
    fn allows(&self, more: usize) -> bool {
        let all = match &self.whole {
            Some((whole, _)) => whole.used(),
            None => 0,
        };
        is_fair(self.total.saturating_sub(all), self.used(), more)
    }

    /// Whether a pipe may grow by `more` bytes within its owner's share. Always true without owners: open
    /// calls go on.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.whole.is_none() || self.allows(more)
    }

    /// Whether the owner should slow down: with twice as much, it would hold more than its share.
    pub(crate) fn is_tight(&self) -> bool {
        self.whole.is_some() && !self.allows(self.used())
    }

    /// Fails if something new is not a fair share.
    pub fn check(&self) -> Result<(), Failure> {
        self.check_for(1)
    }

    fn check_for(&self, bytes: usize) -> Result<(), Failure> {
        if self.allows(bytes.max(1)) {
            return Ok(());
        }
        let text = match &self.whole {
            Some((_, owner)) if self.used() > 0 => format!(
                "the calls of owner {owner} hold as much unread data and as many messages as they may; read the answers, or try again later"
            ),
            _ => {
                "the hub holds as much unread data and as many messages as it may; try again later"
                    .to_owned()
            }
        };
        Err(Failure::new(Reason::Busy, text))
    }

    /// Returns the leased bytes.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Adjusts a lease to the bytes that a pipe holds now. Shrinks only when much is left over, to avoid
    /// flapping, or when the pipe is empty, so that idle calls hold no unused memory. Returns true if the
    /// lease has grown.
    pub(crate) fn adjust(&self, lease: &mut usize, bytes: usize) -> bool {
        if bytes > *lease {
            let step = (*lease).clamp(STEP_MIN, STEP_MAX);
            let more = (bytes - *lease).div_ceil(step) * step;
            self.add(more);
            *lease += more;
            return true;
        }
        let left = match bytes {
            0 => STEP_MIN,
            bytes if *lease > bytes + 2 * STEP_MAX => bytes + STEP_MAX,
            _ => return false,
        };
        if *lease > left {
            self.give_back(*lease - left);
            *lease = left;
        }
        false
    }

    /// Returns by how much a lease must grow for a pipe of so many bytes. The first step is free: an accepted
    /// call may always send its first words.
    pub(crate) fn growth(lease: usize, bytes: usize) -> usize {
        bytes.saturating_sub(lease.max(STEP_MIN))
    }

    /// Takes bytes for the lifetime of the returned [`BudgetLease`], if they are a fair share.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Result<BudgetLease, Failure> {
        self.check_for(bytes)?;
        Ok(self.hold(bytes))
    }

    /// Takes bytes like [`Budget::take`], however much is leased already.
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize) -> BudgetLease {
        self.add(bytes);
        BudgetLease {
            budget: self.clone(),
            bytes,
        }
    }

    fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        if let Some((whole, _)) = &self.whole {
            whole.add(bytes);
        }
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some((whole, _)) = &self.whole {
            whole.give_back(bytes);
        }
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        if let Some((whole, owner)) = &self.whole {
            let mut accounts = whole.accounts.lock();
            // A new account may have taken its place already.
            if accounts.get(owner).is_some_and(|it| it.strong_count() == 0) {
                accounts.remove(owner);
            }
        }
    }
}

/// Bytes of a [`Budget`], returned on drop.
#[derive(Debug)]
pub(crate) struct BudgetLease {
    budget: Arc<Budget>,
    bytes: usize,
}

impl BudgetLease {
    /// Returns the budget or account of the bytes.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }
}

impl Drop for BudgetLease {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::parse(name).unwrap()
    }

    #[test]
    fn a_greedy_owner_leaves_room_for_the_others() {
        let budget = Arc::new(Budget::new(120));
        let greedy = budget.account(&owner("greedy"));
        let mut held: Vec<_> = std::iter::from_fn(|| greedy.take(1).ok()).collect();
        assert_eq!((held.len(), budget.used()), (60, 60));
        let second = budget.account(&owner("second"));
        held.extend(std::iter::from_fn(|| second.take(1).ok()));
        assert_eq!(budget.used(), 90);
        let refused = greedy.take(1).unwrap_err();
        assert_eq!(refused.reason, Reason::Busy);
        assert!(refused.text.contains("owner greedy"), "{refused}");
        drop(held);
        assert_eq!((greedy.used(), budget.used()), (0, 0));
    }

    #[test]
    fn an_owner_has_one_account_and_none_once_nobody_holds_it() {
        let budget = Arc::new(Budget::new(100));
        let first = budget.account(&owner("ann"));
        assert!(Arc::ptr_eq(&first, &budget.account(&owner("ann"))));
        drop(first);
        assert!(budget.accounts.lock().is_empty());
    }
}
