//! Ids of agents, owners, calls, tasks, sessions and requests.
//!
//! Each id is a newtype, so that an id of one kind cannot be used as an id of another kind. The alphabet of
//! agent ids is checked only here.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// Maximum length of an [`AgentId`] or [`Owner`], in characters.
pub const MAX_NAME: usize = 128;
/// Maximum length of a peer-chosen id of a request, session, question or artifact, in bytes.
pub const MAX_PEER_ID: usize = 256;

/// Error for a text that is not a valid [`AgentId`] or [`Owner`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a valid id: use 1 to 128 of A-Z a-z 0-9 . _ : @ -, starting with a letter or digit"
)]
pub struct InvalidName {
    text: String,
}

/// Error for a text that is not a valid [`RequestId`] or [`SessionId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id chosen by a peer has 1 to 256 bytes and no control characters")]
pub struct InvalidPeerId;

fn check_name(text: &str) -> Result<Arc<str>, InvalidName> {
    let bytes = text.as_bytes();
    let ok = !bytes.is_empty()
        && bytes.len() <= MAX_NAME
        && bytes[0].is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"._:@-".contains(b));
    if !ok {
        let text = text.chars().take(MAX_NAME).collect();
        return Err(InvalidName { text });
    }
    // A UUID in upper case and the same UUID in lower case are one id.
    if bytes.len() == 36
        && bytes.iter().any(u8::is_ascii_uppercase)
        && Uuid::try_parse(text).is_ok()
    {
        return Ok(text.to_ascii_lowercase().into());
    }
    Ok(text.into())
}

/// Checks the length and the characters of a peer-chosen id.
pub fn check_peer_id(text: &str) -> Result<Arc<str>, InvalidPeerId> {
    let ok = !text.is_empty() && text.len() <= MAX_PEER_ID && !text.chars().any(char::is_control);
    if ok {
        Ok(text.into())
    } else {
        Err(InvalidPeerId)
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $check:path, $error:ty) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text` and creates the id.
            pub fn parse(text: &str) -> Result<Self, $error> {
                $check(text).map(Self)
            }

            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;
            fn from_str(text: &str) -> Result<Self, $error> {
                Self::parse(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

text_id!(
    /// Id of an agent: unique on a hub, safe in URLs and (once encoded) in NATS subjects.
    AgentId, check_name, InvalidName
);
text_id!(
    /// Name of the owner of agents and tokens.
    Owner, check_name, InvalidName
);
text_id!(
    /// Id of a request as its peers see it, scoped to (principal, agent).
    RequestId, check_peer_id, InvalidPeerId
);
text_id!(
    /// Id of a conversation, scoped to (principal, agent).
    SessionId, check_peer_id, InvalidPeerId
);

impl Owner {
    /// Returns the owner of all requests that arrive over loopback without a token.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// Returns the owner of all requests that the platform makes through the bridge's relay API.
    pub fn platform() -> Self {
        Self("platform".into())
    }
}

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for Owner {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some("^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"))
            .description(Some("Name of an owner."))
            .into()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for Owner {
    fn name() -> std::borrow::Cow<'static, str> {
        "Owner".into()
    }
}

/// Position of the home hub in the bytes of an id: the last two, which are the last four hex digits of its text.
const HOME_AT: usize = 14;
/// Home hub of ids that a hub outside a cluster creates (docs/decisions/0028-ids-with-a-home.md).
const STANDALONE: u16 = 0;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Creates a new id. Ids sort by their creation time.
            #[allow(clippy::new_without_default, reason = "a default id would suggest that there is one")]
            pub fn new() -> Self {
                let mut bytes = Uuid::now_v7().into_bytes();
                bytes[HOME_AT..].copy_from_slice(&STANDALONE.to_be_bytes());
                Self(Uuid::from_bytes(bytes))
            }

            /// Parses an id from its text.
            pub fn parse(text: &str) -> Option<Self> {
                Uuid::try_parse(text).ok().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

uuid_id!(
    /// Id of a call, assigned by the hub.
    CallId
);
uuid_id!(
    /// Id of a task, the durable record of one or more calls.
    TaskId
);
uuid_id!(
    /// Id of a token. The id is safe to show; the token itself is secret.
    TokenId
);

uuid_id!(
    /// Id of a callback in the outbox. The receiver uses the id to recognise a callback that it has received
    /// before.
    CallbackId
);

impl CallId {
    /// Returns the creation time of the call, which the id contains.
    pub fn created_at(self) -> Timestamp {
        let made = self.0.get_timestamp().map(|made| made.to_unix());
        let (seconds, nanos) = made.unwrap_or_default();
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let nanos = i32::try_from(nanos).unwrap_or(0);
        Timestamp::new(seconds, nanos).unwrap_or(Timestamp::MAX)
    }
}

impl From<CallId> for RequestId {
    fn from(id: CallId) -> Self {
        Self(id.to_string().into())
    }
}

impl From<CallId> for SessionId {
    fn from(id: CallId) -> Self {
        Self(id.to_string().into())
    }
}

/// The first call of a task and the task share one id, so that [`CallId`] and [`TaskId`] find each other.
impl From<CallId> for TaskId {
    fn from(id: CallId) -> Self {
        Self(id.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_the_alphabet_are_refused() {
        for bad in ["", ".a", "-a", "a b", "a/b", "ä", "a\n", &"x".repeat(129)] {
            assert!(AgentId::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "7", "agent-1", "a.b_c:d@e-f", &"x".repeat(128)] {
            assert_eq!(AgentId::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn new_ids_differ_sort_by_time_and_have_no_home_yet() {
        let ids: Vec<_> = (0..10_000).map(|_| TaskId::new()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        for id in ids {
            assert_eq!(id.0.get_version_num(), 7, "{id}");
            assert!(id.to_string().ends_with("0000"), "{id}");
        }
    }

    #[test]
    fn uuids_are_one_id_in_either_case_and_other_names_keep_theirs() {
        let upper = "0192F0C1-7B2A-7ABC-8DEF-0123456789AB";
        assert_eq!(
            AgentId::parse(upper).unwrap().as_str(),
            upper.to_ascii_lowercase()
        );
        assert_eq!(AgentId::parse("Agent-One").unwrap().as_str(), "Agent-One");
    }

    #[test]
    fn peers_choose_ids_freely_but_not_without_bound() {
        assert!(RequestId::parse("any text / you like ü").is_ok());
        assert!(RequestId::parse("").is_err());
        assert!(RequestId::parse("a\u{0}b").is_err());
        assert!(RequestId::parse(&"x".repeat(257)).is_err());
    }
}
