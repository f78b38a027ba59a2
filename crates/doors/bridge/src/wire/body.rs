//! The bodies of the relay's HTTP requests, as platforms send them.
//!
//! A body is read whole before anything is judged: each field remembers whether it is there and right, and the door
//! asks for it when its turn comes, so that checks run in the order the original hub made them. Unknown fields are
//! ignored, and an empty text counts as a missing one. Only fields given twice and values nested too deeply are refused
//! at once.

use std::borrow::Cow;

use jackfield_wire::{
    bridge::Attachment,
    json,
    read::{Borrowed, Misread, check_fields_depth, read, read_part},
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A field of a body: absent, right, or wrong.
#[derive(Debug, Clone)]
pub(crate) struct Field<T> {
    name: &'static str,
    /// What it is; the path of a mistake begins inside the field.
    value: Result<Option<T>, Misread>,
}

impl<T> Default for Field<T> {
    /// An absent field.
    fn default() -> Self {
        Field {
            name: "",
            value: Ok(None),
        }
    }
}

impl<T> Field<T> {
    /// The value, if there is one and it is right.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref().ok().and_then(Option::as_ref)
    }

    /// The value, which may be absent but not wrong.
    pub(crate) fn optional(&self) -> Result<Option<&T>, Misread> {
        let value = self.value.as_ref().map(Option::as_ref);
        value.map_err(|misread| misread.clone().within(self.name))
    }

    /// The value, which must be there.
    pub(crate) fn required(&self) -> Result<&T, Misread> {
        self.optional()?.ok_or_else(|| Misread::missing(self.name))
    }

    /// Reads a value, of which `null` is none.
    fn read<'de, D: Deserializer<'de>>(
        deserializer: D,
        read: impl FnOnce(&'de RawValue) -> Result<Option<T>, Misread>,
    ) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let value = match json::is_null(raw) {
            true => Ok(None),
            false => read(raw),
        };
        Ok(Field { name: "", value })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Field<Cow<'a, str>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Field::read(deserializer, |raw| {
            let Borrowed(text) = read_part(raw)?;
            Ok(Some(text).filter(|text| !text.is_empty()))
        })
    }
}

impl<'de> Deserialize<'de> for Field<bool> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Field::read(deserializer, read_part)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Field<Vec<Attachment<'a>>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Field::read(deserializer, read_part)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Field<&'a RawValue> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Field::read(deserializer, |raw| Ok(Some(raw)))
    }
}

/// Defines a body, whose fields know their names.
macro_rules! body {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        pub(crate) struct $name<'a> {
            $($(#[$field_doc])* pub(crate) $field: Field<$type>,)*
        }

        impl<'a> $name<'a> {
            /// Reads a body, whose fields may be nested `max_depth` levels deep.
            pub(crate) fn parse(body: &'a [u8], max_depth: usize) -> Result<Self, Misread> {
                let text = text_of(body)?;
                check_fields_depth(text, max_depth)?;
                let mut body: Self = read(text, usize::MAX)?;
                $(body.$field.name = stringify!($field);)*
                Ok(body)
            }
        }
    };
}

fn text_of(body: &[u8]) -> Result<&str, Misread> {
    std::str::from_utf8(body).map_err(|_| Misread::invalid("", "is not valid UTF-8"))
}

body! {
    /// The body of `POST /api/relay`.
    RelayRequest {
        /// Who is asked.
        agent_id: Cow<'a, str>,
        /// The conversation.
        session_id: Cow<'a, str>,
        /// The id under which the answer is known.
        request_id: Cow<'a, str>,
        /// What is asked.
        content: Cow<'a, str>,
        /// The files that go with it.
        attachments: Vec<Attachment<'a>>,
        /// The client whose workspace is used; see [`is_safe_client_id`](jackfield_wire::bridge::is_safe_client_id).
        client_id: Cow<'a, str>,
        /// Whether files are wanted.
        with_files: bool,
        /// `stream` or `async`; absent means `stream`.
        mode: Cow<'a, str>,
        /// The platform's own id of the task; nothing depends on it.
        task_id: Cow<'a, str>,
        /// Where the result of an async request goes.
        callback_url: Cow<'a, str>,
        /// The title of the conversation, repeated in the callback.
        session_title: Cow<'a, str>,
        /// What the user said, repeated in the callback.
        user_message: Cow<'a, str>,
        /// Whether the answer outlives its reader (ours).
        keep: bool,
        /// How long a kept request waits for its agent (ours): seconds, or a text such as `8h`, still unread.
        wait_online: &'a RawValue,
    }
}

impl RelayRequest<'_> {
    /// Whether the result goes to a callback; `async` without an address to call streams, as it always did.
    pub(crate) fn is_async(&self) -> bool {
        self.mode.get().is_some_and(|mode| mode == "async") && self.callback_url.get().is_some()
    }
}

body! {
    /// The body of `POST /api/a2a/call`.
    A2aCall {
        /// Who calls; only for the record, and never believed for more.
        caller_agent_id: Cow<'a, str>,
        /// Who is called.
        target_agent_id: Cow<'a, str>,
        /// What it is asked.
        task_description: Cow<'a, str>,
    }
}

body! {
    /// The body of `POST /api/cancel`.
    CancelRequest {
        /// Who is to stop.
        agent_id: Cow<'a, str>,
        /// The conversation.
        session_id: Cow<'a, str>,
        /// The request; absent means whatever the conversation is at.
        request_id: Cow<'a, str>,
    }
}

body! {
    /// The body of `POST /api/disconnect`.
    DisconnectRequest {
        /// Whose connection is to be closed.
        agent_id: Cow<'a, str>,
    }
}

body! {
    /// The body of `POST /api/agents-by-token`.
    AgentsByToken {
        /// The SHA-256 of the token, in hex.
        token_hash: Cow<'a, str>,
    }
}

body! {
    /// The body of `POST /api/rtc-signal/:agentId`.
    RtcSignalRequest {
        /// The transfer.
        transfer_id: Cow<'a, str>,
        /// What it is; `poll` only fetches what the agent said.
        signal_type: Cow<'a, str>,
        /// Its content, a string in practice.
        payload: &'a RawValue,
        /// The client whose files are meant; see [`is_safe_client_id`](jackfield_wire::bridge::is_safe_client_id).
        client_id: Cow<'a, str>,
        /// The relays to use, passed on as they are.
        ice_servers: &'a RawValue,
    }
}
