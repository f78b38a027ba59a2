//! What async relays come back with. The core puts an entry into its outbox in the same commit as the end of the task;
//! here it is posted, again and again if need be, until somebody takes it (DESIGN 10).
//!
//! The hub's secret goes only to origins that the operator listed; whoever else is called back checks the signature.

use std::{collections::HashSet, fmt, sync::Arc};

use jackfield_core::{event::Json, outbox::Callback};
use jackfield_kit::outbound::{Outbound, OutboundError, Url, origin_of};

pub(crate) use self::body::Repeated;
use crate::{api::problem::Problem, bridge::Bridge};

mod body;
mod deliver;
mod sign;

/// How the callbacks of this door are marked in the outbox.
const KIND: &str = "bridge";

/// The key that signs callbacks. `Debug` does not show it.
#[derive(Clone)]
pub struct CallbackKey(Arc<[u8]>);

impl CallbackKey {
    /// A key out of its text, as `jackfield token show callback` prints it.
    pub fn new(text: &str) -> Self {
        Self(text.as_bytes().into())
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for CallbackKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallbackKey(…)")
    }
}

/// How the platform is called back.
#[derive(Debug, Clone)]
pub struct CallbackRules {
    /// The key that signs callbacks.
    pub key: CallbackKey,
    /// The way out.
    pub outbound: Outbound,
    /// What a `callback_url` without a host is relative to.
    pub base: Option<String>,
    /// The origins that are shown the platform's secret too. They and the base may be private addresses: the operator
    /// chose them.
    pub trusted_origins: Vec<String>,
}

/// How the platform is called back, once read.
#[derive(Debug)]
pub(crate) struct Callbacks(Option<Way>);

#[derive(Debug)]
struct Way {
    key: CallbackKey,
    outbound: Outbound,
    base: Option<Url>,
    trusted: HashSet<String>,
}

impl Callbacks {
    /// Nobody is called back.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(crate) fn new(rules: &CallbackRules) -> Result<Self, OutboundError> {
        let chosen = rules.base.iter().chain(&rules.trusted_origins);
        let outbound = rules.outbound.trusting(chosen.map(String::as_str))?;
        let base = rules.base.as_deref().map(|base| outbound.check(base));
        let trusted = rules.trusted_origins.iter();
        let trusted = trusted.map(|origin| outbound.check(origin).map(|url| origin_of(&url)));
        Ok(Self(Some(Way {
            key: rules.key.clone(),
            base: base.transpose()?,
            trusted: trusted.collect::<Result<_, _>>()?,
            outbound,
        })))
    }

    /// The callback that a request wants, if the place is one that the hub may call.
    pub(crate) fn accept(&self, url: &str, repeated: &Repeated<'_>) -> Result<Callback, Problem> {
        let url = self.address(url).map_err(|why| {
            let text = format!("field \"callback_url\": {why}");
            Problem::invalid(text)
        })?;
        Ok(Callback {
            url,
            kind: KIND.to_owned(),
            data: Json::of(repeated).ok(),
        })
    }

    fn address(&self, url: &str) -> Result<String, String> {
        let Some(way) = &self.0 else {
            return Err("this hub calls nobody back; leave out \"mode\": \"async\"".to_owned());
        };
        let is_relative = Url::parse(url).is_err();
        let absolute = match &way.base {
            Some(base) if is_relative => base.join(url).map(String::from),
            None if is_relative => {
                let why = "is not an absolute URL, and this hub has no callback_base for others";
                return Err(why.to_owned());
            }
            _ => Ok(url.to_owned()),
        };
        let absolute = absolute.map_err(|error| error.to_string())?;
        let checked = way.outbound.check(&absolute);
        checked.map(String::from).map_err(|error| error.to_string())
    }

    /// Delivers what is in the outbox as long as the hub runs.
    pub(crate) fn start(bridge: &Arc<Bridge>) {
        if bridge.callbacks.0.is_some() {
            bridge.tasks.spawn(deliver::run(bridge.clone()));
        }
    }
}
