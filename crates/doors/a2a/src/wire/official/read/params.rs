//! Readers for the params of all operations except push configs.

use jackfield_wire::{
    json,
    read::{self, FieldError, or_default},
    time,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::{
        A2aVersion, MAX_PAGE,
        error::A2aError,
        fields::{CountField, Integer, RawObject, here, read_params, word, word_in},
        model::{
            A2aState, Configuration, GetParams, ListParams, Message, PushConfig, SendParams,
            TaskParams,
        },
        shape::WireForm,
    },
    item::state,
    message::OpenMessage,
    push::OpenPushConfig,
};

/// Configuration fields of version 0.3 with a different name in 1.0.
const OLD_NAMES: [(&str, &str); 2] = [
    ("blocking", "returnImmediately, which says the opposite"),
    ("pushNotificationConfig", "taskPushNotificationConfig"),
];

/// Params of a send.
#[derive(Debug, Deserialize)]
struct SendIn<'a> {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(borrow)]
    message: Option<OpenMessage<'a>>,
    /// Name of the message in REST of 0.3.
    #[serde(borrow)]
    request: Option<&'a RawValue>,
    #[serde(borrow)]
    configuration: Option<&'a RawValue>,
    metadata: Option<RawObject>,
}

/// Options that a version of the conformance kit writes beside the message in REST, outside of the
/// configuration.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OuterConfigurationIn {
    #[serde(
        alias = "accepted_output_modes",
        default,
        deserialize_with = "or_default"
    )]
    accepted_output_modes: Vec<String>,
    #[serde(alias = "history_length")]
    history_length: Option<CountField>,
    blocking: Option<bool>,
}

/// Configuration of a send in 0.3.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigurationV03<'a> {
    #[serde(
        alias = "accepted_output_modes",
        default,
        deserialize_with = "or_default"
    )]
    accepted_output_modes: Vec<String>,
    #[serde(alias = "history_length")]
    history_length: Option<CountField>,
    blocking: Option<bool>,
    #[serde(alias = "push_notification_config", borrow)]
    push_notification_config: Option<OpenPushConfig<'a>>,
    /// Name of the push config in REST.
    #[serde(alias = "push_notification", borrow)]
    push_notification: Option<OpenPushConfig<'a>>,
}

/// Configuration of a send in 1.0.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigurationV10<'a> {
    #[serde(
        alias = "accepted_output_modes",
        default,
        deserialize_with = "or_default"
    )]
    accepted_output_modes: Vec<String>,
    #[serde(alias = "history_length")]
    history_length: Option<CountField>,
    #[serde(alias = "return_immediately")]
    return_immediately: Option<bool>,
    #[serde(alias = "task_push_notification_config", borrow)]
    task_push_notification_config: Option<OpenPushConfig<'a>>,
    /// Field of 0.3. An ignored field would go unnoticed until the difference matters, so the field is
    /// refused.
    #[serde(borrow)]
    blocking: Option<&'a RawValue>,
    /// Field of 0.3, refused for the same reason.
    #[serde(alias = "push_notification_config", borrow)]
    push_notification_config: Option<&'a RawValue>,
}

/// Params for fetching a task.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GetIn<'a> {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    id: Option<String>,
    /// Name of the id for some callers of 0.3.
    #[serde(alias = "task_id", borrow)]
    task_id: Option<&'a RawValue>,
    #[serde(alias = "history_length")]
    history_length: Option<CountField>,
}

/// Params with only a task.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskParamsIn<'a> {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    id: Option<String>,
    /// Name of the id for some callers of 0.3.
    #[serde(alias = "task_id", borrow)]
    task_id: Option<&'a RawValue>,
    metadata: Option<RawObject>,
}

/// Body of a request whose address names the task.
#[derive(Debug, Deserialize)]
struct TaskBodyIn {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    metadata: Option<RawObject>,
}

/// Params for listing tasks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListParamsIn<'a> {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(alias = "context_id", default, deserialize_with = "word")]
    context_id: Option<String>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(alias = "page_size")]
    page_size: Option<Integer>,
    #[serde(alias = "page_token", default, deserialize_with = "word")]
    page_token: Option<String>,
    #[serde(alias = "history_length")]
    history_length: Option<CountField>,
    #[serde(alias = "status_timestamp_after")]
    status_timestamp_after: Option<String>,
    /// Name of the time filter in the conformance kit of 0.3.
    #[serde(alias = "last_updated_after")]
    last_updated_after: Option<Integer>,
    #[serde(alias = "include_artifacts")]
    include_artifacts: Option<bool>,
}

