//! The bodies of the relay's HTTP requests, as sent by platforms.
//!
//! A body is read whole before any check: each [`BodyField`] remembers whether its value is present and valid,
//! and the door asks for the value in turn, so that checks run in the order of the original hub. Unknown
//! fields are ignored, and an empty text counts as missing. Only fields given twice and values nested too
//! deeply are refused at once.

use std::borrow::Cow;

use jackfield_wire::{
    bridge::Attachment,
    json,
    read::{BorrowedText, FieldError, check_fields_depth, read, read_part},
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A field of a body: absent, valid or invalid.
#[derive(Debug, Clone)]
pub(crate) struct BodyField<T> {
    name: &'static str,
    /// Value of the field; the path of an error begins inside the field.
    value: Result<Option<T>, FieldError>,
}

impl<T> Default for BodyField<T> {
    /// Creates an absent field.
    fn default() -> Self {
        BodyField {
            name: "",
            value: Ok(None),
        }
    }
}

impl<T> BodyField<T> {
    /// Returns the value, if present and valid.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref().ok().and_then(Option::as_ref)
    }

    /// Returns the value, which may be absent but not invalid.
    pub(crate) fn optional(&self) -> Result<Option<&T>, FieldError> {
        let value = self.value.as_ref().map(Option::as_ref);
        value.map_err(|misread| misread.clone().within(self.name))
    }

    /// Returns the value of a required field.
    pub(crate) fn required(&self) -> Result<&T, FieldError> {
        self.optional()?
            .ok_or_else(|| FieldError::missing(self.name))
    }

    /// Reads a value; `null` counts as absent.
    fn read<'de, D: Deserializer<'de>>(
        deserializer: D,
        read: impl FnOnce(&'de RawValue) -> Result<Option<T>, FieldError>,
    ) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let value = match json::is_null(raw) {
            true => Ok(None),
            false => read(raw),
        };
        Ok(BodyField { name: "", value })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for BodyField<Cow<'a, str>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BodyField::read(deserializer, |raw| {
            let BorrowedText(text) = read_part(raw)?;
            Ok(Some(text).filter(|text| !text.is_empty()))
        })
    }
}

impl<'de> Deserialize<'de> for BodyField<bool> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BodyField::read(deserializer, read_part)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for BodyField<Vec<Attachment<'a>>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BodyField::read(deserializer, read_part)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for BodyField<&'a RawValue> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BodyField::read(deserializer, |raw| Ok(Some(raw)))
    }
}

/// Defines a body whose fields know their names.
macro_rules! body {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        pub(crate) struct $name<'a> {
            $($(#[$field_doc])* pub(crate) $field: BodyField<$type>,)*
        }

        impl<'a> $name<'a> {
            /// Reads a body whose fields may be nested `max_depth` levels deep.
            pub(crate) fn parse(body: &'a [u8], max_depth: usize) -> Result<Self, FieldError> {
                let text = text_of(body)?;
                check_fields_depth(text, max_depth)?;
                let mut body: Self = read(text, usize::MAX)?;
                $(body.$field.name = stringify!($field);)*
                Ok(body)
            }
        }
    };
}

fn text_of(body: &[u8]) -> Result<&str, FieldError> {
    std::str::from_utf8(body).map_err(|_| FieldError::invalid("", "is not valid UTF-8"))
}

body! {
    /// The body of `POST /api/relay`.
    RelayRequest {
        /// Id of the agent.
        agent_id: Cow<'a, str>,
        /// Session id.
        session_id: Cow<'a, str>,
        /// Id by which the answer is known.
        request_id: Cow<'a, str>,
        /// Text of the message.
        content: Cow<'a, str>,
        /// Files attached to the message.
        attachments: Vec<Attachment<'a>>,
        /// Client whose workspace is used; see
        /// [`is_safe_client_id`](jackfield_wire::bridge::is_safe_client_id).
        client_id: Cow<'a, str>,
        /// Whether files are wanted.
        with_files: bool,
        /// `stream` or `async`; absent means `stream`.
        mode: Cow<'a, str>,
        /// Id of the task on the platform; ignored by the hub.
        task_id: Cow<'a, str>,
        /// URL for the result of an async request.
        callback_url: Cow<'a, str>,
        /// Title of the session, repeated in the callback.
        session_title: Cow<'a, str>,
        /// Message of the user, repeated in the callback.
        user_message: Cow<'a, str>,
        /// Whether the answer outlives its reader (an addition of this hub).
        keep: bool,
        /// How long a durable request waits for its agent (an addition of this hub): seconds, or a text such
        /// as `8h`, still unread.
        wait_online: &'a RawValue,
    }
}

impl RelayRequest<'_> {
    /// Returns whether the result goes to a callback. `async` without a callback URL streams, as in the
    /// original hub.
    pub(crate) fn is_async(&self) -> bool {
        self.mode.get().is_some_and(|mode| mode == "async") && self.callback_url.get().is_some()
    }
}

body! {
    /// The body of `POST /api/a2a/call`.
    A2aCall {
        /// Id of the calling agent; only for the record, and never a proof of identity.
        caller_agent_id: Cow<'a, str>,
        /// Id of the called agent.
        target_agent_id: Cow<'a, str>,
        /// Text of the request.
        task_description: Cow<'a, str>,
    }
}

body! {
    /// The body of `POST /api/cancel`.
    CancelRequest {
        /// Id of the agent.
        agent_id: Cow<'a, str>,
        /// Session id.
        session_id: Cow<'a, str>,
        /// Request id; absent means all open requests of the session.
        request_id: Cow<'a, str>,
    }
}

body! {
    /// The body of `POST /api/disconnect`.
    DisconnectRequest {
        /// Id of the agent to disconnect.
        agent_id: Cow<'a, str>,
    }
}

body! {
    /// The body of `POST /api/agents-by-token`.
    AgentsByToken {
        /// SHA-256 of the token, in hex.
        token_hash: Cow<'a, str>,
    }
}

body! {
    /// The body of `POST /api/rtc-signal/:agentId`.
    RtcSignalRequest {
        /// Id of the transfer.
        transfer_id: Cow<'a, str>,
        /// Type of the signal; `poll` only fetches the agent's signals.
        signal_type: Cow<'a, str>,
        /// Content of the signal, a string in practice.
        payload: &'a RawValue,
        /// Client whose files are meant; see
        /// [`is_safe_client_id`](jackfield_wire::bridge::is_safe_client_id).
        client_id: Cow<'a, str>,
        /// ICE servers to use, passed on unchanged.
        ice_servers: &'a RawValue,
    }
}
