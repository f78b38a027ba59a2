//! What async relays come back with: where it may go, and what it says. The core puts an entry into its outbox in the
//! same commit as the end of the task; the courier posts what is composed here until somebody takes it.
//!
//! The hub's secret goes only to origins that the operator listed; whoever else is called back checks the signature.

use std::{collections::HashSet, fmt};

use jackfield_core::outbox::Callback;
use jackfield_kit::outbound::{Outbound, OutboundError, Url, origin_of};
use jackfield_model::Json;

pub(crate) use self::body::Repeated;
use crate::api::problem::Problem;

mod body;
mod compose;

/// How the callbacks of this door are marked in the outbox.
const KIND: &str = "bridge";

/// How the platform is called back.
#[derive(Debug, Clone)]
pub struct CallbackRules {
    /// The way out, the same as the courier's. It trusts the base and the origins below: they may be private
    /// addresses, for the operator chose them.
    pub outbound: Outbound,
    /// What a `callback_url` without a host is relative to.
    pub base: Option<String>,
    /// The origins that are shown the platform's secret too.
    pub trusted_origins: Vec<String>,
}

/// How the platform is called back, once read.
#[derive(Debug)]
pub(crate) struct Callbacks(Option<Way>);

#[derive(Debug)]
struct Way {
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
        let outbound = rules.outbound.clone();
        let base = rules.base.as_deref().map(|base| outbound.check(base));
        let trusted = rules.trusted_origins.iter();
        let trusted = trusted.map(|origin| outbound.check(origin).map(|url| origin_of(&url)));
        Ok(Self(Some(Way {
            base: base.transpose()?,
            trusted: trusted.collect::<Result<_, _>>()?,
            outbound,
        })))
    }

    /// The callback that a request wants, if the place is one that the hub may call.
    pub(crate) fn accept(&self, url: &str, repeated: &Repeated<'_>) -> Result<Callback, Problem> {
        let url = self.address(url).map_err(|why| refused(&why))?;
        Ok(Callback {
            url,
            kind: KIND.to_owned(),
            data: Json::of(repeated).ok(),
            token: None,
        })
    }

    /// Looks up where a callback leads, so that whoever names a private place learns it at once. A host that cannot be looked
    /// up now passes: every delivery judges again.
    pub(crate) async fn admit(&self, callback: &Callback) -> Result<(), Problem> {
        let Some(way) = &self.0 else { return Ok(()) };
        match way.outbound.admit(&callback.url).await {
            Ok(_) => Ok(()),
            Err(why) => Err(refused(&why)),
        }
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
}

fn refused(why: &impl fmt::Display) -> Problem {
    Problem::invalid(format!("field \"callback_url\": {why}"))
}
