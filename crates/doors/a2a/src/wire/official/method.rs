//! The operations, and what JSON-RPC calls them in each version.

use super::Version;

/// What can be asked of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// Say something and get the answer.
    Send,
    /// Say something and follow the work.
    Stream,
    /// Look at a task.
    Get,
    /// Look for tasks.
    List,
    /// Stop a task.
    Cancel,
    /// Follow a task that runs.
    Subscribe,
    /// Have somebody notified of a task.
    CreatePush,
    /// Look at who is.
    GetPush,
    /// Look at all who are.
    ListPush,
    /// Have somebody notified no more.
    DeletePush,
    /// The card for callers who proved who they are.
    ExtendedCard,
}

/// All of them, with their names in 0.3 and 1.0. Version 0.3 has no list in JSON-RPC; it is served under the name that its
/// conformance kit uses.
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
    /// The operation of this name, and the version that calls it so.
    pub(crate) fn from_name(name: &str) -> Option<(Self, Version)> {
        NAMES.iter().find_map(|(operation, old, new)| {
            if name == *old {
                Some((*operation, Version::V03))
            } else if name == *new {
                Some((*operation, Version::V10))
            } else {
                None
            }
        })
    }

    /// Its name in JSON-RPC.
    pub(crate) fn name(self, version: Version) -> &'static str {
        let found = NAMES.iter().find(|(operation, ..)| *operation == self);
        let (_, old, new) = found.expect("every operation has its names");
        match version {
            Version::V03 => old,
            Version::V10 => new,
        }
    }
}
