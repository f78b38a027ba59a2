//! JSON of values that protobuf writes otherwise than serde: names of enums, times, bytes, objects.

use std::borrow::Cow;

use prost_types::Struct;
use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

/// Names of the states of a task, by their numbers.
pub(super) const STATES: [&str; 9] = [
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELLED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];
/// Names of the roles, by their numbers.
pub(super) const ROLES: [&str; 3] = ["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"];

/// Returns whether JSON leaves a value out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Writes the name of a number. A number without a name stays a number, which no reader takes for a name.
fn write_name<S: Serializer>(
    names: &[&'static str],
    number: i32,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let name = usize::try_from(number).ok().and_then(|at| names.get(at));
    match name {
        Some(name) => serializer.serialize_str(name),
        None => serializer.serialize_i32(number),
    }
}

fn read_name<'de, D: Deserializer<'de>>(
    names: &[&'static str],
    deserializer: D,
) -> Result<i32, D::Error> {
    let name = Cow::<'_, str>::deserialize(deserializer)?;
    let number = names.iter().position(|known| *known == name);
    let number = number.and_then(|at| i32::try_from(at).ok());
    number.ok_or_else(|| D::Error::custom(format!("no such name: {name}")))
}

/// State of a task, by its name.
pub(super) mod state {
    use super::{Deserializer, STATES, Serializer, read_name, write_name};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(crate) fn serialize<S: Serializer>(state: &i32, serializer: S) -> Result<S::Ok, S::Error> {
        write_name(&STATES, *state, serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
        read_name(&STATES, deserializer)
    }
}

/// Role of a message's sender, by its name.
pub(super) mod role {
    use super::{Deserializer, ROLES, Serializer, read_name, write_name};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(crate) fn serialize<S: Serializer>(role: &i32, serializer: S) -> Result<S::Ok, S::Error> {
        write_name(&ROLES, *role, serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
        read_name(&ROLES, deserializer)
    }
}

/// Object of any shape.
pub(super) mod object {
    use super::{Deserialize, Deserializer, Serializer, Struct};
    use crate::official::grpc::json::{JsonValue, ObjectAsJson};
    use serde::Serialize as _;

    #[expect(clippy::ref_option, reason = "as serde calls it")]
    pub(crate) fn serialize<S: Serializer>(
        object: &Option<Struct>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match object {
            Some(object) => ObjectAsJson(object).serialize(serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Struct>, D::Error> {
        Ok(JsonValue::deserialize(deserializer)?.into_struct())
    }
}

/// Time as RFC 3339.
pub(super) mod time {
    use super::{Cow, Deserialize, Deserializer, Serializer};
    use crate::official::grpc::translate::{read, write};
    use prost_types::Timestamp;

    #[expect(clippy::ref_option, reason = "as serde calls it")]
    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time.as_ref().and_then(|time| read::written(*time)) {
            Some(time) => serializer.serialize_str(&time),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let time = Option::<Cow<'_, str>>::deserialize(deserializer)?;
        Ok(time.and_then(|time| write::time(&time)))
    }
}

/// Bytes as base64.
pub(super) mod base64 {
    use super::{Cow, Deserialize, Deserializer, Serializer};
    use crate::official::grpc::translate::write;
    use base64::{Engine as _, engine::general_purpose::STANDARD};

    pub(crate) fn serialize<S: Serializer>(
        bytes: &Vec<u8>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        Ok(write::bytes(&text))
    }
}
