//! Opens the door, which has no settings of its own.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Uri;
use jackfield_kit::{
    door::{Context, Open, OpenError, Opened, Socket},
    line::{Line, Step},
};
use jackfield_model::Failure;

use crate::{Agora, DOOR};

/// The configuration of the door.
#[derive(Debug, Clone, Default)]
pub struct Config;

impl Open for Config {
    type Handle = ();

    async fn open(self, context: &Context) -> Result<Opened, OpenError> {
        let Context {
            hub,
            gatekeeper,
            tasks,
            ..
        } = context.clone();
        Ok(Opened {
            socket: Some(Agora::new(hub, gatekeeper, tasks)),
            ..Opened::new(())
        })
    }
}

impl Socket for Agora {
    fn door(&self) -> &'static str {
        DOOR
    }

    fn claims_url(&self, _: &Uri) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Claims every connection that no other protocol claims, because Agora defines an answer to invalid
    /// frames.
    fn claims_first(&self, _: &Step) -> bool {
        true
    }

    fn run(self: Arc<Self>, line: Line, _: &Uri) -> BoxFuture<'static, ()> {
        Box::pin(Self::run(&self, line))
    }
}
