//! The params of the operations, those of push configs excepted.

use jackfield_wire::{json, time};
use serde_json::value::RawValue;

use super::{
    super::{
        Version,
        error::Fault,
        fields::{Fields, Wrong, number, text},
        model::{
            Configuration, GetParams, ListParams, Message, PushConfig, SendParams, State,
            TaskParams,
        },
        shape::Shape,
    },
    item::state,
};

/// What version 0.3 has in a configuration under another name, and its name in 1.0.
const OLD_NAMES: [(&str, &str); 2] = [
    ("blocking", "returnImmediately, which says the opposite"),
    ("pushNotificationConfig", "taskPushNotificationConfig"),
];

/// The most tasks of a page.
const MAX_PAGE: usize = 100;

impl Version {
    /// Reads the params of a send, plain or streaming.
    pub(crate) fn read_send(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<SendParams, Fault> {
        SendParams::read(self.shape(), params, max_depth)
    }

    /// Reads the params of a look at a task.
    pub(crate) fn read_get(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<GetParams, Fault> {
        let fields = Fields::of_params(params, max_depth)?;
        Ok(GetParams {
            tenant: fields.word("tenant")?,
            id: task_id(self, &fields)?,
            history_length: fields.count("historyLength")?,
        })
    }

    /// Reads the params of a look for tasks.
    pub(crate) fn read_list(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<ListParams, Fault> {
        let fields = Fields::of_params(params, max_depth)?;
        let state = match fields.raw("status")? {
            // Nothing is said.
            Some(raw) if raw.get() == "\"\"" => None,
            _ => fields.read("status", |raw| {
                self.check_state_name(json::str_of(raw).as_deref())?;
                state(self, raw)
            })?,
        };
        let after = fields.read("statusTimestampAfter", |raw| since(&text(raw)?))?;
        // What the conformance kit of 0.3 calls it.
        let updated_after = fields.read("lastUpdatedAfter", |raw| since_millis(number(raw)))?;
        Ok(ListParams {
            tenant: fields.word("tenant")?,
            context_id: fields.word("contextId")?,
            state: filter(self, state),
            page_size: fields.read("pageSize", |raw| page_size(number(raw)))?,
            page_token: fields.word("pageToken")?,
            history_length: fields.count("historyLength")?,
            status_timestamp_after: after.or(updated_after),
            include_artifacts: fields.flag("includeArtifacts")?.unwrap_or(false),
        })
    }

    /// Refuses the name that a state has only in 0.3, where 1.0 is spoken.
    pub(super) fn check_state_name(self, name: Option<&str>) -> Result<(), Wrong> {
        let Some(state) = name.and_then(State::from_name) else {
            return Ok(());
        };
        let new = state.name(Self::V10);
        if self == Self::V10 && name != Some(new) {
            return Err(Wrong::here(format!("is of version 0.3; write {new}")));
        }
        Ok(())
    }

    /// Reads the params of what only names a task: cancel and subscribe.
    pub(crate) fn read_task(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<TaskParams, Fault> {
        let fields = Fields::of_params(params, max_depth)?;
        Ok(TaskParams {
            tenant: fields.word("tenant")?,
            id: task_id(self, &fields)?,
            metadata: fields.metadata("metadata")?,
        })
    }

    /// The same where the task is named in the address, and there need not be a body.
    pub(crate) fn task_from_body(
        self,
        task: &str,
        body: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<TaskParams, Fault> {
        let fields = Fields::of_params(body, max_depth)?;
        Ok(TaskParams {
            tenant: fields.word("tenant")?,
            id: task.to_owned(),
            metadata: fields.metadata("metadata")?,
        })
    }

    /// Reads the params of an operation that takes none but the tenant.
    pub(crate) fn read_tenant(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<Option<String>, Fault> {
        Ok(Fields::of_params(params, max_depth)?.word("tenant")?)
    }
}

impl SendParams {
    pub(in crate::wire::official) fn read(
        shape: Shape,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<Self, Fault> {
        let version = shape.version();
        let fields = Fields::of_params(params, max_depth)?;
        let message = |raw| Message::read(shape, raw);
        // What REST of 0.3 may call it.
        let has_request = version == Version::V03 && fields.raw("message")?.is_none();
        let message = if has_request && fields.raw("request")?.is_some() {
            fields.require("request", message)?
        } else {
            fields.require("message", message)?
        };
        let configuration = |raw| Configuration::read(version, raw);
        let mut configuration = fields
            .read("configuration", configuration)?
            .unwrap_or_default();
        if shape.is_proto() {
            configuration.add_outer(&fields)?;
        }
        Ok(Self {
            tenant: fields.word("tenant")?,
            message,
            configuration,
            metadata: fields.metadata("metadata")?,
        })
    }
}

impl Configuration {
    /// Takes what one version of the conformance kit writes beside the message in REST instead of in here.
    fn add_outer(&mut self, outer: &Fields<'_>) -> Result<(), Wrong> {
        let modes = outer.texts("acceptedOutputModes")?;
        if self.accepted_output_modes.is_empty() {
            self.accepted_output_modes = modes;
        }
        let history_length = outer.count("historyLength")?;
        self.history_length = self.history_length.or(history_length);
        let return_immediately = outer.flag("blocking")?.map(|blocking| !blocking);
        self.return_immediately = self.return_immediately.or(return_immediately);
        Ok(())
    }

    fn read(version: Version, raw: &RawValue) -> Result<Self, Wrong> {
        let fields = Fields::of(raw)?;
        if version == Version::V10 {
            // Nobody would notice that these are ignored until it matters.
            for (old, new) in OLD_NAMES {
                if fields.raw(old)?.is_some() {
                    return Err(Wrong::at(old, format!("is of version 0.3; write {new}")));
                }
            }
        }
        let push = |name| fields.read(name, |raw| PushConfig::read_inner(version, raw));
        let (return_immediately, push) = match version {
            Version::V03 => (
                fields.flag("blocking")?.map(|blocking| !blocking),
                // The second name is that of REST.
                push("pushNotificationConfig")?.or(push("pushNotification")?),
            ),
            Version::V10 => (
                fields.flag("returnImmediately")?,
                push("taskPushNotificationConfig")?,
            ),
        };
        Ok(Self {
            accepted_output_modes: fields.texts("acceptedOutputModes")?,
            history_length: fields.count("historyLength")?,
            return_immediately,
            push,
        })
    }
}

/// The id of a task; in 0.3 some callers write it in full.
fn task_id(version: Version, fields: &Fields<'_>) -> Result<String, Wrong> {
    if version == Version::V03
        && fields.raw("id")?.is_none()
        && let Some(id) = fields.word("taskId")?
    {
        return Ok(id);
    }
    fields.require_word("id")
}

/// The state that tasks are looked for by. In 1.0 the unspecified state is as good as none.
pub(super) fn filter(version: Version, state: Option<State>) -> Option<State> {
    state.filter(|state| !(version == Version::V10 && *state == State::Unknown))
}

/// How many tasks a page may have.
pub(super) fn page_size(number: Option<i64>) -> Result<usize, Wrong> {
    let size = number.and_then(|number| usize::try_from(number).ok());
    size.filter(|size| (1..=MAX_PAGE).contains(size))
        .ok_or_else(|| Wrong::here(format!("must be an integer from 1 to {MAX_PAGE}")))
}

/// A point in time, in UTC.
pub(super) fn since(text: &str) -> Result<String, Wrong> {
    time::to_utc(text).ok_or_else(|| Wrong::here("must be a time in RFC 3339"))
}

/// A point in time, in milliseconds since 1970.
pub(super) fn since_millis(number: Option<i64>) -> Result<String, Wrong> {
    number
        .and_then(time::from_millis)
        .ok_or_else(|| Wrong::here("must be a time in milliseconds since 1970"))
}
