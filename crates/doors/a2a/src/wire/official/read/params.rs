//! The params of the operations, those of push configs excepted.

use jackfield_wire::{
    json,
    read::{self, Misread, or_default},
    time,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::{
        Version,
        error::Fault,
        fields::{Count, Integer, Object, here, read_params, word, word_in},
        model::{
            Configuration, GetParams, ListParams, Message, PushConfig, SendParams, State,
            TaskParams,
        },
        shape::Shape,
    },
    item::state,
    message::OpenMessage,
    push::OpenPushConfig,
};

/// What version 0.3 has in a configuration under another name, and its name in 1.0.
const OLD_NAMES: [(&str, &str); 2] = [
    ("blocking", "returnImmediately, which says the opposite"),
    ("pushNotificationConfig", "taskPushNotificationConfig"),
];

/// The most tasks of a page.
const MAX_PAGE: usize = 100;

/// The params of a send.
#[derive(Debug, Deserialize)]
struct SendIn<'a> {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(borrow)]
    message: Option<OpenMessage<'a>>,
    /// What REST of 0.3 may call the message.
    #[serde(borrow)]
    request: Option<&'a RawValue>,
    #[serde(borrow)]
    configuration: Option<&'a RawValue>,
    metadata: Option<Object>,
}

/// What one version of the conformance kit writes beside the message in REST instead of into the configuration.
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
    history_length: Option<Count>,
    blocking: Option<bool>,
}

/// The configuration of a send in 0.3.
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
    history_length: Option<Count>,
    blocking: Option<bool>,
    #[serde(alias = "push_notification_config", borrow)]
    push_notification_config: Option<OpenPushConfig<'a>>,
    /// What REST calls it.
    #[serde(alias = "push_notification", borrow)]
    push_notification: Option<OpenPushConfig<'a>>,
}

/// The configuration of a send in 1.0.
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
    history_length: Option<Count>,
    #[serde(alias = "return_immediately")]
    return_immediately: Option<bool>,
    #[serde(alias = "task_push_notification_config", borrow)]
    task_push_notification_config: Option<OpenPushConfig<'a>>,
    /// 0.3 says so. Nobody would notice that it is ignored until it matters, so that it is refused.
    #[serde(borrow)]
    blocking: Option<&'a RawValue>,
    /// The same.
    #[serde(alias = "push_notification_config", borrow)]
    push_notification_config: Option<&'a RawValue>,
}

/// The params of a look at a task.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GetIn<'a> {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    id: Option<String>,
    /// What some callers of 0.3 call the id.
    #[serde(alias = "task_id", borrow)]
    task_id: Option<&'a RawValue>,
    #[serde(alias = "history_length")]
    history_length: Option<Count>,
}

/// The params of what only names a task.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskIn<'a> {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    id: Option<String>,
    /// What some callers of 0.3 call the id.
    #[serde(alias = "task_id", borrow)]
    task_id: Option<&'a RawValue>,
    metadata: Option<Object>,
}

/// The body of a request whose address names the task.
#[derive(Debug, Deserialize)]
struct TaskBodyIn {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    metadata: Option<Object>,
}

/// The params of a look for tasks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListIn<'a> {
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
    history_length: Option<Count>,
    #[serde(alias = "status_timestamp_after")]
    status_timestamp_after: Option<String>,
    /// What the conformance kit of 0.3 calls it.
    #[serde(alias = "last_updated_after")]
    last_updated_after: Option<Integer>,
    #[serde(alias = "include_artifacts")]
    include_artifacts: Option<bool>,
}

