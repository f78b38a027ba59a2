//! The hub of a cell, and the owners of caller and agent.

use jackfield_core::units::{Size, Span};
use jackfield_hub::matrix::Topic;

use crate::matrix::protocol::Protocol;
use jackfield_testkit::{TestHub, Web};

/// An owner of agents and calls.
#[derive(Debug, Clone)]
pub(crate) enum Owner {
    /// The owner of a machine without tokens.
    Local,
    /// The holder of this token.
    Token(String),
}

impl Owner {
    /// An owner who may have agents.
    pub(crate) async fn stranger(hub: &TestHub) -> Self {
        Self::Token(hub.token("ann", &["agent:*"]).await)
    }

    /// Another owner, who may have all kinds of agents.
    pub(crate) async fn another(hub: &TestHub) -> Self {
        Self::Token(hub.token("bob", &["agent:*", "admin"]).await)
    }

    pub(crate) fn web(&self, hub: &TestHub) -> Web {
        match self {
            Self::Local => hub.web(),
            Self::Token(token) => hub.web_of(token),
        }
    }
}

/// A hub with limits that make the topic happen soon.
pub(crate) async fn hub(topic: Topic, caller: Protocol, callee: Protocol) -> TestHub {
    TestHub::start_with(|config| {
        config.p2p.enabled = [caller, callee].contains(&Protocol::P2p);
        let limits = &mut config.limits;
        match topic {
            Topic::Timeout => {
                limits.absolute_live = Span::secs(1);
                limits.absolute_kept = Span::secs(1);
            }
            Topic::SlowReader => {
                limits.pipe_full = Size::kib(128);
                limits.pipe_low = Size::kib(64);
                // Durable calls are read by the store, which may be slow for a while.
                if !matches!(caller, Protocol::A2a | Protocol::Team | Protocol::Acp) {
                    limits.pipe_stalled = Span::secs(1);
                }
            }
            _ => {}
        }
    })
    .await
}
