//! [`ResponseId`]: which part of which task a response is. A task whose agent asks has several responses: one up to each
//! question, and one to the end.

use std::fmt;

use jackfield_model::TaskId;

const PREFIX: &str = "resp_";

/// Id of a stored response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponseId {
    pub(crate) task: TaskId,
    /// Position in the task's log at which the response begins.
    pub(crate) start: u64,
}

impl ResponseId {
    /// Parses an id that the door made.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let (task, start) = match rest.split_once('_') {
            Some((task, start)) => (task, start.parse().ok()?),
            None => (rest, 0),
        };
        let id = Self {
            task: TaskId::parse(task)?,
            start,
        };
        // One id has one spelling.
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for ResponseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.task)?;
        match self.start {
            0 => Ok(()),
            start => write!(f, "_{start}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_written_and_has_one_spelling() {
        let task = TaskId::new();
        for start in [0, 7, u64::MAX] {
            let id = ResponseId { task, start };
            assert_eq!(ResponseId::parse(&id.to_string()), Some(id));
        }
        let upper = task.to_string().to_uppercase();
        for other in [
            String::new(),
            task.to_string(),
            format!("resp_{upper}"),
            format!("resp_{task}_0"),
            format!("resp_{task}_07"),
            format!("resp_{task}_x"),
            "resp_123".to_owned(),
        ] {
            assert_eq!(ResponseId::parse(&other), None, "{other}");
        }
    }
}
