//! Push configs.

use jackfield_wire::json::ObjectWriter;

use super::super::{model::PushConfig, shape::Shape};

impl Shape {
    /// Appends the push config of a task.
    pub(in crate::wire::official) fn write_push(self, config: &PushConfig, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        let task = config.task_id.as_deref().unwrap_or_default();
        match self {
            Self::V03 => {
                object
                    .text("taskId", task)
                    .object("pushNotificationConfig", |inner| {
                        inner.maybe_text("id", config.id.as_deref());
                        self.put_push(config, inner);
                    });
            }
            Self::V03Proto(_) => {
                let id = config.id.as_deref().unwrap_or_default();
                let name = format!("tasks/{task}/pushNotificationConfigs/{id}");
                object
                    .text("name", name.as_str())
                    .object("pushNotificationConfig", |inner| {
                        inner.text("id", id);
                        self.put_push(config, inner);
                    });
            }
            Self::V10 => {
                object
                    .maybe_text("id", config.id.as_deref())
                    .maybe_text("taskId", config.task_id.as_deref());
                self.put_push(config, &mut object);
            }
        }
        object.close();
    }

    /// Appends the push configs of a task.
    pub(in crate::wire::official) fn write_pushes(
        self,
        configs: &[PushConfig],
        next_token: &str,
        out: &mut String,
    ) {
        if self == Self::V03 {
            out.push('[');
            for (index, config) in configs.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                self.write_push(config, out);
            }
            out.push(']');
            return;
        }
        let next_token = Some(next_token).filter(|token| !token.is_empty());
        let mut object = ObjectWriter::open(out);
        object
            .list("configs", configs, |out, config| {
                self.write_push(config, out);
            })
            .maybe_text("nextPageToken", next_token);
        object.close();
    }

    pub(super) fn put_push(self, config: &PushConfig, object: &mut ObjectWriter<'_>) {
        object
            .text("url", config.url.as_str())
            .maybe_text("token", config.token.as_deref());
        if let Some(authentication) = &config.authentication {
            object.object("authentication", |object| {
                let schemes = &authentication.schemes;
                if self == Self::V10 {
                    // It has room for just one.
                    object.maybe_text("scheme", schemes.first().map(String::as_str));
                } else {
                    object.texts("schemes", schemes);
                }
                object.maybe_text("credentials", authentication.credentials.as_deref());
            });
        }
        self.put_extra(&config.extra, object);
    }
}
