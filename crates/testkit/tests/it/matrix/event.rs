//! A caller's events, in the same terms for all protocols; error codes stay the caller's own.

use jackfield_testkit::fetch;
use serde_json::Value;

/// The file that every agent attaches, and its bytes on the wire.
pub(crate) const FILE_NAME: &str = "a.txt";
pub(crate) const FILE_TEXT: &str = "hello";
pub(crate) const FILE_BASE64: &str = "aGVsbG8=";

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallerEvent {
    Text(String),
    Thinking(String),
    /// With the tool's name.
    ToolStart(String),
    ToolResult(String),
    Status(String),
    File(File),
    Asked(String),
    Done,
    Failed {
        code: String,
        words: String,
    },
    Cancelled,
}

impl CallerEvent {
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::Done | Self::Failed { .. } | Self::Cancelled)
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn status(text: &str) -> Self {
        Self::Status(text.to_owned())
    }

    /// A chunk by its kind, with the usual names.
    pub(crate) fn chunk(kind: Option<&str>, words: String, tool: &Value) -> Self {
        match kind {
            None | Some("text") => Self::Text(words),
            Some("thinking") => Self::Thinking(words),
            Some("tool_start") => Self::ToolStart(text(tool)),
            Some("tool_result") => Self::ToolResult(words),
            Some("status") => Self::Status(words),
            Some(kind) => panic!("{kind}: {words}"),
        }
    }
}

/// A file of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) is_link: bool,
    /// The content of the file, or behind its link.
    pub(crate) content: String,
}

impl File {
    /// The file that every agent attaches.
    pub(crate) fn attached(is_link: bool) -> Self {
        Self {
            name: FILE_NAME.to_owned(),
            is_link,
            content: FILE_TEXT.to_owned(),
        }
    }

    pub(crate) async fn linked(name: &Value, url: &Value) -> Self {
        let content = fetch(url.as_str().expect("a link")).await;
        Self {
            name: text(name),
            is_link: true,
            content: String::from_utf8(content).unwrap(),
        }
    }

    pub(crate) fn bytes(name: &Value, base64: &Value) -> Self {
        Self {
            name: text(name),
            is_link: false,
            content: match base64.as_str() {
                Some(FILE_BASE64) => FILE_TEXT.to_owned(),
                other => format!("{other:?} is something else"),
            },
        }
    }
}

/// The text of a member; empty if missing.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
