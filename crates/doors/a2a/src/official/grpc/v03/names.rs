//! Resource names of 0.3: `tasks/{id}` and `tasks/{id}/pushNotificationConfigs/{id}`.

use crate::wire::official::error::A2aError;

/// Reads the name of a task in `field`.
pub(super) fn task<'a>(field: &str, name: &'a str) -> Result<&'a str, A2aError> {
    let id = name.strip_prefix("tasks/").filter(|id| is_id(id));
    id.ok_or_else(|| A2aError::field(field, "must have the form tasks/{id}"))
}

/// Reads the name of a push config in `field`, as the ids of its task and its own.
pub(super) fn push_config<'a>(field: &str, name: &'a str) -> Result<(&'a str, &'a str), A2aError> {
    let rest = name.strip_prefix("tasks/");
    let ids = rest.and_then(|rest| rest.split_once("/pushNotificationConfigs/"));
    let ids = ids.filter(|(task, config)| is_id(task) && is_id(config));
    ids.ok_or_else(|| {
        let form = "must have the form tasks/{id}/pushNotificationConfigs/{id}";
        A2aError::field(field, form)
    })
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && !text.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_are_read() {
        assert_eq!(task("name", "tasks/a-1").unwrap(), "a-1");
        for wrong in ["", "a-1", "tasks/", "tasks/a/b", "/tasks/a", "task/a"] {
            let fault = task("name", wrong).unwrap_err();
            assert_eq!(fault.violations[0].0, "name", "{wrong}");
        }
        let name = "tasks/a/pushNotificationConfigs/b";
        assert_eq!(push_config("name", name).unwrap(), ("a", "b"));
        for wrong in [
            "tasks/a",
            "tasks/a/pushNotificationConfigs/",
            "tasks//pushNotificationConfigs/b",
            "tasks/a/pushNotificationConfigs/b/c",
        ] {
            assert!(push_config("name", wrong).is_err(), "{wrong}");
        }
    }
}
