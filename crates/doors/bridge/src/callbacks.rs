//! Callbacks of async relays: their destination and content. The core adds an entry to its outbox in the same
//! commit as the end of the task. The courier posts the composed callback until its receiver accepts it.
//!
//! The platform's secret is sent only to origins listed by the operator; other receivers check the signature.

use std::{collections::HashSet, fmt};

use jackfield_core::outbox::Callback;
use jackfield_kit::outbound::{Outbound, OutboundError, Url, origin_of};
use jackfield_model::Json;

pub(crate) use self::body::RepeatedFields;
use crate::api::problem::RelayApiError;

mod body;
mod compose;

/// Kind of this door's callbacks in the outbox.
const KIND: &str = "bridge";

/// Rules for calling the platform back.
#[derive(Debug, Clone)]
pub struct CallbackRules {
    /// Client for outgoing requests, the same as the courier's. It trusts the base and the origins below:
    /// they may be private addresses, because the operator chose them.
    pub outbound: Outbound,
    /// Base URL for a `callback_url` without a host.
    pub base: Option<String>,
    /// Origins that also receive the platform's secret.
    pub trusted_origins: Vec<String>,
}

/// The parsed [`CallbackRules`].
#[derive(Debug)]
pub(crate) struct CallbackPolicy(Option<CallbackRoute>);

#[derive(Debug)]
struct CallbackRoute {
    outbound: Outbound,
    base: Option<Url>,
    trusted: HashSet<String>,
}

impl CallbackPolicy {
    /// Creates rules that allow no callbacks.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(crate) fn new(rules: &CallbackRules) -> Result<Self, OutboundError> {
        let outbound = rules.outbound.clone();
        let base = rules.base.as_deref().map(|base| outbound.check(base));
        let trusted = rules.trusted_origins.iter();
        let trusted = trusted.map(|origin| outbound.check(origin).map(|url| origin_of(&url)));
        Ok(Self(Some(CallbackRoute {
            base: base.transpose()?,
            trusted: trusted.collect::<Result<_, _>>()?,
            outbound,
        })))
    }

    /// Returns the [`Callback`] for a request, if the hub may call its address.
    pub(crate) fn accept(
        &self,
        url: &str,
        repeated: &RepeatedFields<'_>,
    ) -> Result<Callback, RelayApiError> {
        let url = self.address(url).map_err(|why| refused(&why))?;
        Ok(Callback {
            url,
            kind: KIND.to_owned(),
            data: Json::of(repeated).ok(),
            token: None,
        })
    }

    /// Looks up the host of a callback, so that a client with a private address gets the error at once. A
    /// host that cannot be looked up now is accepted: every delivery checks again.
    pub(crate) async fn admit(&self, callback: &Callback) -> Result<(), RelayApiError> {
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

fn refused(why: &impl fmt::Display) -> RelayApiError {
    RelayApiError::invalid(format!("field \"callback_url\": {why}"))
}
