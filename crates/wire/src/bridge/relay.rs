//! The bodies of the relay's HTTP requests, as platforms send them; answers are in [`response`], events in [`sse`].
//!
//! A body is read whole before anything is judged: each field remembers whether it is there and right, and the door
//! asks for it when its turn comes, so that checks run in the order the original hub made them. Unknown fields are
//! ignored, and an empty text counts as a missing one.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{Attachment, Fault, Limits, Malformed};
use crate::frame::no_object;
use crate::json::{self, Members};

pub mod response;
pub mod sse;

/// A field of a body: absent, right, or wrong.
#[derive(Debug, Clone)]
pub struct Field<T> {
    name: &'static str,
    /// What it is; the error is what is wrong, with the path to the place inside the field.
    value: Result<Option<T>, (String, String)>,
}

impl<T> Field<T> {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The value, if there is one and it is right.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref().ok().and_then(Option::as_ref)
    }

    /// The value, which may be absent but not wrong.
    pub fn optional(&self) -> Result<Option<&T>, Malformed> {
        match &self.value {
            Ok(value) => Ok(value.as_ref()),
            Err((path, problem)) => {
                let field = format!("{}{path}", self.name);
                Err(Malformed::in_body(Some(&field), Fault::Invalid, problem))
            }
        }
    }

    /// The value, which must be there.
    pub fn required(&self) -> Result<&T, Malformed> {
        self.optional()?
            .ok_or_else(|| Malformed::in_body(Some(self.name), Fault::Invalid, "is missing"))
    }
}

/// A text in a body.
pub type TextField<'a> = Field<Cow<'a, str>>;

/// The members of a body.
struct Body<'a> {
    members: Members<'a>,
    limits: Limits,
}

impl<'a> Body<'a> {
    fn parse(body: &'a [u8], limits: &Limits) -> Result<Self, Malformed> {
        let members = serde_json::from_slice(body)
            .map_err(|error| Malformed::in_body(None, Fault::Syntax, no_object("body", &error)))?;
        Ok(Body {
            members,
            limits: *limits,
        })
    }

    fn field<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&'a RawValue) -> Result<Option<T>, (String, String)>,
    ) -> Field<T> {
        let value = match self.members.get(name) {
            None => Ok(None),
            Some(raw) if json::depth_exceeds(raw.get(), self.limits.max_depth) => {
                Err((String::new(), self.limits.too_deep()))
            }
            Some(raw) => read(raw),
        };
        Field { name, value }
    }

    fn text(&self, name: &'static str) -> TextField<'a> {
        self.field(name, |raw| match json::str_of(raw) {
            Some(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            None => Err((String::new(), "must be a string".into())),
        })
    }

    fn flag(&self, name: &'static str) -> Field<bool> {
        self.field(name, |raw| match raw.get() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err((String::new(), "must be a boolean".into())),
        })
    }

    fn raw(&self, name: &'static str) -> Field<&'a RawValue> {
        self.field(name, |raw| Ok(Some(raw)))
    }

    fn attachments(&self) -> Field<Vec<Attachment<'a>>> {
        self.field("attachments", |raw| {
            Attachment::read_list(raw)
                .map(Some)
                .map_err(|(path, problem)| (path, problem.into()))
        })
    }
}

