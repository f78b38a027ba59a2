//! [`RegisterRefusal`]: why the hub refuses a `register`, by the reason of the close frame.

/// Why the hub refused an agent. The frame `registered` has a sentence for people only; the reason of the close frame
/// that follows is the one sign for programs. The published hub has no other either, therefore its reasons are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterRefusal {
    /// The first frame is not a JSON object.
    NotJson,
    /// The first frame is not `register`.
    NotRegister,
    /// A field of `register` is wrong.
    Invalid,
    /// The hub does not speak this version of the protocol.
    Version,
    /// The token is not valid for this agent.
    Unauthorized,
    /// The hub cannot take the agent at the moment; a later attempt may succeed. Only Jackfield's hubs give this reason.
    NotNow,
}

impl RegisterRefusal {
    const ALL: [Self; 6] = [
        Self::NotJson,
        Self::NotRegister,
        Self::Invalid,
        Self::Version,
        Self::Unauthorized,
        Self::NotNow,
    ];

    /// Returns the reason of the close frame.
    pub fn close_reason(self) -> &'static str {
        match self {
            Self::NotJson => "Invalid JSON",
            Self::NotRegister => "Expected register",
            Self::Invalid => "Invalid register",
            Self::Version => "Version mismatch",
            Self::Unauthorized => "Auth failed",
            Self::NotNow => "Not now",
        }
    }

    /// Reads the reason of a close frame; returns `None` for any other reason.
    pub fn from_close_reason(reason: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|refusal| refusal.close_reason() == reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_is_read_from_the_reason_that_it_is_written_as() {
        for refusal in RegisterRefusal::ALL {
            let reason = refusal.close_reason();
            assert_eq!(RegisterRefusal::from_close_reason(reason), Some(refusal));
        }
        assert_eq!(RegisterRefusal::from_close_reason(""), None);
    }
}