/// Params with only a tenant.
#[derive(Debug, Deserialize)]
struct TenantIn {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
}

impl A2aVersion {
    /// Reads the [`SendParams`] of a send, plain or streaming.
    pub(crate) fn read_send(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<SendParams, A2aError> {
        SendParams::read(self.shape(), params, max_depth)
    }

    /// Reads the [`GetParams`] for fetching a task.
    pub(crate) fn read_get(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<GetParams, A2aError> {
        let params: GetIn<'_> = read_params(params, max_depth)?;
        Ok(GetParams {
            id: task_id(self, params.id, params.task_id)?,
            tenant: params.tenant,
            history_length: params.history_length.map(|CountField(count)| count),
        })
    }

    /// Reads the [`ListParams`] for listing tasks.
    pub(crate) fn read_list(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<ListParams, A2aError> {
        let params: ListParamsIn<'_> = read_params(params, max_depth)?;
        let in_field = |name: &'static str| move |misread: FieldError| misread.within(name);
        // An empty name counts as absent.
        let status = params.status.filter(|raw| raw.get() != "\"\"");
        let state = status.map(|raw| {
            self.check_state_name(json::str_of(raw).as_deref())?;
            state(self, raw)
        });
        let state = state.transpose().map_err(in_field("status"))?;
        let after = params.status_timestamp_after;
        let after = after.map(|text| since(&text)).transpose();
        let after = after.map_err(in_field("statusTimestampAfter"))?;
        let updated_after = params.last_updated_after;
        let updated_after = updated_after.map(|Integer(millis)| since_millis(Some(millis)));
        let updated_after = updated_after
            .transpose()
            .map_err(in_field("lastUpdatedAfter"))?;
        let size = params.page_size;
        let size = size.map(|Integer(size)| page_size(Some(size))).transpose();
        Ok(ListParams {
            tenant: params.tenant,
            context_id: params.context_id,
            state: filter(self, state),
            page_size: size.map_err(in_field("pageSize"))?,
            page_token: params.page_token,
            history_length: params.history_length.map(|CountField(count)| count),
            status_timestamp_after: after.or(updated_after),
            include_artifacts: params.include_artifacts.unwrap_or(false),
        })
    }

    /// Refuses a state name of 0.3 in version 1.0.
    pub(super) fn check_state_name(self, name: Option<&str>) -> Result<(), FieldError> {
        let Some(state) = name.and_then(A2aState::from_name) else {
            return Ok(());
        };
        let new = state.name(Self::V10);
        if self == Self::V10 && name != Some(new) {
            return Err(here(format!("is of version 0.3; write {new}")));
        }
        Ok(())
    }

    /// Reads params with only a task, for cancel and subscribe.
    pub(crate) fn read_task(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<TaskParams, A2aError> {
        let params: TaskParamsIn<'_> = read_params(params, max_depth)?;
        Ok(TaskParams {
            id: task_id(self, params.id, params.task_id)?,
            tenant: params.tenant,
            metadata: params.metadata.map(|RawObject(raw)| raw),
        })
    }

    /// Reads params with only a task, if the address names the task; the body is optional.
    pub(crate) fn task_from_body(
        self,
        task: &str,
        body: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<TaskParams, A2aError> {
        let body: TaskBodyIn = read_params(body, max_depth)?;
        Ok(TaskParams {
            tenant: body.tenant,
            id: task.to_owned(),
            metadata: body.metadata.map(|RawObject(raw)| raw),
        })
    }

    /// Reads params with only a tenant.
    pub(crate) fn read_tenant(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<Option<String>, A2aError> {
        let params: TenantIn = read_params(params, max_depth)?;
        Ok(params.tenant)
    }
}

impl SendParams {
    pub(in crate::wire::official) fn read(
        shape: WireForm,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<Self, A2aError> {
        let version = shape.version();
        let given: SendIn<'_> = read_params(params, max_depth)?;
        let (name, message) = match (given.message, given.request) {
            (None, Some(request)) if version == A2aVersion::V03 => {
                ("request", read::read_part(request))
            }
            (message, _) => ("message", message.ok_or_else(|| FieldError::missing(""))),
        };
        let message = message.and_then(|message| Message::read(shape, message));
        let message = message.map_err(|misread| misread.within(name))?;
        let configuration = given
            .configuration
            .map(|raw| Configuration::read(version, raw));
        let configuration = configuration.transpose();
        let configuration = configuration.map_err(|misread| misread.within("configuration"))?;
        let mut configuration = configuration.unwrap_or_default();
        if shape.is_proto() {
            configuration.add_outer(read_params(params, max_depth)?);
        }
        Ok(Self {
            tenant: given.tenant,
            message,
            configuration,
            metadata: given.metadata.map(|RawObject(raw)| raw),
        })
    }
}

impl Configuration {
    /// Adds the options that are written beside the message.
    fn add_outer(&mut self, outer: OuterConfigurationIn) {
        if self.accepted_output_modes.is_empty() {
            self.accepted_output_modes = outer.accepted_output_modes;
        }
        let history_length = outer.history_length.map(|CountField(count)| count);
        self.history_length = self.history_length.or(history_length);
        let return_immediately = outer.blocking.map(|blocking| !blocking);
        self.return_immediately = self.return_immediately.or(return_immediately);
    }

    fn read(version: A2aVersion, raw: &RawValue) -> Result<Self, FieldError> {
        match version {
            A2aVersion::V03 => Self::of_v03(read::read_part(raw)?),
            A2aVersion::V10 => Self::of_v10(read::read_part(raw)?),
        }
    }

    fn of_v03(given: ConfigurationV03<'_>) -> Result<Self, FieldError> {
        let read = |name: &str, config: Option<OpenPushConfig<'_>>| {
            let config = config.map(|config| PushConfig::read_inner(A2aVersion::V03, config));
            config.transpose().map_err(|misread| misread.within(name))
        };
        let push = read("pushNotificationConfig", given.push_notification_config)?;
        let named_otherwise = read("pushNotification", given.push_notification)?;
        Ok(Self {
            accepted_output_modes: given.accepted_output_modes,
            history_length: given.history_length.map(|CountField(count)| count),
            return_immediately: given.blocking.map(|blocking| !blocking),
            push: push.or(named_otherwise),
        })
    }

    fn of_v10(given: ConfigurationV10<'_>) -> Result<Self, FieldError> {
        let is_given = [
            given.blocking.is_some(),
            given.push_notification_config.is_some(),
        ];
        for (is_given, (old, new)) in is_given.into_iter().zip(OLD_NAMES) {
            if is_given {
                let why = format!("is of version 0.3; write {new}");
                return Err(FieldError::invalid(old, why));
            }
        }
        let push = given.task_push_notification_config;
        let push = push.map(|config| PushConfig::read_inner(A2aVersion::V10, config));
        let push = push.transpose();
        Ok(Self {
            accepted_output_modes: given.accepted_output_modes,
            history_length: given.history_length.map(|CountField(count)| count),
            return_immediately: given.return_immediately,
            push: push.map_err(|misread| misread.within("taskPushNotificationConfig"))?,
        })
    }
}

/// Returns the task id, which some callers of 0.3 send as `taskId`.
fn task_id(
    version: A2aVersion,
    id: Option<String>,
    in_full: Option<&RawValue>,
) -> Result<String, FieldError> {
    let id = match (id, in_full) {
        (None, Some(raw)) if version == A2aVersion::V03 => word_in("taskId", Some(raw))?,
        (id, _) => id.filter(|id| !id.is_empty()),
    };
    id.ok_or_else(|| FieldError::missing("id"))
}

/// Returns the state to filter by. In 1.0 the unspecified state means no filter.
pub(super) fn filter(version: A2aVersion, state: Option<A2aState>) -> Option<A2aState> {
    state.filter(|state| !(version == A2aVersion::V10 && *state == A2aState::Unknown))
}

/// Checks the number of tasks per page.
pub(super) fn page_size(number: Option<i64>) -> Result<usize, FieldError> {
    let size = number.and_then(|number| usize::try_from(number).ok());
    size.filter(|size| (1..=MAX_PAGE).contains(size))
        .ok_or_else(|| here(format!("must be an integer from 1 to {MAX_PAGE}")))
}

/// Parses a time, converted to UTC.
pub(super) fn since(text: &str) -> Result<String, FieldError> {
    time::to_utc(text).ok_or_else(|| here("must be a time in RFC 3339"))
}

/// Converts a time from milliseconds since 1970.
pub(super) fn since_millis(number: Option<i64>) -> Result<String, FieldError> {
    number
        .and_then(time::from_millis)
        .ok_or_else(|| here("must be a time in milliseconds since 1970"))
}
