//! Content of push notifications: in version 1.0 the change itself, equal to the update of a stream; in
//! version 0.3 the task after the change.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{
    HeaderMap, HeaderValue,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use jackfield_core::{
    outbox::OutboxRow,
    principal::Principal,
    store::LogItem,
    task::{Task, TaskItem},
};
use jackfield_kit::outbox::{CallbackPost, ComposeError, Composer};
use jiff::Timestamp;

use super::{KIND, StoredPushConfig};
use crate::wire::official::{A2aVersion, model::StreamItem};
use crate::{
    A2aDoor,
    official::{
        renderer::UpdateRenderer,
        snapshot::{TaskDetail, TaskSnapshot, format_time},
    },
};

/// Header for the config's token, as named by the published programs.
const TOKEN: &str = "x-a2a-notification-token";

impl Composer for A2aDoor {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn compose<'a>(
        &'a self,
        row: &'a OutboxRow,
    ) -> BoxFuture<'a, Result<Vec<CallbackPost>, ComposeError>> {
        Box::pin(letters(self, row))
    }
}

async fn letters(a2a: &A2aDoor, row: &OutboxRow) -> Result<Vec<CallbackPost>, ComposeError> {
    let kept = StoredPushConfig::of(&row.callback);
    let version = A2aVersion::from_name(&kept.version).unwrap_or(A2aVersion::V10);
    let headers = headers(&kept, version)?;
    let Some(told) = NotifiedChange::read(a2a, row).await? else {
        return Ok(Vec::new());
    };
    let bodies = match version {
        A2aVersion::V03 => vec![told.task()],
        A2aVersion::V10 => told.changes(),
    };
    let letters = bodies.into_iter().map(|body| CallbackPost {
        headers: headers.clone(),
        body: body.into(),
    });
    Ok(letters.collect())
}