/// The params of an operation that takes none but the tenant.
#[derive(Debug, Deserialize)]
struct TenantIn {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
}

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
        let params: GetIn<'_> = read_params(params, max_depth)?;
        Ok(GetParams {
            id: task_id(self, params.id, params.task_id)?,
            tenant: params.tenant,
            history_length: params.history_length.map(|Count(count)| count),
        })
    }

    /// Reads the params of a look for tasks.
    pub(crate) fn read_list(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<ListParams, Fault> {
        let params: ListIn<'_> = read_params(params, max_depth)?;
        let in_field = |name: &'static str| move |misread: Misread| misread.within(name);
        // An empty name says nothing.
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
            history_length: params.history_length.map(|Count(count)| count),
            status_timestamp_after: after.or(updated_after),
            include_artifacts: params.include_artifacts.unwrap_or(false),
        })
    }

    /// Refuses the name that a state has only in 0.3, where 1.0 is spoken.
    pub(super) fn check_state_name(self, name: Option<&str>) -> Result<(), Misread> {
        let Some(state) = name.and_then(State::from_name) else {
            return Ok(());
        };
        let new = state.name(Self::V10);
        if self == Self::V10 && name != Some(new) {
            return Err(here(format!("is of version 0.3; write {new}")));
        }
        Ok(())
    }

    /// Reads the params of what only names a task: cancel and subscribe.
    pub(crate) fn read_task(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<TaskParams, Fault> {
        let params: TaskIn<'_> = read_params(params, max_depth)?;
        Ok(TaskParams {
            id: task_id(self, params.id, params.task_id)?,
            tenant: params.tenant,
            metadata: params.metadata.map(|Object(raw)| raw),
        })
    }

    /// The same where the task is named in the address, and there need not be a body.
    pub(crate) fn task_from_body(
        self,
        task: &str,
        body: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<TaskParams, Fault> {
        let body: TaskBodyIn = read_params(body, max_depth)?;
        Ok(TaskParams {
            tenant: body.tenant,
            id: task.to_owned(),
            metadata: body.metadata.map(|Object(raw)| raw),
        })
    }

    /// Reads the params of an operation that takes none but the tenant.
    pub(crate) fn read_tenant(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<Option<String>, Fault> {
        let params: TenantIn = read_params(params, max_depth)?;
        Ok(params.tenant)
    }
}

impl SendParams {
    pub(in crate::wire::official) fn read(
        shape: Shape,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<Self, Fault> {
        let version = shape.version();
        let given: SendIn<'_> = read_params(params, max_depth)?;
        let (name, message) = match (given.message, given.request) {
            (None, Some(request)) if version == Version::V03 => {
                ("request", read::read_part(request))
            }
            (message, _) => ("message", message.ok_or_else(|| Misread::missing(""))),
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
            metadata: given.metadata.map(|Object(raw)| raw),
        })
    }
}

impl Configuration {
    /// Takes what stands beside the message instead of in here.
    fn add_outer(&mut self, outer: OuterConfigurationIn) {
        if self.accepted_output_modes.is_empty() {
            self.accepted_output_modes = outer.accepted_output_modes;
        }
        let history_length = outer.history_length.map(|Count(count)| count);
        self.history_length = self.history_length.or(history_length);
        let return_immediately = outer.blocking.map(|blocking| !blocking);
        self.return_immediately = self.return_immediately.or(return_immediately);
    }

    fn read(version: Version, raw: &RawValue) -> Result<Self, Misread> {
        match version {
            Version::V03 => Self::of_v03(read::read_part(raw)?),
            Version::V10 => Self::of_v10(read::read_part(raw)?),
        }
    }

    fn of_v03(given: ConfigurationV03<'_>) -> Result<Self, Misread> {
        let read = |name: &str, config: Option<OpenPushConfig<'_>>| {
            let config = config.map(|config| PushConfig::read_inner(Version::V03, config));
            config.transpose().map_err(|misread| misread.within(name))
        };
        let push = read("pushNotificationConfig", given.push_notification_config)?;
        let named_otherwise = read("pushNotification", given.push_notification)?;
        Ok(Self {
            accepted_output_modes: given.accepted_output_modes,
            history_length: given.history_length.map(|Count(count)| count),
            return_immediately: given.blocking.map(|blocking| !blocking),
            push: push.or(named_otherwise),
        })
    }

    fn of_v10(given: ConfigurationV10<'_>) -> Result<Self, Misread> {
        let is_given = [
            given.blocking.is_some(),
            given.push_notification_config.is_some(),
        ];
        for (is_given, (old, new)) in is_given.into_iter().zip(OLD_NAMES) {
            if is_given {
                let why = format!("is of version 0.3; write {new}");
                return Err(Misread::invalid(old, why));
            }
        }
        let push = given.task_push_notification_config;
        let push = push.map(|config| PushConfig::read_inner(Version::V10, config));
        let push = push.transpose();
        Ok(Self {
            accepted_output_modes: given.accepted_output_modes,
            history_length: given.history_length.map(|Count(count)| count),
            return_immediately: given.return_immediately,
            push: push.map_err(|misread| misread.within("taskPushNotificationConfig"))?,
        })
    }
}

/// The id of a task; in 0.3 some callers write it in full.
fn task_id(
    version: Version,
    id: Option<String>,
    in_full: Option<&RawValue>,
) -> Result<String, Misread> {
    let id = match (id, in_full) {
        (None, Some(raw)) if version == Version::V03 => word_in("taskId", Some(raw))?,
        (id, _) => id.filter(|id| !id.is_empty()),
    };
    id.ok_or_else(|| Misread::missing("id"))
}

/// The state that tasks are looked for by. In 1.0 the unspecified state is as good as none.
pub(super) fn filter(version: Version, state: Option<State>) -> Option<State> {
    state.filter(|state| !(version == Version::V10 && *state == State::Unknown))
}

/// How many tasks a page may have.
pub(super) fn page_size(number: Option<i64>) -> Result<usize, Misread> {
    let size = number.and_then(|number| usize::try_from(number).ok());
    size.filter(|size| (1..=MAX_PAGE).contains(size))
        .ok_or_else(|| here(format!("must be an integer from 1 to {MAX_PAGE}")))
}

/// A point in time, in UTC.
pub(super) fn since(text: &str) -> Result<String, Misread> {
    time::to_utc(text).ok_or_else(|| here("must be a time in RFC 3339"))
}

/// A point in time, in milliseconds since 1970.
pub(super) fn since_millis(number: Option<i64>) -> Result<String, Misread> {
    number
        .and_then(time::from_millis)
        .ok_or_else(|| here("must be a time in milliseconds since 1970"))
}
