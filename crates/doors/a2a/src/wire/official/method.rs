//! Operations and their JSON-RPC names in each version.

use super::A2aVersion;

/// Operation of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// Send a message and wait for the answer.
    Send,
    /// Send a message and stream the updates.
    Stream,
    /// Fetch a task.
    Get,
    /// List tasks.
    List,
    /// Cancel a task.
    Cancel,
    /// Subscribe to a running task.
    Subscribe,
    /// Add a push config to a task.
    CreatePush,
    /// Fetch a push config.
    GetPush,
    /// List the push configs of a task.
    ListPush,
    /// Delete a push config.
    DeletePush,
    /// Fetch the extended card, for authenticated callers.
    ExtendedCard,
}

/// All operations with their names in 0.3 and 1.0. Version 0.3 has no list in JSON-RPC; the name is from its
/// conformance kit.
const NAMES: [(Operation, &str, &str); 11] = [
    (Operation::Send, "message/send", "SendMessage"),
    (Operation::Stream, "message/stream", "SendStreamingMessage"),
    (Operation::Get, "tasks/get", "GetTask"),
    (Operation::List, "tasks/list", "ListTasks"),
    (Operation::Cancel, "tasks/cancel", "CancelTask"),
    (Operation::Subscribe, "tasks/resubscribe", "SubscribeToTask"),
    (
        Operation::CreatePush,
        "tasks/pushNotificationConfig/set",
        "CreateTaskPushNotificationConfig",
    ),
    (
        Operation::GetPush,
        "tasks/pushNotificationConfig/get",
        "GetTaskPushNotificationConfig",
    ),
    (
        Operation::ListPush,
        "tasks/pushNotificationConfig/list",
        "ListTaskPushNotificationConfigs",
    ),
    (
        Operation::DeletePush,
        "tasks/pushNotificationConfig/delete",
        "DeleteTaskPushNotificationConfig",
    ),
    (
        Operation::ExtendedCard,
        "agent/getAuthenticatedExtendedCard",
        "GetExtendedAgentCard",
    ),
];

impl Operation {
    /// Returns the [`Operation`] with this name, and the version that defines the name.
    pub(crate) fn from_name(name: &str) -> Option<(Self, A2aVersion)> {
        NAMES.iter().find_map(|(operation, old, new)| {
            if name == *old {
                Some((*operation, A2aVersion::V03))
            } else if name == *new {
                Some((*operation, A2aVersion::V10))
            } else {
                None
            }
        })
    }

    /// Returns the JSON-RPC name.
    pub(crate) fn name(self, version: A2aVersion) -> &'static str {
        let found = NAMES.iter().find(|(operation, ..)| *operation == self);
        let (_, old, new) = found.expect("every operation has its names");
        match version {
            A2aVersion::V03 => old,
            A2aVersion::V10 => new,
        }
    }
}
