//! Following a task that runs: the task as it stands, then all that comes. A reader that comes back says where it was.

use jackfield_core::task::Cursor;

use super::{
    story::Shown,
    teller::Teller,
    updates::{Until, Updates},
    visit::Visit,
};
use crate::wire::official::{
    Version,
    error::{Fault, Kind},
    model::{Item, TaskParams},
};

impl Visit {
    /// Follows a task. `after` is the id of the last event that the caller has of it: then the first element is the task
    /// as it stood there, and nothing is lost or repeated. Without it, the task as it stands now, which must not be over.
    pub(crate) async fn subscribe(
        &self,
        params: TaskParams,
        after: Option<&str>,
    ) -> Result<Updates, Fault> {
        let task = self.task(&params.id, params.tenant.as_deref()).await?;
        let (record, present) = task.snapshot();
        let after = after.map(str::parse::<Cursor>).transpose();
        let after = after.map_err(|failure| Fault::field("Last-Event-ID", failure.text))?;
        // What was before a restart of the hub counts no more: the task as it stands has all of it.
        let after = after.filter(|it| it.epoch == present.epoch && it.pos <= present.pos);
        if after.is_none() && record.state.is_final() {
            let text = format!(
                "task {} is over: there is nothing to follow; get it",
                task.id
            );
            return Err(Fault::new(Kind::Unsupported, text));
        }
        let from = after.unwrap_or(present);
        let mut story = self.gather(&task, from.pos).await?;
        if from == present {
            story.at_present(&record);
        }
        let teller = Teller::after(&story);
        let shown = Shown {
            history: None,
            artifacts: true,
        };
        let first = story.into_task(shown);
        let until = match self.version {
            // Its readers take what waits for the caller for the end.
            Version::V03 => Until::Turn,
            Version::V10 => Until::End,
        };
        let first = Item::Task(Box::new(first));
        Ok(Updates::new(self, &task, from, first, teller, until))
    }
}
