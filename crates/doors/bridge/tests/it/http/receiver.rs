//! A platform that is called back.

use jackfield_bridge::{CallbackRules, PlatformSettings};
use jackfield_kit::outbound::{Outbound, OutboundRules};
pub(crate) use jackfield_kit::testing::CallbackReceiver;

use crate::http::harness::platform;

/// A platform that is called back, by these rules. What they name is what the operator typed.
pub(crate) fn calling_back(rules: CallbackRules) -> PlatformSettings {
    let typed = rules.base.iter().chain(&rules.trusted_origins);
    let outbound = rules.outbound.trusting(typed.map(String::as_str)).unwrap();
    PlatformSettings {
        callbacks: Some(CallbackRules { outbound, ..rules }),
        ..platform()
    }
}

/// Rules under which private addresses may be called.
pub(crate) fn lenient() -> CallbackRules {
    rules(true)
}

/// Rules as they are by default.
pub(crate) fn strict() -> CallbackRules {
    rules(false)
}

fn rules(allow_private: bool) -> CallbackRules {
    let rules = OutboundRules {
        allow_private,
        ..OutboundRules::default()
    };
    CallbackRules {
        outbound: Outbound::new(&rules).unwrap(),
        base: None,
        trusted_origins: Vec::new(),
    }
}
