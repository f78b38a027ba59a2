//! Writers for the params of a client.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    super::{
        A2aVersion,
        model::{Configuration, GetParams, SendParams, TaskParams},
        shape::WireForm,
    },
    append,
    message::MessageOut,
    push::PushConfigOut,
};

/// Params of a send.
#[derive(Debug, Serialize)]
struct SendOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    message: MessageOut<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<ConfigurationOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
}

/// Options for the answer.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfigurationOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_output_modes: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<usize>,
    /// Opposite of `return_immediately`, in 0.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_immediately: Option<bool>,
    /// Push config under the name of 0.3; the next two fields are the names in REST of 0.3 and in 1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification_config: Option<PushConfigOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification: Option<PushConfigOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_push_notification_config: Option<PushConfigOut<'a>>,
}

/// Params for fetching a task.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GetOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<usize>,
}

/// Params with only a task.
#[derive(Debug, Serialize)]
struct TaskIdOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
}

impl A2aVersion {
    /// Appends the params of a send, plain or streaming.
    pub(crate) fn write_send_params(self, params: &SendParams, out: &mut String) {
        self.shape().write_send_params(params, out);
    }

    /// Appends the params for fetching a task.
    pub(crate) fn write_get_params(self, params: &GetParams, out: &mut String) {
        let params = GetOut {
            tenant: self.shape().tenant(params.tenant.as_deref()),
            id: &params.id,
            history_length: params.history_length,
        };
        append(out, &params);
    }

    /// Appends params with only a task, for cancel and subscribe.
    pub(crate) fn write_task_params(self, params: &TaskParams, out: &mut String) {
        let params = TaskIdOut {
            tenant: self.shape().tenant(params.tenant.as_deref()),
            id: &params.id,
            metadata: params.metadata.as_deref(),
        };
        append(out, &params);
    }
}

impl WireForm {
    /// Appends the params of a send, plain or streaming.
    pub(in crate::wire::official) fn write_send_params(
        self,
        params: &SendParams,
        out: &mut String,
    ) {
        let wanted = &params.configuration;
        let params = SendOut {
            tenant: self.tenant(params.tenant.as_deref()),
            message: self.message(&params.message),
            configuration: (!wanted.is_empty()).then(|| self.configuration(wanted)),
            metadata: params.metadata.as_deref(),
        };
        append(out, &params);
    }

    /// Returns the tenant, which version 0.3 does not have.
    fn tenant(self, tenant: Option<&str>) -> Option<&str> {
        tenant.filter(|_| self == Self::V10)
    }

    fn configuration(self, wanted: &Configuration) -> ConfigurationOut<'_> {
        let modes = wanted.accepted_output_modes.as_slice();
        // Servers of 0.2, which also read 0.3, require the list.
        let has_modes = self == Self::V03 || !modes.is_empty();
        let push = wanted.push.as_ref().map(|push| self.push_config(push));
        let common = ConfigurationOut {
            accepted_output_modes: has_modes.then_some(modes),
            history_length: wanted.history_length,
            ..ConfigurationOut::default()
        };
        let blocking = wanted.return_immediately.map(|immediately| !immediately);
        match self {
            Self::V03 => ConfigurationOut {
                blocking,
                push_notification_config: push,
                ..common
            },
            Self::V03Proto(_) => ConfigurationOut {
                blocking,
                push_notification: push,
                ..common
            },
            Self::V10 => ConfigurationOut {
                return_immediately: wanted.return_immediately,
                task_push_notification_config: push,
                ..common
            },
        }
    }
}

impl Configuration {
    /// Returns true if all options are unset.
    fn is_empty(&self) -> bool {
        self.accepted_output_modes.is_empty()
            && self.history_length.is_none()
            && self.return_immediately.is_none()
            && self.push.is_none()
    }
}
