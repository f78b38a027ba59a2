//! Composing of one callback, requested by the courier at every attempt.

use futures_util::future::BoxFuture;
use http::HeaderValue;
use jackfield_core::{outbox::OutboxRow, task::LastTurn};
use jackfield_kit::{
    outbound::origin_of,
    outbox::{CallbackPost, ComposeError, Composer},
};

use super::{CallbackRoute, KIND, body};
use crate::{door::Bridge, relay::outcome::RelayOutcome, secret};

impl Composer for Bridge {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn compose<'a>(
        &'a self,
        row: &'a OutboxRow,
    ) -> BoxFuture<'a, Result<Vec<CallbackPost>, ComposeError>> {
        Box::pin(async move { letter(self, row).await.map(|letter| vec![letter]) })
    }
}

async fn letter(bridge: &Bridge, row: &OutboxRow) -> Result<CallbackPost, ComposeError> {
    let way = bridge.callbacks.0.as_ref();
    let gone = || ComposeError::temporary("this hub calls no platform back any more");
    let way = way.ok_or_else(gone)?;
    let mut letter = CallbackPost::json(body(bridge, row).await?);
    if let Some(secret) = secret_for(bridge, way, row)? {
        letter.headers.insert(secret::HEADER, secret);
    }
    Ok(letter)
}

/// Returns the body of the callback, from the task and its log ([`LastTurn`]), or from the reply stored for
/// the callback alone.
async fn body(bridge: &Bridge, row: &OutboxRow) -> Result<Vec<u8>, ComposeError> {
    // The row was committed with the end; the task's recorder may not know yet.
    let tasks = bridge.hub.tasks();
    let task = tasks.find_stored(&bridge.platform, row.task).await;
    let task = task.map_err(ComposeError::temporary)?;
    let max = bridge.hub.limits().message.0;
    let reply = bridge.hub.callbacks().reply(row.id).await;
    let turn = match reply {
        Ok(reply) if reply.is_empty() => LastTurn::read(&task, max).await,
        reply => reply.map(|reply| LastTurn::from_items(reply, max)),
    };
    let turn = turn.map_err(ComposeError::temporary)?;
    let record = task.record();
    let outcome = RelayOutcome::of(&record, turn);
    let (data, links) = (row.callback.data.as_ref(), bridge.links.of_task(&record));
    let body = body::body_from(&record, data, &outcome, &links);
    body.map_err(ComposeError::permanent)
}

/// Returns the platform's secret, if the origin of the callback may receive it.
fn secret_for(
    bridge: &Bridge,
    way: &CallbackRoute,
    row: &OutboxRow,
) -> Result<Option<HeaderValue>, ComposeError> {
    let url = way.outbound.check(&row.callback.url);
    let url = url.map_err(ComposeError::permanent)?;
    let secret = bridge.secrets.newest();
    let Some(secret) = secret.filter(|_| way.trusted.contains(&origin_of(&url))) else {
        return Ok(None);
    };
    let mut value = HeaderValue::from_str(secret.expose()).map_err(ComposeError::permanent)?;
    value.set_sensitive(true);
    Ok(Some(value))
}
