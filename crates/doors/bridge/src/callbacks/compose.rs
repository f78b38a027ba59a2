//! Composing of one callback, requested by the courier at every attempt.

use futures_util::future::BoxFuture;
use http::HeaderValue;
use jackfield_core::{outbox::OutboxRow, task::LastTurn};
use jackfield_kit::{
    outbound::origin_of,
    outbox::{Composer, Letter, Undelivered},
};

use super::{KIND, Way, body};
use crate::{bridge::Bridge, relay::outcome::Outcome, secret};

impl Composer for Bridge {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn compose<'a>(
        &'a self,
        row: &'a OutboxRow,
    ) -> BoxFuture<'a, Result<Vec<Letter>, Undelivered>> {
        Box::pin(async move { letter(self, row).await.map(|letter| vec![letter]) })
    }
}

async fn letter(bridge: &Bridge, row: &OutboxRow) -> Result<Letter, Undelivered> {
    let way = bridge.callbacks.0.as_ref();
    let gone = || Undelivered::for_now("this hub calls no platform back any more");
    let way = way.ok_or_else(gone)?;
    let mut letter = Letter::json(body(bridge, row).await?);
    if let Some(secret) = secret_for(bridge, way, row)? {
        letter.headers.insert(secret::HEADER, secret);
    }
    Ok(letter)
}

/// Returns the body of the callback, from the task and its log ([`LastTurn`]), or from the reply stored for
/// the callback alone.
async fn body(bridge: &Bridge, row: &OutboxRow) -> Result<Vec<u8>, Undelivered> {
    // The row was committed with the end; the task's recorder may not know yet.
    let tasks = bridge.hub.tasks();
    let task = tasks.find_stored(&bridge.platform, row.task).await;
    let task = task.map_err(Undelivered::for_now)?;
    let max = bridge.hub.limits().message.0;
    let reply = bridge.hub.callbacks().reply(row.id).await;
    let turn = match reply {
        Ok(reply) if reply.is_empty() => LastTurn::read(&task, max).await,
        reply => reply.map(|reply| LastTurn::from_items(reply, max)),
    };
    let turn = turn.map_err(Undelivered::for_now)?;
    let record = task.record();
    let outcome = Outcome::of(&record, turn);
    let (data, links) = (row.callback.data.as_ref(), bridge.hub.files_of(&record));
    let body = body::body_from(&record, data, &outcome, &links);
    body.map_err(Undelivered::for_good)
}

/// Returns the platform's secret, if the origin of the callback may receive it.
fn secret_for(
    bridge: &Bridge,
    way: &Way,
    row: &OutboxRow,
) -> Result<Option<HeaderValue>, Undelivered> {
    let url = way.outbound.check(&row.callback.url);
    let url = url.map_err(Undelivered::for_good)?;
    let secret = bridge.secrets.newest();
    let Some(secret) = secret.filter(|_| way.trusted.contains(&origin_of(&url))) else {
        return Ok(None);
    };
    let mut value = HeaderValue::from_str(secret.expose()).map_err(Undelivered::for_good)?;
    value.set_sensitive(true);
    Ok(Some(value))
}
