//! [`Follower`]: a subscriber of a task that is told every change of its state, in order.

use serde::{Deserialize, Serialize};

use super::Callback;
use jackfield_model::{Failure, Reason, TaskId, TokenId, id::MAX_PEER_ID};

/// A subscriber of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Follower {
    /// Id of the follower within the task and the kind of its callbacks, chosen by the principal that added
    /// it.
    pub id: String,
    /// Destination and form of its callbacks.
    pub callback: Callback,
}

impl Follower {
    /// Whether this is the follower with that id, of the protocol that writes callbacks of that kind.
    pub fn is_named(&self, kind: &str, id: &str) -> bool {
        self.callback.kind == kind && self.id == id
    }

    /// Whether both callbacks have the same content and destination, whoever asked for them.
    fn is_told_like(&self, other: &Self) -> bool {
        let (this, that) = (&self.callback, &other.callback);
        (&this.url, &this.data) == (&that.url, &that.data)
    }

    /// Sets the token that asked for these followers.
    pub(crate) fn sign(followers: &mut [Self], token: Option<TokenId>) {
        for follower in followers {
            follower.callback.token = token;
        }
    }

    /// Returns the outbox lane of the follower: callbacks of one lane are delivered in order.
    pub fn lane(&self, task: TaskId) -> String {
        format!("{task}/{}/{}", self.callback.kind, self.id)
    }
}

/// Adds followers to those of a task; a follower with a known id replaces the old one of its kind. Returns the
/// old ones that had another destination: their pending callbacks are dropped.
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
        let kind = &follower.callback.kind;
        let had = followers
            .iter_mut()
            .find(|had| had.is_named(kind, &follower.id));
        match had {
            // The same follower again: its pending callbacks stay.
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
            kind: "door".into(),
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
    fn followers_of_two_protocols_may_have_the_same_id() {
        let ours = follower("a", "x");
        let mut theirs = follower("a", "x");
        theirs.callback.kind = "telegraph".into();
        let mut followers = vec![theirs.clone()];
        assert_eq!(add(&mut followers, vec![ours.clone()], 2).unwrap(), []);
        assert_eq!(followers, [theirs.clone(), ours.clone()]);
        let task = TaskId::from(jackfield_model::CallId::new());
        assert_ne!(theirs.lane(task), ours.lane(task));
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