fn headers(kept: &StoredPushConfig, version: A2aVersion) -> Result<HeaderMap, ComposeError> {
    let secret = |text: &str| -> Result<HeaderValue, ComposeError> {
        let mut value = HeaderValue::from_str(text).map_err(ComposeError::permanent)?;
        value.set_sensitive(true);
        Ok(value)
    };
    let mut headers = HeaderMap::new();
    let kind = match version {
        A2aVersion::V03 => "application/json",
        A2aVersion::V10 => "application/a2a+json",
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(token) = kept.token.as_deref().filter(|token| !token.is_empty()) {
        headers.insert(TOKEN, secret(token)?);
    }
    let scheme = kept.schemes.as_ref().and_then(|schemes| schemes.first());
    if let (Some(scheme), Some(credentials)) = (scheme, &kept.credentials) {
        headers.insert(AUTHORIZATION, secret(&format!("{scheme} {credentials}"))?);
    }
    Ok(headers)
}

/// Change of a task, with the task after the change.
struct NotifiedChange {
    snapshot: TaskSnapshot,
    changes: Vec<StreamItem>,
    at: Timestamp,
}

impl NotifiedChange {
    /// Reads the change of an outbox row. Returns `None` if the log no longer has the change.
    async fn read(a2a: &A2aDoor, row: &OutboxRow) -> Result<Option<Self>, ComposeError> {
        let tasks = a2a.hub.tasks();
        // The row was committed together with its log item. The live recorder may not have seen the commit
        // yet, so read from the store.
        let task = tasks.find_stored(&Principal::local(), row.task).await;
        let task = task.map_err(ComposeError::temporary)?;
        let record = task.record();
        let mut snapshot = TaskSnapshot::new(&record, false, a2a.hub.limits().message.0);
        let kept = a2a.hub.callbacks().reply(row.id).await;
        let mut kept = kept.map_err(ComposeError::temporary)?;
        let change = match kept.pop() {
            Some(change) => {
                let at = row.created_at;
                kept.into_iter().for_each(|item| snapshot.add(item, at));
                Some((change, at))
            }
            None => read_to(&task, row.pos.unwrap_or(record.log_end), &mut snapshot).await?,
        };
        let told = change.map(|(change, at)| {
            // For a message, the time of the change is the delivery to the agent.
            let is_message = matches!(change, LogItem::Message(_));
            Self::after(
                snapshot,
                change,
                if is_message { row.created_at } else { at },
            )
        });
        Ok(told)
    }

    fn after(mut snapshot: TaskSnapshot, change: LogItem, at: Timestamp) -> Self {
        // The working state was posted with the message that started the turn.
        snapshot.mark_working();
        let mut renderer = UpdateRenderer::after(&snapshot);
        let mut changes = Vec::new();
        if matches!(change, LogItem::End(_)) {
            // The pieces of the reply were not posted. Post the complete reply at the end of the turn.
            let wholes = snapshot
                .voices
                .iter()
                .filter_map(|it| snapshot.find_artifact(&it.id));
            changes.extend(wholes.map(|whole| renderer.artifact_update(whole, false, true)));
        }
        renderer.render(0, at, change.clone(), &mut changes);
        if matches!(change, LogItem::Message(_)) {
            renderer.render_working(at, &mut changes);
        }
        snapshot.add(change, at);
        snapshot.state = renderer.state();
        for change in &mut changes {
            // Post the pieces of other artifacts as complete artifacts too.
            if let StreamItem::Artifact(update) = change
                && update.append
                && let Some(whole) = snapshot.find_artifact(&update.artifact.id)
            {
                update.artifact = whole;
                update.append = false;
            }
        }
        Self {
            snapshot,
            changes,
            at,
        }
    }

    /// Serializes the changes as updates of a stream.
    fn changes(self) -> Vec<String> {
        let items = self.changes.iter();
        items
            .map(|item| {
                let mut body = String::new();
                A2aVersion::V10.write_item(item, &mut body);
                body
            })
            .collect()
    }

    /// Serializes the task after the change.
    fn task(self) -> String {
        let shown = TaskDetail {
            history: None,
            artifacts: true,
        };
        let mut task = self.snapshot.into_task(shown);
        task.status.timestamp = Some(format_time(self.at));
        let mut body = String::new();
        A2aVersion::V03.write_task(&task, &mut body);
        body
    }
}

/// Adds the log up to position `pos` to the snapshot, except for the last item, which is returned.
async fn read_to(
    task: &Arc<Task>,
    pos: u64,
    snapshot: &mut TaskSnapshot,
) -> Result<Option<(LogItem, Timestamp)>, ComposeError> {
    let mut subscription = task.subscribe(None);
    let (mut at, mut last) = (0, None);
    while at <= pos
        && let Some(item) = subscription.next().await.map_err(ComposeError::temporary)?
    {
        match item {
            TaskItem::Row {
                next,
                at: written,
                item,
            } => {
                at = next.pos;
                if let Some((before, at)) = last.replace((item, written)) {
                    snapshot.add(before, at);
                }
            }
            TaskItem::Gap { next } => at = next.pos,
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use crate::wire::official::model::A2aState;
    use jackfield_model::{Artifact, Done, End, Event, Message, Part};

    use super::*;
    use crate::official::tests::record;

    const AT: Timestamp = Timestamp::UNIX_EPOCH;

    /// All that is posted of a log, row by row.
    fn posted(log: &[LogItem]) -> Vec<StreamItem> {
        let mut all = Vec::new();
        for (place, change) in log.iter().enumerate() {
            let mut snapshot = TaskSnapshot::new(&record(), false, usize::MAX);
            log[..place]
                .iter()
                .cloned()
                .for_each(|item| snapshot.add(item, AT));
            all.extend(NotifiedChange::after(snapshot, change.clone(), AT).changes);
        }
        all
    }

    fn states(posted: &[StreamItem]) -> Vec<A2aState> {
        let states = posted.iter().filter_map(|item| match item {
            StreamItem::Status(update) => Some(update.status.state),
            StreamItem::Artifact(_) | StreamItem::Task(_) | StreamItem::Message(_) => None,
        });
        states.collect()
    }

    #[test]
    fn that_a_task_is_worked_on_is_posted_once() {
        let message = LogItem::Message(Message::text("hi"));
        let made = LogItem::Event(Event::Artifact(Artifact {
            id: "a".into(),
            name: None,
            parts: vec![Part::Text("made".into())],
            append: false,
            last: true,
            extra: None,
        }));
        let end = LogItem::End(End::done());
        let log = [message.clone(), made.clone(), made, end.clone()];
        assert_eq!(
            states(&posted(&log)),
            [A2aState::Working, A2aState::Completed]
        );
        let result = LogItem::End(End::Done(Box::new(Done {
            result: Some("done".into()),
            ..Done::default()
        })));
        for end in [end, result] {
            let log = [message.clone(), end];
            assert_eq!(
                states(&posted(&log)),
                [A2aState::Working, A2aState::Completed]
            );
        }
    }

    #[test]
    fn a_reply_is_posted_as_a_whole_when_it_is_over() {
        let log = [
            LogItem::Message(Message::text("hi")),
            LogItem::Event(Event::text("Hello, ")),
            LogItem::Event(Event::text("world")),
            LogItem::End(End::done()),
        ];
        let mut snapshot = TaskSnapshot::new(&record(), false, usize::MAX);
        log[..3]
            .iter()
            .cloned()
            .for_each(|item| snapshot.add(item, AT));
        let told = NotifiedChange::after(snapshot, log[3].clone(), AT).changes;
        let [StreamItem::Artifact(reply), StreamItem::Status(_)] = told.as_slice() else {
            panic!("{told:?}");
        };
        assert!(!reply.append && reply.last_chunk);
        assert_eq!(
            format!("{:?}", reply.artifact.parts)
                .matches("Hello, world")
                .count(),
            1
        );
    }
}
