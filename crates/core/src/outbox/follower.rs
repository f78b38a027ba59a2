//! Those who follow a task: told of every change of its state, not only of its end, each in order.

use serde::{Deserialize, Serialize};

use super::Callback;
use jackfield_model::{Failure, Reason, TaskId, TokenId, id::MAX_PEER_ID};

/// Somebody who follows a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Follower {
    /// Its name within the task, as whoever added it chose.
    pub id: String,
    /// Whom to tell, and how.
    pub callback: Callback,
}

impl Follower {
    /// Whether it is told the same at the same place, whoever asked for it.
    fn is_told_like(&self, other: &Self) -> bool {
        let (this, that) = (&self.callback, &other.callback);
        self.id == other.id
            && (&this.url, &this.kind, &this.data) == (&that.url, &that.kind, &that.data)
    }

    /// Notes whose token asked for these followers.
    pub(crate) fn sign(followers: &mut [Self], token: Option<TokenId>) {
        for follower in followers {
            follower.callback.token = token;
        }
    }

    /// The lane of the outbox in which it is told: what is in one lane is delivered in order.
    pub fn lane(&self, task: TaskId) -> String {
        format!("{task}/{}", self.id)
    }
}

/// Adds followers to those that a task has; one with the same id takes the place of the old one. Returns those whose
/// place was taken by somebody else: what they have not heard yet, they shall not hear.
pub(crate) fn add(
    followers: &mut Vec<Follower>,
    new: Vec<Follower>,
    limit: usize,
) -> Result<Vec<Follower>, Failure> {
    let mut replaced = Vec::new();
    for follower in new {
        if follower.id.is_empty() || follower.id.len() > MAX_PEER_ID {
            let text = format!("the id of a follower has 1 to {MAX_PEER_ID} bytes");
            return Err(Failure::new(Reason::Invalid, text));
        }
        match followers.iter_mut().find(|had| had.id == follower.id) {
            // The same one, asked for again: what it has not heard yet, it shall hear.
            Some(had) if had.is_told_like(&follower) => *had = follower,
            Some(had) => replaced.push(std::mem::replace(had, follower)),
            None => followers.push(follower),
        }
    }
    if followers.len() > limit {
        let text = format!("a task may have at most {limit} followers");
        return Err(Failure::new(Reason::Invalid, text));
    }
    Ok(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follower(id: &str, url: &str) -> Follower {
        let callback = Callback {
            url: url.into(),
            kind: "a2a".into(),
            data: None,
            token: None,
        };
        Follower {
            id: id.into(),
            callback,
        }
    }

    #[test]
    fn the_same_id_takes_the_place_of_the_old_one() {
        let mut followers = vec![follower("a", "https://a.example"), follower("b", "x")];
        let same = follower("b", "x");
        let other = follower("a", "https://other.example");
        let new = vec![other.clone(), same.clone(), follower("c", "y")];
        let replaced = add(&mut followers, new, 3).unwrap();
        assert_eq!(replaced, [follower("a", "https://a.example")]);
        assert_eq!(followers, [other, same, follower("c", "y")]);
    }

    #[test]
    fn there_are_not_more_than_may_be_and_each_has_a_name() {
        let mut followers = vec![follower("a", "x")];
        let more = |id: &str| vec![follower(id, "x")];
        let refused = add(&mut followers, more("b"), 1).unwrap_err();
        assert_eq!(refused.reason, Reason::Invalid);
        assert!(refused.text.contains("at most 1"), "{refused}");
        for id in [String::new(), "x".repeat(MAX_PEER_ID + 1)] {
            assert!(add(&mut Vec::new(), more(&id), 9).is_err());
        }
    }
}
