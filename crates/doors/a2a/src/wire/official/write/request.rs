//! The params of what a client asks of a server.

use jackfield_wire::json::ObjectWriter;

use super::{
    super::{
        Version,
        model::{Configuration, GetParams, PushConfig, SendParams, TaskParams},
        shape::Shape,
    },
    message::put_texts,
};

impl Version {
    /// Appends the params of a send, plain or streaming.
    pub(crate) fn write_send_params(self, params: &SendParams, out: &mut String) {
        self.shape().write_send_params(params, out);
    }

    /// Appends the params of a look at a task.
    pub(crate) fn write_get_params(self, params: &GetParams, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        self.shape()
            .put_tenant(params.tenant.as_deref(), &mut object);
        object
            .text("id", params.id.as_str())
            .maybe_number("historyLength", params.history_length.map(|it| it as u64));
        object.close();
    }

    /// Appends the params of what only names a task: cancel and subscribe.
    pub(crate) fn write_task_params(self, params: &TaskParams, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        self.shape()
            .put_tenant(params.tenant.as_deref(), &mut object);
        object
            .text("id", params.id.as_str())
            .maybe_raw("metadata", params.metadata.as_deref());
        object.close();
    }
}

impl Shape {
    /// Appends the params of a send, plain or streaming.
    pub(in crate::wire::official) fn write_send_params(
        self,
        params: &SendParams,
        out: &mut String,
    ) {
        let mut object = ObjectWriter::open(out);
        self.put_tenant(params.tenant.as_deref(), &mut object);
        object.object("message", |object| {
            self.put_message(&params.message, object)
        });
        if !params.configuration.is_empty() {
            object.object("configuration", |object| {
                self.put_configuration(&params.configuration, object);
            });
        }
        object.maybe_raw("metadata", params.metadata.as_deref());
        object.close();
    }

    /// Version 0.3 knows no tenants.
    fn put_tenant(self, tenant: Option<&str>, object: &mut ObjectWriter<'_>) {
        if self == Self::V10 {
            object.maybe_text("tenant", tenant);
        }
    }

    fn put_configuration(self, wanted: &Configuration, object: &mut ObjectWriter<'_>) {
        let modes = &wanted.accepted_output_modes;
        match self {
            // Servers of 0.2, which read this too, insist on it.
            Self::V03 => {
                object.texts("acceptedOutputModes", modes);
            }
            Self::V03Proto(_) | Self::V10 => put_texts("acceptedOutputModes", modes, object),
        }
        object.maybe_number("historyLength", wanted.history_length.map(|it| it as u64));
        if let Some(immediately) = wanted.return_immediately {
            match self {
                Self::V03 | Self::V03Proto(_) => object.flag("blocking", !immediately),
                Self::V10 => object.flag("returnImmediately", immediately),
            };
        }
        if let Some(push) = &wanted.push {
            let name = match self {
                Self::V03 => "pushNotificationConfig",
                Self::V03Proto(_) => "pushNotification",
                Self::V10 => "taskPushNotificationConfig",
            };
            object.object(name, |object| self.put_inner_push(push, object));
        }
    }

    /// A push config within the message that begins its task.
    fn put_inner_push(self, config: &PushConfig, object: &mut ObjectWriter<'_>) {
        object.maybe_text("id", config.id.as_deref());
        self.put_push(config, object);
    }
}

impl Configuration {
    /// Whether nothing in particular is wanted.
    fn is_empty(&self) -> bool {
        self.accepted_output_modes.is_empty()
            && self.history_length.is_none()
            && self.return_immediately.is_none()
            && self.push.is_none()
    }
}
