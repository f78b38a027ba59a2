//! [`Shares`]: a total that several owners share fairly.
//!
//! For memory, connections and anything else that one owner could use up at the expense of the others.
//! Nothing is reserved: a single owner may use half of the total, and the more is used, the less each owner
//! may add. The rule is the dynamic threshold of shared switch buffers: an owner may hold at most as much as
//! is free. With `n` greedy owners each ends up with `1/(n + 1)` of the total, and as much stays free for the
//! next one.

use std::{hash::Hash, sync::Arc};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Whether an owner that holds `held` would, with `more`, hold at most what is free. For totals that are
/// counted elsewhere too, such as [`Budget`](crate::budget::Budget).
pub(crate) fn is_fair(free: usize, held: usize, more: usize) -> bool {
    held.saturating_add(more) <= free
}

/// A total, and the amount that each owner holds.
#[derive(Debug)]
pub struct Shares<K> {
    total: usize,
    /// How many times the free amount an owner may hold.
    appetite: usize,
    state: Mutex<State<K>>,
}

#[derive(Debug)]
struct State<K> {
    used: usize,
    /// Owners without an amount are not in it, so that the map does not grow with every owner that ever came.
    by_owner: FxHashMap<K, usize>,
}

impl<K: Eq + Hash + Clone> Shares<K> {
    /// Creates a total of which nothing is used.
    pub fn new(total: usize) -> Arc<Self> {
        Self::with_appetite(total, 1)
    }

    /// Creates a total of which an owner may hold `appetite` times the free amount, so that a single owner
    /// gets `appetite / (appetite + 1)` of it. For totals of which one owner rightly uses more than half.
    pub fn with_appetite(total: usize, appetite: usize) -> Arc<Self> {
        let state = State {
            used: 0,
            by_owner: FxHashMap::default(),
        };
        Arc::new(Self {
            total,
            appetite,
            state: Mutex::new(state),
        })
    }

    /// Returns the amount that all owners hold together.
    pub fn used(&self) -> usize {
        self.state.lock().used
    }

    /// Returns the amount that `owner` holds.
    pub fn used_by(&self, owner: &K) -> usize {
        let state = self.state.lock();
        state.by_owner.get(owner).copied().unwrap_or(0)
    }

    /// Takes `amount` for `owner`, until the returned [`Share`] is dropped. `None` if that is more than its fair share.
    pub fn take(self: &Arc<Self>, owner: K, amount: usize) -> Option<Share<K>> {
        let mut share = Share {
            shares: self.clone(),
            owner,
            amount: 0,
        };
        share.grow(amount).then_some(share)
    }

    fn add(&self, owner: &K, amount: usize) -> bool {
        let mut state = self.state.lock();
        let held = state.by_owner.get(owner).copied().unwrap_or(0);
        let free = self.total.saturating_sub(state.used);
        if amount > free || !is_fair(free.saturating_mul(self.appetite), held, amount) {
            return false;
        }
        state.used += amount;
        *state.by_owner.entry(owner.clone()).or_default() += amount;
        true
    }

    fn give_back(&self, owner: &K, amount: usize) {
        let mut state = self.state.lock();
        state.used -= amount;
        if let Some(held) = state.by_owner.get_mut(owner) {
            *held -= amount;
            if *held == 0 {
                state.by_owner.remove(owner);
            }
        }
    }
}

/// The amount that one owner holds of a [`Shares`]; returned on drop.
#[derive(Debug)]
pub struct Share<K: Eq + Hash + Clone> {
    shares: Arc<Shares<K>>,
    owner: K,
    amount: usize,
}

impl<K: Eq + Hash + Clone> Share<K> {
    /// Returns the owner.
    pub fn owner(&self) -> &K {
        &self.owner
    }

    /// Returns the amount.
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Takes `more`. Takes nothing and returns `false` if that is more than the owner's fair share.
    pub fn grow(&mut self, more: usize) -> bool {
        if more == 0 {
            return true;
        }
        let is_taken = self.shares.add(&self.owner, more);
        if is_taken {
            self.amount += more;
        }
        is_taken
    }

    /// Returns all but `amount`; does nothing if the share is smaller.
    pub fn shrink_to(&mut self, amount: usize) {
        let surplus = self.amount.saturating_sub(amount);
        if surplus > 0 {
            self.shares.give_back(&self.owner, surplus);
            self.amount = amount;
        }
    }
}

impl<K: Eq + Hash + Clone> Drop for Share<K> {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_alone_gets_half_and_leaves_room_for_the_next_ones() {
        let shares = Shares::new(120);
        let mut greedy = shares.take("greedy", 0).unwrap();
        while greedy.grow(1) {}
        assert_eq!(greedy.amount(), 60);
        let mut second = shares.take("second", 0).unwrap();
        while second.grow(1) {}
        assert_eq!(second.amount(), 30);
        assert!(shares.take("third", 15).is_some());
    }

    #[test]
    fn an_owner_with_more_appetite_gets_more_and_still_leaves_room() {
        let shares = Shares::with_appetite(180, 2);
        let mut greedy = shares.take("greedy", 0).unwrap();
        while greedy.grow(1) {}
        assert_eq!(greedy.amount(), 120);
        let mut second = shares.take("second", 0).unwrap();
        while second.grow(1) {}
        assert_eq!(second.amount(), 40);
        assert!(shares.take("third", 21).is_none());
        assert!(shares.take("third", 20).is_some());
    }

    #[test]
    fn greedy_owners_that_come_together_get_the_same() {
        let shares = Shares::new(400);
        let mut held: Vec<_> = ["a", "b", "c"]
            .map(|owner| shares.take(owner, 0).unwrap())
            .into();
        for _ in 0..400 {
            for share in &mut held {
                share.grow(1);
            }
        }
        let amounts: Vec<_> = held.iter().map(Share::amount).collect();
        assert_eq!(amounts, [100, 100, 100]);
    }

    #[test]
    fn several_shares_of_one_owner_count_together() {
        let shares = Shares::new(100);
        let first = shares.take("a", 30).unwrap();
        let _second = shares.take("a", 20).unwrap();
        assert!(shares.take("a", 1).is_none());
        drop(first);
        assert_eq!((shares.used(), shares.used_by(&"a")), (20, 20));
        assert!(shares.take("a", 1).is_some());
    }

    #[test]
    fn what_is_given_back_is_free_and_its_owner_forgotten() {
        let shares = Shares::new(100);
        let mut share = shares.take("a", 40).unwrap();
        share.shrink_to(10);
        share.shrink_to(20);
        assert_eq!((share.amount(), shares.used()), (10, 10));
        drop(share);
        assert_eq!(shares.used(), 0);
        assert!(shares.state.lock().by_owner.is_empty());
    }
}
