//! Translation of requests into the model. Errors name fields by their path in the protocol's JSON, as in the
//! other bindings.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;

use crate::official::grpc::{
    json::{raw_from_struct, raw_from_value},
    proto,
};
use crate::wire::official::{
    MAX_PAGE,
    error::A2aError,
    model::{
        A2aState, Authentication, Configuration, Extra, GetParams, ListParams, Message, Part,
        PartContent, PushConfig, PushCreateParams, PushListParams, PushParams, Raw, Role,
        SendParams, TaskParams,
    },
};

const REQUIRED: &str = "is required";

/// Reads a send request. JSON in the message has at most `max_depth` levels.
pub(in crate::official::grpc) fn send(
    asked: proto::SendMessageRequest,
    max_depth: usize,
) -> Result<SendParams, A2aError> {
    let given = asked.message;
    Ok(SendParams {
        tenant: word(asked.tenant),
        message: message(given.ok_or_else(|| missing("message"))?, max_depth)?,
        configuration: asked
            .configuration
            .map(configuration)
            .transpose()?
            .unwrap_or_default(),
        metadata: object(asked.metadata.as_ref(), "metadata", max_depth)?,
    })
}

fn configuration(given: proto::SendMessageConfiguration) -> Result<Configuration, A2aError> {
    let push = given.task_push_notification_config;
    Ok(Configuration {
        accepted_output_modes: given.accepted_output_modes,
        history_length: count(given.history_length, "configuration.historyLength")?,
        return_immediately: given.return_immediately.then_some(true),
        push: push
            .map(|given| push_at("configuration.taskPushNotificationConfig.", given))
            .transpose()?,
    })
}

fn message(given: proto::Message, max_depth: usize) -> Result<Message, A2aError> {
    let role = match proto::Role::try_from(given.role) {
        Ok(proto::Role::User) => Role::User,
        Ok(proto::Role::Agent) => Role::Agent,
        Ok(proto::Role::Unspecified) => return Err(missing("message.role")),
        Err(_) => return Err(A2aError::field("message.role", "is unknown")),
    };
    if given.parts.is_empty() {
        return Err(missing("message.parts"));
    }
    let parts = given.parts.into_iter().enumerate();
    Ok(Message {
        id: required(given.message_id, "message.messageId")?,
        context_id: word(given.context_id),
        task_id: word(given.task_id),
        role,
        parts: parts
            .map(|(index, given)| part(given, index, max_depth))
            .collect::<Result<_, _>>()?,
        metadata: object(given.metadata.as_ref(), "message.metadata", max_depth)?,
        extensions: given.extensions,
        reference_task_ids: given.reference_task_ids,
        extra: Extra::default(),
    })
}

fn part(given: proto::Part, index: usize, max_depth: usize) -> Result<Part, A2aError> {
    let path = |field: &str| format!("message.parts[{index}]{field}");
    let content = match given.content {
        Some(proto::Content::Text(text)) => PartContent::Text(text),
        Some(proto::Content::Raw(bytes)) => PartContent::Bytes(STANDARD.encode(bytes)),
        Some(proto::Content::Url(url)) => PartContent::Url(required(url, &path(".url"))?),
        Some(proto::Content::Data(value)) => PartContent::Data(
            raw_from_value(&value, max_depth).map_err(|why| A2aError::field(path(".data"), why))?,
        ),
        None => {
            return Err(A2aError::field(
                path(""),
                "must have a text, raw, url or data",
            ));
        }
    };
    Ok(Part {
        content,
        media_type: word(given.media_type),
        filename: word(given.filename),
        metadata: object(given.metadata.as_ref(), &path(".metadata"), max_depth)?,
        extra: Extra::default(),
    })
}

/// Reads the request for a task.
pub(in crate::official::grpc) fn get(asked: proto::GetTaskRequest) -> Result<GetParams, A2aError> {
    Ok(GetParams {
        tenant: word(asked.tenant),
        id: required(asked.id, "id")?,
        history_length: count(asked.history_length, "historyLength")?,
    })
}

/// Reads the [`ListParams`] for a page of tasks.
pub(in crate::official::grpc) fn list(
    asked: proto::ListTasksRequest,
) -> Result<ListParams, A2aError> {
    let state = proto::TaskState::try_from(asked.status);
    let page_size = count(asked.page_size, "pageSize")?;
    if page_size.is_some_and(|size| !(1..=MAX_PAGE).contains(&size)) {
        let why = format!("must be from 1 to {MAX_PAGE}");
        return Err(A2aError::field("pageSize", why));
    }
    Ok(ListParams {
        tenant: word(asked.tenant),
        context_id: word(asked.context_id),
        state: state
            .map(state_from)
            .map_err(|_| A2aError::field("status", "is unknown"))?,
        page_size,
        page_token: word(asked.page_token),
        history_length: count(asked.history_length, "historyLength")?,
        status_timestamp_after: asked
            .status_timestamp_after
            .map(|time| {
                written(time).ok_or_else(|| A2aError::field("statusTimestampAfter", "is no time"))
            })
            .transpose()?,
        include_artifacts: asked.include_artifacts.unwrap_or_default(),
    })
}

