//! Writers for push configs.

use serde::Serialize;

use super::{
    super::{model::PushConfig, shape::WireForm},
    ExtraOut, append,
};

/// Push config of a task in 0.3.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskPushV03<'a> {
    task_id: &'a str,
    push_notification_config: PushConfigOut<'a>,
}

/// Push config of a task in REST of 0.3.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskPushInRest<'a> {
    name: String,
    push_notification_config: PushConfigOut<'a>,
}

/// Push config of a task.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum TaskPush<'a> {
    V03(TaskPushV03<'a>),
    InRest(TaskPushInRest<'a>),
    V10(PushConfigOut<'a>),
}

/// Page of push configs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PushPageOut<'a> {
    configs: Vec<TaskPush<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    next_page_token: &'a str,
}

/// Push config.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PushConfigOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<AuthenticationOut<'a>>,
    #[serde(flatten)]
    extra: ExtraOut<'a>,
}

/// Authentication at the receiver.
#[derive(Debug, Serialize)]
struct AuthenticationOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    schemes: Option<&'a [String]>,
    /// Single scheme of 1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<&'a str>,
}

impl WireForm {
    /// Appends the push config of a task.
    pub(in crate::wire::official) fn write_push(self, config: &PushConfig, out: &mut String) {
        append(out, &self.task_push(config));
    }

    /// Appends the push configs of a task.
    pub(in crate::wire::official) fn write_pushes(
        self,
        configs: &[PushConfig],
        next_token: &str,
        out: &mut String,
    ) {
        let configs = configs.iter().map(|config| self.task_push(config));
        let configs: Vec<_> = configs.collect();
        if self == Self::V03 {
            return append(out, &configs);
        }
        let page = PushPageOut {
            configs,
            next_page_token: next_token,
        };
        append(out, &page);
    }

    fn task_push(self, config: &PushConfig) -> TaskPush<'_> {
        let task = config.task_id.as_deref();
        let push_notification_config = self.push_config(config);
        match self {
            Self::V03 => TaskPush::V03(TaskPushV03 {
                task_id: task.unwrap_or_default(),
                push_notification_config,
            }),
            Self::V03Proto(_) => {
                let (task, id) = (task.unwrap_or_default(), config.id.as_deref());
                let id = id.unwrap_or_default();
                TaskPush::InRest(TaskPushInRest {
                    name: format!("tasks/{task}/pushNotificationConfigs/{id}"),
                    push_notification_config: PushConfigOut {
                        id: Some(id),
                        ..push_notification_config
                    },
                })
            }
            Self::V10 => TaskPush::V10(PushConfigOut {
                task_id: task,
                ..push_notification_config
            }),
        }
    }

    /// Returns the serialized form of a push config, without its task.
    pub(super) fn push_config(self, config: &PushConfig) -> PushConfigOut<'_> {
        let authentication = config.authentication.as_ref().map(|authentication| {
            let is_new = self == Self::V10;
            let schemes = authentication.schemes.as_slice();
            AuthenticationOut {
                schemes: (!is_new).then_some(schemes),
                scheme: schemes.first().filter(|_| is_new).map(String::as_str),
                credentials: authentication.credentials.as_deref(),
            }
        });
        PushConfigOut {
            id: config.id.as_deref(),
            task_id: None,
            url: &config.url,
            token: config.token.as_deref(),
            authentication,
            extra: self.extra(&config.extra),
        }
    }
}