/// The body of `POST /api/relay`.
#[derive(Debug, Clone)]
pub struct RelayRequest<'a> {
    /// Who is asked.
    pub agent_id: TextField<'a>,
    /// The conversation.
    pub session_id: TextField<'a>,
    /// The id under which the answer is known.
    pub request_id: TextField<'a>,
    /// What is asked.
    pub content: TextField<'a>,
    /// The files that go with it.
    pub attachments: Field<Vec<Attachment<'a>>>,
    /// The client whose workspace is used; see [`is_safe_client_id`](super::is_safe_client_id).
    pub client_id: TextField<'a>,
    /// Whether files are wanted.
    pub with_files: Field<bool>,
    /// `stream` or `async`; absent means `stream`.
    pub mode: TextField<'a>,
    /// The platform's own id of the task; nothing depends on it.
    pub task_id: TextField<'a>,
    /// Where the result of an async request goes.
    pub callback_url: TextField<'a>,
    /// The title of the conversation, repeated in the callback.
    pub session_title: TextField<'a>,
    /// What the user said, repeated in the callback.
    pub user_message: TextField<'a>,
    /// Whether the answer outlives its reader (ours).
    pub keep: Field<bool>,
    /// How long a kept request waits for its agent (ours): seconds, or a text such as `8h`, still unread.
    pub wait_online: Field<&'a RawValue>,
}

impl<'a> RelayRequest<'a> {
    /// Reads a body; the only mistake that counts already is one of syntax.
    pub fn parse(body: &'a [u8], limits: &Limits) -> Result<Self, Malformed> {
        let body = Body::parse(body, limits)?;
        Ok(RelayRequest {
            agent_id: body.text("agent_id"),
            session_id: body.text("session_id"),
            request_id: body.text("request_id"),
            content: body.text("content"),
            attachments: body.attachments(),
            client_id: body.text("client_id"),
            with_files: body.flag("with_files"),
            mode: body.text("mode"),
            task_id: body.text("task_id"),
            callback_url: body.text("callback_url"),
            session_title: body.text("session_title"),
            user_message: body.text("user_message"),
            keep: body.flag("keep"),
            wait_online: body.raw("wait_online"),
        })
    }

    /// Whether the result goes to a callback; `async` without an address to call streams, as it always did.
    pub fn is_async(&self) -> bool {
        self.mode.get().is_some_and(|mode| mode == "async") && self.callback_url.get().is_some()
    }
}

/// Defines a body all of whose fields are read by the named methods of [`Body`].
macro_rules! body {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $read:ident -> $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name<'a> {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl<'a> $name<'a> {
            /// Reads a body; the only mistake that counts already is one of syntax.
            pub fn parse(body: &'a [u8], limits: &Limits) -> Result<Self, Malformed> {
                let body = Body::parse(body, limits)?;
                Ok($name {
                    $($field: body.$read(stringify!($field)),)*
                })
            }
        }
    };
}

body! {
    /// The body of `POST /api/a2a/call`.
    A2aCall {
        /// Who calls; only for the record, and never believed for more.
        caller_agent_id: text -> TextField<'a>,
        /// Who is called.
        target_agent_id: text -> TextField<'a>,
        /// What it is asked.
        task_description: text -> TextField<'a>,
    }
}

body! {
    /// The body of `POST /api/cancel`.
    CancelRequest {
        /// Who is to stop.
        agent_id: text -> TextField<'a>,
        /// The conversation.
        session_id: text -> TextField<'a>,
        /// The request; absent means whatever the conversation is at.
        request_id: text -> TextField<'a>,
    }
}

body! {
    /// The body of `POST /api/disconnect`.
    DisconnectRequest {
        /// Whose connection is to be closed.
        agent_id: text -> TextField<'a>,
    }
}

body! {
    /// The body of `POST /api/agents-by-token`.
    AgentsByToken {
        /// The SHA-256 of the token, in hex.
        token_hash: text -> TextField<'a>,
    }
}

body! {
    /// The body of `POST /api/rtc-signal/:agentId`.
    RtcSignalRequest {
        /// The transfer.
        transfer_id: text -> TextField<'a>,
        /// What it is; `poll` only fetches what the agent said.
        signal_type: text -> TextField<'a>,
        /// Its content, a string in practice.
        payload: raw -> Field<&'a RawValue>,
        /// The client whose files are meant; see [`is_safe_client_id`](super::is_safe_client_id).
        client_id: text -> TextField<'a>,
        /// The relays to use, passed on as they are.
        ice_servers: raw -> Field<&'a RawValue>,
    }
}