/// Returns the state to filter a list by, if any.
fn state_from(state: proto::TaskState) -> Option<A2aState> {
    match state {
        proto::TaskState::Unspecified => None,
        proto::TaskState::Submitted => Some(A2aState::Submitted),
        proto::TaskState::Working => Some(A2aState::Working),
        proto::TaskState::Completed => Some(A2aState::Completed),
        proto::TaskState::Failed => Some(A2aState::Failed),
        proto::TaskState::Canceled => Some(A2aState::Canceled),
        proto::TaskState::InputRequired => Some(A2aState::InputRequired),
        proto::TaskState::Rejected => Some(A2aState::Rejected),
        proto::TaskState::AuthRequired => Some(A2aState::AuthRequired),
    }
}

/// Reads the request to cancel a task.
pub(in crate::official::grpc) fn cancel(
    asked: proto::CancelTaskRequest,
    max_depth: usize,
) -> Result<TaskParams, A2aError> {
    Ok(TaskParams {
        tenant: word(asked.tenant),
        id: required(asked.id, "id")?,
        metadata: object(asked.metadata.as_ref(), "metadata", max_depth)?,
    })
}

/// Reads the request to subscribe to a task.
pub(in crate::official::grpc) fn subscribe(
    asked: proto::SubscribeToTaskRequest,
) -> Result<TaskParams, A2aError> {
    Ok(TaskParams {
        tenant: word(asked.tenant),
        id: required(asked.id, "id")?,
        metadata: None,
    })
}

/// Reads a new push config.
pub(in crate::official::grpc) fn push(
    given: proto::TaskPushNotificationConfig,
) -> Result<PushCreateParams, A2aError> {
    if given.task_id.is_empty() {
        return Err(missing("taskId"));
    }
    let tenant = word(given.tenant.clone());
    let config = push_at("", given)?;
    Ok(PushCreateParams { tenant, config })
}

fn push_at(path: &str, given: proto::TaskPushNotificationConfig) -> Result<PushConfig, A2aError> {
    let authentication = match given.authentication {
        Some(it) => Some(Authentication {
            schemes: vec![required(
                it.scheme,
                &format!("{path}authentication.scheme"),
            )?],
            credentials: word(it.credentials),
        }),
        None => None,
    };
    Ok(PushConfig {
        id: word(given.id),
        task_id: word(given.task_id),
        url: required(given.url, &format!("{path}url"))?,
        token: word(given.token),
        authentication,
        extra: Extra::default(),
    })
}

/// Reads the request that names a push config.
pub(in crate::official::grpc) fn push_params(
    asked: proto::PushConfigRequest,
) -> Result<PushParams, A2aError> {
    Ok(PushParams {
        tenant: word(asked.tenant),
        task_id: required(asked.task_id, "taskId")?,
        id: Some(required(asked.id, "id")?),
    })
}

/// Reads the request for the push configs of a task.
pub(in crate::official::grpc) fn push_list(
    asked: proto::ListTaskPushNotificationConfigsRequest,
) -> Result<PushListParams, A2aError> {
    let page_size = Some(asked.page_size).filter(|size| *size != 0);
    Ok(PushListParams {
        tenant: word(asked.tenant),
        task_id: required(asked.task_id, "taskId")?,
        page_size: count(page_size, "pageSize")?,
        page_token: word(asked.page_token),
    })
}

/// Returns `None` for an empty text.
pub(in crate::official::grpc) fn word(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn required(text: String, path: &str) -> Result<String, A2aError> {
    word(text).ok_or_else(|| missing(path))
}

fn missing(path: &str) -> A2aError {
    A2aError::field(path, REQUIRED)
}

fn count(number: Option<i32>, path: &str) -> Result<Option<usize>, A2aError> {
    let number = number.map(usize::try_from).transpose();
    number.map_err(|_| A2aError::field(path, "must not be negative"))
}

fn object(
    given: Option<&proto::Struct>,
    path: &str,
    max_depth: usize,
) -> Result<Option<Raw>, A2aError> {
    let raw = given.map(|object| raw_from_struct(object, max_depth));
    raw.transpose().map_err(|why| A2aError::field(path, why))
}

/// Formats a time as RFC 3339 in UTC; `None` if the time is out of range.
pub(in crate::official::grpc) fn written(time: proto::Timestamp) -> Option<String> {
    let time = Timestamp::new(time.seconds, time.nanos).ok()?;
    Some(time.to_string())
}
